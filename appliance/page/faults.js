// What is wrong, and what can be done about it.

import { text } from "./strings.js";

const PASSING_MS = 8000;

/** Codes of the microphone, in the page's words. */
const MICROPHONE = {
  ERR_MIC_DENIED: "denied",
  ERR_MIC_MISSING: "missing",
  ERR_MIC_INSECURE: "insecure",
  ERR_MIC_LOST: "withdrawn",
  ERR_MIC_SILENCED: "silenced",
};

/** Ends of the connection that are explained; the others are on their way to a better one. */
const CONNECTION = ["lost", "replaced", "left", "unpaired", "refused"];

/** Shows one fault at a time: what stands in the way of everything first. */
export class Faults {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    this.standing = null;
    this.passing = null;
    this.timer = 0;
  }

  /**
   * What lasts, lasts on the page.
   * @param {string} mode of the page
   * @param {import("./client/voice.js").VoiceSnapshot} voice
   */
  look(mode, { error }) {
    if (CONNECTION.includes(mode)) this.standing = [text(mode), text(`${mode}Do`)];
    else if (error) this.standing = words(error);
    else this.standing = isSecureContext ? null : [text("insecure"), text("insecureDo")];
    this.show();
  }

  /** Something went wrong once. @param {string} message @param {string} [remedy] */
  tell(message, remedy = "") {
    clearTimeout(this.timer);
    this.passing = [message, remedy];
    this.timer = setTimeout(() => {
      this.passing = null;
      this.show();
    }, PASSING_MS);
    this.show();
  }

  show() {
    const shown = this.passing ?? this.standing;
    const said = shown?.join(" ") ?? "";
    this.place.hidden = !shown;
    if (this.place.dataset.said === said) return; // what did not change is not read out again
    this.place.dataset.said = said;
    const [what, remedy] = this.place.children;
    [what.textContent, remedy.textContent] = shown ?? ["", ""];
  }
}

function words(error) {
  const key = MICROPHONE[error.code];
  if (key) return [text(key), text(`${key}Do`)];
  return [text("unavailable", { reason: error.cause?.message ?? error.message }), text("unavailableDo")];
}
