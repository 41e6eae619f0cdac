// The place for a face. Whatever is put into `[data-face]` takes the place of the disc that is there, and is told what
// happens: `data-mode` and the properties `--user-level` and `--agent-level` (loudness, 0 to 1) of the section, and its event `face`.

/** Tells the face what the page shows. */
export class Face {
  /** @param {HTMLElement} section */
  constructor(section) {
    this.section = section;
  }

  /** @param {string} mode as in `body[data-mode]` */
  mode(mode) {
    if (this.section.dataset.mode === mode) return;
    this.section.dataset.mode = mode;
    this.section.dispatchEvent(new CustomEvent("face", { detail: { mode } }));
  }

  /** @param {number} user @param {number} agent */
  loudness(user, agent) {
    this.section.style.setProperty("--user-level", user.toFixed(2));
    this.section.style.setProperty("--agent-level", agent.toFixed(2));
  }
}
