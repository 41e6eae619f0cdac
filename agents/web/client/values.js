// Any JSON value as elements: sentences as paragraphs, lists as lists, fields as pairs.

import { element } from "./dom.js";
import { asText } from "./results.js";
import { readable } from "./words.js";

/** Fields that hold sentences, in the order in which they are shown. */
const SENTENCES = ["question", "message", "prompt", "description", "content", "body", "text"];

/** Fields that say how to show a value rather than what. */
const FRAME = new Set(["title", "renderer", "variant", "type", "options", "choices", "error"]);

/**
 * @param {unknown} value
 * @param {Set<string>} [besides] fields that are shown elsewhere
 * @returns {Node[]}
 */
export function shown(value, besides = FRAME) {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return [element("ul", {}, ...value.map((item) => element("li", {}, brief(item))))];
  if (typeof value !== "object") return [element("p", {}, String(value))];
  const fields = /** @type {Record<string, unknown>} */ (value);
  const sentences = SENTENCES.filter((name) => typeof fields[name] === "string" && fields[name]);
  const lists = Object.keys(fields).filter((name) => Array.isArray(fields[name]) && !besides.has(name));
  const told = new Set([...sentences, ...lists, ...besides]);
  const rest = Object.entries(fields).filter(([name, field]) => !told.has(name) && field !== "" && field !== null);
  return [
    ...sentences.map((name) => element("p", {}, String(fields[name]))),
    ...lists.flatMap((name) => shown(fields[name])),
    ...(rest.length > 0 ? [pairs(rest)] : []),
  ];
}

/** @type {(entries: [string, unknown][]) => Node} */
function pairs(entries) {
  return element(
    "dl",
    {},
    ...entries.flatMap(([name, value]) => [element("dt", {}, readable(name)), element("dd", {}, brief(value))]),
  );
}

/** @type {(value: unknown) => string} */
function brief(value) {
  return asText(value) ?? "";
}
