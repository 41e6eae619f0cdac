// Accepting an invitation: the token comes in the fragment, which is never part of a request, and is posted once.

import { text, translate } from "./strings.js";

const OUTCOMES = {
  ERR_PAIR_EXPIRED: "pairExpired",
  ERR_PAIR_USED: "pairUsed",
  ERR_PAIR_TOKEN: "pairWrong",
  ERR_TOO_MANY_ATTEMPTS: "pairTooMany",
  ERR_DEVICES_FULL: "pairFull",
};

const $ = (id) => document.getElementById(id);

function show(outcome, key, values) {
  document.body.dataset.outcome = outcome;
  $("outcome").textContent = text(key, values);
  $("go").hidden = outcome !== "paired";
}

/** What people would call this device. */
function deviceName() {
  const agent = navigator.userAgent;
  const known = ["iPhone", "iPad", "Android", "Macintosh", "Windows", "CrOS", "Linux"].find((name) => agent.includes(name));
  return { Macintosh: "Mac", CrOS: "Chromebook" }[known] ?? known ?? "";
}

async function accept(token) {
  show("waiting", "pairWaiting");
  try {
    const answer = await fetch("api/pair", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, name: deviceName() }),
    });
    const told = await answer.json();
    if (answer.ok) show("paired", "pairDone", { name: told.name });
    else show("refused", OUTCOMES[told.code] ?? "pairFailed", { reason: told.error });
  } catch {
    show("refused", "pairUnreachable");
  }
}

translate();
const token = location.hash.slice(1);
// Neither the history nor a bookmark shall keep it.
history.replaceState(null, "", location.pathname);
if (token) accept(token);
else show("refused", "pairNone");
// A code that is scanned while this page is open only changes the fragment.
addEventListener("hashchange", () => location.reload());
