// The conversation of the room, in the words of glove-client.js.

import { GloveClient, GloveError } from "./client/glove-client.js";
import { text } from "./strings.js";

/** Somebody who types an answer tells so at most this often, and the question waits for them. */
const TOUCH_MS = 2000;

/**
 * A client that is driven by the room's socket.
 * @param {(message: object) => boolean} send false when there is no connection
 */
export function roomClient(send) {
  const tell = async (message) => {
    if (!send(message)) throw new GloveError("ERR_NO_CONNECTION", text("lost"));
    return true;
  };
  return new GloveClient({
    sessionId: "room",
    transport: () => ({
      tells: true,
      interruptible: true,
      open: async () => null,
      send: ({ text: words }) => tell({ t: "say", speaker: "user", text: words }),
      abort: () => send({ t: "stop" }),
      resolveSlot: (id, value) => tell({ t: "slot_resolve", id, value }),
      rejectSlot: (id) => tell({ t: "slot_reject", id }),
      close: () => undefined,
    }),
  });
}

/** Take a message of the room; those that are not about the conversation are passed over. */
export function follow(client, message) {
  const emit = (event) => client.emit(event);
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

/** Show what was said before this session, what has happened since it began, and what is open. */
function restore(client, { earlier, replay, slots, tasks, inbox, state }) {
  const messages = earlier.map(({ who, text: words, cut }) => ({
    sender: who === "user" ? "user" : "agent",
    text: words,
    ...(cut ? { heard: "interrupted" } : {}),
  }));
  const events = [];
  for (const message of replay) follow({ emit: (event) => events.push(event) }, message);
  client.emit({ type: "restored", messages, events });
  follow(client, { t: "records", tasks, inbox });
  follow(client, { t: "state", ...state });
  client.emit({ type: "slots", slots });
}

/** Tell the room while somebody fills in an answer within `place`. */
export function touchWhileTyping(place, send) {
  const touched = new Map();
  place.addEventListener("input", ({ target }) => {
    const id = target.closest("[data-glove-slot]")?.dataset.gloveSlot;
    if (!id || performance.now() - (touched.get(id) ?? -TOUCH_MS) < TOUCH_MS) return;
    touched.set(id, performance.now());
    send({ t: "slot_touch", id });
  });
}
