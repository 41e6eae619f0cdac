// The conversation as it forms.

import { text } from "./strings.js";

const MOST_LINES = 200;

/** Shows lines of both sides; finished ones are read out by screen readers. */
export class Transcript {
  constructor(assistantName) {
    this.assistantName = assistantName;
    this.scroller = document.getElementById("transcript");
    this.lines = document.getElementById("lines");
    this.welcome = document.getElementById("welcome");
    this.partial = document.getElementById("partial");
    this.spoken = document.getElementById("spoken");
    this.turns = new Map();
  }

  /** @param {{who: string, text: string, cut?: boolean}[]} history */
  restore(history) {
    this.lines.replaceChildren();
    this.turns.clear();
    this.forming("");
    for (const line of history) this.add(line.who, line.text, line.cut);
  }

  /** What the user seems to be saying. */
  forming(words) {
    this.partial.textContent = words;
    this.partial.hidden = words === "";
    if (words) this.reveal();
  }

  /** What the user has said. */
  user(words) {
    this.forming("");
    this.add("user", words);
  }

  /** More words of the reply `turn`. */
  speech(turn, words) {
    let line = this.turns.get(turn);
    if (!line) {
      line = this.add("assistant", "");
      this.turns.set(turn, line);
    }
    line.words.textContent += words;
    this.reveal();
  }

  /** The reply `turn` was handed over whole. */
  end(turn) {
    const line = this.turns.get(turn);
    if (line) this.announce(line.words.textContent);
  }

  /** Of the reply `turn` only `heard` was heard. */
  interrupted(turn, heard) {
    const line = this.turns.get(turn);
    if (!line) return;
    this.turns.delete(turn);
    const whole = line.words.textContent;
    const rest = whole.startsWith(heard) ? whole.slice(heard.length) : "";
    line.words.textContent = heard;
    if (rest.trim()) line.words.append(Object.assign(document.createElement("s"), { textContent: rest }));
    line.item.classList.add("cut");
  }

  add(who, words, cut = false) {
    this.welcome.hidden = true;
    const item = document.createElement("li");
    item.className = cut ? `${who} cut` : who;
    const name = document.createElement("span");
    name.className = "who";
    name.textContent = who === "user" ? text("you") : this.assistantName;
    const body = document.createElement("p");
    body.textContent = words;
    item.append(name, body);
    this.lines.append(item);
    while (this.lines.childElementCount > MOST_LINES) this.lines.firstElementChild.remove();
    this.reveal();
    return { item, words: body };
  }

  announce(words) {
    this.spoken.textContent = words;
  }

  reveal() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }
}
