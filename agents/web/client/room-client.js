// The conversation of a room as a client of this page shows it.

import { GloveClient } from "./client.js";
import { GloveError } from "./errors.js";

/** @import { RoomMessage } from "./link.js" */
/** @import { AgentEvent } from "./types.js" */
/** @import { GloveVoice } from "./voice.js" */

/** Somebody who types an answer tells so at most this often, and the question waits for them. */
const TOUCH_MS = 2000;

/**
 * A client that shows what is said in a room, and speaks in it.
 * @param {GloveVoice} voice
 * @param {{lost?: string}} [words] what is said where there is no connection
 */
export function roomClient(voice, { lost = "There is no connection to the room." } = {}) {
  const tell = async (/** @type {object} */ message) => {
    if (!voice.send(message)) throw new GloveError("ERR_NO_CONNECTION", lost);
    return true;
  };
  const client = new GloveClient({
    sessionId: "room",
    transport: () => ({
      tells: true,
      interruptible: true,
      open: async () => null,
      send: async ({ text }) => void (await tell({ t: "say", speaker: "user", text })),
      abort: () => voice.interrupt(),
      resolveSlot: (id, value) => tell({ t: "slot_resolve", id, value }),
      rejectSlot: (id) => tell({ t: "slot_reject", id }),
      close: () => undefined,
    }),
  });
  voice.follow((message) => follow(client, message));
  return client;
}

/** @typedef {{emit: (event: AgentEvent) => void}} Listening */

/**
 * Take a message of the room; those that are not about the conversation are passed over.
 * @param {Listening} client
 * @param {RoomMessage} message
 */
export function follow(client, message) {
  const emit = (/** @type {AgentEvent} */ event) => client.emit(event);
  const reply_id = `turn_${message.turnId}`;
  switch (message.t) {
    case "ready":
      restore(client, message);
      break;
    case "partial":
      emit({ type: "voice", voice: { mode: "listening", transcript: message.text } });
      break;
    case "discarded":
      emit({ type: "voice", voice: null });
      break;
    case "utterance":
      emit({ type: "voice", voice: null });
      emit({ type: "user_message", text: message.text });
      break;
    case "speech":
      emit({ type: message.announcement ? "announcement" : "text_delta", text: message.text, reply_id });
      break;
    case "speech_end":
      emit({ type: "flush" });
      break;
    case "interrupted":
    case "heard":
      emit({ type: "heard", reply_id, text: message.text, complete: message.t === "heard" });
      break;
    case "agent":
      emit(message.event);
      break;
    case "records":
      emit({ type: "tasks", tasks: message.tasks });
      emit({ type: "inbox", inbox: message.inbox });
      break;
    case "state":
      emit(message.busy ? { type: "request_start" } : OVER);
      break;
    case "slot":
    case "slot_update":
    case "slot_resolve":
      emit({ ...message, type: message.t });
      break;
  }
}

/** A turn of the room ends like one that was stopped: what still runs does not belong to it any more. */
const OVER = { type: "request_end", outcome: "aborted" };

/**
 * Show what was said before this session, what has happened since it began, and what is open.
 * @param {Listening} client
 * @param {RoomMessage} ready
 */
function restore(client, { earlier, replay, slots, tasks, inbox, state }) {
  const messages = earlier.map((/** @type {{who: string, text: string, cut: boolean}} */ { who, text: words, cut }) => ({
    sender: who === "user" ? "user" : "agent",
    text: words,
    ...(cut ? { heard: "interrupted" } : {}),
  }));
  /** @type {AgentEvent[]} */
  const events = [];
  for (const message of replay) follow({ emit: (event) => events.push(event) }, message);
  client.emit({ type: "restored", messages, events });
  follow(client, { t: "records", tasks, inbox });
  follow(client, { t: "state", ...state });
  client.emit({ type: "slots", slots });
}

/**
 * Tell the room while somebody fills in an answer within `place`.
 * @param {Element} place
 * @param {(message: object) => boolean} send
 */
export function touchWhileTyping(place, send) {
  const touched = new Map();
  place.addEventListener("input", ({ target }) => {
    const slot = target instanceof Element ? target.closest("[data-glove-slot]") : null;
    const id = slot?.getAttribute("data-glove-slot");
    if (!id || performance.now() - (touched.get(id) ?? -TOUCH_MS) < TOUCH_MS) return;
    touched.set(id, performance.now());
    send({ t: "slot_touch", id });
  });
}
