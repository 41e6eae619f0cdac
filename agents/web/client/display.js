// The display stack of an agent that runs in the browser: what its tools show and ask.

import { GloveError, aborted, check } from "./errors.js";

/** @import { AgentEvent, Slot } from "./types.js" */

/** Holds the slots; each change is told as `slot`, `slot_update` or `slot_resolve`. */
export class DisplayStack {
  /** @param {(event: AgentEvent) => void} emit */
  constructor(emit) {
    this.emit = emit;
    /** @type {Map<string, Slot>} */
    this.slots = new Map();
    /** @type {Map<string, {resolve: (value: any) => void, reject: (fault: unknown) => void}>} */
    this.waiters = new Map();
    this.count = 0;
  }

  /** @returns {Slot[]} oldest first */
  get stack() {
    return [...this.slots.values()];
  }

  /**
   * Show something until it is removed.
   * @param {{renderer: string, input?: any}} slot
   * @returns {string} its id
   */
  pushAndForget(slot) {
    return this.push(slot, false);
  }

  /**
   * Ask something. Rejects when `signal` aborts, when the question is refused, and when it is removed.
   * @param {{renderer: string, input?: any}} slot
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>} the answer
   */
  pushAndWait(slot, signal) {
    return new Promise((resolve, reject) => {
      check(signal);
      const id = `slot_${this.count + 1}`;
      const withdraw = () => this.reject(id, aborted());
      const settled = (/** @type {(value: any) => void} */ settle) => (/** @type {any} */ value) => {
        signal?.removeEventListener("abort", withdraw);
        settle(value);
      };
      // Before anybody is told: whoever listens may answer at once.
      this.waiters.set(id, { resolve: settled(resolve), reject: settled(reject) });
      signal?.addEventListener("abort", withdraw, { once: true });
      this.push(slot, true);
    });
  }

  /** @param {string} id @param {any} input @returns {boolean} */
  update(id, input) {
    const slot = this.slots.get(id);
    if (!slot) return false;
    this.slots.set(id, { ...slot, input });
    this.emit({ type: "slot_update", id, input });
    return true;
  }

  /** @param {string} id @param {any} value @returns {boolean} whether somebody waited for it */
  resolve(id, value) {
    const waiter = this.waiters.get(id);
    if (!waiter) return false;
    this.drop(id, true, value);
    waiter.resolve(value);
    return true;
  }

  /** @param {string} id @param {unknown} [fault] @returns {boolean} whether somebody waited for it */
  reject(id, fault) {
    const waiter = this.waiters.get(id);
    if (!waiter) return false;
    this.drop(id, false, null);
    waiter.reject(fault ?? new GloveError("ERR_SLOT_REJECTED", "The question was refused."));
    return true;
  }

  /** @param {string} id @returns {boolean} */
  removeSlot(id) {
    if (!this.slots.has(id)) return false;
    const removed = new GloveError("ERR_SLOT_REMOVED", "The question was taken away before it was answered.");
    if (!this.reject(id, removed)) this.drop(id, false, null);
    return true;
  }

  clearStack() {
    for (const id of [...this.slots.keys()].reverse()) this.removeSlot(id);
  }

  /** @param {{renderer: string, input?: any}} slot @param {boolean} blocking */
  push({ renderer, input = null }, blocking) {
    this.count += 1;
    const slot = { id: `slot_${this.count}`, renderer, input, blocking };
    this.slots.set(slot.id, slot);
    this.emit({ type: "slot", ...slot });
    return slot.id;
  }

  /** @param {string} id @param {boolean} answered @param {any} value */
  drop(id, answered, value) {
    this.waiters.delete(id);
    if (this.slots.delete(id)) this.emit({ type: "slot_resolve", id, answered, value });
  }
}
