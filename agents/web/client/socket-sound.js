// The room's sound over the WebSocket: what plays, and what the room is told of it.

/** @import { RoomMessage } from "./link.js" */

/** Follows the messages of the room and plays its sound. */
export class SocketSound {
  /**
   * @param {import("./speaker.js").Speaker} speaker
   * @param {(message: object) => void} send
   */
  constructor(speaker, send) {
    this.speaker = speaker;
    this.send = send;
    this.epoch = 0;
    this.playing = false;
    /** The reply whose sound was all sent. @type {number | null} */
    this.endOf = null;
    this.forget();
    speaker.onReport = (report) => this.heard(report);
  }

  /** @param {ArrayBuffer} pcm 16-bit samples at 16 kHz */
  play(pcm) {
    this.playing = true;
    this.speaker.play(pcm);
  }

  /** @param {RoomMessage} message any of the room */
  follow(message) {
    switch (message.t) {
      case "ready":
        this.forget(message.epoch);
        if (message.state.paused) this.speaker.order("pause");
        break;
      case "clear":
        this.forget(message.epoch);
        break;
      case "pause":
      case "resume":
        this.speaker.order(message.t);
        break;
      case "speech_end":
        this.endOf = message.turnId;
        this.speaker.order("end");
        if (!this.playing) this.done();
        break;
    }
  }

  /** Be silent; the room is not there any more, or begins anew. */
  forget(epoch = this.epoch) {
    this.epoch = epoch;
    this.endOf = null;
    this.playing = false;
    this.speaker.order("clear");
  }

  /** @param {import("./speaker.js").PlaybackReport} report */
  heard({ kind, position }) {
    if (kind === "position") {
      this.send({ t: "playback", epoch: this.epoch, position });
      return;
    }
    this.playing = false;
    // Where the reply is not over, the room has fallen behind: nothing is done.
    if (this.endOf !== null) setTimeout(() => this.done(), this.speaker.latency * 1000);
  }

  done() {
    if (this.endOf === null || this.playing) return;
    this.send({ t: "playback_done", turnId: this.endOf });
    this.endOf = null;
  }
}
