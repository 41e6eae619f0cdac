// A whole chat: the conversation, what the voice does, and a line to type in.

import { element } from "./dom.js";
import { tasksElement } from "./panels.js";
import { TimelineView } from "./render.js";
import { wordsFor } from "./words.js";

/** @import { GloveClient } from "./client.js" */
/** @import { ViewOptions } from "./render.js" */
/** @import { VoiceState } from "./types.js" */

/**
 * @typedef {ViewOptions & {
 *   input?: boolean,
 *   renderTranscript?: (text: string) => HTMLElement,
 *   renderVoiceStatus?: (voice: VoiceState) => HTMLElement,
 * }} ChatOptions `input` is false where the page has a line of its own
 */

/**
 * @param {Element} place
 * @param {GloveClient} client
 * @param {ChatOptions} [options]
 * @returns {() => void} takes everything away again
 */
export function mountChat(place, client, options = {}) {
  const words = options.words ?? wordsFor(document.documentElement.lang || "en");
  const root = element("section", { class: "glove-chat" });
  const log = element("div", { class: "glove-log", tabindex: 0, role: "log", "aria-live": "off", "aria-label": options.agentName });
  const status = element("div", { class: "glove-status" });
  root.append(log, status);
  place.append(root);
  const view = new TimelineView(log, client, { scroller: log, ...options, words });
  const entry = options.input === false ? null : inputForm(client, words);
  if (entry) root.append(entry.made);
  const show = () => {
    const { state } = client;
    entry?.show(state.busy);
    const compacting = state.isCompacting && element("p", { "data-glove-role": "compacting" }, words("compacting"));
    const parts = [tasksElement(state, words), compacting, ...voiceElements(state.voice, options, words)];
    status.replaceChildren(...parts.filter((part) => part instanceof Node));
  };
  const unsubscribe = client.subscribe(show);
  show();
  return () => {
    unsubscribe();
    view.close();
    root.remove();
  };
}

/** @type {(client: GloveClient, words: import("./words.js").Words) => {made: HTMLElement, show: (busy: boolean) => void}} */
function inputForm(client, words) {
  const line = element("input", { type: "text", "aria-label": words("input"), placeholder: words("placeholder"), maxlength: 4000 });
  const send = element("button", { type: "submit", class: "glove-main" }, words("send"));
  const stop = element("button", { type: "button", onclick: () => client.abort() }, words("stop"));
  const made = element("form", { "data-glove-role": "input", autocomplete: "off" }, line, send, stop);
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = line.value.trim();
    if (!text || client.state.busy) return;
    line.value = "";
    void client.sendMessage(text).then((sent) => {
      // What was not sent is not lost; the timeline says why.
      if (!sent && line.value === "") line.value = text;
    });
  });
  return {
    made,
    show: (busy) => {
      send.disabled = busy;
      stop.hidden = !busy;
    },
  };
}

/**
 * What the voice hears and does; nothing while it is idle.
 * @param {VoiceState | null} voice
 * @param {Pick<ChatOptions, "renderTranscript" | "renderVoiceStatus">} options
 * @param {import("./words.js").Words} words
 * @returns {HTMLElement[]}
 */
export function voiceElements(voice, { renderTranscript, renderVoiceStatus }, words) {
  if (!voice || voice.mode === "idle") return [];
  const { mode, transcript } = voice;
  const said = renderTranscript?.(transcript) ?? element("p", { "data-glove-role": "voice-transcript" }, transcript);
  const status =
    renderVoiceStatus?.(voice) ??
    element("p", { "data-glove-role": "voice-status", "data-glove-voice-mode": mode, role: "status" }, words(mode));
  return transcript.trim() ? [said, status] : [status];
}
