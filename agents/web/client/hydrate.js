// The timeline of a conversation that was stored before.

import { finish } from "./results.js";

/** @import { ContentPart, Message, NoteEntry, TimelineEntry, ToolEntry, ToolResult } from "./types.js" */

/**
 * Tool results join their calls; a call without one was aborted. What neither side has said becomes a note.
 * @param {Message[]} messages oldest first
 * @returns {TimelineEntry[]}
 */
export function hydrate(messages) {
  const results = messages.flatMap((message) => message.tool_results ?? []);
  const entries = messages.flatMap((message) => entriesOf(message, results));
  return entries.map((entry, index) => ({ ...entry, key: `kept_${index}` }));
}

/** @type {(message: Message, results: ToolResult[]) => TimelineEntry[]} */
function entriesOf(message, results) {
  if (message.tool_results?.length || message.is_compaction_request) return [];
  const note = noteOf(message);
  if (note) return [note];
  return message.sender === "user" ? [userEntry(message)] : agentEntries(message, results);
}

/** @type {(message: Message) => NoteEntry | null} */
function noteOf(message) {
  /** @type {(note: NoteEntry["note"], title: string, text: string) => NoteEntry} */
  const note = (kind, title, text) => ({ kind: "note", key: "", note: kind, title, text });
  if (message.is_compaction) return note("summary", "", message.text);
  if (message.is_skill_injection) {
    const [, name = "", content = message.text] = /^\[Skill: ([^\]\n]*)\]\n?([^]*)$/.exec(message.text) ?? [];
    return note("skill", name, content);
  }
  switch (message.framework_context) {
    case "inbox":
      return note("inbox", "", message.text);
    case "event": {
      const events = message.events ?? [];
      const told = events.map((event) => event.text || event.kind).join("\n");
      return note("event", events.map((event) => event.source).join(", "), told || message.text);
    }
    case "runtime":
      return note("context", "", message.text);
    case "notice":
      return note("notice", "", message.text);
    default:
      return null;
  }
}

/** @type {(message: Message) => TimelineEntry} */
function userEntry(message) {
  const parts = message.content ?? [];
  const text = message.pre_modified_text ?? userText(message.text, parts);
  return { kind: "user", key: "", text, ...mediaOf(parts) };
}

/**
 * @param {ContentPart[]} parts
 * @returns {{images?: string[], attachments?: string[]}} addresses of pictures, and names of other media
 */
export function mediaOf(parts) {
  const images = parts.filter((part) => part.type === "image").map(address).filter(Boolean);
  const others = parts.filter((part) => part.type !== "image" && part.type !== "text");
  return {
    ...(images.length > 0 ? { images } : {}),
    ...(others.length > 0 ? { attachments: others.map((part) => part.name || part.type) } : {}),
  };
}

/** Messages with media only carry a placeholder as their text. @type {(text: string, parts: ContentPart[]) => string} */
function userText(text, parts) {
  if (parts.length === 0) return text;
  return parts.flatMap((part) => (part.type === "text" && part.text ? [part.text] : [])).join("\n");
}

/** @type {(part: ContentPart) => string} */
function address({ source }) {
  if (source?.type === "base64" && source.data) return `data:${source.media_type || "image/png"};base64,${source.data}`;
  return source?.url ?? "";
}

/** @type {(message: Message, results: ToolResult[]) => TimelineEntry[]} */
function agentEntries(message, results) {
  /** @type {TimelineEntry[]} */
  const entries = (message.tool_calls ?? []).map((call) => {
    /** @type {ToolEntry} */
    const entry = {
      kind: "tool",
      key: "",
      id: call.id ?? "",
      name: call.tool_name,
      input: call.input_args,
      status: "aborted",
    };
    const at = results.findIndex((result) =>
      call.id ? result.call_id === call.id : !result.call_id && result.tool_name === call.tool_name,
    );
    return at < 0 ? entry : finish(entry, results.splice(at, 1)[0].result);
  });
  const text = message.text.trim();
  if (!text) return entries;
  const said = {
    kind: /** @type {const} */ ("agent_text"),
    key: "",
    text,
    ...(message.id ? { reply_id: message.id } : {}),
    ...(message.heard ? { heard: message.heard } : {}),
  };
  return [said, ...entries];
}
