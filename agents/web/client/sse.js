// Server-sent events out of a stream of bytes, wherever it was cut.

import { GloveError } from "./errors.js";

/** Longest event that is waited for, in characters. */
export const MOST_CHARACTERS = 16_000_000;

/** Collects text and gives out the data of each event that is complete. Comments and other fields are passed over. */
export class SseParser {
  constructor() {
    this.rest = "";
    /** @type {string[]} */
    this.data = [];
    this.size = 0;
  }

  /**
   * @param {string} text
   * @returns {string[]} data of the events that ended in it
   */
  push(text) {
    /** @type {string[]} */
    const events = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.line(line, events);
    if (this.rest.length + this.size > MOST_CHARACTERS) {
      throw new GloveError("ERR_SSE_TOO_LONG", "The server sends an event that does not end.");
    }
    return events;
  }

  /** @returns {string[]} what was complete but for the blank line after it */
  end() {
    /** @type {string[]} */
    const events = [];
    for (const line of this.rest.split("\r")) this.line(line, events);
    this.line("", events);
    this.rest = "";
    return events;
  }

  /** @param {string} line @param {string[]} events */
  line(line, events) {
    if (line === "") {
      if (this.data.length > 0) events.push(this.data.join("\n"));
      this.data = [];
      this.size = 0;
    } else if (line.startsWith("data:")) {
      this.data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      this.size += line.length;
    }
  }
}

/**
 * The JSON values that a response sends as events. Ending the loop early cancels the request.
 * @param {Response} response
 * @returns {AsyncGenerator<any>}
 */
export async function* sseValues(response) {
  if (!response.body) throw new GloveError("ERR_SSE", "The server answered without a body.");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new SseParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
      for (const data of parser.push(text)) yield parse(data);
      if (done) break;
    }
    for (const data of parser.end()) yield parse(data);
  } finally {
    // After the last byte this does nothing; before it, the server learns that nobody reads any more.
    await reader.cancel().catch(() => undefined);
  }
}

/** @type {(data: string) => any} */
function parse(data) {
  try {
    return JSON.parse(data);
  } catch (fault) {
    throw new GloveError("ERR_SSE", "The server sent an event that is not JSON.", "", fault);
  }
}
