// The speaker: 16 kHz samples from the room wait here in order; nothing that waits is ever overwritten.

import { Resampler } from "./resampler.js";

const RATE = 16000;
const LEAST_START = 0.01; // seconds of sound, or of waiting, before it begins; more where that was too little
const MOST_START = 0.15;
const LATE = 0.5; // what goes on after a longer gap was not late: it had been stopped
const CALM = 5; // seconds without a gap after which a little less is waited for
const LESS = 0.005;
const MOST = 30 * RATE;
const REPORT = 0.1; // seconds between two reports of the position
const STEP = 32;

class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.port.onmessage = ({ data }) => this.take(data);
    this.start = LEAST_START;
    this.learnt = 0; // when `start` changed
    this.forget();
  }

  take(message) {
    if (message.pcm) this.append(new Int16Array(message.pcm));
    else if (message.order === "pause") this.paused = true;
    else if (message.order === "resume") this.paused = false;
    else if (message.order === "end") this.ranDry = null; // nothing more was to come
    else if (message.order === "clear") this.forget();
  }

  append(samples) {
    if (this.waiting + samples.length > MOST) return; // what waits has the older right
    if (this.waiting === 0) this.arrived = currentTime;
    this.learn();
    this.queue.push(samples);
    this.waiting += samples.length;
  }

  /** What begins again soon after it ran dry was late: from now on more is waited for, until that was long ago. */
  learn() {
    if (this.ranDry !== null) {
      const late = currentTime - this.ranDry;
      this.ranDry = null;
      if (late > LATE) return;
      this.start = Math.min(MOST_START, this.start + Math.max(LESS, late));
      this.learnt = currentTime;
    } else if (currentTime - this.learnt > CALM) {
      this.start = Math.max(LEAST_START, this.start - LESS);
      this.learnt = currentTime;
    }
  }

  forget() {
    this.queue = [];
    this.offset = 0;
    this.waiting = 0;
    this.position = 0;
    this.paused = false;
    this.flowing = false;
    this.arrived = 0;
    this.ranDry = null;
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
      this.ranDry = currentTime;
      this.report("drained");
    } else if (currentTime - this.reported >= REPORT) {
      this.report("position");
    }
    return true;
  }

  mayFlow() {
    if (!this.flowing && this.waiting > 0) {
      this.flowing = this.waiting >= this.start * RATE || currentTime - this.arrived >= this.start;
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
