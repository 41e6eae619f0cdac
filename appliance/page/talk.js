// The talk button: a click keeps the microphone open or closes it, holding it (or the space bar) talks while it is held.

const CLICK_MS = 300;

/** Turns pointer and keys into `toggle`, `down`, `up` and `cancel`. */
export class TalkButton {
  /** @param {{toggle: () => void, down: () => void, up: () => void, cancel: () => void}} on */
  constructor(button, on) {
    this.on = on;
    this.pressedAt = null;
    button.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      button.setPointerCapture(event.pointerId);
      this.press();
    });
    button.addEventListener("pointerup", () => this.release());
    button.addEventListener("pointercancel", () => this.abandon());
    button.addEventListener("contextmenu", (event) => event.preventDefault());
    // A click without a pointer comes from a screen reader.
    button.addEventListener("click", (event) => {
      if (event.detail === 0 && !this.keyed) on.toggle();
      this.keyed = false;
    });
    document.addEventListener("keydown", (event) => this.key(event, true));
    document.addEventListener("keyup", (event) => this.key(event, false));
    window.addEventListener("blur", () => this.abandon());
  }

  key(event, down) {
    const onButton = event.target === document.getElementById("talk");
    const elsewhere = event.target.closest("input, textarea, select, button, summary, a");
    if (event.code !== "Space" || event.ctrlKey || event.altKey || event.metaKey) return;
    if ((elsewhere && !onButton) || event.isComposing) return;
    event.preventDefault();
    if (event.repeat) return;
    this.keyed = onButton;
    if (down) this.press();
    else this.release();
  }

  press() {
    if (this.pressedAt !== null) return;
    this.pressedAt = performance.now();
    this.on.down();
  }

  release() {
    if (this.pressedAt === null) return;
    const held = performance.now() - this.pressedAt;
    this.pressedAt = null;
    if (held >= CLICK_MS) {
      this.on.up();
    } else {
      this.on.cancel();
      this.on.toggle();
    }
  }

  abandon() {
    if (this.pressedAt === null) return;
    this.pressedAt = null;
    this.on.cancel();
  }
}
