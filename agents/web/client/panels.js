// What an agent has on its list, what it waits for, and what it has used.

import { element } from "./dom.js";
import { wordsFor } from "./words.js";

/** @import { ClientState } from "./types.js" */
/** @import { Words } from "./words.js" */

/**
 * @param {Pick<ClientState, "tasks">} state
 * @param {Words} [words]
 * @returns {HTMLElement | null} null without tasks
 */
export function tasksElement({ tasks }, words = wordsFor("en")) {
  if (tasks.length === 0) return null;
  return element(
    "ul",
    { "data-glove-role": "tasks", "aria-label": words("tasks") },
    ...tasks.map(({ content, activeForm, status }) =>
      element(
        "li",
        { "data-glove-status": status },
        status === "in_progress" ? activeForm || content : content,
        element("span", { class: "glove-unseen" }, ` (${words(status)})`),
      ),
    ),
  );
}

/**
 * @param {Pick<ClientState, "inbox">} state
 * @param {Words} [words]
 * @returns {HTMLElement | null} what is still waited for; null when that is nothing
 */
export function inboxElement({ inbox }, words = wordsFor("en")) {
  const waiting = inbox.filter((item) => item.status !== "consumed");
  if (waiting.length === 0) return null;
  return element(
    "ul",
    { "data-glove-role": "inbox", "aria-label": words("inbox") },
    ...waiting.map(({ tag, request, response, status }) =>
      element("li", { "data-glove-status": status }, `${tag}: ${request}`, response ? element("small", {}, response) : null),
    ),
  );
}

/**
 * @param {Pick<ClientState, "stats">} state
 * @returns {string} for a line at the edge: calls, tokens in and out, and what was read from a cache
 */
export function statsLine({ stats }) {
  if (stats.tokens_in + stats.tokens_out === 0) return "";
  const cached = stats.cache_read_input_tokens > 0 ? ` (${count(stats.cache_read_input_tokens)} ⟲)` : "";
  return `↻ ${stats.turns} · ↑ ${count(stats.tokens_in)}${cached} · ↓ ${count(stats.tokens_out)}`;
}

/** @type {(value: number) => string} */
function count(value) {
  return value < 10_000 ? String(value) : `${Math.round(value / 1000)}k`;
}
