// Timers that run and ring.

import { text } from "./strings.js";

/** Shows timers; `onDismiss(id)` silences one, `onCancel(id)` drops one. */
export class Timers {
  constructor(onDismiss, onCancel) {
    this.onDismiss = onDismiss;
    this.onCancel = onCancel;
    this.place = document.getElementById("timers");
    this.list = document.getElementById("timer-list");
    this.clocks = [];
    setInterval(() => this.tick(), 250);
  }

  show({ running, ringing }) {
    const now = performance.now();
    this.clocks = [];
    this.list.replaceChildren(
      ...ringing.map((timer) => this.row(timer, text("ringing"), text("dismiss"), this.onDismiss, "ringing")),
      ...running.map((timer) => {
        const row = this.row(timer, "", text("cancel"), this.onCancel, "");
        this.clocks.push({ output: row.querySelector("output"), due: now + timer.remaining_s * 1000 });
        return row;
      }),
    );
    this.place.hidden = this.list.childElementCount === 0;
    this.tick();
  }

  row(timer, state, label, onClick, className) {
    const item = document.createElement("li");
    item.className = className;
    const name = document.createElement("span");
    name.textContent = timer.name ?? text(timer.kind === "alarm" ? "alarm" : "timer");
    const output = document.createElement("output");
    output.textContent = state;
    output.setAttribute("aria-live", "off");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.setAttribute("aria-label", `${label}: ${name.textContent}`);
    button.addEventListener("click", () => onClick(timer.id));
    item.append(name, output, button);
    return item;
  }

  tick() {
    for (const { output, due } of this.clocks) output.textContent = countdown((due - performance.now()) / 1000);
  }
}

function countdown(seconds) {
  const left = Math.max(0, Math.ceil(seconds));
  const two = (value) => String(value).padStart(2, "0");
  const minutes = `${Math.floor(left / 60) % 60}`;
  return left < 3600 ? `${minutes}:${two(left % 60)}` : `${Math.floor(left / 3600)}:${two(minutes)}:${two(left % 60)}`;
}
