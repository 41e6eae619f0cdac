// The page: joins the room's messages, the microphone, the speaker and what is seen.

import { TimelineView, inboxElement, statsLine, tasksElement, wordsFor } from "./client/glove-client.js";
import { follow, roomClient, touchWhileTyping } from "./conversation.js";
import { Link } from "./link.js";
import { Microphone } from "./sound.js";
import { language, text, translate } from "./strings.js";
import { TalkButton } from "./talk.js";
import { Timers } from "./timers.js";
import { showLatency, showTurn } from "./timings.js";

const KEEP_OPEN_MS = 30_000; // the microphone stays ready after it was held, so that the next hold loses no word
const TAIL_MS = 80; // what was said until the finger left is still on its way
const NOTICE_MS = 8000;

const $ = (id) => document.getElementById(id);
const state = { link: "connecting", mode: "listening", hearing: false, paused: false, muted: false, attention: "awake" };
const microphone = { use: "off", pressed: false, muted: false }; // use: off, open, or hold

translate();
$("devices").hidden = location.protocol === "https:"; // others are invited at the machine itself

const send = (message) => link.send(message);
const client = roomClient(send);
const words = wordsFor(language);
const view = new TimelineView($("conversation"), client, {
  words,
  agentName: "Glove",
  scroller: $("transcript"),
  announce: (said) => ($("spoken").textContent = said),
});
const timers = new Timers(
  (id) => send({ t: "timer_dismiss", id }),
  (id) => send({ t: "timer_cancel", id }),
);
const mic = new Microphone((pcm) => link.sound(pcm), showLevel);
const link = new Link({
  message: receive,
  state: (now) => {
    state.link = now;
    $("take-over").hidden = now !== "replaced" && now !== "left";
    show();
  },
  quality: (measured) => (state.quality = measured),
});

function receive(message) {
  if (message.t === "ready") begin(message);
  follow(client, message);
  switch (message.t) {
    case "state":
      Object.assign(state, message);
      show();
      break;
    case "muted":
      state.muted = message.muted;
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
      notice(message.message);
      break;
  }
}

function begin(message) {
  view.rename(message.assistantName);
  $("name").textContent = document.title = message.assistantName;
  timers.show(message.timers);
  Object.assign(state, message.state);
  if (microphone.muted) send({ t: "mute" });
  send({ t: "audio", speaker: link.audible });
  show();
}

/** What stands around the conversation: a greeting, the words that form, tasks, what is waited for, what was used. */
function surround() {
  const { state: seen } = client;
  const forming = seen.voice?.transcript ?? "";
  $("welcome").hidden = seen.timeline.length > 0 || seen.slots.length > 0 || forming !== "" || seen.streamingText !== "";
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

client.subscribe(surround);

async function openMicrophone() {
  try {
    await Promise.all([mic.open(), link.openSpeaker()]);
    return true;
  } catch (fault) {
    microphone.use = "off";
    const reasons = { NotAllowedError: "denied", NotFoundError: "missing", SecurityError: "insecure" };
    notice(text(reasons[fault.name] ?? "unavailable", { reason: fault.message }));
    return false;
  }
}

async function toggle() {
  if (microphone.use === "open") {
    setMuted(false);
    use("off");
    mic.close();
  } else if (await openMicrophone()) {
    use("open");
  }
}

async function press() {
  microphone.pressed = true;
  clearTimeout(microphone.closing);
  if (microphone.use === "open" || !(await openMicrophone())) return;
  if (!microphone.pressed) return; // released while the browser was still asking
  use("hold");
  send({ t: "ptt", phase: "down" });
}

function release(phase) {
  microphone.pressed = false;
  if (microphone.use !== "hold") return;
  setTimeout(
    () => {
      send({ t: "ptt", phase });
      if (microphone.use === "hold") use("off");
      microphone.closing = setTimeout(() => microphone.use === "off" && mic.close(), KEEP_OPEN_MS);
    },
    phase === "up" ? TAIL_MS : 0,
  );
}

function cancel() {
  const held = microphone.use === "hold";
  release("cancel");
  if (held) microphone.use = "off";
}

function use(how) {
  microphone.use = how;
  mic.sending = how !== "off" && !microphone.muted;
  link.microphone(mic.sending ? mic.stream : null);
  show();
}

function setMuted(muted) {
  if (muted === microphone.muted) return;
  microphone.muted = muted;
  send({ t: muted ? "mute" : "unmute" });
  use(microphone.use);
}

mic.onClosed = () => use("off");

function stateName() {
  // Where only paired devices come in, another address is needed than on the machine itself.
  if (state.link === "refused" && location.protocol === "https:") return "unpaired";
  if (state.link !== "open") return state.link;
  if (state.mode === "speaking") return state.paused ? "paused" : "speaking";
  if (state.mode === "thinking") return "thinking";
  if (state.hearing) return "hearing";
  if (microphone.muted) return "muted";
  if (microphone.use === "off") return "idle";
  return ["asleep", "follow_up", "sounding"].includes(state.attention) ? state.attention : "listening";
}

function show() {
  const name = stateName();
  document.body.dataset.mode = name;
  document.body.dataset.via = link.via ?? "";
  if ($("state").textContent !== text(name)) $("state").textContent = text(name);
  const labels = { off: "talk", open: "talking", hold: "holding" };
  $("talk-label").textContent = text(labels[microphone.use]);
  $("talk").setAttribute("aria-pressed", String(microphone.use !== "off"));
  $("talk").disabled = state.link !== "open";
  $("mute").disabled = microphone.use !== "open";
  $("mute").textContent = text(microphone.muted ? "unmute" : "mute");
  $("mute").setAttribute("aria-pressed", String(microphone.muted));
  $("stop").disabled = !(state.link === "open" && ["speaking", "thinking"].includes(state.mode));
}

let shownAt = 0;
function showLevel(level) {
  const decibels = 20 * Math.log10(Math.max(level, 1e-5));
  const share = Math.max(0, Math.min(1, (decibels + 60) / 54));
  $("level").firstElementChild.style.transform = `scaleX(${share.toFixed(3)})`;
  document.body.style.setProperty("--level", share.toFixed(3));
  if (performance.now() - shownAt > 250) {
    shownAt = performance.now();
    $("level").setAttribute("aria-valuenow", String(Math.round(100 * share)));
  }
}

let noticeTimer = 0;
function notice(message) {
  clearTimeout(noticeTimer);
  $("notice").textContent = message;
  $("notice").hidden = false;
  noticeTimer = setTimeout(() => ($("notice").hidden = true), NOTICE_MS);
}

new TalkButton($("talk"), { toggle, down: press, up: () => release("up"), cancel });
$("mute").addEventListener("click", () => setMuted(!microphone.muted));
$("stop").addEventListener("click", () => send({ t: "stop" }));
$("take-over").addEventListener("click", () => link.open());
$("type").addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = $("typed").value.trim();
  if (typed && send({ t: "say", speaker: "user", text: typed })) $("typed").value = "";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") send({ t: "stop" });
});
// Sound may only begin once the page was touched.
for (const kind of ["pointerdown", "keydown"]) {
  document.addEventListener(kind, () => link.openSpeaker().catch((fault) => notice(String(fault.message))), { once: true });
}

touchWhileTyping($("conversation"), send);
new ResizeObserver(() => view.reveal()).observe($("transcript"));

show();
link.open();
