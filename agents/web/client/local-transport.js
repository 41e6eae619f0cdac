// A client whose agent runs in the browser.

import { Agent } from "./agent.js";
import { DisplayStack } from "./display.js";
import { MemoryStore } from "./memory-store.js";

/** @import { Compaction } from "./agent.js" */
/** @import { Emit, Transport } from "./client.js" */
/** @import { Model } from "./endpoint-model.js" */
/** @import { Store } from "./memory-store.js" */
/** @import { Tool } from "./toolbox.js" */

/**
 * @param {{
 *   sessionId: string,
 *   model: Model,
 *   systemPrompt: string,
 *   store?: Store,
 *   tools?: Tool[],
 *   compaction?: Compaction,
 * }} parts `store` keeps the conversation; in memory without it
 * @param {Emit} emit
 * @returns {Transport}
 */
export function localTransport({ sessionId, model, systemPrompt, store = new MemoryStore(sessionId), tools, compaction }, emit) {
  const display = new DisplayStack(emit);
  const agent = new Agent({ model, store, display, systemPrompt, tools, compaction, emit });
  const kept = async () => ({ tasks: await store.getTasks(), inbox: await store.getInboxItems() });
  return {
    async open() {
      const { tokens_in, tokens_out, cache_read_input_tokens, cache_creation_input_tokens } =
        await store.getTokenConsumption();
      const stats = { tokens_in, tokens_out, cache_read_input_tokens, cache_creation_input_tokens };
      return { messages: await store.getMessages(), ...(await kept()), stats: { ...stats, turns: await store.getTurnCount() } };
    },
    async send(request, signal) {
      try {
        await agent.ask(request, signal);
      } finally {
        // A question whose asker was stopped is nobody's any more.
        for (const id of [...display.waiters.keys()]) display.removeSlot(id);
      }
      return kept();
    },
    async resolveSlot(id, value) {
      return display.resolve(id, value) || display.removeSlot(id);
    },
    async rejectSlot(id, reason) {
      return display.reject(id, reason === undefined ? undefined : new Error(reason)) || display.removeSlot(id);
    },
    close: () => display.clearStack(),
  };
}
