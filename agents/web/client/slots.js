// Cards and questions of a conversation, with what the screen has to know about each.

import { callOf } from "./timeline.js";

/** @import { AgentEvent, DisplayStrategy, EnhancedSlot, Slot, TimelineEntry } from "./types.js" */

/**
 * @typedef {object} SlotContext
 * @property {TimelineEntry[]} timeline
 * @property {(renderer: string) => DisplayStrategy} strategyOf
 * @property {number} now milliseconds since the epoch
 */

/**
 * Takes `slots` (exactly these), `slot`, `slot_update`, `slot_resolve`, and `slot_answered` (somebody here has answered
 * and it is not confirmed yet; with a `fault`, the answer was not taken).
 * @param {EnhancedSlot[]} slots oldest first
 * @param {AgentEvent} event others change nothing
 * @param {SlotContext} context
 * @returns {EnhancedSlot[]} the same list when nothing has changed
 */
export function reduceSlots(slots, event, context) {
  const change = (/** @type {Partial<EnhancedSlot>} */ fields) =>
    slots.some((slot) => slot.id === event.id)
      ? slots.map((slot) => (slot.id === event.id ? { ...slot, ...fields } : slot))
      : slots;
  switch (event.type) {
    case "slots":
      return /** @type {Slot[]} */ (event.slots).map((slot) => enhance(slot, context));
    case "slot":
      return [...slots.filter((slot) => slot.id !== event.id), enhance(/** @type {any} */ (event), context)];
    case "slot_update":
      return change({ input: event.input });
    case "slot_answered":
      return change(event.fault ? { status: "pending", fault: event.fault } : { status: "answered", fault: "" });
    case "slot_resolve":
      return slots.some((slot) => slot.id === event.id) ? slots.filter((slot) => slot.id !== event.id) : slots;
    default:
      return slots;
  }
}

/** @type {(slot: Slot, context: SlotContext) => EnhancedSlot} */
function enhance(slot, { timeline, strategyOf, now }) {
  const call = callOf(timeline, slot);
  return {
    id: slot.id,
    renderer: slot.renderer,
    input: slot.input,
    blocking: Boolean(slot.blocking),
    toolName: call?.name ?? null,
    toolCallId: call?.id ?? null,
    createdAt: now,
    displayStrategy: strategyOf(slot.renderer),
    status: "pending",
  };
}

/**
 * Which slots are shown: `stay` always, `hide-on-complete` until it is answered, `hide-on-new` while it is the newest of
 * its tool (of its renderer, where no tool is known).
 * @param {EnhancedSlot[]} slots oldest first
 * @returns {EnhancedSlot[]}
 */
export function visibleSlots(slots) {
  return slots.filter((slot, index) => {
    if (slot.displayStrategy === "hide-on-complete") return slot.status === "pending";
    if (slot.displayStrategy !== "hide-on-new") return true;
    return !slots.slice(index + 1).some((later) => origin(later) === origin(slot));
  });
}

/** @type {(slot: EnhancedSlot) => string} */
function origin(slot) {
  return slot.toolName ?? `renderer ${slot.renderer}`;
}
