// Where the time of the last answer went.

import { text } from "./strings.js";

const STAGES = ["wait", "agent", "sentence", "voice", "playout"];

/** Shows the metric `voice_to_voice`. */
export function showTimings({ ms, data }) {
  const seconds = (value) => `${(value / 1000).toFixed(2)} s`;
  const place = document.getElementById("timings");
  const stages = STAGES.map((name) => ({ name, ms: Math.max(0, data?.[`${name}_ms`] ?? 0) }));
  document.getElementById("total").textContent = seconds(ms);
  document.getElementById("bar").replaceChildren(
    ...stages.map((stage) => {
      const part = document.createElement("i");
      part.className = stage.name;
      part.style.flexGrow = stage.ms;
      return part;
    }),
  );
  document.getElementById("stages").replaceChildren(
    ...stages.flatMap((stage) => {
      const name = Object.assign(document.createElement("dt"), { textContent: text(stage.name), className: stage.name });
      return [name, Object.assign(document.createElement("dd"), { textContent: seconds(stage.ms) })];
    }),
  );
  place.hidden = false;
}
