// Models that answer elsewhere: behind an endpoint of this server, or behind functions of the caller.

import { GloveError } from "./errors.js";
import { sseValues } from "./sse.js";

/** @import { AgentEvent, Message } from "./types.js" */

/** @typedef {{name: string, description: string, parameters: object}} ToolSchema `parameters` is JSON Schema */

/** @typedef {{systemPrompt: string, messages: Message[], tools?: ToolSchema[]}} ModelRequest */

/**
 * @typedef {object} ModelResult
 * @property {Message[]} messages
 * @property {number} tokens_in
 * @property {number} tokens_out
 * @property {number} [cache_read_input_tokens]
 * @property {number} [cache_creation_input_tokens]
 */

/** @typedef {(event: AgentEvent) => void} Notify */

/**
 * @typedef {object} Model
 * @property {string} name
 * @property {(request: ModelRequest, notify: Notify, signal?: AbortSignal) => Promise<ModelResult>} prompt
 */

/**
 * The model behind a chat endpoint: one POST is one call of the model.
 * @param {string | URL} url
 * @param {{fetch?: typeof fetch, headers?: Record<string, string>}} [options]
 * @returns {Model} whose `prompt` rejects with a `GloveError` when the endpoint refuses, fails, or ends too early
 */
export function createEndpointModel(url, { fetch: send = (...request) => fetch(...request), headers = {} } = {}) {
  return {
    name: `endpoint:${url}`,
    async prompt(request, notify, signal) {
      const response = await send(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(request),
        signal,
      });
      if (!response.ok) throw await refusal(response);
      for await (const event of sseValues(response)) {
        if (event.type !== "done") notify(event);
        else return finished(event, notify);
      }
      throw new GloveError("ERR_CHAT_ENDPOINT", "The chat endpoint ended without an answer.", "Send the message again.");
    },
  };
}

/** @param {Response} response @returns {Promise<GloveError>} */
export async function refusal(response) {
  const body = (await response.text()).slice(0, 2000);
  return new GloveError("ERR_CHAT_ENDPOINT", `Chat endpoint error: ${response.status} ${detail(body) || response.statusText}`);
}

/** @type {(body: string) => string} */
function detail(body) {
  try {
    const { error, message } = JSON.parse(body);
    return String(error?.message ?? error ?? message ?? body);
  } catch {
    return body; // plain text
  }
}

/** @type {(event: AgentEvent, notify: Notify) => ModelResult} */
function finished(event, notify) {
  if (event.error) throw new GloveError("ERR_MODEL", String(event.error.message ?? event.error));
  return complete({ ...event, messages: [event.message] }, notify, "model_response_complete");
}

/** @type {(result: any, notify: Notify, type: string) => ModelResult} */
function complete(result, notify, type) {
  const text = result.messages.map((/** @type {Message} */ message) => message.text).join("\n");
  const calls = result.messages.flatMap((/** @type {Message} */ message) => message.tool_calls ?? []);
  notify({ type, text, ...(calls.length > 0 ? { tool_calls: calls } : {}) });
  return {
    messages: result.messages,
    tokens_in: result.tokens_in ?? 0,
    tokens_out: result.tokens_out ?? 0,
    cache_read_input_tokens: result.cache_read_input_tokens ?? 0,
    cache_creation_input_tokens: result.cache_creation_input_tokens ?? 0,
  };
}

/**
 * The model behind functions. `promptStream` is preferred; it may notify `text_delta` and `tool_use`.
 * @param {string} name
 * @param {{
 *   prompt?: (request: ModelRequest, signal?: AbortSignal) => Promise<ModelResult>,
 *   promptStream?: (request: ModelRequest, notify: Notify, signal?: AbortSignal) => Promise<ModelResult>,
 * }} functions
 * @returns {Model}
 */
export function createRemoteModel(name, { prompt, promptStream }) {
  if (!prompt && !promptStream) throw new GloveError("ERR_MODEL", "A remote model needs prompt or promptStream.");
  return {
    name,
    async prompt(request, notify, signal) {
      if (promptStream) {
        return complete(await promptStream(request, notify, signal), notify, "model_response_complete");
      }
      const result = await /** @type {NonNullable<typeof prompt>} */ (prompt)(request, signal);
      const told = complete(result, notify, "model_response");
      for (const call of result.messages.flatMap((message) => message.tool_calls ?? [])) {
        notify({ type: "tool_use", id: call.id, name: call.tool_name, input: call.input_args });
      }
      return told;
    },
  };
}
