import assert from "node:assert/strict";
import { test } from "node:test";

import { reduceSlots, visibleSlots } from "../../../../agents/web/client/slots.js";
import { arrange } from "../../../../agents/web/client/strategies.js";

const tool = (id, name, status = "running") => ({ kind: "tool", key: id, id, name, input: {}, status });
const context = (timeline = [], strategies = {}) => ({
  timeline,
  strategyOf: (renderer) => strategies[renderer] ?? "stay",
  now: 1000,
});
const push = (id, renderer, more = {}) => ({ type: "slot", id, renderer, input: {}, blocking: true, ...more });
const ids = (slots) => slots.map((slot) => slot.id);

test("a slot knows its tool, its call, its time and its strategy", () => {
  const [slot] = reduceSlots([], push("slot_1", "ask_preference"), context([tool("a", "ask_preference")], { ask_preference: "hide-on-complete" }));
  assert.deepEqual(slot, {
    id: "slot_1",
    renderer: "ask_preference",
    input: {},
    blocking: true,
    toolName: "ask_preference",
    toolCallId: "a",
    createdAt: 1000,
    displayStrategy: "hide-on-complete",
    status: "pending",
  });
});

test("slots change, go, and are restored as a whole", () => {
  let slots = reduceSlots([], push("slot_1", "generic"), context());
  slots = reduceSlots(slots, { type: "slot_update", id: "slot_1", input: { n: 2 } }, context());
  assert.deepEqual(slots[0].input, { n: 2 });
  assert.deepEqual(reduceSlots(slots, { type: "slot_resolve", id: "slot_1" }, context()), []);
  assert.deepEqual(ids(reduceSlots(slots, { type: "slots", slots: [{ id: "slot_9", renderer: "x", input: null }] }, context())), ["slot_9"]);
});

test("what concerns no slot here changes nothing", () => {
  const slots = reduceSlots([], push("slot_1", "generic"), context());
  for (const event of [{ type: "slot_update", id: "z" }, { type: "slot_resolve", id: "z" }, { type: "text_delta" }]) {
    assert.equal(reduceSlots(slots, event, context()), slots);
  }
});

test("an answer that was not taken makes the question open again, and says why", () => {
  let slots = reduceSlots([], push("slot_1", "generic"), context());
  slots = reduceSlots(slots, { type: "slot_answered", id: "slot_1" }, context());
  assert.equal(slots[0].status, "answered");
  slots = reduceSlots(slots, { type: "slot_answered", id: "slot_1", fault: "no network" }, context());
  assert.deepEqual([slots[0].status, slots[0].fault], ["pending", "no network"]);
});

test("stay stays, hide-on-complete goes with the answer, hide-on-new with the next of its tool", () => {
  const strategies = { stays: "stay", hides: "hide-on-complete", panel: "hide-on-new" };
  const events = [push("1", "stays"), push("2", "hides"), push("3", "panel"), push("4", "panel"), push("5", "other")];
  let slots = events.reduce((list, event) => reduceSlots(list, event, context([], strategies)), []);
  assert.deepEqual(ids(visibleSlots(slots)), ["1", "2", "4", "5"]);
  for (const id of ["1", "2"]) slots = reduceSlots(slots, { type: "slot_answered", id }, context());
  assert.deepEqual(ids(visibleSlots(slots)), ["1", "4", "5"]);
  slots = reduceSlots(slots, { type: "slot_resolve", id: "4" }, context());
  assert.deepEqual(ids(visibleSlots(slots)), ["1", "3", "5"]);
});

const layout = (state, strategy) =>
  arrange({ streamingText: "", slots: [], timeline: [], ...state }, strategy).map((item) =>
    item.show === "entry" ? item.entry.id + (item.asked ? "?" : "") : item.show === "slot" ? item.slot.id : "…",
  );
const slotOf = (id, toolCallId, more = {}) => ({ id, toolCallId, displayStrategy: "stay", status: "pending", renderer: "x", ...more });
const scene = {
  timeline: [tool("a", "x"), tool("b", "y")],
  slots: [slotOf("s1", "a"), slotOf("s2", null), slotOf("s3", "gone")],
  streamingText: "Well",
};

test("interleaved puts slots after their call, and orphans after what streams", () => {
  assert.deepEqual(layout(scene, "interleaved"), ["a?", "s1", "b", "…", "s2", "s3"]);
});

test("slots before, after, and alone", () => {
  assert.deepEqual(layout(scene, "slots-before"), ["s1", "s2", "s3", "a?", "b", "…"]);
  assert.deepEqual(layout(scene, "slots-after"), ["a?", "b", "…", "s1", "s2", "s3"]);
  assert.deepEqual(layout(scene, "slots-only"), ["s1", "s2", "s3"]);
});

test("a call whose slot is hidden shows its result again", () => {
  const hidden = [slotOf("s1", "a", { displayStrategy: "hide-on-complete", status: "answered" })];
  assert.deepEqual(layout({ ...scene, slots: hidden }, "interleaved"), ["a", "b", "…"]);
});
