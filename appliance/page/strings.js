// What the page says, in each language.

const STRINGS = {
  en: {
    transcript: "Conversation",
    welcome: "Press the button and speak, or type below.",
    records: "Tasks and what is waited for",
    timers: "Timers",
    connecting: "Connecting …",
    lost: "Connection lost. Trying again …",
    replaced: "The conversation was opened in another window.",
    left: "You have left the conversation.",
    unpaired: "This device is not paired (any more). Pair it with glove pair.",
    refused: "This address is not valid any more. Open the one that glove run printed.",
    takeOver: "Use this window",
    idle: "Ready",
    listening: "Listening",
    asleep: "Waiting for the wake word",
    follow_up: "Go on, I am listening",
    sounding: "Say “stop” to silence it",
    hearing: "Listening to you",
    thinking: "Thinking",
    speaking: "Speaking",
    paused: "Waiting for you",
    muted: "Microphone muted",
    talk: "Talk",
    talking: "Listening",
    holding: "Release to send",
    talkHint: "Click to keep the microphone open, hold (or hold the space bar) to talk.",
    mute: "Mute",
    unmute: "Unmute",
    stop: "Stop",
    level: "Microphone level",
    typeLabel: "Type a message",
    typePlaceholder: "Type a message",
    send: "Send",
    timings: "Last answer after",
    wait: "Waiting for you to finish",
    agent: "Thinking",
    sentence: "First sentence",
    voice: "Voice",
    playout: "Playing",
    dismiss: "Dismiss",
    cancel: "Cancel",
    timer: "Timer",
    alarm: "Alarm",
    ringing: "is ringing",
    denied: "The microphone is blocked. Allow it in the address bar of the browser.",
    missing: "No microphone was found.",
    insecure: "Browsers give the microphone to secure addresses only. Open the page as localhost.",
    unavailable: "The microphone cannot be used: {reason}",
  },
  de: {
    transcript: "Gespräch",
    welcome: "Drück den Knopf und sprich, oder schreib unten.",
    records: "Aufgaben und worauf gewartet wird",
    timers: "Timer",
    connecting: "Verbinde …",
    lost: "Verbindung verloren. Neuer Versuch …",
    replaced: "Das Gespräch wurde in einem anderen Fenster geöffnet.",
    left: "Du hast das Gespräch verlassen.",
    unpaired: "Dieses Gerät ist nicht (mehr) verbunden. Verbinde es mit glove pair.",
    refused: "Diese Adresse gilt nicht mehr. Öffne die, die glove run ausgegeben hat.",
    takeOver: "Hier weitermachen",
    idle: "Bereit",
    listening: "Ich höre",
    asleep: "Warte auf das Weckwort",
    follow_up: "Sprich weiter, ich höre",
    sounding: "Sag „Stopp“, dann ist Ruhe",
    hearing: "Ich höre dir zu",
    thinking: "Ich denke nach",
    speaking: "Ich spreche",
    paused: "Ich warte auf dich",
    muted: "Mikrofon stumm",
    talk: "Sprechen",
    talking: "Ich höre",
    holding: "Loslassen zum Senden",
    talkHint: "Klicken hält das Mikrofon offen; zum Sprechen gedrückt halten (oder die Leertaste).",
    mute: "Stumm",
    unmute: "Ton an",
    stop: "Stopp",
    level: "Mikrofonpegel",
    typeLabel: "Nachricht schreiben",
    typePlaceholder: "Nachricht schreiben",
    send: "Senden",
    timings: "Letzte Antwort nach",
    wait: "Auf dein Ende gewartet",
    agent: "Nachgedacht",
    sentence: "Erster Satz",
    voice: "Stimme",
    playout: "Abspielen",
    dismiss: "Schließen",
    cancel: "Abbrechen",
    timer: "Timer",
    alarm: "Wecker",
    ringing: "klingelt",
    denied: "Das Mikrofon ist gesperrt. Erlaube es in der Adresszeile des Browsers.",
    missing: "Es wurde kein Mikrofon gefunden.",
    insecure: "Browser geben das Mikrofon nur an sichere Adressen. Öffne die Seite als localhost.",
    unavailable: "Das Mikrofon kann nicht benutzt werden: {reason}",
  },
};

/** The page's language: the first of the browser's that is known, else English. */
export const language = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag in STRINGS) ?? "en";

/**
 * @param {string} key
 * @param {Record<string, string>} values for the places in braces
 */
export function text(key, values = {}) {
  return STRINGS[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** Fill in everything that the page declares. */
export function translate() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = text(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", text(element.dataset.label));
  }
  for (const element of document.querySelectorAll("[data-placeholder]")) {
    element.placeholder = text(element.dataset.placeholder);
  }
}
