// Errors that say what to do, and the one outcome that is no error.

/** `code` is for programs, the message for people, `remedy` says what to do. */
export class GloveError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {string} [remedy]
   * @param {unknown} [cause]
   */
  constructor(code, message, remedy = "", cause = undefined) {
    super(remedy ? `${message} ${remedy}` : message, { cause });
    this.name = "GloveError";
    this.code = code;
    this.remedy = remedy;
  }
}

/** @param {string} [reason] @returns {DOMException} what an aborted piece of work is rejected with */
export function aborted(reason = "aborted") {
  return new DOMException(reason, "AbortError");
}

/** @param {AbortSignal | undefined} signal throws when it is set */
export function check(signal) {
  if (signal?.aborted) throw aborted();
}

/** @param {unknown} fault @returns {boolean} whether it only says that somebody wanted the work to end */
export function isAbort(fault) {
  return fault instanceof DOMException && fault.name === "AbortError";
}

/** @param {unknown} fault @returns {string} its words for people */
export function messageOf(fault) {
  return fault instanceof Error ? fault.message : String(fault);
}
