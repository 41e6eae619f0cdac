// Plays sound of a room that comes as samples, and measures how loud the room is, whichever way its sound comes.

const RATE_HZ = 16_000;
const MOST_EARLY = 500; // messages that wait until the browser lets the page be heard

/** @typedef {{kind: "position" | "drained", position: number}} PlaybackReport */

/** Plays what the room sends and tells how far it has come. */
export class Speaker {
  constructor() {
    /** @type {(report: PlaybackReport) => void} */
    this.onReport = () => undefined;
    /** @type {object[]} */
    this.early = [];
    /** @type {AudioContext | null} */
    this.context = null;
    /** @type {AudioWorkletNode | null} */
    this.node = null;
    /** @type {AnalyserNode | null} */
    this.meter = null;
    /** @type {MediaStreamAudioSourceNode | null} */
    this.watched = null;
    /** @type {Promise<AudioContext> | null} */
    this.opening = null;
    this.window = new Float32Array(512);
  }

  /** Begin; browsers allow it only after the user has touched the page. Safe to call again. */
  async open() {
    this.opening ??= this.start();
    const context = await this.opening;
    if (context.state === "suspended") await context.resume();
  }

  async start() {
    const context = (this.context = new AudioContext({ latencyHint: "interactive" }));
    await context.audioWorklet.addModule(new URL("./playback-worklet.js", import.meta.url).href);
    const node = new AudioWorkletNode(context, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
    node.port.onmessage = ({ data }) => this.onReport({ ...data, position: this.heard(data.position) });
    this.meter = new AnalyserNode(context, { fftSize: this.window.length });
    node.connect(context.destination);
    node.connect(this.meter);
    for (const message of this.early.splice(0)) node.port.postMessage(message);
    this.node = node;
    return context;
  }

  /** @param {number} position */
  heard(position) {
    return Math.max(0, Math.round(position - this.latency * RATE_HZ));
  }

  /** Whether the browser lets the page be heard. */
  get works() {
    return this.context?.state === "running";
  }

  /** Seconds between the samples and the ear. */
  get latency() {
    return this.context ? (this.context.baseLatency || 0) + (this.context.outputLatency || 0) : 0;
  }

  /** Measure a stream that the browser plays by itself, too. @param {MediaStream | null} stream */
  watch(stream) {
    this.watched?.disconnect();
    this.watched = stream && this.context && this.meter ? this.context.createMediaStreamSource(stream) : null;
    if (this.meter) this.watched?.connect(this.meter);
  }

  /** Root mean square of what is being played, 0 to 1. */
  level() {
    if (!this.meter || !this.works) return 0;
    this.meter.getFloatTimeDomainData(this.window);
    return Math.sqrt(this.window.reduce((sum, sample) => sum + sample * sample, 0) / this.window.length);
  }

  /** @param {ArrayBuffer} pcm 16-bit samples at 16 kHz */
  play(pcm) {
    this.post({ pcm });
  }

  /** @param {"pause" | "resume" | "clear" | "end"} order `end`: nothing more is to come for now */
  order(order) {
    this.post({ order });
  }

  /** @param {object} message */
  post(message) {
    if (this.node) this.node.port.postMessage(message);
    else if (this.early.push(message) > MOST_EARLY) this.early.shift();
  }

  /** Give the sound card back; idempotent. */
  async close() {
    this.node = null;
    if (this.context && this.context.state !== "closed") await this.context.close();
  }
}
