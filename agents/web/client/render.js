// Draws a conversation into a list and keeps it up to date.

import { button, card } from "./card.js";
import { drawn, element, reconcile } from "./dom.js";
import { entryElement, streamingElement } from "./entries.js";
import { arrange } from "./strategies.js";
import { isNews } from "./timeline.js";
import { wordsFor } from "./words.js";

/** @import { GloveClient } from "./client.js" */
/** @import { RenderStrategy } from "./strategies.js" */
/** @import { ClientState, EnhancedSlot, TimelineEntry } from "./types.js" */
/** @import { Words } from "./words.js" */

/**
 * @typedef {object} ViewOptions
 * @property {RenderStrategy} [strategy] `interleaved` without it
 * @property {Words} [words]
 * @property {string} [agentName]
 * @property {(entry: TimelineEntry) => HTMLElement | null} [renderMessage] null leaves an entry as it would be
 * @property {Element} [scroller] kept at its end while the user is there
 * @property {(text: string) => void} [announce] reads out what is new; screen readers are told by a region of the view
 *   without it
 */

/** Pixels from the end within which the user still follows. */
const NEAR = 120;

/** A list (`ol`) that shows `client`. Draws at most once per frame. */
export class TimelineView {
  /**
   * @param {Element} place the list is put in here
   * @param {GloveClient} client
   * @param {ViewOptions} [options]
   */
  constructor(place, client, options = {}) {
    this.client = client;
    this.options = options;
    this.words = options.words ?? wordsFor(document.documentElement.lang || "en");
    this.agentName = options.agentName || this.words("agent");
    this.strategy = options.strategy ?? "interleaved";
    this.list = element("ol", { class: "glove-timeline", "data-glove-strategy": this.strategy });
    this.live = element("div", { class: "glove-unseen", "aria-live": "polite" });
    place.append(this.list, this.live);
    /** @type {Map<string, {entry: TimelineEntry, asked: boolean, made: HTMLElement}>} */
    this.entries = new Map();
    /** @type {Map<string, {slot: EnhancedSlot, made: HTMLElement}>} */
    this.slots = new Map();
    this.streaming = streamingElement("", this.agentName);
    /** @type {Set<string>} */
    this.told = new Set();
    this.frame = 0;
    this.unsubscribe = client.subscribe(() => this.schedule());
    this.draw();
  }

  /** Draw soon. */
  schedule() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  /** Draw now. */
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { state } = this.client;
    const follows = this.atEnd();
    const items = arrange(state, this.strategy);
    const nodes = items.map((item) => {
      if (item.show === "entry") return this.entryNode(item.entry, item.asked);
      return item.show === "slot" ? this.slotNode(item.slot) : this.streamingNode(state.streamingText);
    });
    forget(this.entries, new Set(items.flatMap((item) => (item.show === "entry" ? [item.entry.key] : []))));
    forget(this.slots, new Set(items.flatMap((item) => (item.show === "slot" ? [item.slot.id] : []))));
    reconcile(this.list, nodes);
    this.list.setAttribute("aria-busy", String(state.busy));
    this.tell(state);
    if (follows) this.reveal();
  }

  /** Call the agent something else, from now on. @param {string} name */
  rename(name) {
    this.agentName = name;
    this.streaming = streamingElement("", name);
    this.entries.clear();
    this.schedule();
  }

  /** Show the end. */
  reveal() {
    const { scroller } = this.options;
    if (scroller) scroller.scrollTop = scroller.scrollHeight;
  }

  /** Remove the list; idempotent. */
  close() {
    this.unsubscribe();
    cancelAnimationFrame(this.frame);
    this.list.remove();
    this.live.remove();
  }

  atEnd() {
    const { scroller } = this.options;
    return !scroller || scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
  }

  /** @param {TimelineEntry} entry @param {boolean} asked */
  entryNode(entry, asked) {
    const known = this.entries.get(entry.key);
    if (known?.entry === entry && known.asked === asked) return known.made;
    const { words, agentName } = this;
    const own = drawn(() => this.options.renderMessage?.(entry), () => null);
    const made = own ?? entryElement(entry, { registry: this.client.registry, words, agentName, asked });
    this.entries.set(entry.key, { entry, asked, made });
    return made;
  }

  /** A question keeps its element, and what was entered in it, until it asks something else. @param {EnhancedSlot} slot */
  slotNode(slot) {
    const known = this.slots.get(slot.id);
    const made = known && known.slot.input === slot.input ? known.made : this.makeSlot(slot);
    this.slots.set(slot.id, { slot, made });
    made.inert = slot.status !== "pending";
    const fault = /** @type {HTMLElement} */ (made.lastElementChild);
    fault.hidden = !slot.fault;
    if (fault.textContent !== (slot.fault ?? "")) fault.textContent = slot.fault ?? "";
    return made;
  }

  /** @param {EnhancedSlot} slot */
  makeSlot(slot) {
    const { client, words } = this;
    const render = client.registry.rendererOf(slot.renderer);
    const resolve = (/** @type {any} */ value) => void client.resolveSlot(slot.id, value);
    /** @type {(reason?: string) => void} */
    const reject = (reason) => void client.rejectSlot(slot.id, reason);
    const say = (/** @type {string} */ text) => {
      resolve(null);
      void client.sendMessage(text);
    };
    const made = drawn(
      () => render?.({ input: slot.input, props: slot.input, slot, words, resolve, reject, say }),
      () => card({ title: words("unshown"), children: [], actions: [closing(slot, words, resolve, reject)] }),
    );
    return element(
      "li",
      {
        "data-glove-role": "slots",
        "data-glove-slot": slot.id,
        "data-glove-renderer": slot.renderer,
        "data-glove-display": slot.displayStrategy,
        "data-glove-blocking": slot.blocking ? "" : null,
      },
      made,
      element("p", { class: "glove-fault", role: "alert", hidden: true }),
    );
  }

  /** @param {string} text */
  streamingNode(text) {
    const body = /** @type {Element} */ (this.streaming.lastElementChild);
    if (body.textContent !== text) body.textContent = text;
    return this.streaming;
  }

  /** Read out finished answers and new questions, once. @param {ClientState} state */
  tell(state) {
    const said = state.timeline.filter((entry) => entry.kind === "agent_text" && isNews(entry));
    const fresh = [
      ...said.map((entry) => [entry.key, entry.kind === "agent_text" ? entry.text : ""]),
      ...state.slots.map((slot) => [slot.id, this.slots.get(slot.id)?.made.querySelector("h3")?.textContent ?? ""]),
    ].filter(([key]) => !this.told.has(key));
    this.told = new Set([...said.map((entry) => entry.key), ...state.slots.map((slot) => slot.id)]);
    const text = fresh.map(([, words]) => words).filter(Boolean).join("\n");
    if (!text) return;
    if (this.options.announce) this.options.announce(text);
    else this.live.textContent = text;
  }
}

/** @type {(slot: EnhancedSlot, words: Words, resolve: (value: null) => void, reject: () => void) => HTMLElement} */
function closing({ blocking }, words, resolve, reject) {
  return blocking ? button(words("cancel"), () => reject()) : button(words("dismiss"), () => resolve(null));
}

/** @type {(known: Map<string, unknown>, keep: Set<string>) => void} */
function forget(known, keep) {
  for (const key of [...known.keys()]) if (!keep.has(key)) known.delete(key);
}
