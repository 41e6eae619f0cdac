// The talk button: a click keeps the microphone open or closes it, holding it (or the space bar) talks while it is held.

/** A shorter press is a click. */
const HOLD_MS = 300;

/** Shortest recording: recognisers hear nothing in less, so a hand that is faster is waited for. */
const SHORTEST_MS = 350;

/** Where the space bar is somebody else's. */
const KEYS_ELSEWHERE = "input, textarea, select, button, summary, a, [contenteditable]";

/** Turns pointer and keys into `toggle`, `down`, `up` and `cancel`. */
export class TalkButton {
  /** @param {{toggle: () => void, down: () => void, up: () => void, cancel: () => void}} on */
  constructor(button, on) {
    this.button = button;
    this.on = on;
    this.pressedAt = null;
    this.byKey = false;
    this.ending = 0;
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
    document.addEventListener("keydown", (event) => this.keyDown(event));
    document.addEventListener("keyup", (event) => this.keyUp(event));
    window.addEventListener("blur", () => this.abandon());
  }

  keyDown(event) {
    if (event.code !== "Space" || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const onButton = event.target === this.button;
    if (!onButton && event.target.closest(KEYS_ELSEWHERE)) return;
    event.preventDefault();
    if (event.repeat) return;
    this.keyed = onButton;
    this.byKey = true;
    this.press();
  }

  /** The key is let go of wherever the focus is by now: a microphone must not stay open because it has moved. */
  keyUp(event) {
    if (event.code !== "Space" || !this.byKey) return;
    this.byKey = false;
    event.preventDefault();
    this.release();
  }

  press() {
    if (this.pressedAt !== null) return;
    const goesOn = this.ending !== 0;
    clearTimeout(this.ending);
    this.ending = 0;
    this.pressedAt = performance.now();
    if (!goesOn) this.on.down();
  }

  release() {
    if (this.pressedAt === null) return;
    const held = performance.now() - this.pressedAt;
    this.pressedAt = null;
    if (held < HOLD_MS) {
      this.on.cancel();
      this.on.toggle();
    } else {
      this.ending = setTimeout(() => this.end(), Math.max(0, SHORTEST_MS - held));
    }
  }

  end() {
    this.ending = 0;
    this.on.up();
  }

  abandon() {
    this.byKey = false;
    if (this.pressedAt === null) return;
    this.pressedAt = null;
    this.on.cancel();
  }
}
