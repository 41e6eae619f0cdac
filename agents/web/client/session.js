// Which conversation is open: where its id comes from, and that a late answer never undoes a choice.

import { GloveError } from "./errors.js";
import { uuid } from "./uuid.js";

/** Where the id is kept between visits. */
export const STORAGE_KEY = "glove:session";

/**
 * @typedef {object} SessionConfig
 * @property {{identifier: string} | null} [store] a store that is open already; the session is its
 * @property {() => Promise<string>} [getSessionId]
 * @property {string} [sessionId]
 * @property {boolean | {storageKey: string}} [persistSession]
 * @property {() => string} [createSessionId]
 * @property {(id: string) => void} [onSessionChange] called once per id that is really new
 * @property {Storage | null} [storage] the browser's own by default
 */

/** @returns {string} */
export function generateSessionId() {
  return `glove_${uuid()}`;
}

/**
 * The id of the open session. The first of these decides: a store that is given, `getSessionId`, `sessionId`, what was
 * persisted, a new one.
 */
export class Session {
  /** @param {SessionConfig} config */
  constructor(config) {
    this.config = config;
    this.id = "";
    this.choices = 0;
    const persist = config.persistSession;
    this.storageKey = !persist ? "" : persist === true ? STORAGE_KEY : persist.storageKey;
    if (config.store) this.settle(config.store.identifier);
    else if (!config.getSessionId) this.settle(config.sessionId || this.recall() || this.create());
  }

  /** Whether the id is known; false only while `getSessionId` has not answered. */
  get ready() {
    return this.id !== "";
  }

  /**
   * Ask `getSessionId`, if it is to be asked. Rejects with its error.
   * @returns {Promise<boolean>} whether its answer is the id now; false when somebody has chosen another one meanwhile
   */
  async resolve() {
    const { getSessionId, store } = this.config;
    if (!getSessionId || store || this.ready) return this.ready;
    const asked = this.choices;
    const id = await getSessionId();
    if (asked !== this.choices) return false;
    this.settle(id);
    return true;
  }

  /** @param {string} [id] @returns {string} the id of the new conversation. Throws with an external store. */
  begin(id) {
    const chosen = id || this.create();
    this.switchTo(chosen);
    return chosen;
  }

  /** @param {string} id of an existing conversation. Throws with an external store. */
  switchTo(id) {
    if (this.config.store) {
      throw new GloveError(
        "ERR_SESSION_FIXED",
        "This conversation belongs to a store that was given.",
        "Give createStore instead of a store to be able to switch.",
      );
    }
    this.choices += 1;
    this.settle(id);
  }

  /** The property has changed. @param {string} id @returns {boolean} whether it counts */
  propose(id) {
    if (this.config.store || this.config.getSessionId || !id || id === this.id) return false;
    this.switchTo(id);
    return true;
  }

  create() {
    return this.config.createSessionId?.() || generateSessionId();
  }

  /** @param {string} id */
  settle(id) {
    if (id === this.id) return;
    this.id = id;
    this.remember(id);
    this.config.onSessionChange?.(id);
  }

  /** @returns {Storage | null} */
  get storage() {
    if (!this.storageKey) return null;
    return this.config.storage === undefined ? globalThis.localStorage : this.config.storage;
  }

  recall() {
    try {
      return this.storage?.getItem(this.storageKey) ?? "";
    } catch {
      return ""; // private windows and full disks refuse storage; the conversation goes on without it
    }
  }

  /** @param {string} id */
  remember(id) {
    try {
      this.storage?.setItem(this.storageKey, id);
    } catch {
      // as above: a new id is made at the next visit
    }
  }
}
