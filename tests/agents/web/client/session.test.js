import assert from "node:assert/strict";
import { test } from "node:test";

import { STORAGE_KEY, Session } from "../../../../agents/web/client/session.js";

const storage = (content = {}) => ({
  content,
  getItem: (key) => content[key] ?? null,
  setItem: (key, value) => (content[key] = value),
});
const broken = {
  getItem: () => {
    throw new Error("denied");
  },
  setItem: () => {
    throw new Error("full");
  },
};

test("a store that is given decides before everything else", () => {
  const session = new Session({ store: { identifier: "mine" }, getSessionId: async () => "asked", sessionId: "prop" });
  assert.equal(session.id, "mine");
});

test("getSessionId decides before the property, and until it answers there is no id", async () => {
  const session = new Session({ getSessionId: async () => "asked", sessionId: "prop", persistSession: true, storage: storage() });
  assert.deepEqual([session.ready, session.id], [false, ""]);
  assert.equal(await session.resolve(), true);
  assert.deepEqual([session.ready, session.id], [true, "asked"]);
});

test("the property decides before what was persisted, and what was persisted before a new id", () => {
  const kept = storage({ [STORAGE_KEY]: "kept" });
  assert.equal(new Session({ sessionId: "prop", persistSession: true, storage: kept }).id, "prop");
  assert.equal(new Session({ persistSession: true, storage: storage({ [STORAGE_KEY]: "kept" }) }).id, "kept");
  assert.match(new Session({}).id, /^glove_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(new Session({}).id, new Session({}).id);
});

test("ids are only kept where that was asked for, under the key that was asked for", () => {
  const kept = storage();
  new Session({ storage: kept });
  assert.deepEqual(kept.content, {});
  const { id } = new Session({ persistSession: { storageKey: "mine" }, storage: kept });
  assert.deepEqual(kept.content, { mine: id });
});

test("a browser that refuses to store does not stop the conversation", () => {
  const session = new Session({ persistSession: true, storage: broken });
  assert.match(session.id, /^glove_/);
  assert.equal(session.begin("next"), "next");
});

test("the property switches in place, unless a store or getSessionId decides", () => {
  const session = new Session({ sessionId: "one" });
  assert.equal(session.propose("two"), true);
  assert.equal(session.id, "two");
  assert.equal(session.propose("two"), false);
  assert.equal(new Session({ store: { identifier: "mine" } }).propose("two"), false);
  assert.equal(new Session({ getSessionId: async () => "asked" }).propose("two"), false);
});

test("a new conversation takes the id it is given, else one of the client, else a generated one", () => {
  assert.equal(new Session({ createSessionId: () => "made" }).begin("given"), "given");
  assert.equal(new Session({ sessionId: "one", createSessionId: () => "made" }).begin(), "made");
  assert.match(new Session({ sessionId: "one" }).begin(), /^glove_/);
});

test("a conversation of a given store cannot be exchanged", () => {
  const session = new Session({ store: { identifier: "mine" } });
  assert.throws(() => session.begin(), { code: "ERR_SESSION_FIXED" });
  assert.throws(() => session.switchTo("x"), { code: "ERR_SESSION_FIXED" });
});

test("an id that comes late does not undo a choice", async () => {
  let answer;
  const session = new Session({ getSessionId: () => new Promise((resolve) => (answer = resolve)) });
  const resolving = session.resolve();
  session.switchTo("chosen");
  answer("late");
  assert.equal(await resolving, false);
  assert.equal(session.id, "chosen");
});

test("each new id is told once", () => {
  const told = [];
  const session = new Session({ sessionId: "one", onSessionChange: (id) => told.push(id) });
  session.switchTo("two");
  session.switchTo("two");
  session.begin("one");
  assert.deepEqual(told, ["one", "two", "one"]);
});
