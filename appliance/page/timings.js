// Where the time of the last turns went: for each a strip of its stages, from the user's last sound to the first sample.

import { text } from "./strings.js";

const WAITING = ["silence", "recognition", "hold", "agent", "sentence", "voice", "playout"];
const SHOWN = 5;
const NAMED = 0.2; // so wide a part of the strip has room for a name and a number,
const NUMBERED = 0.09; // and so wide a one for a number

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
const milliseconds = (ms) => `${Math.round(ms)} ms`;

/** Shows the metric `voice_to_voice`: an answer has begun. */
export function showLatency({ ms }) {
  document.getElementById("total").textContent = seconds(ms);
  document.getElementById("timings").hidden = false;
}

/** Shows the metric `turn`: a turn is over. */
export function showTurn({ ms, data }) {
  const list = document.getElementById("turns");
  list.querySelector("dl")?.remove(); // numbers in full for the newest turn; the others have them as their text
  list.prepend(turnElement(ms, data));
  while (list.childElementCount > SHOWN) list.lastElementChild.remove();
  if (ms !== null) document.getElementById("total").textContent = seconds(ms);
  document.getElementById("timings").hidden = false;
}

function turnElement(ms, data) {
  const stages = data.stages.map(([name, from, to]) => ({ name, ms: Math.max(0, to - from) }));
  const waiting = stages.filter(({ name }) => WAITING.includes(name));
  const item = element("li", `turn ${data.outcome}`);
  const head = [text("turn", { number: data.turn }), text(data.source)];
  if (ms !== null) head.push(text("after", { time: milliseconds(ms) }));
  if (data.outcome !== "complete") head.push(text(data.outcome));
  item.append(element("p", "turn-head", head.join(" · ")), strip(waiting, described(stages, data)), table(stages, data));
  return item;
}

function strip(stages, alternative) {
  const whole = stages.reduce((sum, stage) => sum + stage.ms, 0) || 1;
  const bar = element("div", "strip");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", alternative);
  bar.title = alternative;
  bar.append(
    ...stages.map((stage) => {
      const share = stage.ms / whole;
      const number = milliseconds(stage.ms);
      const label = share >= NAMED ? `${text(stage.name)} ${number}` : share >= NUMBERED ? number : "";
      const part = element("i", stage.name, label);
      part.style.flexGrow = String(stage.ms);
      return part;
    }),
  );
  return bar;
}

/** The stages as pairs of name and length, then what else happened. */
function rows(stages, data) {
  const paused = data.pauses.map(({ at_ms, decided_ms, cut }) => [
    text(cut ? "pauseCut" : "pauseResumed"),
    decided_ms === null ? "" : milliseconds(decided_ms - at_ms),
  ]);
  const used = data.tools.map(({ name, at_ms, end_ms }) => [name, end_ms === null ? "" : milliseconds(end_ms - at_ms)]);
  return { stages: stages.map(({ name, ms }) => [text(name), milliseconds(ms), name]), others: [...used, ...paused] };
}

function described(stages, data) {
  const all = rows(stages, data);
  return [...all.stages, ...all.others].map(([name, length]) => `${name} ${length}`.trim()).join(", ");
}

function table(stages, data) {
  const all = rows(stages, data);
  const list = element("dl", "stages");
  for (const [name, length, stage] of [...all.stages, ...all.others]) {
    const row = element("div", "");
    row.append(element("dt", stage ?? "other", name), element("dd", "", length));
    list.append(row);
  }
  return list;
}

function element(tag, className, textContent = "") {
  return Object.assign(document.createElement(tag), { className, textContent });
}
