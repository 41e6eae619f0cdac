// The page: joins the voice of the room with what is seen.

import {
  TimelineView,
  glovePTT,
  gloveVoice,
  inboxElement,
  roomClient,
  statsLine,
  tasksElement,
  touchWhileTyping,
  wordsFor,
} from "./client/glove-client.js";
import { admit } from "./admit.js";
import { Face } from "./face.js";
import { Faults } from "./faults.js";
import { showQuality } from "./quality.js";
import { bindSettings, chosenMicrophone, socketOnly } from "./settings.js";
import { language, list, text, translate } from "./strings.js";
import { Timers } from "./timers.js";
import { showLatency, showTurn } from "./timings.js";
import { Wave } from "./wave.js";

const $ = (id) => document.getElementById(id);
const TALK = { off: "talk", open: "talking", hold: "holding" };

translate();
$("devices").hidden = location.protocol === "https:"; // others are invited at the machine itself

const voice = gloveVoice({
  room: "room",
  calls: socketOnly() ? null : "api/call",
  health: "health",
  admit,
  microphoneId: chosenMicrophone(),
});
const ptt = glovePTT({ voice });
const client = roomClient(voice, { lost: text("lost") });
const words = wordsFor(language);
const view = new TimelineView($("conversation"), client, {
  words,
  agentName: "Glove",
  scroller: $("transcript"),
  announce: (said) => ($("spoken").textContent = said),
});
const timers = new Timers(
  (id) => voice.send({ t: "timer_dismiss", id }),
  (id) => voice.send({ t: "timer_cancel", id }),
);
const face = new Face($("face"));
const faults = new Faults($("notice"));
const wave = new Wave($("level"), () => voice.link.speaker.level(), (user, agent) => face.loudness(user, agent));
voice.onLevel = (level) => wave.hear(level);
let assistant = "Glove";

voice.follow((message) => {
  switch (message.t) {
    case "ready":
      assistant = message.assistantName;
      view.rename(assistant);
      $("name").textContent = assistant;
      timers.show(message.timers);
      show();
      break;
    case "timers":
      timers.show(message);
      break;
    case "metric":
      if (message.name === "voice_to_voice") showLatency(message);
      if (message.name === "turn") showTurn(message);
      break;
    case "error":
      faults.tell(message.message);
      break;
  }
});

/** What stands around the conversation: a greeting, the words that form, tasks, what is waited for, what was used. */
function surround() {
  const { state: seen } = client;
  const forming = seen.voice?.transcript ?? "";
  const empty = seen.timeline.length === 0 && seen.slots.length === 0 && forming === "" && seen.streamingText === "";
  $("welcome").hidden = !empty;
  document.body.toggleAttribute("data-empty", empty);
  if ($("partial").textContent !== forming) {
    $("partial").textContent = forming;
    $("partial").hidden = forming === "";
    view.reveal();
  }
  const lists = [tasksElement(seen, words), inboxElement(seen, words)].filter(Boolean);
  $("records").hidden = lists.length === 0;
  $("records").replaceChildren(...lists);
  $("used").textContent = statsLine(seen);
}

/** What the page is doing, in one word: the key of its own description. */
function modeName({ connection, mode, paused, hearing, isMuted, enabled, recording, attention }) {
  // Where only paired devices come in, another address is needed than on the machine itself.
  if (connection === "refused" && location.protocol === "https:") return "unpaired";
  if (connection === "closed") return "connecting";
  if (connection !== "open") return connection;
  if (mode === "speaking") return paused ? "paused" : "speaking";
  if (mode === "thinking") return "thinking";
  if (hearing) return "hearing";
  if (isMuted) return "muted";
  if (!enabled && !recording) return "idle";
  return ["asleep", "follow_up", "sounding"].includes(attention) ? attention : "listening";
}

function show() {
  const { state } = voice;
  const mode = modeName(state);
  document.body.dataset.mode = mode;
  document.body.dataset.via = state.via ?? "";
  const said = text(`mode_${mode}`);
  if ($("state").textContent !== said) $("state").textContent = said;
  face.mode(mode);
  faults.look(mode, state);
  showQuality(state.quality);
  const use = state.recording ? "hold" : state.enabled ? "open" : "off";
  $("talk").dataset.use = use;
  $("talk-label").textContent = text(TALK[use]);
  $("talk").setAttribute("aria-pressed", String(use !== "off"));
  $("talk").disabled = state.connection !== "open";
  $("mute").disabled = !state.enabled;
  $("mute-label").textContent = text(state.isMuted ? "unmute" : "mute");
  $("mute").setAttribute("aria-pressed", String(state.isMuted));
  $("stop").disabled = !(state.connection === "open" && ["speaking", "thinking"].includes(state.mode));
  $("take-over").hidden = !["replaced", "left"].includes(state.connection);
  title();
}

/** Who has gone to another tab sees there that the microphone is open. */
function title() {
  const listens = document.hidden && voice.state.enabled && !voice.state.isMuted;
  document.title = listens ? text("titleListening", { name: assistant }) : assistant;
}

function offerExamples() {
  const make = (line) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: line });
    button.addEventListener("click", () => voice.say(line));
    const item = document.createElement("li");
    item.append(button);
    return item;
  };
  $("examples").replaceChildren(...list("exampleLines").map(make));
}

ptt.bind($("talk"));
$("mute").addEventListener("click", () => (voice.state.isMuted ? voice.unmute() : voice.mute()));
$("stop").addEventListener("click", () => voice.interrupt());
$("take-over").addEventListener("click", () => voice.connect());
$("type").addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = $("typed").value.trim();
  if (typed && voice.say(typed)) $("typed").value = "";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !$("settings").open) voice.interrupt();
});
document.addEventListener("visibilitychange", title);
// Sound may only begin once the page was touched.
for (const kind of ["pointerdown", "keydown"]) {
  document.addEventListener(kind, () => voice.link.openSpeaker().catch((fault) => faults.tell(String(fault.message))), { once: true });
}

bindSettings({ microphone: (deviceId) => voice.choose(deviceId) });
touchWhileTyping($("conversation"), (message) => voice.send(message));
new ResizeObserver(() => view.reveal()).observe($("transcript"));
client.subscribe(surround);
voice.subscribe(show);
offerExamples();
show();
void voice.connect();
