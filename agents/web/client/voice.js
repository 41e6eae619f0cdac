// Speaking with a room from a page: one state, a few verbs, no framework.

import { GloveError } from "./errors.js";
import { Link } from "./link.js";
import { Microphone } from "./microphone.js";

/** @import { Addresses, LinkState, Quality, RoomMessage } from "./link.js" */

const KEEP_OPEN_MS = 30_000; // the microphone stays ready after it was held, so that the next hold loses no word
const TAIL_MS = 80; // what was said until the finger left is still on its way

/** What the browser says of a microphone that it does not give, and what people can do about it. */
const MICROPHONE_FAULTS = /** @type {Record<string, [string, string, string]>} */ ({
  NotAllowedError: ["ERR_MIC_DENIED", "The microphone is blocked for this page.", "Allow it beside the browser's address line."],
  NotFoundError: ["ERR_MIC_MISSING", "No microphone was found.", "Plug one in, or choose another device."],
  SecurityError: ["ERR_MIC_INSECURE", "This address is not secure.", "Open the page as localhost or over https."],
});

/**
 * A snapshot; a new one takes its place with each change.
 * @typedef {object} VoiceSnapshot
 * @property {LinkState | "closed"} connection
 * @property {"webrtc" | "websocket" | null} via
 * @property {"idle" | "listening" | "thinking" | "speaking"} mode
 * @property {string} transcript the words that form while somebody speaks
 * @property {boolean} enabled the microphone is kept open
 * @property {boolean} isActive the mode is not idle
 * @property {boolean} isMuted
 * @property {boolean} recording the microphone is open for as long as the talk button is held
 * @property {boolean} hearing somebody is speaking to the room
 * @property {boolean} paused the reply waits for whoever speaks over it
 * @property {boolean} busy a turn is under way
 * @property {string} attention what is listened for: `awake`, `asleep`, `follow_up`, `sounding`
 * @property {GloveError | null} error why the microphone could not be used
 * @property {Quality | null} quality
 */

/** @typedef {Addresses & {microphoneId?: string}} VoiceOptions `microphoneId`: a `deviceId`; the browser chooses without it */

/** @type {VoiceSnapshot} */
const AT_REST = Object.freeze({
  connection: "closed",
  via: null,
  mode: "idle",
  transcript: "",
  enabled: false,
  isActive: false,
  isMuted: false,
  recording: false,
  hearing: false,
  paused: false,
  busy: false,
  attention: "awake",
  error: null,
  quality: null,
});

/**
 * Nothing is connected or captured before `connect()` or `start()`.
 * @param {VoiceOptions} options
 */
export function gloveVoice(options) {
  return new GloveVoice(options);
}

/** The voice of a page in one room. */
export class GloveVoice {
  /** @param {VoiceOptions} options */
  constructor(options) {
    /** @type {VoiceSnapshot} */
    this.state = AT_REST;
    this.roomMode = "listening";
    this.pressed = false;
    this.closing = this.ending = 0;
    /** @type {Set<(state: VoiceSnapshot) => void>} */
    this.listeners = new Set();
    /** @type {Set<(message: RoomMessage) => void>} */
    this.followers = new Set();
    /** Root mean square of what the room is sent, 0 to 1, fifty times a second. @type {(level: number) => void} */
    this.onLevel = () => undefined;
    this.link = new Link(options, {
      message: (message) => this.receive(message),
      state: (connection) => this.connected(connection),
      quality: (quality) => this.change({ quality }),
    });
    this.microphone = new Microphone(
      (pcm) => this.link.sound(pcm),
      (level) => this.onLevel(level),
    );
    this.microphone.deviceId = options.microphoneId ?? "";
    this.microphone.onClosed = (withdrawn) => this.given(withdrawn);
    this.microphone.onSilenced = (silent) => this.silenced(silent);
  }

  /** @param {(state: VoiceSnapshot) => void} listener called after each change @returns {() => void} unsubscribe */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** @param {(message: RoomMessage) => void} listener told of every message of the room @returns {() => void} unsubscribe */
  follow(listener) {
    this.followers.add(listener);
    return () => this.followers.delete(listener);
  }

  /** @param {object} message see the table of the room's messages @returns {boolean} false without a connection */
  send(message) {
    return this.link.send(message);
  }

  /** Enter the room without a microphone: to read, to type, to listen. Also takes a place back. */
  async connect() {
    await this.link.open();
  }

  /** Keep the microphone open, and enter the room first where that is needed. Never rejects: see `state.error`. */
  async start() {
    if (this.state.enabled) return;
    if (this.state.connection === "closed") void this.connect();
    if (await this.open()) this.use({ enabled: true, recording: false });
  }

  /** Give the microphone back; the page stays in the room. */
  stop() {
    this.unmute();
    this.microphone.close();
  }

  /** Silence now: the reply is over. */
  interrupt() {
    this.send({ t: "stop" });
  }

  /** What was said so far is a turn; nothing more is waited for. */
  commitTurn() {
    this.send({ t: "commit" });
  }

  mute() {
    this.setMuted(true);
  }

  unmute() {
    this.setMuted(false);
  }

  /** A typed line. @param {string} text @returns {boolean} whether there was a connection to send it over */
  say(text) {
    return this.send({ t: "say", speaker: "user", text });
  }

  /** The talk button is down: what is said from now on is one turn. */
  async press() {
    this.pressed = true;
    clearTimeout(this.closing);
    this.endHold();
    if (this.state.enabled || !(await this.open())) return;
    if (!this.pressed || !this.send({ t: "ptt", phase: "down" })) return; // released while the browser was still asking
    this.use({ recording: true });
  }

  /** The talk button is up: what was said is a turn. */
  release() {
    this.pressed = false;
    if (!this.state.recording || this.ending) return;
    this.ending = window.setTimeout(() => this.endHold(), TAIL_MS);
  }

  /** The talk button was pressed by mistake: nothing was said. */
  cancel() {
    this.pressed = false;
    clearTimeout(this.ending);
    this.ending = 0;
    if (this.state.recording) this.finish("cancel");
  }

  /** Use another microphone, also at once. @param {string} deviceId empty for the browser's choice */
  async choose(deviceId) {
    const { enabled } = this.state;
    this.microphone.deviceId = deviceId;
    this.microphone.close();
    if (enabled) await this.start();
  }

  /** Leave the room and give everything back; idempotent. */
  close() {
    clearTimeout(this.closing);
    clearTimeout(this.ending);
    this.microphone.close();
    this.link.close();
    this.change({ ...AT_REST });
    this.listeners.clear();
    this.followers.clear();
  }

  /** @returns {Promise<boolean>} */
  async open() {
    this.change({ error: null });
    try {
      await Promise.all([this.microphone.open(), this.link.openSpeaker()]);
      return true;
    } catch (fault) {
      const name = fault instanceof Error || fault instanceof DOMException ? fault.name : "";
      const [code, message, remedy] = MICROPHONE_FAULTS[name] ?? ["ERR_MIC_UNAVAILABLE", "The microphone cannot be used.", ""];
      this.change({ error: new GloveError(code, message, remedy, fault) });
      this.microphone.close();
      return false;
    }
  }

  endHold() {
    if (!this.ending) return;
    clearTimeout(this.ending);
    this.ending = 0;
    if (this.state.recording) this.finish("up");
  }

  /** @param {"up" | "cancel"} phase */
  finish(phase) {
    this.send({ t: "ptt", phase });
    this.use({ recording: false });
    this.closing = window.setTimeout(() => !this.isUsed && this.microphone.close(), KEEP_OPEN_MS);
  }

  get isUsed() {
    return this.state.enabled || this.state.recording;
  }

  /** @param {Partial<VoiceSnapshot>} how */
  use(how) {
    this.change(how);
    this.microphone.sending = this.isUsed && !this.state.isMuted;
    this.link.microphone(this.microphone.sending ? this.microphone.stream : null);
  }

  /** @param {boolean} isMuted */
  setMuted(isMuted) {
    if (isMuted === this.state.isMuted) return;
    this.send({ t: isMuted ? "mute" : "unmute" });
    this.use({ isMuted });
  }

  /** The microphone is not ours any more. @param {boolean} withdrawn */
  given(withdrawn) {
    if (this.state.recording) this.send({ t: "ptt", phase: "cancel" });
    this.use({ enabled: false, recording: false });
    if (!withdrawn) return;
    const remedy = "Plug it in again, or allow it beside the browser's address line.";
    this.change({ error: new GloveError("ERR_MIC_LOST", "The microphone was taken away.", remedy) });
  }

  /** Another program, or the system, has the microphone for a while. @param {boolean} silent */
  silenced(silent) {
    const remedy = "It goes on by itself when nothing else uses it.";
    const error = silent ? new GloveError("ERR_MIC_SILENCED", "The microphone is silent.", remedy) : null;
    this.change({ error });
  }

  /** @param {LinkState} connection */
  connected(connection) {
    if (connection !== "open") {
      // Whoever holds the button speaks to nobody.
      this.cancel();
      this.change({ connection, via: null, transcript: "", hearing: false, paused: false, busy: false, quality: null });
    } else {
      this.change({ connection, via: this.link.via });
    }
  }

  /** @param {RoomMessage} message */
  receive(message) {
    switch (message.t) {
      case "ready":
        if (this.state.isMuted) this.send({ t: "mute" });
        this.send({ t: "audio", speaker: this.link.audible });
        this.listen(message.state);
        break;
      case "state":
        this.listen(message);
        break;
      case "partial":
        this.change({ transcript: message.text });
        break;
      case "utterance":
      case "discarded":
        this.change({ transcript: "" });
        break;
    }
    for (const follower of [...this.followers]) guarded(() => follower(message));
  }

  /** @param {Record<string, any>} told what the room says of itself */
  listen({ mode = this.roomMode, hearing, paused, busy, attention }) {
    this.roomMode = mode;
    const told = { hearing, paused, busy, attention };
    this.change(Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined)));
  }

  /** @param {Partial<VoiceSnapshot>} difference */
  change(difference) {
    const next = { ...this.state, ...difference };
    const answering = next.connection === "open" && ["thinking", "speaking"].includes(this.roomMode);
    const open = next.connection === "open" && (next.enabled || next.recording);
    next.mode = /** @type {VoiceSnapshot["mode"]} */ (answering ? this.roomMode : open ? "listening" : "idle");
    next.isActive = next.mode !== "idle";
    next.via = next.connection === "open" ? this.link.via : null;
    const keys = /** @type {(keyof VoiceSnapshot)[]} */ (Object.keys(next));
    if (keys.every((key) => Object.is(next[key], this.state[key]))) return;
    this.state = Object.freeze(next);
    for (const listener of [...this.listeners]) guarded(() => listener(this.state));
  }
}

/** A listener that fails must stop neither the voice nor the others. @type {(call: () => void) => void} */
function guarded(call) {
  try {
    call();
  } catch (fault) {
    reportError(fault);
  }
}
