import assert from "node:assert/strict";
import { test } from "node:test";

import { MemoryStore } from "../../../../agents/web/client/memory-store.js";
import { createRemoteStore } from "../../../../agents/web/client/remote-store.js";

const ITEM = { id: "i", tag: "t", request: "r", response: null, status: "pending", blocking: true, created_at: "", resolved_at: null };

test("what the server keeps goes to the server, under the session's id", async () => {
  const calls = [];
  const store = createRemoteStore("sid", {
    getMessages: async (...given) => (calls.push(["get", ...given]), [{ sender: "user", text: "kept" }]),
    appendMessages: async (...given) => void calls.push(["append", ...given]),
    getTasks: async (sid) => [{ id: sid, content: "c", activeForm: "", status: "pending" }],
  });
  assert.equal((await store.getMessages())[0].text, "kept");
  await store.appendMessages([{ sender: "user", text: "new" }]);
  assert.deepEqual(calls, [["get", "sid"], ["append", "sid", [{ sender: "user", text: "new" }]]]);
  assert.equal((await store.getTasks())[0].id, "sid");
});

test("everything else is kept in memory", async () => {
  const store = createRemoteStore("sid", { getMessages: async () => [], appendMessages: async () => {} });
  await store.addTasks([{ id: "a", content: "c", activeForm: "", status: "pending" }]);
  await store.updateTask("a", { status: "completed" });
  await store.updateTask("unknown", { status: "completed" });
  assert.equal((await store.getTasks())[0].status, "completed");
  await store.addInboxItem(ITEM);
  await store.updateInboxItem("i", { status: "resolved", response: "yes" });
  assert.deepEqual((await store.getResolvedInboxItems()).map((item) => item.response), ["yes"]);
  await store.setPermission("open", "granted", { b: 1, a: 2 });
  assert.equal(await store.getPermission("open", { a: 2, b: 1 }), "granted");
  assert.equal(await store.getPermission("open", { a: 3 }), "unset");
  await store.addTokens({ tokens_in: 3, tokens_out: 4, cache_read_input_tokens: 9 });
  await store.incrementTurn();
  assert.deepEqual([await store.getTokenCount(), await store.getTurnCount()], [7, 1]);
  await store.resetCounters();
  assert.deepEqual([await store.getTokenCount(), (await store.getTokenConsumption()).cache_read_input_tokens], [0, 0]);
});

test("a store without a place for messages is refused", () => {
  assert.throws(() => createRemoteStore("sid", { getMessages: async () => [] }), { code: "ERR_STORE", message: /appendMessages/ });
});

test("lists that were given out stay as they were", async () => {
  const store = new MemoryStore("s");
  const before = await store.getMessages();
  await store.appendMessages([{ sender: "user", text: "x" }]);
  assert.deepEqual(before, []);
});
