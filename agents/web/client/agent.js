// An agent that runs in the browser: the model is behind an endpoint, tools and display are here.

import { postToInbox, updateTasks } from "./builtin-tools.js";
import { check } from "./errors.js";
import { Executor, schemaOf } from "./toolbox.js";

/** @import { DisplayStack } from "./display.js" */
/** @import { Model, ModelResult } from "./endpoint-model.js" */
/** @import { Store } from "./memory-store.js" */
/** @import { Tool } from "./toolbox.js" */
/** @import { AgentEvent, ContentPart, Image, InboxItem, Message } from "./types.js" */

/** Calls of the model that one request may take. */
export const MOST_TURNS = 120;

/** Tokens in and out since the last summary, after which history is summarised. */
export const CONTEXT_LIMIT = 100_000;

/** Share of the limit from which a summary is made before a reply with tools is stored. */
const IMMINENT = 0.9;

const INSTRUCTIONS = "Summarise the conversation so far. Keep the key context, the decisions and the current state.";

/** @typedef {{instructions?: string, limit?: number}} Compaction */

/** Answers requests one at a time. Whoever calls `ask` waits for the one before. */
export class Agent {
  /**
   * @param {{
   *   model: Model,
   *   store: Store,
   *   display: DisplayStack,
   *   systemPrompt: string,
   *   tools?: Tool[],
   *   compaction?: Compaction,
   *   emit: (event: AgentEvent) => void,
   * }} parts
   */
  constructor({ model, store, display, systemPrompt, tools = [], compaction = {}, emit }) {
    this.model = model;
    this.store = store;
    this.systemPrompt = systemPrompt;
    this.emit = emit;
    this.instructions = compaction.instructions ?? INSTRUCTIONS;
    this.limit = compaction.limit ?? CONTEXT_LIMIT;
    const own = new Set(tools.map((tool) => tool.name));
    this.tools = [...[updateTasks, postToInbox].filter((tool) => !own.has(tool.name)), ...tools];
    this.executor = new Executor(this.tools, { display, store, emit });
  }

  /**
   * Rejects with an `AbortError` when `signal` aborts, and with the fault of the model.
   * @param {{text: string, images?: Image[]}} request
   * @param {AbortSignal} [signal]
   * @returns {Promise<Message>} the last message of the agent
   */
  async ask(request, signal) {
    await this.takeInbox();
    const reminder = blockingReminder(await this.store.getInboxItems());
    await this.store.appendMessages([userMessage(request)]);
    for (let turn = 0; ; turn++) {
      check(signal);
      if (turn >= MOST_TURNS) return this.outOfTurns();
      const messages = sinceCompaction(await this.store.getMessages());
      const result = await this.call([...repaired(messages), ...reminder], signal);
      check(signal);
      const calls = result.messages.flatMap((message) => message.tool_calls ?? []);
      if (calls.length > 0 && (await this.store.getTokenCount()) >= IMMINENT * this.limit) await this.compact(signal);
      await this.keep(result);
      if (calls.length === 0) return result.messages[result.messages.length - 1];
      const tool_results = await this.executor.run(calls, signal);
      await this.store.appendMessages([{ sender: "user", text: "tool results", tool_results }]);
      check(signal);
      if ((await this.store.getTokenCount()) >= this.limit) await this.compact(signal);
    }
  }

  /** @param {Message[]} messages @param {AbortSignal | undefined} signal */
  call(messages, signal) {
    return this.model.prompt(
      { systemPrompt: this.systemPrompt, messages, tools: this.tools.map(schemaOf) },
      this.emit,
      signal,
    );
  }

  /** @param {ModelResult} result */
  async keep({ messages, ...usage }) {
    await this.store.appendMessages(messages);
    await this.store.addTokens(usage);
    await this.store.incrementTurn();
    this.emit({ type: "token_consumption", consumption: usage });
  }

  async outOfTurns() {
    const text = `I have reached the most turns that one request may take (${MOST_TURNS}). Send another message to go on.`;
    /** @type {Message} */
    const message = { sender: "agent", text };
    await this.store.appendMessages([message]);
    this.emit({ type: "model_response", text });
    return message;
  }

  /** Put a summary in the place of what the model would read. @param {AbortSignal | undefined} signal */
  async compact(signal) {
    this.emit({ type: "compaction_start", current_token_consumption: await this.store.getTokenCount() });
    const messages = repaired(sinceCompaction(await this.store.getMessages()));
    /** @type {Message} */
    const request = { sender: "user", text: this.instructions, is_compaction_request: true };
    const { messages: replies, ...usage } = await this.model.prompt(
      { systemPrompt: this.systemPrompt, messages: [...messages, request] },
      this.emit,
      signal,
    );
    const summary = replies.map((message) => message.text).filter(Boolean).join("\n") || "Nothing was summarised.";
    const pending = (await this.store.getInboxItems()).filter((item) => item.status === "pending").map(pendingLine);
    const text = ["[Conversation summary from compaction]", summary, ...pending, "[End of summary]"].join("\n");
    await this.store.resetCounters();
    await this.store.appendMessages([{ sender: "user", text, is_compaction: true }]);
    await this.store.addTokens({ tokens_in: 0, tokens_out: usage.tokens_out });
    this.emit({
      type: "compaction_end",
      current_token_consumption: usage.tokens_out,
      summary_message: text,
      consumption: usage,
    });
  }

  /** What was answered from outside becomes a message, once. */
  async takeInbox() {
    const resolved = await this.store.getResolvedInboxItems();
    if (resolved.length === 0) return;
    const lines = resolved.map((item) => `- ${item.tag}: ${item.request} → ${item.response ?? ""} (${item.resolved_at ?? ""})`);
    const text = [`[Inbox: ${resolved.length} item(s) resolved]`, ...lines].join("\n");
    await this.store.appendMessages([{ sender: "user", text, framework_context: "inbox" }]);
    for (const item of resolved) await this.store.updateInboxItem(item.id, { status: "consumed" });
  }
}

/** @type {(request: {text: string, images?: Image[]}) => Message} */
function userMessage({ text, images = [] }) {
  if (images.length === 0) return { sender: "user", text };
  /** @type {ContentPart[]} */
  const content = images.map(({ data, media_type }) => ({ type: "image", source: { type: "base64", media_type, data } }));
  if (text) content.push({ type: "text", text });
  return { sender: "user", text: text || "[multimodal message]", content };
}

/** @type {(messages: Message[]) => Message[]} */
function sinceCompaction(messages) {
  const at = messages.findLastIndex((message) => message.is_compaction);
  return at < 0 ? messages : messages.slice(at);
}

/** Calls that a closed page has left without results get them, or providers refuse history. @type {(messages: Message[]) => Message[]} */
function repaired(messages) {
  return messages.flatMap((message, index) => {
    const next = messages[index + 1];
    if (!message.tool_calls?.length || next?.tool_results) return [message];
    const tool_results = message.tool_calls.map((call) => ({
      tool_name: call.tool_name,
      call_id: call.id,
      result: { status: /** @type {const} */ ("aborted"), data: null, message: "It was interrupted." },
    }));
    return [message, { sender: /** @type {const} */ ("user"), text: "tool results", tool_results }];
  });
}

/** @type {(items: InboxItem[]) => Message[]} */
function blockingReminder(items) {
  const waiting = items.filter((item) => item.status === "pending" && item.blocking);
  if (waiting.length === 0) return [];
  const header = `[Inbox: ${waiting.length} blocking item(s) still pending]`;
  const text = [header, ...waiting.map(pendingLine)].join("\n");
  return [{ sender: "user", text, framework_context: "inbox" }];
}

/** @type {(item: InboxItem) => string} */
function pendingLine(item) {
  return `- ${item.tag} (${item.blocking ? "BLOCKING" : "non-blocking"}): ${item.request} (posted ${item.created_at})`;
}
