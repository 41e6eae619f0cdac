import assert from "node:assert/strict";
import { test } from "node:test";

import { DisplayStack } from "../../../../agents/web/client/display.js";

const stack = () => {
  const told = [];
  return { told, display: new DisplayStack((event) => told.push(event)) };
};

test("questions wait for their answer, cards for nobody", async () => {
  const { told, display } = stack();
  const card = display.pushAndForget({ renderer: "card", input: 1 });
  const asking = display.pushAndWait({ renderer: "ask", input: 2 });
  assert.deepEqual(display.stack.map(({ id, blocking }) => [id, blocking]), [["slot_1", false], ["slot_2", true]]);
  assert.equal(display.resolve(card, 1), false);
  assert.equal(display.resolve("slot_2", "yes"), true);
  assert.equal(await asking, "yes");
  assert.equal(display.removeSlot(card), true);
  assert.deepEqual(told.map(({ type, id, answered }) => [type, id, answered]), [
    ["slot", "slot_1", undefined],
    ["slot", "slot_2", undefined],
    ["slot_resolve", "slot_2", true],
    ["slot_resolve", "slot_1", false],
  ]);
});

test("whoever listens may answer at once", async () => {
  const display = new DisplayStack((event) => event.type === "slot" && display.resolve(event.id, "at once"));
  assert.equal(await display.pushAndWait({ renderer: "ask" }), "at once");
});

test("stopping withdraws the question", async () => {
  const { display } = stack();
  const controller = new AbortController();
  const asking = display.pushAndWait({ renderer: "ask" }, controller.signal);
  controller.abort();
  await assert.rejects(asking, { name: "AbortError" });
  assert.deepEqual(display.stack, []);
  await assert.rejects(display.pushAndWait({ renderer: "ask" }, controller.signal), { name: "AbortError" });
  assert.deepEqual(display.stack, []);
});

test("nobody is left waiting for a question that was refused or taken away", async () => {
  const { display } = stack();
  const refused = display.pushAndWait({ renderer: "ask" });
  display.reject("slot_1");
  await assert.rejects(refused, { code: "ERR_SLOT_REJECTED" });
  const removed = [display.pushAndWait({ renderer: "ask" }), display.pushAndWait({ renderer: "ask" })];
  display.clearStack();
  for (const asking of removed) await assert.rejects(asking, { code: "ERR_SLOT_REMOVED" });
});

test("a slot that is changed is told with its new input", () => {
  const { told, display } = stack();
  const id = display.pushAndForget({ renderer: "card", input: 1 });
  assert.equal(display.update(id, 2), true);
  assert.equal(display.update("slot_9", 2), false);
  assert.deepEqual(told.at(-1), { type: "slot_update", id, input: 2 });
});
