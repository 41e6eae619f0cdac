// The way to the room: a call over WebRTC where that works, else the WebSocket; whoever uses it need not know which.

import { Call, canCall } from "./call.js";
import { Connection, LEFT, REPLACED, admit } from "./connection.js";
import { SocketSound } from "./socket-sound.js";
import { Speaker } from "./sound.js";

const TRY_AGAIN_MS = 5 * 60_000; // a network that lets no call through is asked again after so long
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/** Keeps the page in the room; `on` is told what happens. */
export class Link {
  /**
   * @param {{
   *   message: (message: object) => void,
   *   state: (state: "connecting" | "open" | "lost" | "replaced" | "left" | "refused") => void,
   *   quality: (quality: object) => void,
   * }} on
   */
  constructor(on) {
    this.on = on;
    this.speaker = new Speaker(() => {});
    this.socketSound = new SocketSound(this.speaker, (message) => this.socket.send(message));
    this.socket = new Connection({
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
    this.call = null;
    this.track = null;
    this.wait = FIRST_WAIT_MS;
    this.noCallsUntil = new URLSearchParams(location.search).get("via") === "websocket" ? Infinity : 0;
    window.addEventListener("online", () => this.call?.probe());
  }

  /** "webrtc", "websocket", or null while there is no connection. */
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
      await admit();
      if (attempt !== this.attempt || (await this.openCall(attempt)) || attempt !== this.attempt) return;
    }
    await this.socket.open();
  }

  async openCall(attempt) {
    const call = new Call({
      message: (message) => this.receive(call, message),
      closed: (code) => this.call === call && this.closed(code),
      quality: (quality) => this.call === call && this.on.quality(quality),
    });
    this.call = call;
    try {
      await call.open(this.track);
      call.microphone(this.track); // it may have changed meanwhile
      return true;
    } catch (fault) {
      if (attempt === this.attempt) {
        console.info("no call:", fault.message);
        this.call = null;
        this.noCallsUntil = (await reachable()) ? Date.now() + TRY_AGAIN_MS : 0;
      }
      return false;
    }
  }

  receive(call, message) {
    if (this.call !== call) return;
    if (message.t === "ready") {
      this.wait = FIRST_WAIT_MS;
      this.on.state("open");
    }
    this.on.message(message);
  }

  closed(code) {
    this.call = null;
    if (code === REPLACED || code === LEFT) {
      this.on.state(code === LEFT ? "left" : "replaced");
      return;
    }
    this.on.state("lost");
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT_MS);
  }

  /** Give up the connection there is. */
  leave() {
    this.attempt = null;
    clearTimeout(this.timer);
    this.call?.leave();
    this.call = null;
    this.socket.leave();
    this.socket.attempt = null;
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
    if (!worked) this.send({ t: "audio", speaker: this.audible });
  }

  /** Whether the browser lets the page be heard. */
  get audible() {
    return this.call ? this.call.sound.works : this.speaker.works;
  }
}

async function reachable() {
  try {
    return (await fetch("health")).ok;
  } catch {
    return false;
  }
}
