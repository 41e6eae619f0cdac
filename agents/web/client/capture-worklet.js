// The microphone: what the browser captures becomes 20 ms frames of 16-bit samples at 16 kHz, with their level.

import { Resampler } from "./resampler.js";

const RATE = 16000;
const FRAME = 320;

class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = sampleRate === RATE ? null : new Resampler(sampleRate, RATE);
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.power = 0;
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
    this.port.postMessage({ pcm: buffer, level: Math.sqrt(this.power / FRAME) }, [buffer]);
    this.frame = new Int16Array(FRAME);
    this.filled = 0;
    this.power = 0;
  }
}

function mix(channels) {
  const mono = new Float32Array(channels[0].length);
  for (const channel of channels) for (let i = 0; i < mono.length; i++) mono[i] += channel[i] / channels.length;
  return mono;
}

registerProcessor("capture", Capture);
