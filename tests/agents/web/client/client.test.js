import assert from "node:assert/strict";
import { test } from "node:test";

import { GloveClient } from "../../../../agents/web/client/client.js";
import { createRemoteModel } from "../../../../agents/web/client/endpoint-model.js";
import { MemoryStore } from "../../../../agents/web/client/memory-store.js";
import { defineTool } from "../../../../agents/web/client/toolbox.js";

const say = (text, ...calls) => ({
  messages: [
    {
      sender: "agent",
      text,
      ...(calls.length > 0 ? { tool_calls: calls.map(([id, tool_name, input_args = {}]) => ({ id, tool_name, input_args })) } : {}),
    },
  ],
  tokens_in: 10,
  tokens_out: 1,
});

/** A model that plays a script; a function in it is called with the request and the signal. */
const scripted = (...steps) => {
  const requests = [];
  const model = createRemoteModel("script", {
    prompt: async (request, signal) => {
      requests.push(structuredClone(request));
      const step = steps.shift() ?? assert.fail("the script is over");
      return typeof step === "function" ? step(request, signal) : step;
    },
  });
  return Object.assign(model, { requests });
};
const open = async (model, more = {}) => {
  const client = new GloveClient({ createModel: () => model, systemPrompt: "Be brief.", sessionId: "s", ...more });
  await client.opened;
  return client;
};
const texts = (client) => client.state.timeline.map((entry) => entry.text ?? `${entry.name}:${entry.status}`);
const until = async (condition) => {
  for (let i = 0; i < 1000 && !condition(); i++) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(condition());
};
const forever = (_, signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new DOMException("", "AbortError"))));

test("a message is answered, and the record has both", async () => {
  const store = new MemoryStore("s");
  const client = await open(scripted(say("Hello.")), { createStore: () => store });
  assert.equal(await client.sendMessage("hi"), true);
  assert.deepEqual(texts(client), ["hi", "Hello."]);
  assert.deepEqual((await store.getMessages()).map((message) => message.text), ["hi", "Hello."]);
  assert.deepEqual([client.state.busy, client.state.stats.turns, client.state.stats.tokens_in], [false, 1, 10]);
});

test("a message while the agent is busy is ignored, and so is an empty one", async () => {
  const client = await open(scripted(forever));
  const first = client.sendMessage("one");
  assert.equal(await client.sendMessage("two"), false);
  client.abort();
  await first;
  assert.equal(await client.sendMessage("  "), false);
  assert.deepEqual(texts(client), ["one"]);
});

test("pictures come before the text", async () => {
  const model = scripted(say("Nice."));
  const client = await open(model);
  await client.sendMessage("see", [{ data: "AAAA", media_type: "image/png" }]);
  assert.deepEqual(model.requests[0].messages[0].content.map((part) => part.type), ["image", "text"]);
  assert.deepEqual(client.state.timeline[0].images, ["data:image/png;base64,AAAA"]);
});

test("tools run in the browser, in order, and the model reads their results", async () => {
  const order = [];
  const tool = (name) => ({ name, description: "", do: async (input) => (order.push([name, input]), `${name} done`) });
  const model = scripted(say("Working.", ["a", "One", { n: 1 }], ["b", "two"]), say("Ready."));
  const client = await open(model, { tools: [tool("one"), tool("two")] });
  await client.sendMessage("go");
  assert.deepEqual(order, [["one", { n: 1 }], ["two", {}]]);
  assert.deepEqual(texts(client), ["go", "Working.", "One:success", "two:success", "Ready."]);
  const seen = model.requests[1].messages.at(-1).tool_results;
  assert.deepEqual(seen.map(({ call_id, result }) => [call_id, result.data]), [["a", "one done"], ["b", "two done"]]);
});

test("an unknown tool, and one that keeps failing, are told to the model", async () => {
  let tries = 0;
  const broken = { name: "broken", description: "", do: () => { tries += 1; throw new Error("no"); } };
  const model = scripted(say("", ["a", "brok"], ["b", "broken"]), say("Sorry."));
  const client = await open(model, { tools: [broken] });
  await client.sendMessage("go");
  const [unknown, failed] = model.requests[1].messages.at(-1).tool_results.map(({ result }) => result);
  assert.match(unknown.message, /no tool brok\. Did you mean broken/);
  assert.deepEqual([failed.status, tries], ["error", 4]);
  assert.match(failed.message, /no$/);
});

test("a question is shown with its tool, and answered", async () => {
  const ask = defineTool({ name: "ask_preference", description: "", do: (input, display) => display.pushAndWait(input) });
  const model = scripted(say("", ["a", "ask_preference", { question: "Which?" }]), say("Red it is."));
  const client = await open(model, { tools: [ask] });
  const sending = client.sendMessage("choose");
  await until(() => client.state.slots.length === 1);
  const [slot] = client.state.slots;
  assert.deepEqual(
    [slot.renderer, slot.input, slot.toolName, slot.toolCallId, slot.displayStrategy, slot.blocking],
    ["ask_preference", { question: "Which?" }, "ask_preference", "a", "hide-on-complete", true],
  );
  assert.equal(await client.resolveSlot(slot.id, "red"), true);
  await sending;
  assert.equal(model.requests[1].messages.at(-1).tool_results[0].result.data, "red");
  assert.deepEqual(client.state.slots, []);
});

test("a tool is not said to have failed when nobody could find out whether it may run", async () => {
  const refusing = () => {
    throw new Error("no rules");
  };
  const tool = { name: "open", description: "", requiresPermission: refusing, do: () => "opened" };
  const model = scripted(say("", ["a", "open"]), say("Sorry."));
  const client = await open(model, { tools: [tool] });
  await client.sendMessage("open it");
  const { result } = model.requests[1].messages.at(-1).tool_results[0];
  assert.equal(result.status, "error");
  assert.match(result.message, /may run.*no rules/);
});

test("a question that is refused is a failed call, and one that is answered twice counts once", async () => {
  const ask = defineTool({ name: "ask", description: "", do: (input, display) => display.pushAndWait(input) });
  const model = scripted(say("", ["a", "ask"]), say("Fine."));
  const client = await open(model, { tools: [{ ...ask, maxRetries: 0 }] });
  const sending = client.sendMessage("go");
  for (let left = 4; left > 0; left--) {
    await until(() => client.state.slots.length === 1);
    const { id } = client.state.slots[0];
    const both = await Promise.all([client.rejectSlot(id, "no"), client.resolveSlot(id, 1)]);
    assert.deepEqual(both, [true, false]);
  }
  await sending;
  assert.equal(client.state.timeline.find((entry) => entry.kind === "tool").status, "error");
});

test("permission is asked once for the same input", async () => {
  let runs = 0;
  const tool = { name: "open", description: "", requiresPermission: true, do: () => (runs += 1) };
  const model = scripted(say("", ["a", "open", { at: 1 }]), say("", ["b", "open", { at: 1 }]), say("", ["c", "open", { at: 2 }]), say("Done."));
  const client = await open(model, { tools: [tool] });
  const sending = client.sendMessage("go");
  await until(() => client.state.slots.length === 1);
  assert.deepEqual(client.state.slots[0].input, { renderer: "permission_request", toolName: "open", toolInput: { at: 1 } });
  await client.resolveSlot(client.state.slots[0].id, true);
  await until(() => client.state.slots.length === 1);
  assert.deepEqual(client.state.slots[0].input.toolInput, { at: 2 });
  await client.resolveSlot(client.state.slots[0].id, false);
  await sending;
  assert.equal(runs, 2);
  assert.deepEqual(texts(client).filter((text) => text.includes(":")), ["open:success", "open:success", "open:error"]);
});

test("stopping withdraws the question, marks the tool, and leaves a record that can go on", async () => {
  const store = new MemoryStore("s");
  const ask = defineTool({ name: "ask", description: "", do: (input, display) => display.pushAndWait(input) });
  const model = scripted(say("", ["a", "ask"], ["b", "ask"]), say("Back."));
  const client = await open(model, { tools: [ask], createStore: () => store });
  const sending = client.sendMessage("go");
  await until(() => client.state.slots.length === 1);
  client.abort();
  await sending;
  assert.deepEqual(client.state.slots, []);
  assert.deepEqual(texts(client), ["go", "ask:aborted", "ask:aborted"]);
  await client.sendMessage("again");
  const sent = model.requests[1].messages;
  assert.deepEqual(sent.map(({ tool_results, text }) => tool_results?.map(({ result }) => result.status) ?? text), ["go", "", ["aborted", "aborted"], "again"]);
});

test("a page that was closed in mid-call leaves a record that can go on", async () => {
  const store = new MemoryStore("s");
  await store.appendMessages([{ sender: "user", text: "go" }, ...say("", ["a", "look"]).messages]);
  const model = scripted(say("Back."));
  const client = await open(model, { createStore: () => store });
  assert.deepEqual(texts(client), ["go", "look:aborted"]);
  await client.sendMessage("again");
  assert.equal(model.requests[0].messages[2].tool_results[0].result.status, "aborted");
});

test("a fault of the model is shown, and the next message works", async () => {
  const client = await open(scripted(() => { throw new Error("no network"); }, say("Hello.")));
  await client.sendMessage("hi");
  assert.deepEqual(texts(client), ["hi", "Error: no network"]);
  await client.sendMessage("hi again");
  assert.equal(texts(client).at(-1), "Hello.");
});

test("history that has grown long is summarised once, and the model goes on from the summary", async () => {
  const store = new MemoryStore("s");
  const noop = { name: "noop", description: "", do: () => "ok" };
  const big = { ...say("", ["a", "noop"]), tokens_in: 200 };
  const model = scripted(big, say("They talked."), say("Going on."));
  const client = await open(model, { tools: [noop], createStore: () => store, compaction: { limit: 100 } });
  const seen = [];
  client.subscribe((state) => seen.push(state.isCompacting));
  await client.sendMessage("go");
  assert.ok(seen.includes(true) && !client.state.isCompacting);
  assert.deepEqual(texts(client), ["go", "noop:success", "Going on."]);
  assert.equal(model.requests[1].messages.at(-1).is_compaction_request, true);
  assert.match(model.requests[2].messages[0].text, /They talked\./);
  assert.equal(model.requests[2].messages.length, 1);
});

test("answers from outside reach the model once", async () => {
  const store = new MemoryStore("s");
  const model = scripted(say("", ["a", "glove_post_to_inbox", { tag: "stock", request: "milk?", blocking: true }]), say("Asked."), say("It came."), say("Nothing new."));
  const client = await open(model, { createStore: () => store });
  await client.sendMessage("ask");
  const [item] = client.state.inbox;
  assert.match(item.id, /^inbox_[0-9a-f-]{36}$/);
  await store.updateInboxItem(item.id, { status: "resolved", response: "yes", resolved_at: "now" });
  await client.sendMessage("and?");
  const told = model.requests[2].messages.filter((message) => message.framework_context === "inbox");
  assert.match(told[0].text, /^\[Inbox: 1 item\(s\) resolved\]\n- stock: milk\? → yes/);
  assert.equal(client.state.inbox[0].status, "consumed");
  await client.sendMessage("more?");
  assert.equal((await store.getMessages()).filter((message) => message.framework_context === "inbox").length, 1);
});

test("the agent's task list is shown, and keeps the ids of tasks that stay", async () => {
  const todo = (content, status = "pending") => ({ content, activeForm: content, status });
  const model = scripted(
    say("", ["a", "glove_update_tasks", { todos: [todo("sweep"), todo("cook")] }]),
    say("", ["b", "glove_update_tasks", { todos: [todo("cook", "completed")] }]),
    say("Done."),
  );
  const client = await open(model);
  const ids = [];
  client.subscribe((state) => ids.push(state.tasks.find((task) => task.content === "cook")?.id));
  await client.sendMessage("go");
  assert.deepEqual(client.state.tasks.map(({ content, status }) => [content, status]), [["cook", "completed"]]);
  assert.equal(new Set(ids.filter(Boolean)).size, 1);
});

test("tasks that say the same are two tasks", async () => {
  const todo = (status) => ({ content: "knock", activeForm: "knocking", status });
  const model = scripted(
    say("", ["a", "glove_update_tasks", { todos: [todo("pending"), todo("pending")] }]),
    say("", ["b", "glove_update_tasks", { todos: [todo("completed"), todo("pending"), todo("pending")] }]),
    say("Done."),
  );
  const client = await open(model);
  await client.sendMessage("go");
  assert.equal(new Set(client.state.tasks.map((task) => task.id)).size, 3);
});

test("another conversation ends this one's work, and what comes late changes nothing", async () => {
  const stores = { s: new MemoryStore("s"), t: new MemoryStore("t") };
  await stores.t.appendMessages([{ sender: "user", text: "from before" }]);
  let answer;
  const model = scripted(() => new Promise((resolve) => (answer = () => resolve(say("Late.")))));
  const changes = [];
  const client = await open(model, { createStore: (id) => (stores[id] ??= new MemoryStore(id)), onSessionChange: (id) => changes.push(id) });
  const sending = client.sendMessage("hi");
  await until(() => answer);
  client.switchConversation("t");
  await client.opened;
  answer();
  await sending;
  assert.deepEqual(texts(client), ["from before"]);
  assert.equal(client.state.busy, false);
  const id = await client.newConversation();
  assert.deepEqual([client.sessionId, texts(client)], [id, []]);
  assert.deepEqual(changes, ["s", "t", id]);
});

test("a record that cannot be read is told, and talking is still possible", async () => {
  const store = Object.assign(new MemoryStore("s"), { getMessages: async () => { throw new Error("gone"); } });
  const client = await open(scripted(say("x")), { createStore: () => store });
  assert.deepEqual(texts(client), ["Error: gone"]);
  assert.ok(client.transport);
});

test("a listener that fails stops neither the others nor the agent", async () => {
  const faults = [];
  globalThis.reportError = (fault) => faults.push(fault.message);
  const client = await open(scripted(say("Hello.")), { subscribers: [() => { throw new Error("sub"); }] });
  let heard = 0;
  client.subscribe(() => { throw new Error("view"); });
  client.subscribe(() => (heard += 1));
  await client.sendMessage("hi");
  assert.ok(heard > 0 && faults.includes("sub") && faults.includes("view"));
  assert.deepEqual(texts(client), ["hi", "Hello."]);
});

test("a client that cannot know where its agent is says so", () => {
  assert.throws(() => new GloveClient({}), { code: "ERR_CLIENT_CONFIG" });
  assert.throws(() => new GloveClient({ endpoint: "/chat" }), { code: "ERR_CLIENT_CONFIG", message: /systemPrompt/ });
});

test("another transport drives the same client", async () => {
  const sent = [];
  const client = new GloveClient({
    sessionId: "room",
    transport: () => ({
      tells: true,
      interruptible: true,
      open: async () => null,
      send: async ({ text }) => void sent.push(text),
      abort: () => sent.push("stop"),
      resolveSlot: async (id, value) => (sent.push([id, value]), true),
      rejectSlot: async () => { throw new Error("no connection"); },
      close: () => {},
    }),
  });
  await client.opened;
  client.emit({ type: "request_start" });
  assert.equal(await client.sendMessage("over you"), true);
  client.emit({ type: "user_message", text: "over you" });
  client.emit({ type: "slot", id: "slot_1", renderer: "generic", input: {}, blocking: true });
  client.emit({ type: "slot", id: "slot_2", renderer: "generic", input: {}, blocking: true });
  await client.resolveSlot("slot_1", 7);
  await client.rejectSlot("slot_2");
  client.abort();
  assert.deepEqual(sent, ["over you", ["slot_1", 7], "stop"]);
  assert.deepEqual(client.state.slots.map(({ status, fault }) => [status, fault]), [["answered", ""], ["pending", "no connection"]]);
});
