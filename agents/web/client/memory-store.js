// A conversation that lives as long as the page.

/** @import { InboxItem, Message, Task } from "./types.js" */

/** @typedef {"granted" | "denied" | "unset"} PermissionStatus */

/**
 * @typedef {object} TokenCounter
 * @property {number} tokens_in
 * @property {number} tokens_out
 * @property {number} [cache_read_input_tokens]
 * @property {number} [cache_creation_input_tokens]
 */

/** @typedef {MemoryStore} Store what every store provides */

/** Keeps messages, counters, tasks, permissions and inbox. Lists that are given out are copies. */
export class MemoryStore {
  /** @param {string} identifier */
  constructor(identifier) {
    this.identifier = identifier;
    /** @type {Message[]} */
    this.messages = [];
    this.turns = 0;
    this.counter = zero();
    /** @type {Task[]} */
    this.tasks = [];
    /** @type {InboxItem[]} */
    this.inbox = [];
    /** @type {Map<string, PermissionStatus>} */
    this.permissions = new Map();
  }

  async getMessages() {
    return [...this.messages];
  }

  /** @param {Message[]} messages */
  async appendMessages(messages) {
    this.messages.push(...messages);
  }

  async getTokenCount() {
    return this.counter.tokens_in + this.counter.tokens_out;
  }

  /** @returns {Promise<Required<TokenCounter>>} */
  async getTokenConsumption() {
    return { ...this.counter };
  }

  /** @param {TokenCounter} counter */
  async addTokens(counter) {
    this.counter.tokens_in += counter.tokens_in;
    this.counter.tokens_out += counter.tokens_out;
    this.counter.cache_read_input_tokens += counter.cache_read_input_tokens ?? 0;
    this.counter.cache_creation_input_tokens += counter.cache_creation_input_tokens ?? 0;
  }

  async getTurnCount() {
    return this.turns;
  }

  async incrementTurn() {
    this.turns += 1;
  }

  async resetCounters() {
    this.turns = 0;
    this.counter = zero();
  }

  async getTasks() {
    return [...this.tasks];
  }

  /** @param {Task[]} tasks takes the place of the list before */
  async addTasks(tasks) {
    this.tasks = [...tasks];
  }

  /** @param {string} id @param {Partial<Task>} updates */
  async updateTask(id, updates) {
    this.tasks = this.tasks.map((task) => (task.id === id ? { ...task, ...updates } : task));
  }

  /** @param {string} tool @param {unknown} [input] @returns {Promise<PermissionStatus>} */
  async getPermission(tool, input) {
    return this.permissions.get(permissionKey(tool, input)) ?? "unset";
  }

  /** @param {string} tool @param {PermissionStatus} status @param {unknown} [input] */
  async setPermission(tool, status, input) {
    this.permissions.set(permissionKey(tool, input), status);
  }

  async getInboxItems() {
    return [...this.inbox];
  }

  /** @param {InboxItem} item */
  async addInboxItem(item) {
    this.inbox.push(item);
  }

  /** @param {string} id @param {Partial<Pick<InboxItem, "status" | "response" | "resolved_at">>} updates */
  async updateInboxItem(id, updates) {
    this.inbox = this.inbox.map((item) => (item.id === id ? { ...item, ...updates } : item));
  }

  async getResolvedInboxItems() {
    return this.inbox.filter((item) => item.status === "resolved");
  }
}

/** @returns {Required<TokenCounter>} */
function zero() {
  return { tokens_in: 0, tokens_out: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
}

/** @param {string} tool @param {unknown} input @returns {string} */
export function permissionKey(tool, input) {
  return `${tool}::${JSON.stringify(input ?? null, canonical)}`;
}

/** Objects with their keys in order: the same question has the same key. @type {(key: string, value: any) => any} */
function canonical(_, value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
