// The microphone: what the browser captures becomes 10 ms frames of 16-bit samples at 16 kHz, and
// their level, fifty times a second.

import { Resampler } from "./resampler.js";

const RATE = 16000;
const FRAME = 160;
const LEVEL_FRAMES = 2;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = sampleRate === RATE ? null : new Resampler(sampleRate, RATE);
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.power = 0;
    this.measured = 0; // frames
  }

  process(inputs) {
    const channels = inputs[0];
    if (channels.length > 0) this.take(channels.length === 1 ? channels[0] : mix(channels));
    return true;
  }

  take(block) {
    for (const sample of this.resampler ? this.resampler.push(block) : block) {
      const clamped = Math.max(-1, Math.min(1, sample));
      this.power += clamped * clamped;
      this.frame[this.filled++] = Math.round(clamped < 0 ? clamped * 32768 : clamped * 32767);
      if (this.filled === FRAME) this.flush();
    }
  }

  flush() {
    const { buffer } = this.frame;
    this.port.postMessage({ pcm: buffer, level: this.level() }, [buffer]);
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
  }

  /** The level of the last frames, or null until it is time for it. */
  level() {
    this.measured++;
    if (this.measured < LEVEL_FRAMES) return null;
    const level = Math.sqrt(this.power / (LEVEL_FRAMES * FRAME));
    this.measured = this.power = 0;
    return level;
  }
}

function mix(channels) {
  const mono = new Float32Array(channels[0].length);
  for (const channel of channels) for (let i = 0; i < mono.length; i++) mono[i] += channel[i] / channels.length;
  return mono;
}

registerProcessor("capture", Capture);
