// The gestures of a talk button: a click keeps the microphone open or gives it back, a hold talks while it lasts.

/** Where a key is somebody else's. */
const KEYS_ELSEWHERE = "input, textarea, select, button, summary, a, [contenteditable], dialog";

/** @typedef {{toggle: () => void, down: () => void, up: () => void, cancel: () => void}} Gestures */

/** Turns pointer and keys into `toggle`, `down`, `up` and `cancel`. */
export class TalkButton {
  /**
   * @param {HTMLElement} button
   * @param {Gestures} on
   * @param {{hotkey?: string | false, holdThresholdMs?: number, minRecordingMs?: number}} [options] see `glovePTT`
   */
  constructor(button, on, { hotkey = "Space", holdThresholdMs = 300, minRecordingMs = 350 } = {}) {
    this.button = button;
    this.on = on;
    this.hotkey = hotkey;
    this.holdThresholdMs = holdThresholdMs;
    this.minRecordingMs = minRecordingMs;
    /** @type {number | null} */
    this.pressedAt = null;
    this.byKey = this.keyed = false;
    this.ending = 0;
    this.over = new AbortController();
    const { signal } = this.over;
    // The pointer is captured: a finger that slides off the button still holds it, and lets go of it anywhere.
    button.addEventListener("pointerdown", (event) => this.pointerDown(event), { signal });
    button.addEventListener("pointerup", (event) => this.release(event), { signal });
    button.addEventListener("pointercancel", () => this.abandon(), { signal });
    button.addEventListener("lostpointercapture", () => !this.byKey && this.abandon(), { signal });
    button.addEventListener("contextmenu", (event) => event.preventDefault(), { signal });
    button.addEventListener("click", (event) => this.click(event), { signal });
    document.addEventListener("keydown", (event) => this.keyDown(event), { signal });
    document.addEventListener("keyup", (event) => this.keyUp(event), { signal });
    // Whoever goes elsewhere while holding cannot be seen to let go: a microphone must not stay open behind them.
    window.addEventListener("blur", () => this.abandon(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden && this.abandon(), { signal });
  }

  /** Listen no more; a recording is forgotten. */
  close() {
    this.abandon();
    clearTimeout(this.ending);
    this.over.abort();
  }

  get disabled() {
    return this.button.matches(":disabled, [aria-disabled=true]");
  }

  /** @param {PointerEvent} event */
  pointerDown(event) {
    if (event.button !== 0) return;
    this.button.setPointerCapture(event.pointerId);
    this.press(event);
  }

  /** A click without a pointer comes from a screen reader. @param {MouseEvent} event */
  click(event) {
    if (event.detail === 0 && !this.keyed) this.on.toggle();
    this.keyed = false;
  }

  /** @param {KeyboardEvent} event */
  keyDown(event) {
    if (event.code !== this.hotkey || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const onButton = event.target === this.button;
    const elsewhere = event.target instanceof Element && event.target.closest(KEYS_ELSEWHERE);
    if (this.disabled || (!onButton && elsewhere)) return;
    event.preventDefault();
    if (event.repeat) return;
    this.keyed = onButton;
    this.byKey = true;
    this.press(event);
  }

  /** The key is let go of wherever the focus is by now. @param {KeyboardEvent} event */
  keyUp(event) {
    if (event.code !== this.hotkey || !this.byKey) return;
    this.byKey = false;
    event.preventDefault();
    this.release(event);
  }

  /** When a finger moved counts, not when a busy page came to look. @param {{timeStamp: number}} event */
  press({ timeStamp }) {
    if (this.pressedAt !== null) return;
    const goesOn = this.ending !== 0;
    clearTimeout(this.ending);
    this.ending = 0;
    this.pressedAt = timeStamp;
    if (!goesOn) this.on.down();
  }

  /** @param {{timeStamp: number}} event */
  release({ timeStamp }) {
    if (this.pressedAt === null) return;
    const held = timeStamp - this.pressedAt;
    this.pressedAt = null;
    if (held < this.holdThresholdMs) {
      this.on.cancel();
      this.on.toggle();
    } else {
      this.ending = window.setTimeout(() => this.end(), Math.max(0, this.minRecordingMs - held));
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
