import assert from "node:assert/strict";
import { test } from "node:test";

import { createEndpointModel, createRemoteModel } from "../../../../agents/web/client/endpoint-model.js";

const REQUEST = { systemPrompt: "Be brief.", messages: [{ sender: "user", text: "hi" }], tools: [] };
const stream = (...events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const answering = (body, init) => {
  const asked = [];
  const send = async (url, options) => (asked.push({ url, ...options }), new Response(body, init));
  return { asked, model: createEndpointModel("/api/chat", { fetch: send, headers: { "x-a": "b" } }) };
};
const done = { type: "done", message: { sender: "agent", text: "Hello." }, tokens_in: 5, tokens_out: 2, cache_read_input_tokens: 3 };

test("an endpoint streams text and tools, and its last event is the answer", async () => {
  const { asked, model } = answering(
    stream({ type: "text_delta", text: "Hel" }, { type: "tool_use", id: "a", name: "look", input: {} }, done),
  );
  const told = [];
  const result = await model.prompt(REQUEST, (event) => told.push(event));
  assert.deepEqual(JSON.parse(asked[0].body), REQUEST);
  assert.equal(asked[0].headers["x-a"], "b");
  assert.deepEqual(told.map((event) => event.type), ["text_delta", "tool_use", "model_response_complete"]);
  assert.deepEqual(result, {
    messages: [done.message],
    tokens_in: 5,
    tokens_out: 2,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 0,
  });
  assert.equal(model.name, "endpoint:/api/chat");
});

test("a refusal says its status and its reason", async () => {
  const { model } = answering(JSON.stringify({ error: "messages: missing" }), { status: 400 });
  await assert.rejects(model.prompt(REQUEST, () => {}), { code: "ERR_CHAT_ENDPOINT", message: /400 messages: missing/ });
});

test("an answer that is an error is one, not words of the agent", async () => {
  const failed = { ...done, message: { sender: "agent", text: "Error: broke" }, error: { code: "E", message: "broke" } };
  await assert.rejects(answering(stream(failed)).model.prompt(REQUEST, () => {}), { code: "ERR_MODEL", message: "broke" });
});

test("a stream that ends before its answer is a fault", async () => {
  const { model } = answering(stream({ type: "text_delta", text: "Hel" }));
  await assert.rejects(model.prompt(REQUEST, () => {}), { code: "ERR_CHAT_ENDPOINT" });
});

test("a remote model prefers to stream, and passes on what its functions count", async () => {
  const result = { messages: [{ sender: "agent", text: "Hi.", tool_calls: [{ id: "a", tool_name: "look", input_args: 1 }] }], tokens_in: 1, tokens_out: 2, cache_read_input_tokens: 3 };
  const told = [];
  const streaming = createRemoteModel("mine", { prompt: async () => assert.fail(), promptStream: async () => result });
  assert.equal((await streaming.prompt(REQUEST, (event) => told.push(event.type))).cache_read_input_tokens, 3);
  assert.deepEqual(told, ["model_response_complete"]);
  const whole = createRemoteModel("mine", { prompt: async () => result });
  told.length = 0;
  await whole.prompt(REQUEST, (event) => told.push(event.type));
  assert.deepEqual(told, ["model_response", "tool_use"]);
});
