// Requests to the addresses of one session on a server.

import { refusal } from "./endpoint-model.js";
import { createRemoteStore } from "./remote-store.js";

/** @import { MemoryStore } from "./memory-store.js" */

/** @typedef {{server: string, sessionId: string, headers?: Record<string, string>, fetch?: typeof fetch}} RestConfig */

/** Answers are JSON; refusals become `GloveError`s with the HTTP status in `status`. */
export class Rest {
  /** @param {RestConfig} config `server` is where the sessions are, for example `/api` */
  constructor({ server, sessionId, headers = {}, fetch: send = (...request) => fetch(...request) }) {
    this.base = `${server.replace(/\/+$/, "")}/sessions/${encodeURIComponent(sessionId)}`;
    this.headers = headers;
    this.fetch = send;
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
  async get(path, signal) {
    return (await this.open(path, undefined, signal)).json();
  }

  /** @param {string} path @param {unknown} body @param {AbortSignal} [signal] @returns {Promise<any>} null without an answer */
  async post(path, body, signal) {
    const response = await this.open(path, body, signal);
    return response.status === 204 ? null : response.json();
  }

  /** @param {string} path @param {unknown} body undefined asks without one @param {AbortSignal} [signal] */
  async open(path, body, signal) {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const headers = body === undefined ? this.headers : { "content-type": "application/json", ...this.headers };
    const response = await this.fetch(`${this.base}${path}`, { ...sent, headers, signal });
    if (!response.ok) throw Object.assign(await refusal(response), { status: response.status });
    return response;
  }
}

/**
 * A store whose record is kept under `server`/sessions/`sessionId`.
 * @param {RestConfig} config
 * @returns {MemoryStore}
 */
export function createRestStore(config) {
  const rest = new Rest(config);
  return createRemoteStore(config.sessionId, {
    getMessages: async () => (await rest.get("/messages")).messages,
    appendMessages: (_, messages) => rest.post("/messages", { messages }),
    getTokenCount: async () => rest.get("/tokens").then(({ tokens_in, tokens_out }) => tokens_in + tokens_out),
    getTokenConsumption: () => rest.get("/tokens"),
    addTokens: (_, counter) => rest.post("/tokens", counter),
    getTurnCount: async () => (await rest.get("/tokens")).turns,
    incrementTurn: () => rest.post("/turns", {}),
    resetCounters: () => rest.post("/counters/reset", {}),
    getTasks: async () => (await rest.get("/tasks")).tasks,
    addTasks: (_, tasks) => rest.post("/tasks", { tasks }),
    updateTask: (_, taskId, updates) => rest.post("/tasks/update", { taskId, updates }),
    getPermission: async (_, toolName, input) => (await rest.post("/permissions/get", { toolName, input })).status,
    setPermission: (_, toolName, status, input) => rest.post("/permissions", { toolName, status, input }),
    getInboxItems: async () => (await rest.get("/inbox")).items,
    addInboxItem: (_, item) => rest.post("/inbox", { item }),
    updateInboxItem: (_, itemId, updates) => rest.post("/inbox/update", { itemId, updates }),
    getResolvedInboxItems: async () => (await rest.get("/inbox/resolved")).items,
  });
}
