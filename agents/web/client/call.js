// A call over WebRTC: Opus both ways, and the room's messages on a data channel.

import { CallSound } from "./call-sound.js";

/** @import { Quality, RoomMessage } from "./link.js" */

const GATHER_MS = 1500; // a STUN server that does not answer must not hold the call up
const GATHER_HERE_MS = 300; // the room finds the page by the address that its offer comes from
const PATIENCE_MS = 4000; // a room that lives answers sooner
const QUALITY_MS = 2000;

/** Whether this browser can call at all. */
export const canCall = () => typeof RTCPeerConnection === "function";

/** One call, from the offer to its end; `on` is told what happens. */
export class Call {
  /**
   * @param {string} address of the control API's calls
   * @param {{
   *   message: (message: RoomMessage) => void,
   *   closed: (code: number) => void,
   *   quality: (quality: Quality) => void,
   * }} on
   */
  constructor(address, on) {
    this.address = address;
    this.on = on;
    this.opened = this.left = false;
    /** @type {RTCPeerConnection | null} */
    this.pc = null;
    /** @type {RTCDataChannel | null} */
    this.channel = null;
    /** @type {RTCRtpSender | null} */
    this.sender = null;
    /** @type {Totals | undefined} */
    this.before = undefined;
    this.deadline = this.timer = this.doubt = 0;
    this.sound = new CallSound((message) => this.send(message));
    this.part = "";
  }

  /**
   * Connect. Rejects when that does not work in time; the call is over then.
   * @param {MediaStreamTrack | null} track the microphone, if it is open
   */
  async open(track) {
    const terms = await json(await fetch(this.address));
    /** @type {Promise<never>} */
    const deadline = new Promise((_, reject) => {
      this.deadline = window.setTimeout(() => reject(new Error("the call was not answered in time")), terms.connect_ms / 2);
    });
    try {
      await Promise.race([this.connect(terms, track), deadline]);
    } catch (fault) {
      this.leave();
      throw fault;
    } finally {
      clearTimeout(this.deadline);
    }
  }

  /** @param {{ice_servers: RTCIceServer[]}} terms @param {MediaStreamTrack | null} track */
  async connect(terms, track) {
    const pc = (this.pc = new RTCPeerConnection({ iceServers: terms.ice_servers }));
    const channel = (this.channel = pc.createDataChannel("room"));
    const transceiver = pc.addTransceiver("audio", { direction: "sendrecv" });
    this.sender = transceiver.sender;
    pc.onconnectionstatechange = () => this.look();
    const opened = new Promise((resolve, reject) => {
      channel.onopen = () => resolve(undefined);
      channel.onclose = () => {
        reject(new Error("the call was ended"));
        this.over(1006);
      };
    });
    opened.catch(() => {}); // whoever waits is told; nobody may be waiting yet
    channel.onmessage = ({ data }) => this.receive(data);
    if (track) await this.sender.replaceTrack(track);
    await pc.setLocalDescription();
    await gathered(pc, terms.ice_servers.length > 0);
    const sdp = pc.localDescription?.sdp;
    if (!sdp?.includes("a=candidate:")) throw new Error("this machine has no network"); // browsers do not call themselves
    const answer = await post(this.address, { sdp });
    await pc.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    this.sound.listen(transceiver.receiver);
    await opened;
    this.opened = true;
    this.timer = window.setInterval(() => this.measure().catch(() => {}), QUALITY_MS); // an ended call has no figures
  }

  /** Give up; nobody is told. */
  leave() {
    this.left = true;
    clearInterval(this.timer);
    clearTimeout(this.doubt);
    this.sound.close();
    this.pc?.close();
  }

  /** @param {object} message returns whether there is a connection */
  send(message) {
    if (this.channel?.readyState !== "open") return false;
    this.channel.send(JSON.stringify(message));
    return true;
  }

  /** @param {MediaStreamTrack | null} track what the room shall hear */
  microphone(track) {
    this.sender?.replaceTrack(track).catch(() => {}); // an ended call needs no microphone
  }

  /** Find out whether the connection lives; if nothing comes, the call is over. */
  probe() {
    if (this.send({ t: "ping" })) this.doubt ||= window.setTimeout(() => this.over(1006), PATIENCE_MS);
    else this.over(1006);
  }

  /** @param {string} data */
  receive(data) {
    clearTimeout(this.doubt);
    this.doubt = 0;
    let message = JSON.parse(data);
    if (message.t === "part") {
      this.part += message.text;
      if (!message.last) return;
      message = JSON.parse(this.part);
      this.part = "";
    }
    if (message.t === "close") {
      this.over(message.code);
      return;
    }
    this.sound.follow(message);
    this.on.message(message);
  }

  look() {
    const connectionState = this.pc?.connectionState;
    if (connectionState === "disconnected") this.probe();
    else if (connectionState === "failed" || connectionState === "closed") this.over(1006);
  }

  /** @param {number} code */
  over(code) {
    if (this.left) return;
    this.leave();
    if (this.opened) this.on.closed(code);
  }

  async measure() {
    if (!this.pc) return;
    const { totals, ...quality } = readQuality(await this.pc.getStats(), this.before);
    this.before = totals;
    if (typeof quality.playout_ms === "number") this.sound.playout = quality.playout_ms;
    this.on.quality(quality);
  }
}

/** @typedef {{received: number, lost: number, delay: number, emitted: number, playout: number, played: number}} Totals */

/**
 * What the browser's statistics say of the last seconds.
 * @param {RTCStatsReport} report
 * @param {Partial<Totals>} [before] `totals` of the report before
 * @returns {Quality & {totals: Totals}}
 */
export function readQuality(report, before = {}) {
  /** @type {Record<string, any>} */
  const found = {};
  for (const each of [...report.values()]) {
    if (each.type === "candidate-pair" && each.nominated && each.state === "succeeded") found.pair = each;
    else if (each.type === "inbound-rtp" && each.kind === "audio") found.inbound = each;
    else if (each.type === "remote-inbound-rtp" && each.kind === "audio") found.remote = each;
    else if (each.type === "media-playout") found.playout = each;
  }
  const { pair, inbound = {}, remote, playout = {} } = found;
  const totals = {
    received: inbound.packetsReceived ?? 0,
    lost: inbound.packetsLost ?? 0,
    delay: inbound.jitterBufferDelay ?? 0,
    emitted: inbound.jitterBufferEmittedCount ?? 0,
    playout: playout.totalPlayoutDelay ?? 0,
    played: playout.totalSamplesCount ?? 0,
  };
  /** @type {(name: keyof Totals) => number} */
  const since = (name) => (totals[name] ?? 0) - (before[name] ?? 0);
  return {
    via: "webrtc",
    rtt_ms: pair?.currentRoundTripTime === undefined ? null : 1000 * pair.currentRoundTripTime,
    loss: share(since("lost"), since("lost") + since("received")) ?? 0,
    loss_up: remote?.fractionLost ?? null,
    jitter_ms: 1000 * (inbound.jitter ?? 0),
    buffer_ms: milliseconds(since("delay"), since("emitted")),
    playout_ms: milliseconds(since("playout"), since("played")),
    totals,
  };
}

/** @type {(part: number, whole: number) => number | null} */
const share = (part, whole) => (whole > 0 ? Math.max(0, part) / whole : null);
/** @type {(seconds: number, count: number) => number | null} */
const milliseconds = (seconds, count) => (count > 0 ? (1000 * seconds) / count : null);

/**
 * Resolves when the candidates are known that are worth waiting for.
 * @param {RTCPeerConnection} pc
 * @param {boolean} servers
 * @returns {Promise<void>}
 */
function gathered(pc, servers) {
  return new Promise((resolve) => {
    const look = () => pc.iceGatheringState === "complete" && resolve();
    pc.onicegatheringstatechange = look;
    setTimeout(resolve, servers ? GATHER_MS : GATHER_HERE_MS);
    look();
  });
}

/** @param {string} address @param {object} body */
async function post(address, body) {
  const headers = { "content-type": "application/json" };
  return json(await fetch(address, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** @param {Response} response @returns {Promise<any>} */
async function json(response) {
  if (!response.ok) throw new Error(`the room answered with ${response.status}`);
  return response.json();
}
