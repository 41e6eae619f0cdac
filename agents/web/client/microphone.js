// The microphone of a page. Nothing is captured before somebody asks for it.

/** Captures the microphone while it is open. */
export class Microphone {
  /**
   * @param {(pcm: ArrayBuffer) => void} onFrame 10 ms of 16-bit samples at 16 kHz
   * @param {(level: number) => void} onLevel root mean square, 0 to 1, fifty times a second
   */
  constructor(onFrame, onLevel) {
    this.onFrame = onFrame;
    this.onLevel = onLevel;
    /** Called when it was given back; `withdrawn` where that was not asked for. @type {(withdrawn: boolean) => void} */
    this.onClosed = () => undefined;
    /** Called when the system silences it, and when it lets it be heard again. @type {(silent: boolean) => void} */
    this.onSilenced = () => undefined;
    this.sending = false;
    /** Which one to open next; empty for the browser's choice. */
    this.deviceId = "";
    /** @type {MediaStream | null} */
    this.stream = null;
    /** @type {MediaStreamAudioSourceNode | null} */
    this.source = null;
    /** @type {{context: AudioContext, node: AudioWorkletNode} | null} */
    this.capture = null;
    /** @type {Promise<void> | null} */
    this.opening = null;
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
      audio: {
        channelCount: 1,
        echoCancellation: true,
        noiseSuppression: true,
        autoGainControl: false,
        ...(this.deviceId ? { deviceId: { ideal: this.deviceId } } : {}),
      },
    });
    this.capture ??= await this.prepare();
    await this.capture.context.resume();
    this.stream = stream;
    this.source = this.capture.context.createMediaStreamSource(stream);
    this.source.connect(this.capture.node);
    const [track] = stream.getTracks();
    track?.addEventListener("ended", () => this.stream === stream && this.close(true));
    track?.addEventListener("mute", () => this.stream === stream && this.onSilenced(true));
    track?.addEventListener("unmute", () => this.stream === stream && this.onSilenced(false));
  }

  async prepare() {
    const context = new AudioContext({ latencyHint: "interactive" });
    await context.audioWorklet.addModule(new URL("./capture-worklet.js", import.meta.url).href);
    const node = new AudioWorkletNode(context, "capture", { numberOfOutputs: 0 });
    node.port.onmessage = ({ data }) => {
      if (!this.stream) return;
      if (this.sending) this.onFrame(data.pcm);
      if (data.level !== null) this.onLevel(this.sending ? data.level : 0);
    };
    return { context, node };
  }

  /** Give the microphone back; idempotent. */
  close(withdrawn = false) {
    this.source?.disconnect();
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = this.source = null;
    this.onLevel(0);
    this.onClosed(withdrawn);
  }
}
