// The way to the room: a call over WebRTC where that works, else the WebSocket; whoever uses it need not know which.

import { Call, canCall } from "./call.js";
import { Connection, LEFT, REPLACED, reachable } from "./connection.js";
import { SocketSound } from "./socket-sound.js";
import { Speaker } from "./speaker.js";

const TRY_AGAIN_MS = 5 * 60_000; // a network that lets no call through is asked again after so long
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/** @typedef {{t: string, [field: string]: any}} RoomMessage a message of the room by its name, with its fields beside it */

/** @typedef {"connecting" | "open" | "lost" | "replaced" | "left" | "refused"} LinkState */

/**
 * How good the connection is; what one way cannot measure is null or missing.
 * @typedef {object} Quality
 * @property {"webrtc" | "websocket"} via
 * @property {number | null} rtt_ms there and back
 * @property {number} [loss] share of the packets of the last seconds that did not arrive here
 * @property {number | null} [loss_up] the same of those sent from here
 * @property {number} [jitter_ms]
 * @property {number | null} [buffer_ms]
 * @property {number | null} [playout_ms]
 */

/**
 * Where the room is; addresses may be relative to the page.
 * @typedef {object} Addresses
 * @property {string} room the WebSocket
 * @property {string | null} [calls] the control API's calls; without it there is the WebSocket only
 * @property {string | null} [health] answers whoever asks; tells a room that refuses from one that is out of reach
 * @property {() => Promise<void>} [admit] called before each attempt
 */

/** Keeps the page in the room; `on` is told what happens. */
export class Link {
  /**
   * @param {Addresses} addresses
   * @param {{
   *   message: (message: RoomMessage) => void,
   *   state: (state: LinkState) => void,
   *   quality: (quality: Quality) => void,
   * }} on
   */
  constructor(addresses, on) {
    this.addresses = addresses;
    this.on = on;
    this.speaker = new Speaker();
    this.socketSound = new SocketSound(this.speaker, (message) => this.socket.send(message));
    this.socket = new Connection(addresses, {
      message: (message) => {
        this.socketSound.follow(message);
        on.message(message);
      },
      sound: (pcm) => this.socketSound.play(pcm),
      state: (state) => {
        if (state !== "open") this.socketSound.forget();
        on.state(state);
      },
      quality: on.quality,
    });
    this.socket.reopen = () => this.open();
    /** @type {Call | null} */
    this.call = null;
    /** @type {MediaStreamTrack | null} */
    this.track = null;
    /** @type {object | null} */
    this.attempt = null;
    this.timer = 0;
    this.wait = FIRST_WAIT_MS;
    this.noCallsUntil = addresses.calls ? 0 : Infinity;
    this.online = () => this.call?.probe();
    this.socket.awake = () => (this.call ? this.call.probe() : this.socket.probe());
    window.addEventListener("online", this.online);
  }

  /** "webrtc", "websocket", or null while there is no connection. @returns {"webrtc" | "websocket" | null} */
  get via() {
    if (this.call?.opened) return "webrtc";
    return this.socket.socket ? "websocket" : null;
  }

  /** Connect, and stay connected until somebody else takes the place. */
  async open() {
    this.leave();
    const attempt = (this.attempt = {});
    if (canCall() && Date.now() >= this.noCallsUntil) {
      this.on.state("connecting");
      await this.addresses.admit?.();
      if (attempt !== this.attempt || (await this.openCall(attempt)) || attempt !== this.attempt) return;
    }
    await this.socket.open();
  }

  /** @param {object} attempt @returns {Promise<boolean>} */
  async openCall(attempt) {
    /** @type {Call} */
    const call = new Call(/** @type {string} */ (this.addresses.calls), {
      message: (message) => this.receive(call, message),
      closed: (code) => this.call === call && this.closed(code),
      quality: (quality) => this.call === call && this.on.quality(quality),
    });
    this.call = call;
    try {
      await call.open(this.track);
      call.microphone(this.track); // it may have changed meanwhile
      this.speaker.watch(call.sound.stream);
      return true;
    } catch (fault) {
      if (attempt === this.attempt) {
        console.info("no call:", fault instanceof Error ? fault.message : fault);
        this.call = null;
        this.noCallsUntil = (await reachable(this.addresses)) ? Date.now() + TRY_AGAIN_MS : 0;
      }
      return false;
    }
  }

  /** @param {Call} call @param {RoomMessage} message */
  receive(call, message) {
    if (this.call !== call) return;
    if (message.t === "ready") {
      this.wait = FIRST_WAIT_MS;
      this.on.state("open");
    }
    this.on.message(message);
  }

  /** @param {number} code */
  closed(code) {
    this.call = null;
    if (code === REPLACED || code === LEFT) {
      this.on.state(code === LEFT ? "left" : "replaced");
      return;
    }
    this.on.state("lost");
    this.timer = window.setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT_MS);
  }

  /** Give up the connection there is. */
  leave() {
    this.attempt = null;
    clearTimeout(this.timer);
    this.speaker.watch(null);
    this.call?.leave();
    this.call = null;
    this.socket.leave();
    this.socket.attempt = null;
  }

  /** Leave for good; idempotent. */
  close() {
    this.leave();
    this.socket.close();
    window.removeEventListener("online", this.online);
    void this.speaker.close();
  }

  /** @param {object} message dropped when there is no connection; returns whether there was one */
  send(message) {
    return this.call ? this.call.send(message) : this.socket.send(message);
  }

  /** @param {ArrayBuffer} pcm of the microphone; a call takes it from the track instead */
  sound(pcm) {
    if (!this.call) this.socket.sound(pcm);
  }

  /** @param {MediaStream | null} stream the microphone while the room shall hear it */
  microphone(stream) {
    const track = stream?.getAudioTracks()[0] ?? null;
    if (track === this.track) return;
    this.track = track;
    this.call?.microphone(track);
  }

  /** Be heard; browsers allow it only after the user has touched the page. Safe to call again. */
  async openSpeaker() {
    const worked = this.audible;
    await Promise.all([this.speaker.open(), this.call?.sound.open()]);
    if (this.call && !this.speaker.watched) this.speaker.watch(this.call.sound.stream);
    if (!worked) this.send({ t: "audio", speaker: this.audible });
  }

  /** Whether the browser lets the page be heard. */
  get audible() {
    return this.call ? this.call.sound.works : this.speaker.works;
  }
}
