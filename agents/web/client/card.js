// The frame that cards and questions share.

import { element, uniqueId } from "./dom.js";

/** @import { Child } from "./dom.js" */

/**
 * @param {{title?: string, tone?: string, children: Child[], actions?: Child[]}} parts
 * @returns {HTMLElement} a group that is named by its title
 */
export function card({ title = "", tone, children, actions = [] }) {
  const id = uniqueId("title");
  return element(
    "article",
    { class: "glove-card", role: "group", "data-glove-tone": tone, "aria-labelledby": title ? id : null },
    title && element("h3", { id }, title),
    ...children,
    actions.length > 0 && element("div", { class: "glove-actions" }, ...actions),
  );
}

/**
 * @param {string} label
 * @param {() => void} onClick
 * @param {Record<string, unknown>} [attributes]
 * @returns {HTMLButtonElement}
 */
export function button(label, onClick, attributes = {}) {
  return element("button", { type: "button", onclick: onClick, ...attributes }, label);
}

/**
 * A form that hands over what `read` makes of it.
 * @param {{children: Child[], actions: Child[], read: (form: HTMLFormElement) => any, resolve: (value: any) => void}} parts
 * @returns {HTMLFormElement}
 */
export function form({ children, actions, read, resolve }) {
  const made = element("form", { autocomplete: "off" }, ...children, element("div", { class: "glove-actions" }, ...actions));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    resolve(read(made));
  });
  return made;
}

/**
 * What was chosen, in the history.
 * @param {string} title
 * @param {string} answer
 * @returns {HTMLElement}
 */
export function outcome(title, answer) {
  return element("article", { class: "glove-card", "data-glove-tone": "past" }, element("p", {}, title), element("strong", {}, answer));
}

/** @param {...unknown} values @returns {string} the first that is text and not empty */
export function firstText(...values) {
  return /** @type {string} */ (values.find((value) => typeof value === "string" && value.trim())) ?? "";
}

/** @param {unknown} value @returns {Record<string, any>} the fields of a slot's input; other values become its `text` */
export function fieldsOf(value) {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return /** @type {Record<string, any>} */ (value);
  if (Array.isArray(value)) return { items: value };
  return value === null || value === undefined ? {} : { text: String(value) };
}

/** @param {unknown} options @returns {{label: string, value: unknown, description: string}[]} */
export function choicesOf(options) {
  if (!Array.isArray(options)) return [];
  return options.map((option) => {
    if (typeof option !== "object" || option === null) return { label: String(option), value: option, description: "" };
    const value = option.value ?? option.label;
    return { label: firstText(option.label, String(value ?? "")), value, description: firstText(option.description) };
  });
}
