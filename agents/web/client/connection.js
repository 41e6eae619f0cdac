// The socket to the room: opens, admits, opens again.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

const TICK_MS = 2000;
const ASLEEP_MS = 10_000; // nothing has ticked for so long: the machine slept
const PATIENCE_MS = 4000; // a room that lives answers sooner

/** Close code of the room for a caller whose place another one has taken. */
export const REPLACED = 4000;

/** Close code of the room for a caller who was sent out of it: coming back at once would be no leaving. */
export const LEFT = 4001;

/** @import { LinkState, Quality, RoomMessage } from "./link.js" */

/** Keeps a connection to the room; `on` is told what happens. */
export class Connection {
  /**
   * @param {import("./link.js").Addresses} addresses
   * @param {{
   *   message: (message: RoomMessage) => void,
   *   sound: (pcm: ArrayBuffer) => void,
   *   quality: (quality: Quality) => void,
   *   state: (state: LinkState) => void,
   * }} on
   */
  constructor(addresses, on) {
    this.addresses = addresses;
    this.on = on;
    this.wait = FIRST_WAIT_MS;
    this.timer = this.doubt = this.asked = this.watching = 0;
    /** @type {object | null} */
    this.attempt = null;
    /** The one that is open. @type {WebSocket | null} */
    this.socket = null;
    /** The one that is being opened, or is open. @type {WebSocket | null} */
    this.latest = null;
    this.online = () => this.probe();
    this.reopen = () => this.open();
    /** Called after this machine has slept. */
    this.awake = () => this.probe();
    this.watch();
  }

  /** Connect, and stay connected until somebody else takes the place. */
  async open() {
    this.leave();
    const attempt = (this.attempt = {});
    this.on.state("connecting");
    await this.addresses.admit?.();
    if (attempt !== this.attempt) return; // somebody was impatient
    const url = new URL(this.addresses.room, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.hash = url.search = "";
    const socket = new WebSocket(url);
    this.latest = socket;
    socket.binaryType = "arraybuffer";
    let opened = false;
    socket.onopen = () => {
      opened = true;
      if (this.latest === socket) this.socket = socket;
    };
    socket.onmessage = ({ data }) => this.latest === socket && this.receive(data);
    socket.onclose = ({ code }) => this.latest === socket && this.closed(code, opened);
  }

  /** Give up the connection there is, and whatever was to happen with it. */
  leave() {
    clearTimeout(this.timer);
    clearTimeout(this.doubt);
    this.timer = this.doubt = this.asked = 0;
    const socket = this.latest;
    this.latest = this.socket = null;
    socket?.close();
  }

  /** Whoever slept or was without a network may hold a connection of which only this side still knows. */
  watch() {
    let seen = Date.now();
    this.watching = window.setInterval(() => {
      const slept = Date.now() - seen > ASLEEP_MS;
      seen = Date.now();
      if (slept) this.awake();
      else this.measure();
    }, TICK_MS);
    window.addEventListener("online", this.online);
  }

  /** Leave for good; idempotent. */
  close() {
    this.leave();
    this.attempt = null;
    clearInterval(this.watching);
    window.removeEventListener("online", this.online);
  }

  /** Find out whether the connection lives, and open another one if it does not. */
  probe() {
    if (this.timer) this.reopen();
    else if (this.send({ t: "ping" })) this.doubt ||= window.setTimeout(() => this.reopen(), PATIENCE_MS);
  }

  /** Ask for an answer, and tell how long it took. */
  measure() {
    if (document.hidden || this.asked) return;
    if (this.send({ t: "ping" })) this.asked = performance.now();
  }

  measured() {
    if (this.asked) this.on.quality({ via: "websocket", rtt_ms: performance.now() - this.asked });
    this.asked = 0;
  }

  /** @param {string | ArrayBuffer} data */
  receive(data) {
    clearTimeout(this.doubt);
    this.doubt = 0;
    if (typeof data !== "string") {
      this.on.sound(data);
      return;
    }
    const message = JSON.parse(data);
    if (message.t === "pong") this.measured();
    if (message.t === "ready") {
      this.wait = FIRST_WAIT_MS;
      this.on.state("open");
    }
    this.on.message(message);
  }

  /** @param {number} code @param {boolean} opened */
  async closed(code, opened) {
    this.leave();
    if (code === REPLACED || code === LEFT) {
      this.on.state(code === LEFT ? "left" : "replaced");
      return;
    }
    const { attempt } = this;
    const refused = !opened && (await reachable(this.addresses));
    if (attempt !== this.attempt) return;
    if (refused) {
      this.on.state("refused");
    } else {
      this.on.state("lost");
      this.timer = window.setTimeout(() => this.reopen(), this.wait);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT_MS);
    }
  }

  /** @param {object} message dropped when there is no connection */
  send(message) {
    this.socket?.send(JSON.stringify(message));
    return Boolean(this.socket);
  }

  /** @param {ArrayBuffer} pcm dropped when there is no connection, or when the network has not taken the last second */
  sound(pcm) {
    if (this.socket && this.socket.bufferedAmount < 64_000) this.socket.send(pcm);
  }
}

/**
 * Whether the server answers at all; where nothing says so, it is not known and false.
 * @param {import("./link.js").Addresses} addresses
 */
export async function reachable({ health }) {
  try {
    return Boolean(health) && (await fetch(/** @type {string} */ (health))).ok;
  } catch {
    return false;
  }
}
