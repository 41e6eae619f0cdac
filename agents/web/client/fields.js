// The fields of a form that an agent asks to be filled in.

import { choicesOf, firstText } from "./card.js";
import { element, uniqueId } from "./dom.js";
import { readable } from "./words.js";

/** @import { Words } from "./words.js" */

/** @typedef {{name: string, label?: string, type?: string, required?: boolean, [option: string]: any}} FieldSpec */

/** Kinds of `input` that browsers check by themselves, by the names that agents use. */
const INPUTS = new Map([
  ["text", "text"],
  ["string", "text"],
  ["number", "number"],
  ["integer", "number"],
  ["email", "email"],
  ["date", "date"],
  ["time", "time"],
  ["datetime", "datetime-local"],
  ["tel", "tel"],
  ["phone", "tel"],
  ["url", "url"],
  ["password", "password"],
]);

/** Longest text that can be entered. */
export const MOST_CHARACTERS = 4000;

/**
 * @param {FieldSpec} spec
 * @param {Words} words
 * @returns {{row: HTMLElement, read: () => unknown}} `read` gives undefined for what was left empty
 */
export function field(spec, words) {
  const id = uniqueId("field");
  const label = firstText(spec.label) || readable(spec.name);
  const control = controlFor(spec, id, words);
  const hint = firstText(spec.description, spec.help);
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  const row = element(
    "div",
    { class: isBoolean(spec) ? "glove-field glove-check" : "glove-field" },
    element("label", { for: id }, label, spec.required ? element("small", {}, ` (${words("required")})`) : null),
    control,
    hint && element("small", { id: `${id}-hint` }, hint),
  );
  return { row, read: () => valueOf(spec, control) };
}

/** @type {(spec: FieldSpec) => boolean} */
function isBoolean(spec) {
  return ["boolean", "checkbox", "bool"].includes(spec.type ?? "");
}

/** @type {(spec: FieldSpec, id: string, words: Words) => HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} */
function controlFor(spec, id, words) {
  const given = spec.default ?? spec.value ?? "";
  const required = Boolean(spec.required);
  if (isBoolean(spec)) return element("input", { id, name: spec.name, type: "checkbox", checked: given === true });
  const choices = choicesOf(spec.options ?? spec.choices);
  if (choices.length > 0) {
    return element(
      "select",
      { id, name: spec.name, required },
      element("option", { value: "" }, words("choose")),
      ...choices.map(({ label, value }, index) =>
        element("option", { value: String(index), selected: value === given }, label),
      ),
    );
  }
  const common = { id, name: spec.name, required, placeholder: spec.placeholder, value: String(given) };
  if (spec.type === "textarea" || spec.multiline) return element("textarea", { ...common, rows: 4, maxlength: MOST_CHARACTERS });
  const type = INPUTS.get(spec.type ?? "text") ?? "text";
  const step = type === "number" ? (spec.type === "integer" ? 1 : "any") : null;
  return element("input", { ...common, type, step, min: spec.min, max: spec.max, maxlength: MOST_CHARACTERS });
}

/** @type {(spec: FieldSpec, control: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement) => unknown} */
function valueOf(spec, control) {
  if (isBoolean(spec)) return /** @type {HTMLInputElement} */ (control).checked;
  if (control.value === "") return undefined;
  const choices = choicesOf(spec.options ?? spec.choices);
  if (choices.length > 0) return choices[Number(control.value)]?.value;
  return control.type === "number" ? Number(control.value) : control.value;
}
