// What the client itself says, by language.

/** @typedef {(key: string, values?: Record<string, string>) => string} Words */

/** @type {Record<string, Record<string, string>>} */
export const WORDS = {
  en: {
    you: "You",
    agent: "Agent",
    input: "Message",
    placeholder: "Type a message",
    send: "Send",
    stop: "Stop",
    listening: "Listening…",
    thinking: "Thinking…",
    speaking: "Speaking…",
    compacting: "Tidying up what was said so far…",
    running: "running",
    success: "done",
    error: "failed",
    aborted: "stopped",
    interrupted: "interrupted",
    unheard: "not heard",
    announcement: "Announcement",
    permission: "May I use {name}?",
    allow: "Allow",
    deny: "Not now",
    yes: "Yes",
    no: "No",
    dismiss: "Dismiss",
    unshown: "This cannot be shown here.",
    cancel: "Cancel",
    approve: "Approve",
    reject: "Reject",
    comment: "Comment (optional)",
    required: "required",
    choose: "Choose …",
    answer: "Your answer",
    question: "Question",
    info: "Information",
    warning: "Warning",
    danger: "Problem",
    summary: "Summary of what was said before",
    skill: "Skill",
    inbox: "Answers from outside",
    event: "Event",
    context: "Context",
    notice: "Notice",
    attachment: "Attachment",
    image: "Image",
    tasks: "Tasks",
    inputOf: "Input",
    outputOf: "Result",
    pending: "open",
    in_progress: "being done",
    completed: "done",
  },
  de: {
    you: "Du",
    agent: "Agent",
    input: "Nachricht",
    placeholder: "Nachricht schreiben",
    send: "Senden",
    stop: "Stopp",
    listening: "Ich höre …",
    thinking: "Ich denke nach …",
    speaking: "Ich spreche …",
    compacting: "Bisheriges wird zusammengefasst …",
    running: "läuft",
    success: "fertig",
    error: "fehlgeschlagen",
    aborted: "abgebrochen",
    interrupted: "unterbrochen",
    unheard: "nicht gehört",
    announcement: "Ansage",
    permission: "Darf ich {name} benutzen?",
    allow: "Erlauben",
    deny: "Jetzt nicht",
    yes: "Ja",
    no: "Nein",
    dismiss: "Schließen",
    unshown: "Das lässt sich hier nicht zeigen.",
    cancel: "Abbrechen",
    approve: "Zustimmen",
    reject: "Ablehnen",
    comment: "Anmerkung (freiwillig)",
    required: "nötig",
    choose: "Auswählen …",
    answer: "Deine Antwort",
    question: "Frage",
    info: "Hinweis",
    warning: "Warnung",
    danger: "Problem",
    summary: "Zusammenfassung des Bisherigen",
    skill: "Fähigkeit",
    inbox: "Antworten von außen",
    event: "Ereignis",
    context: "Kontext",
    notice: "Hinweis",
    attachment: "Anhang",
    image: "Bild",
    tasks: "Aufgaben",
    inputOf: "Eingabe",
    outputOf: "Ergebnis",
    pending: "offen",
    in_progress: "in Arbeit",
    completed: "erledigt",
  },
};

/**
 * @param {string} language a tag; English where it is not known
 * @param {Record<string, string>} [own] words of the page that take the place of these
 * @returns {Words}
 */
export function wordsFor(language, own = {}) {
  const known = new Map(Object.entries({ ...WORDS.en, ...WORDS[language.slice(0, 2)], ...own }));
  return (key, values = {}) => (known.get(key) ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** @param {unknown} name of a tool or field @returns {string} fit to be read */
export function readable(name) {
  return String(name ?? "").replaceAll(/[_-]+/g, " ").trim();
}
