// The speaker: 16 kHz samples from the room wait here in order; nothing that waits is ever overwritten.

import { Resampler } from "./resampler.js";

const RATE = 16000;
const START = 0.06 * RATE; // enough to begin with; the room sends a little ahead of time
const PATIENCE = 0.06; // seconds after which even a shorter sound begins
const MOST = 30 * RATE;
const REPORT = 0.1; // seconds between two reports of the position
const STEP = 32;

class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.port.onmessage = ({ data }) => this.take(data);
    this.forget();
  }

  take(message) {
    if (message.pcm) this.append(new Int16Array(message.pcm));
    else if (message.order === "pause") this.paused = true;
    else if (message.order === "resume") this.paused = false;
    else if (message.order === "clear") this.forget();
  }

  append(samples) {
    if (this.waiting + samples.length > MOST) return; // what waits has the older right
    if (this.waiting === 0) this.arrived = currentTime;
    this.queue.push(samples);
    this.waiting += samples.length;
  }

  forget() {
    this.queue = [];
    this.offset = 0;
    this.waiting = 0;
    this.position = 0;
    this.paused = false;
    this.flowing = false;
    this.arrived = 0;
    this.reported = 0;
    this.ready = [];
    this.resampler = sampleRate === RATE ? null : new Resampler(RATE, sampleRate);
  }

  process(_, outputs) {
    const out = outputs[0][0];
    if (this.paused || !this.mayFlow()) return true; // the output is silent as it comes
    while (this.ready.length < out.length) {
      const next = this.next();
      for (const sample of this.resampler ? this.resampler.push(next) : next) this.ready.push(sample);
    }
    out.set(this.ready.splice(0, out.length));
    if (this.waiting === 0 && this.flowing) {
      this.flowing = false;
      this.report("drained");
    } else if (currentTime - this.reported >= REPORT) {
      this.report("position");
    }
    return true;
  }

  mayFlow() {
    if (!this.flowing && this.waiting > 0) {
      this.flowing = this.waiting >= START || currentTime - this.arrived >= PATIENCE;
      if (this.flowing) this.report("position");
    }
    return this.flowing;
  }

  next() {
    const block = new Float32Array(STEP);
    let filled = 0;
    while (filled < STEP && this.queue.length > 0) {
      const head = this.queue[0];
      const count = Math.min(STEP - filled, head.length - this.offset);
      for (let i = 0; i < count; i++) block[filled + i] = head[this.offset + i] / 32768;
      filled += count;
      this.offset += count;
      if (this.offset === head.length) {
        this.queue.shift();
        this.offset = 0;
      }
    }
    this.waiting -= filled;
    this.position += filled;
    return block;
  }

  report(kind) {
    this.reported = currentTime;
    this.port.postMessage({ kind, position: this.position });
  }
}

registerProcessor("playback", Playback);
