// The page: joins the room's messages, the microphone, the speaker and what is seen.

import { Cards } from "./cards.js";
import { Connection } from "./connection.js";
import { Microphone, Speaker } from "./sound.js";
import { text, translate } from "./strings.js";
import { TalkButton } from "./talk.js";
import { Timers } from "./timers.js";
import { showTimings } from "./timings.js";
import { Transcript } from "./transcript.js";

const KEEP_OPEN_MS = 30_000; // the microphone stays ready after it was held, so that the next hold loses no word
const TAIL_MS = 80; // what was said until the finger left is still on its way
const NOTICE_MS = 8000;

const $ = (id) => document.getElementById(id);
const state = { link: "connecting", mode: "listening", hearing: false, paused: false, muted: false };
const microphone = { use: "off", pressed: false, muted: false }; // use: off, open, or hold
const playback = { epoch: 0, endOf: null, playing: false };

translate();

const transcript = new Transcript("Glove");
const cards = new Cards((id, value) => connection.send({ t: "slot_resolve", id, value }));
const timers = new Timers(
  (id) => connection.send({ t: "timer_dismiss", id }),
  (id) => connection.send({ t: "timer_cancel", id }),
);
const speaker = new Speaker(heard);
const mic = new Microphone((pcm) => connection.sound(pcm), showLevel);
const connection = new Connection({
  message: receive,
  sound: (pcm) => {
    playback.playing = true;
    speaker.play(pcm);
  },
  state: (link) => {
    state.link = link;
    $("take-over").hidden = link !== "replaced";
    if (link !== "open") speaker.order("clear");
    show();
  },
});

function receive(message) {
  switch (message.t) {
    case "ready":
      begin(message);
      break;
    case "partial":
      transcript.forming(message.text);
      break;
    case "discarded":
      transcript.forming("");
      break;
    case "utterance":
      transcript.user(message.text);
      break;
    case "speech":
      transcript.speech(message.turnId, message.text);
      break;
    case "speech_end":
      playback.endOf = message.turnId;
      transcript.end(message.turnId);
      if (!playback.playing) done();
      break;
    case "interrupted":
      transcript.interrupted(message.turnId, message.text);
      break;
    case "clear":
      playback.epoch = message.epoch;
      playback.endOf = null;
      playback.playing = false;
      speaker.order("clear");
      break;
    case "pause":
    case "resume":
      speaker.order(message.t);
      break;
    case "state":
      Object.assign(state, message);
      show();
      break;
    case "muted":
      state.muted = message.muted;
      show();
      break;
    case "slot":
      cards.show(message);
      break;
    case "slot_update":
      cards.update(message.id, message.input);
      break;
    case "slot_resolve":
      cards.remove(message.id);
      break;
    case "timers":
      timers.show(message);
      break;
    case "metric":
      if (message.name === "voice_to_voice") showTimings(message);
      break;
    case "error":
      notice(message.message);
      break;
  }
}

function begin(message) {
  transcript.assistantName = $("name").textContent = document.title = message.assistantName;
  transcript.restore(message.history);
  cards.restore(message.slots);
  timers.show(message.timers);
  Object.assign(state, message.state);
  playback.epoch = message.epoch;
  playback.endOf = null;
  playback.playing = false;
  speaker.order("clear");
  if (state.paused) speaker.order("pause");
  if (microphone.muted) connection.send({ t: "mute" });
  connection.send({ t: "audio", speaker: speaker.works });
  show();
}

async function openSpeaker() {
  const worked = speaker.works;
  await speaker.open();
  if (!worked) connection.send({ t: "audio", speaker: true });
}

function heard({ kind, position }) {
  if (kind === "position") {
    connection.send({ t: "playback", epoch: playback.epoch, position });
    return;
  }
  playback.playing = false;
  if (playback.endOf !== null) setTimeout(done, speaker.latency * 1000);
}

function done() {
  if (playback.endOf === null || playback.playing) return;
  connection.send({ t: "playback_done", turnId: playback.endOf });
  playback.endOf = null;
}

async function openMicrophone() {
  try {
    await Promise.all([mic.open(), openSpeaker()]);
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
  connection.send({ t: "ptt", phase: "down" });
}

function release(phase) {
  microphone.pressed = false;
  if (microphone.use !== "hold") return;
  setTimeout(
    () => {
      connection.send({ t: "ptt", phase });
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
  show();
}

function setMuted(muted) {
  if (muted === microphone.muted) return;
  microphone.muted = muted;
  connection.send({ t: muted ? "mute" : "unmute" });
  use(microphone.use);
}

mic.onClosed = () => use("off");

function stateName() {
  if (state.link !== "open") return state.link;
  if (state.mode === "speaking") return state.paused ? "paused" : "speaking";
  if (state.mode === "thinking") return "thinking";
  if (state.hearing) return "hearing";
  if (microphone.muted) return "muted";
  return microphone.use === "off" ? "idle" : "listening";
}

function show() {
  const name = stateName();
  document.body.dataset.mode = name;
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
function notice(words) {
  clearTimeout(noticeTimer);
  $("notice").textContent = words;
  $("notice").hidden = false;
  noticeTimer = setTimeout(() => ($("notice").hidden = true), NOTICE_MS);
}

new TalkButton($("talk"), { toggle, down: press, up: () => release("up"), cancel });
$("mute").addEventListener("click", () => setMuted(!microphone.muted));
$("stop").addEventListener("click", () => connection.send({ t: "stop" }));
$("take-over").addEventListener("click", () => connection.open());
$("type").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = $("typed").value.trim();
  if (words && connection.send({ t: "say", speaker: "user", text: words })) $("typed").value = "";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") connection.send({ t: "stop" });
});
// Sound may only begin once the page was touched.
for (const kind of ["pointerdown", "keydown"]) {
  document.addEventListener(kind, () => openSpeaker().catch((fault) => notice(String(fault.message))), { once: true });
}

new ResizeObserver(() => transcript.reveal()).observe($("transcript"));

show();
connection.open();
