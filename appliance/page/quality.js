// How good the connection is: three bars, and the same in words.

import { text } from "./strings.js";

const FAIR = { rtt_ms: 150, loss: 0.02 };
const POOR = { rtt_ms: 400, loss: 0.08 };

/**
 * @param {import("./client/link.js").Quality} quality
 * @returns {"good" | "fair" | "poor"}
 */
export function grade({ rtt_ms, loss, loss_up }) {
  const lost = Math.max(loss ?? 0, loss_up ?? 0);
  const beyond = (limit) => (rtt_ms ?? 0) > limit.rtt_ms || lost > limit.loss;
  if (beyond(POOR)) return "poor";
  return beyond(FAIR) ? "fair" : "good";
}

/** Show it in the head and in the settings; nothing while there is no connection. */
export function showQuality(quality) {
  const bars = document.getElementById("quality");
  const words = document.getElementById("quality-words");
  bars.hidden = !quality;
  words.textContent = "";
  if (!quality) return;
  const graded = grade(quality);
  bars.dataset.grade = graded;
  bars.setAttribute("aria-label", text(`quality_${graded}`));
  const figures = [quality.via === "webrtc" ? "WebRTC" : "WebSocket"];
  if (quality.rtt_ms !== null) figures.push(`${Math.round(quality.rtt_ms)} ms`);
  const lost = Math.max(quality.loss ?? 0, quality.loss_up ?? 0);
  if (quality.via === "webrtc") figures.push(text("lossShare", { share: `${(100 * lost).toFixed(lost > 0 ? 1 : 0)} %` }));
  words.textContent = `${text(`quality_${graded}`)} · ${figures.join(" · ")}`;
  bars.title = words.textContent;
}
