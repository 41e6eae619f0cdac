// Cards and questions of the conversation. Whatever they hold is shown as text, never as markup.

import { text } from "./strings.js";

const FIELDS = ["text", "body", "message", "description", "question"];

/** Shows the display stack; `onAnswer(id, value)` is called with answers, and with null for a card that is closed. */
export class Cards {
  constructor(onAnswer) {
    this.onAnswer = onAnswer;
    this.place = document.getElementById("cards");
    this.cards = new Map();
  }

  /** Show exactly these. */
  restore(slots) {
    for (const id of [...this.cards.keys()]) this.remove(id);
    for (const slot of slots) this.show(slot);
  }

  show(slot) {
    this.remove(slot.id);
    const card = document.createElement("article");
    card.className = slot.blocking ? "card question" : "card";
    card.dataset.slot = slot.id;
    this.fill(card, slot);
    this.cards.set(slot.id, { card, slot });
    this.place.append(card);
  }

  update(id, input) {
    const known = this.cards.get(id);
    if (!known) return;
    known.slot = { ...known.slot, input };
    known.card.replaceChildren();
    this.fill(known.card, known.slot);
  }

  remove(id) {
    this.cards.get(id)?.card.remove();
    this.cards.delete(id);
  }

  fill(card, slot) {
    const permission = slot.renderer === "permission_request";
    const input = typeof slot.input === "object" && slot.input !== null ? slot.input : { text: String(slot.input ?? "") };
    const title = permission ? text("permission", { name: readable(input.toolName) }) : input.title ?? "";
    if (title) card.append(element("h3", title));
    const content = permission ? details(input.toolInput) : details(input);
    if (content) card.append(content);
    card.append(this.answers(slot, permission, input));
  }

  answers(slot, permission, input) {
    const row = element("div", "");
    row.className = "answers";
    const choices = permission
      ? [{ label: text("allow"), value: true }, { label: text("deny"), value: false }]
      : (input.options ?? input.choices ?? []).map((option) => (typeof option === "object" ? option : { label: option, value: option }));
    if (slot.blocking && choices.length === 0) {
      row.append(this.entry(slot.id));
    } else if (slot.blocking) {
      for (const choice of choices) row.append(this.button(String(choice.label ?? choice.value), slot.id, choice.value ?? choice.label));
    } else {
      row.append(this.button(text("dismiss"), slot.id, null));
    }
    return row;
  }

  button(label, id, value) {
    const button = element("button", label);
    button.type = "button";
    button.addEventListener("click", () => this.onAnswer(id, value));
    return button;
  }

  entry(id) {
    const form = document.createElement("form");
    const input = document.createElement("input");
    input.type = "text";
    input.maxLength = 4000;
    input.setAttribute("aria-label", text("typeLabel"));
    const button = element("button", text("send"));
    form.append(input, button);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.onAnswer(id, input.value);
    });
    return form;
  }
}

/** The words of a value: sentences as a paragraph, other fields as a list. */
function details(value) {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return element("p", String(value));
  const block = document.createElement("div");
  for (const name of FIELDS) if (typeof value[name] === "string") block.append(element("p", value[name]));
  if (Array.isArray(value.items ?? value)) {
    const list = document.createElement("ul");
    for (const item of value.items ?? value) list.append(element("li", typeof item === "object" ? JSON.stringify(item) : String(item)));
    block.append(list);
  } else {
    const hidden = new Set(["title", "renderer", "options", "choices", ...FIELDS]);
    const rest = Object.entries(value).filter(([name]) => !hidden.has(name));
    if (rest.length > 0) block.append(pairs(rest));
  }
  return block;
}

function pairs(entries) {
  const list = document.createElement("dl");
  for (const [name, value] of entries) {
    list.append(element("dt", readable(name)), element("dd", typeof value === "object" ? JSON.stringify(value) : String(value)));
  }
  return list;
}

function readable(name) {
  return String(name ?? "").replaceAll(/[_-]+/g, " ");
}

function element(kind, words) {
  return Object.assign(document.createElement(kind), { textContent: words });
}
