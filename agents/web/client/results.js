// What came of a tool call, as it is shown.

/** @import { ToolEntry, ToolResultData } from "./types.js" */

/**
 * @param {ToolEntry} entry
 * @param {ToolResultData} result
 * @returns {ToolEntry} the entry with what came of it
 */
export function finish(entry, result) {
  const finished = { ...entry, status: result.status };
  const output = asText(result.data ?? result.message);
  if (output !== null) finished.output = output;
  if (result.renderData !== undefined && result.renderData !== null) finished.renderData = result.renderData;
  return finished;
}

/** @param {unknown} value @returns {string | null} text as it is, anything else as JSON */
export function asText(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value); // it contains itself, or a number that JSON does not know
  }
}
