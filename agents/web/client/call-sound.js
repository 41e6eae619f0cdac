// The room's sound over WebRTC: the browser plays it; here is told how far it has come, and silence is kept.

const REPORT_MS = 100;
const RATE = 16; // samples per millisecond, in which the room counts
const DRAIN_MS = 300; // what was cut has left the browser's buffer by then
const SHORTEST_MS = 150;
const PACKET_MS = 20;

/** @import { RoomMessage } from "./link.js" */

/** Plays the audio line of a call and follows the messages of the room. */
export class CallSound {
  /** @param {(message: object) => void} send */
  constructor(send) {
    this.send = send;
    this.element = new Audio();
    this.element.autoplay = true;
    this.epoch = 0;
    this.playout = 0; // ms from the browser's buffer to the ear
    /** @type {RoomMessage | null} */
    this.spurt = null;
    /** @type {RoomMessage | null} */
    this.end = null;
    /** @type {RTCRtpReceiver | null} */
    this.receiver = null;
    this.mutedAt = 0;
    this.timer = this.muteTimer = 0;
  }

  /** @param {RTCRtpReceiver} receiver */
  listen(receiver) {
    this.receiver = receiver;
    if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0; // as little as the network allows
    this.element.srcObject = new MediaStream([receiver.track]);
    this.open().catch(() => {}); // browsers allow it only after the page was touched: open() is called again then
    clearInterval(this.timer);
    this.timer = window.setInterval(() => this.report(), REPORT_MS);
  }

  /** Begin to be heard. Rejects where the page was not touched yet. */
  async open() {
    if (this.element.srcObject) await this.element.play();
  }

  /** @returns {MediaStream | null} */
  get stream() {
    return /** @type {MediaStream | null} */ (this.element.srcObject);
  }

  get works() {
    return Boolean(this.element.srcObject) && !this.element.paused;
  }

  /** @param {RoomMessage} message any of the room */
  follow(message) {
    switch (message.t) {
      case "ready":
        this.epoch = message.epoch;
        break;
      case "clear":
        this.epoch = message.epoch;
        this.spurt = this.end = null;
        this.mute();
        break;
      case "spurt":
        this.spurt = message;
        if (this.element.muted && performance.now() - this.mutedAt > SHORTEST_MS) this.unmute();
        break;
      case "speech_end":
        this.end = message;
        break;
    }
  }

  /** The call is over. */
  close() {
    clearInterval(this.timer);
    clearTimeout(this.muteTimer);
    this.element.srcObject = null;
    this.receiver = null;
  }

  mute() {
    this.element.muted = true;
    this.mutedAt = performance.now();
    clearTimeout(this.muteTimer);
    this.muteTimer = window.setTimeout(() => this.unmute(), DRAIN_MS);
  }

  unmute() {
    clearTimeout(this.muteTimer);
    this.element.muted = false;
  }

  /** Where the ear is: in samples since the last clear, or null where that is not known. */
  position() {
    const source = this.receiver?.getSynchronizationSources()[0];
    if (!this.spurt || source?.rtpTimestamp === undefined) return null;
    const ticks = (source.rtpTimestamp - this.spurt.rtp) | 0; // 32 bits, and so is the difference
    if (ticks < 0) return null; // the spurt is still on its way through the buffer
    const now = performance.now() + (source.timestamp > 1e12 ? performance.timeOrigin : 0);
    const since = Math.min(Math.max(now - source.timestamp, 0), PACKET_MS);
    const samples = this.spurt.position + ticks / this.spurt.ticks + (since - this.playout) * RATE;
    const most = this.end ? this.end.position : Infinity;
    return Math.max(0, Math.min(Math.round(samples), most));
  }

  report() {
    const position = this.position();
    if (position === null) return;
    this.send({ t: "playback", epoch: this.epoch, position });
    if (!this.end || position < this.end.position) return;
    this.send({ t: "playback_done", turnId: this.end.turnId });
    this.spurt = this.end = null;
  }
}
