// How the ready-made tools look: seven tools, the question for a permission, and anything else.

import { button, card, choicesOf, fieldsOf, firstText, form, outcome } from "./card.js";
import { element, uniqueId } from "./dom.js";
import { MOST_CHARACTERS, field } from "./fields.js";
import { asText } from "./results.js";
import { shown } from "./values.js";
import { readable } from "./words.js";

/** @import { SlotProps, SlotRenderer } from "./registry.js" */

/** @type {(props: SlotProps, label?: string) => HTMLButtonElement} */
function refuse({ reject, words }, label = words("cancel")) {
  return button(label, () => reject(), { "data-glove-answer": "refuse" });
}

/** @type {(label: string, attributes?: Record<string, unknown>) => HTMLButtonElement} */
function submit(label, attributes = {}) {
  return element("button", { type: "submit", class: "glove-main", ...attributes }, label);
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function confirmAction(props) {
  const { words, resolve } = props;
  const input = fieldsOf(props.input);
  const title = firstText(input.title, input.action, input.message, input.question);
  const text = [input.message, input.description, input.details].filter((line) => typeof line === "string" && line !== title);
  const yes = firstText(input.confirm_label, input.confirmLabel, input.yes) || words("yes");
  const no = firstText(input.cancel_label, input.cancelLabel, input.no) || words("no");
  return card({
    title,
    tone: input.destructive || input.danger ? "danger" : undefined,
    children: [...text.map((line) => element("p", {}, line)), complaint(input)],
    actions: [
      button(yes, () => resolve(true), { class: "glove-main", "data-glove-answer": "yes" }),
      button(no, () => resolve(false), { "data-glove-answer": "no" }),
    ],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function permission(props) {
  const { words, resolve } = props;
  const input = fieldsOf(props.input);
  return card({
    title: words("permission", { name: readable(input.toolName) }),
    children: shown(input.toolInput),
    actions: [
      button(words("allow"), () => resolve(true), { class: "glove-main", "data-glove-answer": "yes" }),
      button(words("deny"), () => resolve(false), { "data-glove-answer": "no" }),
    ],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function collectForm(props) {
  const { words, resolve } = props;
  const input = fieldsOf(props.input);
  const fields = (Array.isArray(input.fields) ? input.fields : []).filter((spec) => typeof spec?.name === "string");
  const rows = fields.map((spec) => ({ spec, ...field(spec, words) }));
  const read = () =>
    Object.fromEntries(rows.map(({ spec, read }) => [spec.name, read()]).filter(([, value]) => value !== undefined));
  return card({
    title: firstText(input.title),
    children: [
      ...shown({ description: firstText(input.description, input.message) }),
      complaint(input),
      form({
        children: rows.map(({ row }) => row),
        actions: [submit(firstText(input.submit_label, input.submitLabel) || words("send")), refuse(props)],
        read,
        resolve,
      }),
    ],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function askPreference(props) {
  const { resolve } = props;
  const input = fieldsOf(props.input);
  const title = firstText(input.question, input.title, input.message);
  return card({
    title,
    children: [...shown({ description: firstText(input.description) }), complaint(input)],
    actions: [
      ...choicesOf(input.options ?? input.choices).map(({ label, value, description }) =>
        button(label, () => resolve(value), { title: description || null }),
      ),
      refuse(props),
    ],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function suggestOptions(props) {
  const { resolve, words } = props;
  const input = fieldsOf(props.input);
  const title = firstText(input.prompt, input.question, input.title, input.message);
  const choices = choicesOf(input.options ?? input.suggestions ?? input.choices);
  if (!props.slot.blocking) {
    // It is an offer: the next thing that the user may say.
    const chips = choices.map(({ label, value, description }) =>
      button(label, () => props.say(String(value)), { title: description || null }),
    );
    return card({ title, children: [], actions: [...chips, button(words("dismiss"), () => resolve(null))] });
  }
  const boxes = choices.map(({ label, value, description }) => {
    const id = uniqueId("option");
    const box = element("input", { type: "checkbox", id });
    const text = description ? `${label} – ${description}` : label;
    return { box, value, row: element("div", { class: "glove-field glove-check" }, element("label", { for: id }, text), box) };
  });
  return card({
    title,
    children: [
      complaint(input),
      form({
        children: boxes.map(({ row }) => row),
        actions: [submit(words("send")), refuse(props)],
        read: () => boxes.filter(({ box }) => box.checked).map(({ value }) => value),
        resolve,
      }),
    ],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function textInput(props) {
  const { words, resolve } = props;
  const input = fieldsOf(props.input);
  const title = firstText(input.prompt, input.question, input.title, input.message, input.text);
  const attributes = {
    "aria-label": title || words("answer"),
    placeholder: input.placeholder,
    maxlength: MOST_CHARACTERS,
    required: input.required !== false,
    value: firstText(input.default, input.value),
  };
  const entry = input.multiline ? element("textarea", { ...attributes, rows: 4 }) : element("input", { ...attributes, type: "text" });
  return card({
    title,
    children: [
      ...shown({ description: firstText(input.description) }),
      complaint(input),
      form({
        children: [entry],
        actions: [submit(firstText(input.submit_label, input.submitLabel) || words("send")), refuse(props)],
        read: () => entry.value,
        resolve,
      }),
    ],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function infoCard({ input: value, resolve, words }) {
  const input = fieldsOf(value);
  const tone = firstText(input.variant, input.level, input.tone) || "info";
  const named = { info: "info", warning: "warning", error: "danger", danger: "danger" };
  return card({
    title: firstText(input.title),
    tone,
    children: [
      Object.hasOwn(named, tone) && element("small", { class: "glove-unseen" }, words(named[/** @type {"info"} */ (tone)])),
      ...shown(input, new Set(["title", "variant", "level", "tone", "renderer"])),
    ],
    actions: [button(words("dismiss"), () => resolve(null))],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function approvePlan(props) {
  const { words, resolve } = props;
  const input = fieldsOf(props.input);
  const comment = element("input", {
    type: "text",
    maxlength: MOST_CHARACTERS,
    placeholder: words("comment"),
    "aria-label": words("comment"),
  });
  const answer = (/** @type {boolean} */ approved) =>
    resolve(comment.value.trim() ? { approved, comment: comment.value.trim() } : approved);
  const steps = (Array.isArray(input.steps) ? input.steps : []).map((step) => fieldsOf(step));
  return card({
    title: firstText(input.title, input.plan, input.question),
    children: [
      ...shown({ description: firstText(input.description, input.summary, input.message) }),
      element(
        "ol",
        {},
        ...steps.map((step) => {
          const title = firstText(step.title, step.step, step.text, step.description);
          const more = firstText(step.description);
          return element("li", {}, title, more && more !== title ? element("small", {}, more) : null);
        }),
      ),
      complaint(input),
      comment,
    ],
    actions: [
      button(words("approve"), () => answer(true), { class: "glove-main", "data-glove-answer": "yes" }),
      button(words("reject"), () => answer(false), { "data-glove-answer": "no" }),
    ],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function generic(props) {
  const input = fieldsOf(props.input);
  if (props.slot.blocking) return choicesOf(input.options ?? input.choices).length > 0 ? genericChoice(props) : textInput(props);
  return card({
    title: firstText(input.title),
    children: shown(input),
    actions: [button(props.words("dismiss"), () => props.resolve(null))],
  });
}

/** @type {NonNullable<SlotRenderer["render"]>} */
function genericChoice(props) {
  const input = fieldsOf(props.input);
  return card({
    title: firstText(input.title),
    children: shown(input),
    actions: choicesOf(input.options ?? input.choices).map(({ label, value }) => button(label, () => props.resolve(value))),
  });
}

/** @type {NonNullable<SlotRenderer["renderResult"]>} */
function answered({ data, words }) {
  const fields = fieldsOf(data);
  const asked = fieldsOf(fields.input ?? data);
  const title = firstText(asked.question, asked.title, asked.prompt, asked.message);
  const answer = fields.answer ?? fields.selected ?? fields.value;
  if (typeof answer === "boolean") return outcome(title, words(answer ? "yes" : "no"));
  if (Array.isArray(answer)) return outcome(title, answer.map((each) => labelOf(asked.options, each)).join(", "));
  if (typeof answer !== "object" || answer === null) return outcome(title, labelOf(asked.options, answer));
  if (typeof answer.approved !== "boolean") return card({ title, tone: "past", children: shown(answer) });
  return outcome(title, [words(answer.approved ? "yes" : "no"), answer.comment].filter(Boolean).join(" – "));
}

/** @type {(options: unknown, value: unknown) => string} */
function labelOf(options, value) {
  return choicesOf(options).find((choice) => choice.value === value)?.label ?? asText(value) ?? "";
}

/** Why the last answer was not taken. @type {(input: Record<string, any>) => HTMLElement | null} */
function complaint({ error }) {
  return typeof error === "string" && error ? element("p", { class: "glove-fault", role: "alert" }, error) : null;
}

/** @type {SlotRenderer} */
const question = { renderResult: answered, displayStrategy: "hide-on-complete" };

/** The renderers by the names of their tools. @type {Record<string, SlotRenderer>} */
export const toolRenderers = {
  confirm_action: { ...question, render: confirmAction },
  collect_form: { ...question, render: collectForm },
  ask_preference: { ...question, render: askPreference },
  text_input: { ...question, render: textInput },
  suggest_options: { ...question, render: suggestOptions },
  approve_plan: { ...question, render: approvePlan },
  show_info_card: { render: infoCard },
  permission_request: { render: permission, displayStrategy: "hide-on-complete" },
  generic: { render: generic },
};
