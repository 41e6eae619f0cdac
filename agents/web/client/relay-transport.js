// A client whose agent runs on a server: its events come as one stream, whichever tab has asked.

import { GloveError, isAbort, messageOf } from "./errors.js";
import { mediaOf } from "./hydrate.js";
import { Rest } from "./rest.js";
import { sseValues } from "./sse.js";

/** @import { Emit, Transport } from "./client.js" */
/** @import { RestConfig } from "./rest.js" */
/** @import { AgentEvent, Message } from "./types.js" */

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/** Events that mean that the agent works, whoever has asked. */
const WORK = new Set(["user_message", "text_delta", "tool_use", "model_response", "model_response_complete"]);

/**
 * @param {RestConfig} config
 * @param {Emit} emit
 * @returns {Transport}
 */
export function relayTransport(config, emit) {
  const relay = new Relay(config, emit);
  return {
    tells: true,
    open: () => relay.open(),
    send: ({ text, images }) => relay.send({ message: text, ...(images ? { images } : {}) }),
    abort: () => relay.stop(),
    resolveSlot: (id, value) => relay.settle(`/slots/${encodeURIComponent(id)}/resolve`, { value }),
    rejectSlot: (id, reason) => relay.settle(`/slots/${encodeURIComponent(id)}/reject`, { reason }),
    close: () => relay.close(),
  };
}

/** Follows a session, again and again where the stream breaks, and passes on what it tells. */
class Relay {
  /** @param {RestConfig} config @param {Emit} emit */
  constructor(config, emit) {
    this.rest = new Rest(config);
    this.emit = emit;
    this.over = new AbortController();
    this.busy = false;
    this.wait = FIRST_WAIT_MS;
    /** @type {AgentEvent & {messages: Message[]}} */
    this.record = { type: "restored", messages: [] };
  }

  /** Settles when the conversation was read for the first time; rejects when that failed. @returns {Promise<null>} */
  open() {
    return new Promise((resolve, reject) => void this.keepFollowing(() => resolve(null), reject));
  }

  /** @param {Record<string, unknown>} said */
  async send(said) {
    const response = await this.rest.open("/chat", said, this.over.signal);
    // The turn lives as long as its request; what it brings comes by the stream that all tabs follow.
    for await (const event of sseValues(response)) if (event.type === "done") return;
    throw new GloveError("ERR_RELAY", "The connection ended before the answer did.", "Send the message again.");
  }

  stop() {
    this.rest.post("/abort", {}, this.over.signal).catch((fault) => this.tellFault(fault));
  }

  /** @param {string} path @param {unknown} body @returns {Promise<boolean>} */
  async settle(path, body) {
    try {
      await this.rest.post(path, body, this.over.signal);
      return true;
    } catch (fault) {
      if (statusOf(fault) === 404) return false; // somebody else was faster
      throw fault;
    }
  }

  close() {
    this.over.abort();
  }

  /** @param {() => void} onOpened @param {(fault: unknown) => void} onFault */
  async keepFollowing(onOpened, onFault) {
    while (!this.over.signal.aborted) {
      try {
        await this.follow(onOpened);
      } catch (fault) {
        if (this.over.signal.aborted) return;
        onFault(fault);
        if (isRefusal(fault)) return;
      }
      await pause(this.wait, this.over.signal);
      this.wait = Math.min(2 * this.wait, LONGEST_WAIT_MS);
    }
  }

  /** Once, until the stream ends. @param {() => void} onOpened */
  async follow(onOpened) {
    const events = sseValues(await this.rest.open("/events", undefined, this.over.signal));
    const { value: attached } = await events.next();
    if (attached?.type !== "attached") throw new GloveError("ERR_RELAY", "The server does not say where the session is.");
    /** @type {AgentEvent[]} */
    const early = [];
    /** @type {(event: AgentEvent) => void} */
    let take = (event) => void early.push(event);
    const read = (async () => {
      for await (const event of events) take(event);
    })();
    // A stream that breaks while the record is read is noticed below, in its turn.
    read.catch(() => undefined);
    await this.restore(attached, early);
    take = (event) => this.pass(event);
    this.wait = FIRST_WAIT_MS;
    onOpened();
    await read;
  }

  /** Show the record, and then what has come since. @param {AgentEvent} attached @param {AgentEvent[]} early */
  async restore(attached, early) {
    const [messages, stats, kept] = await Promise.all([this.read("/messages"), this.read("/tokens"), this.readKept()]);
    const untold = beforeTold(messages.messages, early) ?? messages.messages;
    this.record = { type: "restored", messages: untold, stats, ...kept };
    this.busy = false;
    this.emit({ type: "request_end", outcome: "success" });
    this.emit(this.record);
    const isSlot = (/** @type {AgentEvent} */ event) => event.type.startsWith("slot");
    if (attached.busy) this.work();
    for (const event of early.filter((each) => !isSlot(each))) this.pass(event);
    this.emit({ type: "slots", slots: attached.slots ?? [] });
    for (const event of early.filter(isSlot)) this.pass(event);
  }

  /** @param {AgentEvent} event */
  pass(event) {
    // The record can be newer than what the stream has told by then.
    const untold = beforeTold(this.record.messages, [event]);
    if (untold) this.emit((this.record = { ...this.record, messages: untold }));
    if (WORK.has(event.type)) this.work();
    switch (event.type) {
      case "user_message":
        this.emit({ type: event.type, text: event.text, ...mediaOf(event.content ?? []) });
        break;
      case "done":
        this.done(event);
        break;
      case "end":
        break; // the stream ends with it
      default:
        this.emit(event);
    }
  }

  work() {
    if (this.busy) return;
    this.busy = true;
    this.emit({ type: "request_start" });
  }

  /** @param {AgentEvent} event */
  done(event) {
    this.busy = false;
    const outcome = event.error ? "error" : event.aborted ? "aborted" : "success";
    this.emit({ type: "request_end", outcome, message: event.error?.message });
    this.readKept().then(
      ({ tasks, inbox }) => {
        this.emit({ type: "tasks", tasks });
        this.emit({ type: "inbox", inbox });
      },
      (fault) => this.tellFault(fault),
    );
  }

  async readKept() {
    const [tasks, inbox] = await Promise.all([this.read("/tasks"), this.read("/inbox")]);
    return { tasks: tasks.tasks ?? [], inbox: inbox.items ?? [] };
  }

  /** @param {string} path @returns {Promise<any>} an empty object when the server does not keep this */
  async read(path) {
    try {
      return await this.rest.get(path, this.over.signal);
    } catch (fault) {
      if (statusOf(fault) === 501) return {};
      throw fault;
    }
  }

  /** @param {unknown} fault */
  tellFault(fault) {
    if (!isAbort(fault)) this.emit({ type: "request_fault", message: messageOf(fault) });
  }
}

/**
 * The record up to the first message that the stream tells of too: it tells everything that follows.
 * @param {Message[]} messages
 * @param {AgentEvent[]} events
 * @returns {Message[] | null} null when they tell nothing of it
 */
export function beforeTold(messages, events) {
  const ids = new Set(events.map((event) => (event.type === "user_message" ? event.id : event.reply_id)).filter(Boolean));
  const at = ids.size > 0 ? messages.findIndex((message) => message.id && ids.has(message.id)) : -1;
  return at < 0 ? null : messages.slice(0, at);
}

/** @type {(fault: unknown) => number | undefined} */
function statusOf(fault) {
  return /** @type {{status?: number}} */ (fault).status;
}

/** Whether asking again would be refused again. @type {(fault: unknown) => boolean} */
function isRefusal(fault) {
  const status = statusOf(fault);
  return status !== undefined && status >= 400 && status < 500 && status !== 429;
}

/** @type {(ms: number, signal: AbortSignal) => Promise<void>} */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
