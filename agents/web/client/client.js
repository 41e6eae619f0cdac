// A conversation as the rest of a page sees it: its state, and what can be done with it.

import { createEndpointModel } from "./endpoint-model.js";
import { GloveError, isAbort, messageOf } from "./errors.js";
import { localTransport } from "./local-transport.js";
import { Registry } from "./registry.js";
import { relayTransport } from "./relay-transport.js";
import { Session } from "./session.js";
import { reduceSlots } from "./slots.js";
import { initialState, reduce } from "./timeline.js";

/** @import { Compaction } from "./agent.js" */
/** @import { Model } from "./endpoint-model.js" */
/** @import { Store } from "./memory-store.js" */
/** @import { SlotRenderer } from "./registry.js" */
/** @import { SessionConfig } from "./session.js" */
/** @import { TimelineState } from "./timeline.js" */
/** @import { Tool } from "./toolbox.js" */
/** @import { AgentEvent, Image, InboxItem, Message, Slot, Stats, Task } from "./types.js" */

/** @typedef {(event: AgentEvent) => void} Emit */

/** @typedef {{messages?: Message[], tasks?: Task[], inbox?: InboxItem[], stats?: Partial<Stats>, slots?: Slot[]}} Kept */

/**
 * How a client reaches its agent. Whatever happens there is emitted as events.
 * @typedef {object} Transport
 * @property {() => Promise<Kept | null>} open what was said before; null when the events will tell
 * @property {(request: {text: string, images?: Image[]}, signal: AbortSignal) => Promise<{tasks?: Task[], inbox?: InboxItem[]} | void>} send
 *   settles when the request is over; rejects with an `AbortError` when it was stopped
 * @property {(id: string, value: any) => Promise<boolean>} resolveSlot false when nobody waits for it any more
 * @property {(id: string, reason?: string) => Promise<boolean>} rejectSlot
 * @property {() => void} close
 * @property {boolean} [tells] the other end tells by itself what the user has said and when a request is over; `send`
 *   settles when the message was taken
 * @property {boolean} [interruptible] a message may be sent while the agent is busy
 * @property {() => void} [abort] stops the agent where `signal` cannot
 */

/**
 * One of `endpoint`, `createModel`, `server` and `transport` says where the agent is.
 * @typedef {SessionConfig & {
 *   endpoint?: string,
 *   createModel?: () => Model,
 *   server?: string,
 *   transport?: (sessionId: string, emit: Emit) => Transport,
 *   systemPrompt?: string,
 *   createStore?: (sessionId: string) => Store,
 *   tools?: Tool[],
 *   compaction?: Compaction,
 *   renderers?: {[name: string]: SlotRenderer},
 *   subscribers?: Emit[],
 *   headers?: {[name: string]: string},
 *   store?: Store | null,
 * }} ClientConfig
 */

/** Holds one conversation. `state` is never changed in place: a new one takes its place. */
export class GloveClient {
  /** @param {ClientConfig} config */
  constructor(config) {
    this.config = config;
    this.registry = new Registry(config.renderers, config.tools);
    this.connect = connector(config);
    /** @type {Set<(state: TimelineState) => void>} */
    this.listeners = new Set();
    this.state = initialState();
    /** @type {Transport | null} */
    this.transport = null;
    /** @type {AbortController | null} */
    this.request = null;
    this.generation = 0;
    this.session = new Session(config);
    /** Settles when the conversation of the present session was read; what went wrong is in the timeline. */
    this.opened = this.session.ready ? this.open() : this.resolve();
  }

  get sessionId() {
    return this.session.id;
  }

  get sessionReady() {
    return this.session.ready;
  }

  /**
   * @param {(state: TimelineState) => void} listener called after each change; not for the present state
   * @returns {() => void} unsubscribe
   */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Ignored while the agent is busy, unless it lets itself be interrupted.
   * @param {string} text
   * @param {Image[]} [images] come before the text
   * @returns {Promise<boolean>} whether it was sent; settles when the request is over
   */
  async sendMessage(text, images = []) {
    const { transport } = this;
    const free = !this.state.busy || transport?.interruptible;
    if (!transport || !free || (!text.trim() && images.length === 0)) return false;
    const request = { text, ...(images.length > 0 ? { images } : {}) };
    return transport.tells ? this.pass(transport, request) : this.run(transport, request);
  }

  /** The other end tells what comes of it. @param {Transport} transport @param {{text: string, images?: Image[]}} request */
  async pass(transport, request) {
    const { generation } = this;
    if (!transport.interruptible) this.emit({ type: "request_start" });
    const { outcome: how, message } = await outcome(transport.send(request, new AbortController().signal));
    if (how === "error" && generation === this.generation) this.emit({ type: "request_end", outcome: how, message });
    return how === "success";
  }

  /** @param {Transport} transport @param {{text: string, images?: Image[]}} request */
  async run(transport, request) {
    const { generation } = this;
    const controller = new AbortController();
    this.request = controller;
    this.emit({ type: "request_start" });
    const images = (request.images ?? []).map(({ data, media_type }) => `data:${media_type};base64,${data}`);
    this.emit({ type: "user_message", text: request.text, images });
    const end = await outcome(transport.send(request, controller.signal));
    if (generation !== this.generation) return true;
    this.request = null;
    this.emit({ type: "request_end", ...end });
    return true;
  }

  /** Stop what the agent is doing. */
  abort() {
    this.request?.abort();
    this.transport?.abort?.();
  }

  /** Answer a question, or close a card. @param {string} id @param {any} value @returns {Promise<boolean>} */
  resolveSlot(id, value) {
    return this.settle(id, (transport) => transport.resolveSlot(id, value));
  }

  /** Refuse a question. @param {string} id @param {string} [reason] @returns {Promise<boolean>} */
  rejectSlot(id, reason) {
    return this.settle(id, (transport) => transport.rejectSlot(id, reason));
  }

  /** @param {string} id @param {(transport: Transport) => Promise<boolean>} how */
  async settle(id, how) {
    const slot = this.state.slots.find((known) => known.id === id);
    if (!this.transport || slot?.status !== "pending") return false;
    const { generation } = this;
    this.emit({ type: "slot_answered", id });
    try {
      const taken = await how(this.transport);
      if (!taken && generation === this.generation) this.emit({ type: "slot_resolve", id, answered: false, value: null });
      return taken;
    } catch (fault) {
      if (generation === this.generation) this.emit({ type: "slot_answered", id, fault: messageOf(fault) });
      return false;
    }
  }

  /** Begin another conversation. @param {string} [id] @returns {Promise<string>} its id */
  async newConversation(id) {
    const chosen = this.session.begin(id);
    await (this.opened = this.open());
    return chosen;
  }

  /** Go on with a conversation that exists. @param {string} id */
  switchConversation(id) {
    this.session.switchTo(id);
    this.opened = this.open();
  }

  /** The page's own idea of the session has changed. @param {string} id */
  setSessionId(id) {
    if (this.session.propose(id)) this.opened = this.open();
  }

  /** End everything; idempotent. */
  close() {
    this.leave();
    this.listeners.clear();
  }

  /** Take an event: the state changes, and then those who listen are told. @param {AgentEvent} event */
  emit(event) {
    const now = Date.now();
    const strategyOf = (/** @type {string} */ renderer) => this.registry.strategyOf(renderer);
    const before = this.state;
    const reduced = reduce(before, event);
    const slots = reduceSlots(reduced.slots, event, { timeline: reduced.timeline, strategyOf, now });
    this.state = slots === reduced.slots ? reduced : { ...reduced, slots };
    for (const subscriber of this.config.subscribers ?? []) guarded(() => subscriber(event));
    if (this.state !== before) for (const listener of [...this.listeners]) guarded(() => listener(this.state));
  }

  async resolve() {
    try {
      if (await this.session.resolve()) await this.open();
    } catch (fault) {
      this.emit({ type: "request_end", outcome: "error", message: messageOf(fault) });
    }
  }

  leave() {
    this.generation += 1;
    this.request?.abort();
    this.request = null;
    this.transport?.close();
    this.transport = null;
  }

  async open() {
    this.leave();
    const { generation } = this;
    const emit = (/** @type {AgentEvent} */ event) => {
      if (generation === this.generation) this.emit(event);
    };
    emit({ type: "request_end", outcome: "success" });
    emit({ type: "slots", slots: [] });
    emit({ type: "restored", messages: [] });
    const transport = this.connect(this.session.id, emit);
    try {
      const kept = await transport.open();
      if (kept) emit({ ...kept, type: "restored" });
      if (kept) emit({ type: "slots", slots: kept.slots ?? [] });
    } catch (fault) {
      emit({ type: "request_end", outcome: "error", message: messageOf(fault) });
    }
    if (generation === this.generation) this.transport = transport;
    else transport.close();
  }
}

/** @type {(config: ClientConfig) => (sessionId: string, emit: Emit) => Transport} */
function connector(config) {
  const { transport, server, endpoint, createModel, createStore, systemPrompt, headers, tools, compaction } = config;
  if (transport) return transport;
  if (server) return (sessionId, emit) => relayTransport({ server, sessionId, headers }, emit);
  if (!endpoint && !createModel) {
    throw new GloveError("ERR_CLIENT_CONFIG", "A client needs endpoint, createModel, server or transport.");
  }
  if (systemPrompt === undefined) throw new GloveError("ERR_CLIENT_CONFIG", "A client with an agent needs systemPrompt.");
  const makeModel = createModel ?? (() => createEndpointModel(/** @type {string} */ (endpoint), { headers }));
  return (sessionId, emit) => {
    const store = config.store ?? createStore?.(sessionId);
    return localTransport({ sessionId, model: makeModel(), systemPrompt, store, tools, compaction }, emit);
  };
}

/** @type {(work: Promise<any>) => Promise<{outcome: string, message?: string}>} */
async function outcome(work) {
  try {
    return { ...(await work), outcome: "success" };
  } catch (fault) {
    return isAbort(fault) ? { outcome: "aborted" } : { outcome: "error", message: messageOf(fault) };
  }
}

/** A listener that fails must stop neither the agent nor the others. @type {(call: () => void) => void} */
function guarded(call) {
  try {
    call();
  } catch (fault) {
    reportError(fault);
  }
}
