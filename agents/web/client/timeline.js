// What a conversation looks like after an event: a pure function from state and event to state.
//
// Beside the agent's own events it takes `user_message`, `request_end`, `announcement`, `heard`, `tasks`, `inbox` and
// `restored`. Entries are never changed in place: whoever draws them can compare by identity.

import { hydrate } from "./hydrate.js";
import { finish } from "./results.js";

/** @import { AgentEntry, AgentEvent, ClientState, TimelineEntry, ToolEntry, ToolResultData } from "./types.js" */

/** Entries that are kept; the oldest go first. */
export const MOST_ENTRIES = 1000;

/**
 * @typedef {ClientState & {
 *   streamingReply: string,
 *   streamed: boolean,
 *   subagents: string[],
 *   serial: number,
 * }} TimelineState what is shown, and what the reducer has to remember
 */

/** @returns {TimelineState} before anything has happened */
export function initialState() {
  return {
    busy: false,
    isCompacting: false,
    timeline: [],
    streamingText: "",
    tasks: [],
    inbox: [],
    slots: [],
    stats: { turns: 0, tokens_in: 0, tokens_out: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    voice: null,
    streamingReply: "",
    streamed: false,
    subagents: [],
    serial: 0,
  };
}

/**
 * @param {TimelineState} state
 * @param {AgentEvent} event events of unknown names change nothing
 * @returns {TimelineState} the same object when nothing has changed
 */
export function reduce(state, event) {
  return Object.hasOwn(STEPS, event.type) ? STEPS[event.type](state, event) : state;
}

/** @type {Record<string, (state: TimelineState, event: AgentEvent) => TimelineState>} */
const STEPS = {
  user_message: (state, event) => {
    /** @type {TimelineEntry} */
    const entry = { kind: "user", key: "", text: String(event.text ?? "") };
    if (event.images?.length) entry.images = event.images;
    return add(flush(state), entry);
  },
  request_start: (state) => (state.busy ? state : { ...state, busy: true }),
  text_delta: (state, event) => {
    if (silent(state) || !event.text) return state;
    return { ...write(state, event.text, event.reply_id), streamed: true };
  },
  model_response: response,
  model_response_complete: response,
  tool_use: toolUse,
  tool_use_result: toolResult,
  compaction_start: (state) => ({ ...state, isCompacting: true }),
  compaction_end: (state) => ({ ...state, isCompacting: false }),
  token_consumption: (state, event) => ({ ...state, stats: sum(state.stats, event.consumption ?? {}) }),
  subagent_invoked: (state, event) => ({ ...state, subagents: [...state.subagents, String(event.name)] }),
  subagent_completed: (state) => ({ ...state, subagents: state.subagents.slice(0, -1) }),
  announcement: (state, event) => {
    /** @type {AgentEntry} */
    const entry = { kind: "agent_text", key: "", text: String(event.text ?? ""), announcement: true };
    if (event.reply_id) entry.reply_id = event.reply_id;
    if (state.slots.some((slot) => slot.blocking)) entry.asking = true;
    return add(flush(state), entry);
  },
  heard,
  tasks: (state, event) => ({ ...state, tasks: list(event.tasks) }),
  inbox: (state, event) => ({ ...state, inbox: list(event.inbox) }),
  voice: (state, event) => ({ ...state, voice: event.voice ?? null }),
  flush,
  request_end: requestEnd,
  request_fault: (state, event) => failed(flush(state), event),
  restored,
};

/**
 * What was stored, and then `events` that have been told before: none of it is news.
 * @type {(state: TimelineState, event: AgentEvent) => TimelineState}
 */
function restored(state, event) {
  const { busy, slots, voice, serial } = state;
  const stored = {
    ...initialState(),
    ...{ busy, slots, voice, serial },
    timeline: hydrate(event.messages ?? []).slice(-MOST_ENTRIES),
    tasks: list(event.tasks),
    inbox: list(event.inbox),
    stats: sum(initialState().stats, event.stats ?? {}, true),
  };
  const told = /** @type {AgentEvent[]} */ (list(event.events)).reduce(reduce, /** @type {TimelineState} */ (stored));
  const timeline = told.timeline.map((entry) => (isNews(entry) ? { ...entry, key: `kept_${entry.key}` } : entry));
  return { ...told, timeline };
}

/** @param {TimelineEntry} entry @returns {boolean} whether it has happened since the conversation was opened here */
export function isNews(entry) {
  return entry.key.startsWith("live_");
}

/** Words that are not for the user: a summary being written, or a subagent talking to the agent. */
function silent(/** @type {TimelineState} */ state) {
  return state.isCompacting || state.subagents.length > 0;
}

/** @type {(state: TimelineState, event: AgentEvent) => TimelineState} */
function response(state, event) {
  if (state.isCompacting) return { ...state, streamed: false };
  const stats = { ...state.stats, turns: state.stats.turns + 1 };
  const unseen = !state.streamed && !silent(state) && event.text;
  const shown = unseen ? write(state, event.text, event.reply_id) : state;
  return { ...(silent(state) ? shown : flush(shown)), stats, streamed: false };
}

/** @type {(state: TimelineState, text: string, replyId?: string) => TimelineState} */
function write(state, text, replyId = "") {
  const begun = state.streamingText && replyId !== state.streamingReply ? flush(state) : state;
  return { ...begun, streamingText: begun.streamingText + text, streamingReply: replyId };
}

/** @type {(state: TimelineState) => TimelineState} */
function flush(state) {
  const text = state.streamingText.trim();
  if (!state.streamingText) return state;
  const emptied = { ...state, streamingText: "", streamingReply: "" };
  if (!text) return emptied;
  /** @type {AgentEntry} */
  const entry = { kind: "agent_text", key: "", text };
  if (state.streamingReply) entry.reply_id = state.streamingReply;
  return add(emptied, entry);
}

/** @type {(state: TimelineState, entry: TimelineEntry) => TimelineState} */
function add(state, entry) {
  const serial = state.serial + 1;
  const timeline = [...state.timeline, { ...entry, key: `live_${serial}` }].slice(-MOST_ENTRIES);
  return { ...state, serial, timeline };
}

/** @type {(state: TimelineState, event: AgentEvent) => TimelineState} */
function toolUse(state, event) {
  const flushed = flush(state);
  /** @type {ToolEntry} */
  const entry = {
    kind: "tool",
    key: "",
    id: event.id || `tool_${flushed.serial + 1}`,
    name: String(event.name),
    input: event.input,
    status: "running",
  };
  if (state.subagents.length > 0) entry.subagent = state.subagents[state.subagents.length - 1];
  return add(flushed, entry);
}

/** @type {(state: TimelineState, event: AgentEvent) => TimelineState} */
function toolResult(state, event) {
  const id = event.call_id ?? event.id;
  const name = event.tool_name ?? event.name;
  const result = /** @type {ToolResultData} */ (event.result ?? { status: "success" });
  const at = openCall(state.timeline, id, name);
  const settled = at < 0 ? state : replace(state, at, finish(/** @type {ToolEntry} */ (state.timeline[at]), result));
  const tasks = result.status === "success" && name === "glove_update_tasks" ? result.data?.tasks : undefined;
  return Array.isArray(tasks) ? { ...settled, tasks } : settled;
}

/** A call that was taken for aborted may still be told its result. @type {(timeline: TimelineEntry[], id: string, name: string) => number} */
function openCall(timeline, id, name) {
  const named = (/** @type {TimelineEntry} */ entry) => entry.kind === "tool" && (id ? entry.id === id : entry.name === name);
  const running = timeline.findIndex((entry) => named(entry) && /** @type {ToolEntry} */ (entry).status === "running");
  if (running >= 0 || !id) return running;
  return timeline.findLastIndex((entry) => named(entry) && /** @type {ToolEntry} */ (entry).status === "aborted");
}

/** @type {(state: TimelineState, at: number, entry: TimelineEntry) => TimelineState} */
function replace(state, at, entry) {
  const timeline = [...state.timeline];
  timeline[at] = entry;
  return { ...state, timeline };
}

/** @type {(state: TimelineState, event: AgentEvent) => TimelineState} */
function requestEnd(state, event) {
  const flushed = flush(state);
  const ended = event.outcome === "success" ? flushed : { ...flushed, timeline: flushed.timeline.map(abandon) };
  const over = {
    ...ended,
    busy: false,
    isCompacting: false,
    streamed: false,
    subagents: [],
    tasks: event.tasks ? list(event.tasks) : ended.tasks,
    inbox: event.inbox ? list(event.inbox) : ended.inbox,
  };
  return event.outcome === "error" ? failed(over, event) : over;
}

/** @type {(state: TimelineState, event: AgentEvent) => TimelineState} */
function failed(state, event) {
  return add(state, { kind: "agent_text", key: "", text: `Error: ${event.message}`, error: true });
}

/** @type {(entry: TimelineEntry) => TimelineEntry} */
function abandon(entry) {
  return entry.kind === "tool" && entry.status === "running" ? { ...entry, status: "aborted" } : entry;
}

/**
 * How much of a spoken reply was heard. A reply with tools in it has several entries, which share its words in order.
 * @type {(state: TimelineState, event: AgentEvent) => TimelineState}
 */
function heard(state, event) {
  const flushed = state.streamingReply === event.reply_id ? flush(state) : state;
  let left = String(event.text ?? "");
  let changed = false;
  const timeline = flushed.timeline.map((entry) => {
    if (entry.kind !== "agent_text" || !event.reply_id || entry.reply_id !== event.reply_id) return entry;
    changed = true;
    if (event.complete) return withHeard(entry, entry.text, "");
    const cut = commonEnd(entry.text, left);
    if (cut.whole === entry.text.length) {
      left = left.slice(cut.part);
      return withHeard(entry, entry.text, "");
    }
    const known = cut.part === left.length;
    const said = known ? entry.text.slice(0, cut.whole) : left.trim();
    left = "";
    return withHeard(entry, said, known ? entry.text.slice(cut.whole) : "", "interrupted");
  });
  return changed ? { ...flushed, timeline } : flushed;
}

/** @type {(entry: AgentEntry, text: string, unheard: string, how?: "complete" | "interrupted") => AgentEntry} */
function withHeard(entry, text, unheard, how = "complete") {
  const { unheard: _, ...rest } = entry;
  return unheard.trim() ? { ...rest, text, heard: how, unheard } : { ...rest, text, heard: how };
}

/**
 * How far `whole` begins with `part`, whatever white space is between the words.
 * @param {string} whole
 * @param {string} part
 * @returns {{whole: number, part: number}} where they part, in each of them
 */
function commonEnd(whole, part) {
  let [i, j] = [skip(whole, 0), skip(part, 0)];
  while (i < whole.length && j < part.length && whole[i] === part[j]) [i, j] = [skip(whole, i + 1), skip(part, j + 1)];
  return { whole: i, part: j };
}

/** @type {(text: string, from: number) => number} */
function skip(text, from) {
  let at = from;
  while (at < text.length && /\s/.test(text[at])) at++;
  return at;
}

/** @type {(stats: ClientState["stats"], more: Record<string, unknown>, turns?: boolean) => ClientState["stats"]} */
function sum(stats, more, turns = false) {
  const counters = /** @type {(keyof ClientState["stats"])[]} */ (Object.keys(stats));
  const added = { ...stats };
  for (const name of counters) if (turns || name !== "turns") added[name] += Number(more[name] ?? 0) || 0;
  return added;
}

/** @template T @param {T[] | undefined | null} value @returns {T[]} */
function list(value) {
  return Array.isArray(value) ? value : [];
}

/**
 * The call that is at work: the oldest one that runs, or the one that `slot` names.
 * @param {TimelineEntry[]} timeline
 * @param {{renderer: string, input?: any}} slot
 * @returns {ToolEntry | null}
 */
export function callOf(timeline, slot) {
  const running = /** @type {ToolEntry[]} */ (timeline.filter((entry) => entry.kind === "tool" && entry.status === "running"));
  const named = slot.input?.toolName ?? slot.renderer;
  return running.find((entry) => entry.name === named) ?? running[0] ?? null;
}
