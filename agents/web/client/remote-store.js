// A conversation that is kept by a server.

import { GloveError } from "./errors.js";
import { MemoryStore } from "./memory-store.js";

/** @import { InboxItem, Message, Task } from "./types.js" */
/** @import { PermissionStatus, TokenCounter } from "./memory-store.js" */

/**
 * What a server can do for a store; each function is told the session first.
 * @typedef {object} StoreActions
 * @property {(sid: string) => Promise<Message[]>} getMessages
 * @property {(sid: string, messages: Message[]) => Promise<void>} appendMessages
 * @property {(sid: string) => Promise<number>} [getTokenCount]
 * @property {(sid: string) => Promise<Required<TokenCounter>>} [getTokenConsumption]
 * @property {(sid: string, counter: TokenCounter) => Promise<void>} [addTokens]
 * @property {(sid: string) => Promise<number>} [getTurnCount]
 * @property {(sid: string) => Promise<void>} [incrementTurn]
 * @property {(sid: string) => Promise<void>} [resetCounters]
 * @property {(sid: string) => Promise<Task[]>} [getTasks]
 * @property {(sid: string, tasks: Task[]) => Promise<void>} [addTasks]
 * @property {(sid: string, id: string, updates: Partial<Task>) => Promise<void>} [updateTask]
 * @property {(sid: string, tool: string, input?: unknown) => Promise<PermissionStatus>} [getPermission]
 * @property {(sid: string, tool: string, status: PermissionStatus, input?: unknown) => Promise<void>} [setPermission]
 * @property {(sid: string) => Promise<InboxItem[]>} [getInboxItems]
 * @property {(sid: string, item: InboxItem) => Promise<void>} [addInboxItem]
 * @property {(sid: string, id: string, updates: Partial<InboxItem>) => Promise<void>} [updateInboxItem]
 * @property {(sid: string) => Promise<InboxItem[]>} [getResolvedInboxItems]
 */

/** The functions of a store that a server may provide. */
const METHODS = /** @type {const} */ ([
  ...["getMessages", "appendMessages", "getTokenCount", "getTokenConsumption", "addTokens", "getTurnCount"],
  ...["incrementTurn", "resetCounters", "getTasks", "addTasks", "updateTask", "getPermission", "setPermission"],
  ...["getInboxItems", "addInboxItem", "updateInboxItem", "getResolvedInboxItems"],
]);

/**
 * A store whose functions are `actions`; what is missing among them is kept in memory, and gone after a reload.
 * @param {string} sessionId
 * @param {StoreActions} actions
 * @returns {MemoryStore}
 */
export function createRemoteStore(sessionId, actions) {
  for (const name of /** @type {const} */ (["getMessages", "appendMessages"])) {
    if (!actions[name]) throw new GloveError("ERR_STORE", `A remote store needs ${name}.`);
  }
  const store = /** @type {any} */ (new MemoryStore(sessionId));
  for (const name of METHODS) {
    const action = /** @type {any} */ (actions)[name];
    if (action) store[name] = (/** @type {unknown[]} */ ...rest) => action(sessionId, ...rest);
  }
  return store;
}
