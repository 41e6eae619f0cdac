import assert from "node:assert/strict";
import { test } from "node:test";

import { GloveClient } from "../../../../agents/web/client/client.js";
import { beforeTold, relayTransport } from "../../../../agents/web/client/relay-transport.js";

const until = async (condition) => {
  for (let i = 0; i < 2000 && !condition(); i++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(condition());
};
const json = (value, status = 200) => new Response(status === 204 ? null : JSON.stringify(value), { status });

/** A server of one session: `tell` sends events to all who follow, `kept` is its record. */
class Server {
  constructor() {
    this.kept = { "/messages": { messages: [] }, "/tokens": { turns: 0, tokens_in: 0, tokens_out: 0 }, "/tasks": { tasks: [] }, "/inbox": { items: [] } };
    this.attached = { type: "attached", session_id: "s", busy: false, slots: [] };
    this.streams = [];
    this.asked = [];
    this.answers = {};
  }

  fetch = async (url, { method = "GET", body, signal } = {}) => {
    const path = url.replace("/api/sessions/s", "");
    if (method === "POST") this.asked.push([path, JSON.parse(body)]);
    if (this.answers[path]) return this.answers[path]();
    if (path === "/events") return this.follow([this.attached], signal);
    if (path === "/chat") return this.follow([], signal);
    return path in this.kept ? json(this.kept[path]) : json(null, 204);
  };

  follow(first, signal) {
    const stream = new ReadableStream({
      start: (controller) => {
        this.streams.push(controller);
        for (const event of first) controller.enqueue(frame(event));
        signal?.addEventListener("abort", () => controller.error(signal.reason));
      },
    });
    return new Response(stream);
  }

  tell(...events) {
    for (const event of events) for (const stream of this.streams) stream.enqueue(frame(event));
  }
}

const frame = (event) => new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`);
const open = async (server) => {
  const client = new GloveClient({
    sessionId: "s",
    transport: (sessionId, emit) => relayTransport({ server: "/api/", sessionId, fetch: server.fetch }, emit),
  });
  await client.opened;
  return client;
};
const texts = (client) => client.state.timeline.map((entry) => entry.text ?? `${entry.name}:${entry.status}`);
const done = { type: "done", message: { sender: "agent", text: "Hello." } };

test("a message goes to the server, and what comes of it is told by the stream", async () => {
  const server = new Server();
  const client = await open(server);
  const sending = client.sendMessage("hi", [{ data: "AAAA", media_type: "image/png" }]);
  await until(() => server.streams.length === 2);
  assert.deepEqual(server.asked[0], ["/chat", { message: "hi", images: [{ data: "AAAA", media_type: "image/png" }] }]);
  assert.equal(client.state.busy, true);
  assert.equal(await client.sendMessage("again"), false);
  const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
  server.tell({ type: "user_message", id: "u", text: "hi", content: [picture] }, { type: "text_delta", text: "Hel" });
  await until(() => client.state.streamingText === "Hel");
  assert.deepEqual(client.state.timeline[0].images, ["data:image/png;base64,AAAA"]);
  server.tell({ type: "text_delta", text: "lo." }, done);
  assert.equal(await sending, true);
  await until(() => !client.state.busy);
  assert.deepEqual(texts(client), ["hi", "Hello."]);
  client.close();
});

test("the record is shown first: what was said, used, planned, and what is asked right now", async () => {
  const server = new Server();
  server.kept["/messages"].messages = [{ sender: "user", text: "before" }, { sender: "agent", text: "Yes." }];
  server.kept["/tokens"] = { turns: 3, tokens_in: 9, tokens_out: 1 };
  server.kept["/tasks"].tasks = [{ id: "t", content: "sweep", activeForm: "", status: "pending" }];
  server.attached.slots = [{ id: "slot_4", renderer: "confirm_action", input: {}, blocking: true }];
  const client = await open(server);
  assert.deepEqual(texts(client), ["before", "Yes."]);
  assert.deepEqual([client.state.stats.turns, client.state.stats.tokens_in, client.state.tasks[0].content], [3, 9, "sweep"]);
  assert.equal(client.state.slots[0].id, "slot_4");
  client.close();
});

test("a tab that comes in mid-turn shows the turn once", async () => {
  const server = new Server();
  server.kept["/messages"].messages = [{ sender: "user", text: "one" }, { sender: "agent", text: "One." }, { sender: "user", text: "two", id: "t2" }];
  server.attached.busy = true;
  server.attached.slots = [{ id: "slot_1", renderer: "look", input: {}, blocking: true }];
  const follow = server.follow.bind(server);
  server.follow = (first, signal) =>
    follow(first.length > 0 ? [...first, { type: "user_message", text: "two", id: "t2" }, { type: "tool_use", id: "a", name: "look" }] : [], signal);
  const client = await open(server);
  await until(() => client.state.timeline.length === 4);
  assert.deepEqual(texts(client), ["one", "One.", "two", "look:running"]);
  assert.equal(client.state.busy, true);
  server.tell({ type: "tool_use_result", call_id: "a", tool_name: "look", result: { status: "success", data: 1 } }, done);
  await until(() => !client.state.busy);
  assert.deepEqual(texts(client), ["one", "One.", "two", "look:success"]);
  client.close();
});

test("stopping asks the server, and a stopped turn looks stopped", async () => {
  const server = new Server();
  const client = await open(server);
  const sending = client.sendMessage("hi");
  await until(() => server.streams.length === 2);
  server.tell({ type: "user_message", text: "hi" }, { type: "tool_use", id: "a", name: "look" });
  await until(() => client.state.timeline.length === 2);
  client.abort();
  server.tell({ ...done, aborted: true });
  await sending;
  await until(() => !client.state.busy);
  assert.deepEqual(server.asked.map(([path]) => path), ["/chat", "/abort"]);
  assert.deepEqual(texts(client), ["hi", "look:aborted"]);
  client.close();
});

test("a turn that fails says why", async () => {
  const server = new Server();
  const client = await open(server);
  const sending = client.sendMessage("hi");
  await until(() => server.streams.length === 2);
  server.tell({ type: "user_message", text: "hi" }, { ...done, error: { code: "E", message: "no model" } });
  await sending;
  await until(() => !client.state.busy);
  assert.deepEqual(texts(client), ["hi", "Error: no model"]);
  client.close();
});

test("a message that the server refuses says why, and the next one may be sent", async () => {
  const server = new Server();
  server.answers["/chat"] = () => json({ code: "ERR_SESSION_BUSY", error: "This session is answering already." }, 409);
  const client = await open(server);
  assert.equal(await client.sendMessage("hi"), false);
  assert.match(texts(client)[0], /409 This session is answering already/);
  assert.equal(client.state.busy, false);
  client.close();
});

test("answers go to the server; one that comes too late closes the question", async () => {
  const server = new Server();
  const client = await open(server);
  server.tell({ type: "slot", id: "slot_1", renderer: "x", input: {}, blocking: true }, { type: "slot", id: "slot_2", renderer: "x", input: {}, blocking: true });
  await until(() => client.state.slots.length === 2);
  assert.equal(await client.resolveSlot("slot_1", [1]), true);
  assert.deepEqual(server.asked.at(-1), ["/slots/slot_1/resolve", { value: [1] }]);
  server.answers["/slots/slot_2/reject"] = () => json({ error: "gone" }, 404);
  assert.equal(await client.rejectSlot("slot_2", "no"), false);
  assert.deepEqual(client.state.slots.map((slot) => slot.id), ["slot_1"]);
  client.close();
});

test("a stream that breaks is taken up again with the whole record", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const server = new Server();
  const client = await open(server);
  server.kept["/messages"].messages = [{ sender: "user", text: "meanwhile" }];
  server.streams.splice(0)[0].close();
  await until(() => (context.mock.timers.tick(500), texts(client).length === 1));
  assert.deepEqual(texts(client), ["meanwhile"]);
  client.close();
});

test("a session that is refused is not asked for again", async () => {
  const server = new Server();
  let tries = 0;
  server.answers["/events"] = () => ((tries += 1), json({ error: "The token is missing or not valid." }, 401));
  const client = await open(server);
  assert.match(texts(client)[0], /401 The token is missing/);
  assert.equal(tries, 1);
  client.close();
});

test("a record that keeps no tasks is no fault", async () => {
  const server = new Server();
  server.answers["/tasks"] = () => json({ error: "not kept" }, 501);
  const client = await open(server);
  assert.deepEqual([client.state.tasks, texts(client)], [[], []]);
  client.close();
});

test("the record ends where the stream begins, whatever words are said again", () => {
  const record = [
    { sender: "user", text: "again", id: "t1" },
    { sender: "agent", text: "A", id: "r1" },
    { sender: "user", text: "old server" },
    { sender: "user", text: "<events/>", framework_context: "event" },
    { sender: "agent", text: "Ring!", id: "r2" },
  ];
  const told = (id) => ({ type: "user_message", id, text: "again" });
  assert.equal(beforeTold(record, [told("t9"), { type: "text_delta", text: "x" }]), null);
  assert.deepEqual(beforeTold(record, [told("t1"), { type: "text_delta", reply_id: "r1" }]), []);
  assert.deepEqual(beforeTold(record, [{ type: "text_delta", text: "Ring!", reply_id: "r2" }]), record.slice(0, 4));
});

test("a turn that begins while the record is read is shown once, however late the stream is", async () => {
  const server = new Server();
  const before = [{ sender: "user", text: "hi", id: "t1" }, { sender: "agent", text: "Hello.", id: "r1" }];
  server.kept["/messages"].messages = [...before, { sender: "user", text: "hi", id: "t2" }];
  const client = await open(server);
  server.tell({ type: "user_message", text: "hi", id: "t2" }, { type: "text_delta", text: "Hello again.", reply_id: "r2" });
  await until(() => client.state.streamingText === "Hello again.");
  assert.deepEqual(texts(client), ["hi", "Hello.", "hi"]);
  server.tell(done, { type: "user_message", text: "hi", id: "t3" });
  await until(() => client.state.busy && client.state.timeline.length === 5);
  assert.deepEqual(texts(client), ["hi", "Hello.", "hi", "Hello again.", "hi"]);
  client.close();
});

test("a turn that the record does not hold yet hides nothing that was said in the same words", async () => {
  const server = new Server();
  server.kept["/messages"].messages = [{ sender: "user", text: "hi", id: "t1" }, { sender: "agent", text: "Hello.", id: "r1" }];
  const follow = server.follow.bind(server);
  server.follow = (first, signal) => follow(first.length > 0 ? [...first, { type: "user_message", text: "hi", id: "t2" }] : [], signal);
  const client = await open(server);
  await until(() => client.state.timeline.length === 3);
  assert.deepEqual(texts(client), ["hi", "Hello.", "hi"]);
  client.close();
});
