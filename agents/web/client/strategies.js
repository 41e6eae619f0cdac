// In which order entries and slots are shown.

import { visibleSlots } from "./slots.js";

/** @import { ClientState, EnhancedSlot, TimelineEntry } from "./types.js" */

/** @typedef {"interleaved" | "slots-before" | "slots-after" | "slots-only"} RenderStrategy */

/**
 * @typedef {{show: "entry", entry: TimelineEntry, asked: boolean} | {show: "slot", slot: EnhancedSlot} | {show: "streaming"}} Item
 *   `asked`: a slot of this call is on the screen
 */

/**
 * @param {Pick<ClientState, "timeline" | "slots" | "streamingText">} state
 * @param {RenderStrategy} strategy `interleaved` puts slots after the call they belong to, and the others at the end
 * @returns {Item[]} from top to bottom
 */
export function arrange({ timeline, slots, streamingText }, strategy) {
  const visible = visibleSlots(slots);
  const asking = new Set(visible.flatMap((slot) => (slot.toolCallId ? [slot.toolCallId] : [])));
  /** @type {Item[]} */
  const shownSlots = visible.map((slot) => ({ show: "slot", slot }));
  /** @type {Item[]} */
  const entries = timeline.map((entry) => ({ show: "entry", entry, asked: entry.kind === "tool" && asking.has(entry.id) }));
  /** @type {Item[]} */
  const streaming = streamingText.trim() ? [{ show: "streaming" }] : [];
  switch (strategy) {
    case "slots-only":
      return shownSlots;
    case "slots-before":
      return [...shownSlots, ...entries, ...streaming];
    case "slots-after":
      return [...entries, ...streaming, ...shownSlots];
    case "interleaved":
      return interleaved(entries, visible, streaming);
  }
}

/** @type {(entries: Item[], slots: EnhancedSlot[], streaming: Item[]) => Item[]} */
function interleaved(entries, slots, streaming) {
  /** @type {(slot: EnhancedSlot) => Item} */
  const item = (slot) => ({ show: "slot", slot });
  /** @type {Map<string, number>} */
  const home = new Map();
  entries.forEach((each, index) => {
    if (each.show === "entry" && each.entry.kind === "tool") home.set(each.entry.id, index);
  });
  const at = (/** @type {EnhancedSlot} */ slot) => (slot.toolCallId === null ? undefined : home.get(slot.toolCallId));
  const placed = entries.flatMap((each, index) => [each, ...slots.filter((slot) => at(slot) === index).map(item)]);
  const orphans = slots.filter((slot) => at(slot) === undefined).map(item);
  return [...placed, ...streaming, ...orphans];
}
