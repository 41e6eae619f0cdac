// Push to talk: the gestures of a talk button, and what comes of them.

import { TalkButton } from "./talk-button.js";

/** @import { GloveVoice, VoiceSnapshot } from "./voice.js" */

const PROCESSING_MS = 5000; // a room that has heard something says so sooner

/** @typedef {VoiceSnapshot & {processing: boolean}} PttSnapshot `processing`: what was recorded is being understood */

/**
 * @typedef {object} PttOptions
 * @property {GloveVoice} voice
 * @property {string | false} [hotkey] a `KeyboardEvent.code`; `Space` without it
 * @property {number} [holdThresholdMs] a shorter press is a click, which keeps the microphone open or gives it back
 * @property {number} [minRecordingMs] a recording is made at least so long: recognisers hear nothing in less
 */

/** @param {PttOptions} options */
export function glovePTT(options) {
  return new GlovePtt(options);
}

/** A voice that is pressed to talk. */
export class GlovePtt {
  /** @param {PttOptions} options */
  constructor({ voice, hotkey = "Space", holdThresholdMs = 300, minRecordingMs = 350 }) {
    this.voice = voice;
    this.gestures = { hotkey, holdThresholdMs, minRecordingMs };
    this.processing = false;
    this.patience = 0;
    this.pressedAt = 0;
    /** @type {number} */
    this.ending = 0;
    /** @type {Set<(state: PttSnapshot) => void>} */
    this.listeners = new Set();
    /** @type {Set<TalkButton>} */
    this.buttons = new Set();
    /** @type {PttSnapshot} */
    this.state = { ...voice.state, processing: false };
    this.unsubscribe = voice.subscribe(() => this.look());
    this.unfollow = voice.follow(({ t }) => ["utterance", "discarded", "error"].includes(t) && this.processed());
  }

  /** @param {(state: PttSnapshot) => void} listener called after each change @returns {() => void} unsubscribe */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Make an element the talk button: click or hold it, or hold the hotkey anywhere but in a field.
   * @param {HTMLElement} element
   * @returns {() => void} unbind
   */
  bind(element) {
    const button = new TalkButton(element, { toggle: () => void this.toggle(), down: () => this.down(), up: () => this.up(), cancel: () => this.cancel() }, this.gestures);
    this.buttons.add(button);
    return () => {
      button.close();
      this.buttons.delete(button);
    };
  }

  /** Keep the microphone open, or give it back. */
  async toggle() {
    if (this.voice.state.enabled) this.voice.stop();
    else await this.voice.start();
  }

  /** Silence now. */
  interrupt() {
    this.voice.interrupt();
  }

  /** Begin to record. A recording that was about to end goes on. */
  press() {
    if (this.ending) {
      clearTimeout(this.ending);
      this.ending = 0;
      return;
    }
    this.pressedAt = performance.now();
    this.down();
  }

  /** End the recording, once it is long enough. */
  release() {
    if (this.ending) return;
    const rest = this.gestures.minRecordingMs - (performance.now() - this.pressedAt);
    if (rest <= 0) this.up();
    else this.ending = window.setTimeout(() => this.up(), rest);
  }

  /** Forget the recording. */
  cancel() {
    clearTimeout(this.ending);
    this.ending = 0;
    this.voice.cancel();
  }

  /** Take the buttons and listeners away; the voice stays. */
  close() {
    this.cancel();
    clearTimeout(this.patience);
    this.unsubscribe();
    this.unfollow();
    for (const button of this.buttons) button.close();
    this.buttons.clear();
    this.listeners.clear();
  }

  down() {
    this.processed();
    void this.voice.press();
  }

  up() {
    this.ending = 0;
    const { recording } = this.voice.state;
    this.voice.release();
    if (!recording) return;
    this.processing = true;
    this.patience = window.setTimeout(() => this.processed(), PROCESSING_MS);
    this.look();
  }

  processed() {
    if (!this.processing) return;
    clearTimeout(this.patience);
    this.processing = false;
    this.look();
  }

  look() {
    const { connection, mode } = this.voice.state;
    if (connection !== "open" || mode === "thinking" || mode === "speaking") {
      clearTimeout(this.patience);
      this.processing = false;
    }
    this.state = Object.freeze({ ...this.voice.state, processing: this.processing });
    for (const listener of [...this.listeners]) listener(this.state);
  }
}
