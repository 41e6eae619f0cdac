// One entry of the timeline as an element.

import { drawn, element, isPicture } from "./dom.js";
import { asText } from "./results.js";
import { shown } from "./values.js";
import { readable } from "./words.js";

/** @import { Registry } from "./registry.js" */
/** @import { AgentEntry, NoteEntry, TimelineEntry, ToolEntry, UserEntry } from "./types.js" */
/** @import { Words } from "./words.js" */

/** Longest input or result of a tool that is written out. */
const MOST_CHARACTERS = 4000;

/**
 * @param {TimelineEntry} entry
 * @param {{registry: Registry, words: Words, agentName: string, asked: boolean}} context `asked`: a slot of this call is
 *   on the screen, and its result would say the same again
 * @returns {HTMLElement}
 */
export function entryElement(entry, { registry, words, agentName, asked }) {
  switch (entry.kind) {
    case "user":
      return userElement(entry, words);
    case "agent_text":
      return agentElement(entry, words, agentName);
    case "tool":
      return toolElement(entry, words, asked ? null : registry);
    case "note":
      return noteElement(entry, words);
  }
}

/** @type {(entry: UserEntry, words: Words) => HTMLElement} */
function userElement({ text, images = [], attachments = [] }, words) {
  const pictures = images.filter(isPicture).map((src) => element("img", { src, alt: words("image") }));
  return element(
    "li",
    { "data-glove-role": "user" },
    element("span", { class: "glove-who" }, words("you")),
    ...pictures,
    text && element("p", {}, text),
    ...attachments.map((name) => element("small", {}, `${words("attachment")}: ${name}`)),
  );
}

/** @type {(entry: AgentEntry, words: Words, agentName: string) => HTMLElement} */
function agentElement({ text, heard, unheard, error, announcement, asking }, words, agentName) {
  const cut = heard === "interrupted";
  const kind = announcement ? ` · ${words(asking ? "question" : "announcement")}` : null;
  const body = element("p", {}, text);
  if (unheard) {
    body.append(
      element("span", { class: "glove-unseen" }, ` (${words("unheard")}: `),
      element("s", {}, unheard),
      element("span", { class: "glove-unseen" }, ")"),
    );
  }
  return element(
    "li",
    {
      "data-glove-role": "agent",
      "data-glove-heard": heard,
      "data-glove-error": error ? "" : null,
      "data-glove-announcement": announcement ? "" : null,
    },
    element("span", { class: "glove-who" }, agentName, kind),
    body,
    cut && element("small", { class: "glove-mark" }, words("interrupted")),
  );
}

/** @type {(entry: ToolEntry, words: Words, registry: Registry | null) => HTMLElement} */
function toolElement(entry, words, registry) {
  const { name, status, input, output, renderData, subagent } = entry;
  const own = renderData === undefined ? undefined : registry?.resultRendererOf(name);
  const made = own && drawn(() => own({ data: renderData, entry, words }), () => null);
  return element(
    "li",
    { "data-glove-role": "tool", "data-glove-status": status, "data-glove-tool": name },
    element(
      "details",
      {},
      element(
        "summary",
        {},
        element("span", {}, readable(subagent ? `${subagent}: ${name}` : name)),
        element("small", {}, words(status)),
      ),
      ...part(words("inputOf"), input),
      ...part(words("outputOf"), output),
    ),
    made,
  );
}

/** @type {(title: string, value: unknown) => Node[]} */
function part(title, value) {
  const text = asText(value);
  if (!text || text === "{}") return [];
  const whole = text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)} …`;
  return [element("h4", {}, title), element("pre", {}, whole)];
}

/** @type {(entry: NoteEntry, words: Words) => HTMLElement} */
function noteElement({ note, title, text }, words) {
  const name = title ? `${words(note)}: ${title}` : words(note);
  return element(
    "li",
    { "data-glove-role": "note", "data-glove-note": note },
    element("details", {}, element("summary", {}, element("span", {}, name)), ...shown(text)),
  );
}

/** @param {string} text @param {string} agentName @returns {HTMLElement} words that are still being written */
export function streamingElement(text, agentName) {
  return element(
    "li",
    { "data-glove-role": "agent", "data-glove-streaming": "" },
    element("span", { class: "glove-who" }, agentName),
    element("p", {}, text),
  );
}
