// Microphone and speaker of the page. Nothing is captured before somebody asks for it.

/** Plays what the room sends and tells how far it has come. */
export class Speaker {
  /** @param {(report: {kind: string, position: number}) => void} onReport */
  constructor(onReport) {
    this.onReport = onReport;
    this.early = [];
  }

  /** Begin; browsers allow it only after the user has touched the page. Safe to call again. */
  async open() {
    this.opening ??= this.start();
    await this.opening;
    if (this.context.state === "suspended") await this.context.resume();
  }

  async start() {
    this.context = new AudioContext({ latencyHint: "interactive" });
    await this.context.audioWorklet.addModule("playback-worklet.js");
    this.node = new AudioWorkletNode(this.context, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
    this.node.port.onmessage = ({ data }) => this.onReport({ ...data, position: this.heard(data.position) });
    this.node.connect(this.context.destination);
    for (const message of this.early.splice(0)) this.node.port.postMessage(message);
  }

  heard(position) {
    const latency = (this.context.baseLatency || 0) + (this.context.outputLatency || 0);
    return Math.max(0, Math.round(position - latency * 16000));
  }

  /** Whether the browser lets the page be heard. */
  get works() {
    return this.context?.state === "running";
  }

  /** Seconds between the samples and the ear. */
  get latency() {
    return this.context ? (this.context.baseLatency || 0) + (this.context.outputLatency || 0) : 0;
  }

  /** @param {ArrayBuffer} pcm 16-bit samples at 16 kHz */
  play(pcm) {
    this.post({ pcm });
  }

  /** @param {"pause" | "resume" | "clear"} order */
  order(order) {
    this.post({ order });
  }

  post(message) {
    if (this.node) this.node.port.postMessage(message);
    else if (this.early.push(message) > 500) this.early.shift();
  }
}

/** Captures the microphone while it is open. */
export class Microphone {
  /**
   * @param {(pcm: ArrayBuffer) => void} onFrame 20 ms of 16-bit samples at 16 kHz
   * @param {(level: number) => void} onLevel root mean square, 0 to 1, fifty times a second
   */
  constructor(onFrame, onLevel) {
    this.onFrame = onFrame;
    this.onLevel = onLevel;
    this.sending = false;
  }

  get isOpen() {
    return Boolean(this.stream);
  }

  /** Ask for the microphone. Throws a DOMException when it is refused or missing. */
  async open() {
    this.opening ??= this.start().finally(() => (this.opening = null));
    await this.opening;
  }

  async start() {
    if (this.stream) return;
    if (!navigator.mediaDevices) throw new DOMException("not a secure address", "SecurityError");
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: false },
    });
    this.context ??= await this.prepare();
    await this.context.resume();
    this.stream = stream;
    this.source = this.context.createMediaStreamSource(stream);
    this.source.connect(this.node);
    stream.getTracks()[0].addEventListener("ended", () => this.close());
  }

  async prepare() {
    const context = new AudioContext({ latencyHint: "interactive" });
    await context.audioWorklet.addModule("capture-worklet.js");
    this.node = new AudioWorkletNode(context, "capture", { numberOfOutputs: 0 });
    this.node.port.onmessage = ({ data }) => {
      if (!this.stream) return;
      if (this.sending) this.onFrame(data.pcm);
      this.onLevel(this.sending ? data.level : 0);
    };
    return context;
  }

  /** Give the microphone back. */
  close() {
    this.source?.disconnect();
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = this.source = null;
    this.onLevel(0);
    this.onClosed?.();
  }
}
