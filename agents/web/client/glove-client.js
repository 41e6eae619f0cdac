// Conversations with Glove agents in a web page: no build step, no dependencies.
//
//   import { GloveClient, mountChat } from "./glove-client.js";
//   mountChat(document.body, new GloveClient({ server: "/api", persistSession: true }));

export { Agent } from "./agent.js";
export { GloveClient } from "./client.js";
export { DisplayStack } from "./display.js";
export { element, reconcile } from "./dom.js";
export { createEndpointModel, createRemoteModel } from "./endpoint-model.js";
export { GloveError, isAbort } from "./errors.js";
export { hydrate } from "./hydrate.js";
export { Link } from "./link.js";
export { MemoryStore } from "./memory-store.js";
export { Microphone } from "./microphone.js";
export { mountChat, voiceElements } from "./mount.js";
export { inboxElement, statsLine, tasksElement } from "./panels.js";
export { glovePTT } from "./ptt.js";
export { Registry } from "./registry.js";
export { relayTransport } from "./relay-transport.js";
export { createRemoteStore } from "./remote-store.js";
export { TimelineView } from "./render.js";
export { createRestStore } from "./rest.js";
export { roomClient, touchWhileTyping } from "./room-client.js";
export { STORAGE_KEY, Session, generateSessionId } from "./session.js";
export { reduceSlots, visibleSlots } from "./slots.js";
export { SseParser, sseValues } from "./sse.js";
export { arrange } from "./strategies.js";
export { initialState, reduce } from "./timeline.js";
export { TalkButton } from "./talk-button.js";
export { defineTool } from "./toolbox.js";
export { toolRenderers } from "./tools.js";
export { gloveVoice } from "./voice.js";
export { wordsFor } from "./words.js";
