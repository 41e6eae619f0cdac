// At the machine itself: invite phones, see who is paired, end that.

import { language, text, translate } from "./strings.js";

const LOOK_MS = 3000;

const $ = (id) => document.getElementById(id);
let over = 0;

/** Ask the control API. Says what went wrong, and returns null then. */
async function ask(method, path) {
  try {
    const answer = await fetch(`api/${path}`, { method });
    if (answer.status === 204) return {};
    const told = await answer.json();
    if (answer.ok) return told;
    outcome(answer.status === 401 ? `${text("refused")} ${text("refusedDo")}` : [told.error, told.remedy].filter(Boolean).join(" "));
  } catch {
    outcome(`${text("lost")} ${text("lostDo")}`);
  }
  return null;
}

function outcome(said) {
  $("outcome").textContent = said;
  $("outcome").hidden = said === "";
}

async function invite() {
  $("add").disabled = true;
  outcome(text("devicesPreparing"));
  const invitation = await ask("POST", "invitations");
  $("add").disabled = false;
  if (invitation === null) return;
  outcome("");
  $("code").src = invitation.picture;
  $("code").alt = text("codeAlt");
  $("address").href = $("address").textContent = invitation.address;
  showFingerprint($("server"), invitation.server);
  showFingerprint($("authority"), invitation.authority);
  over = Date.now() + 1000 * invitation.valid_s;
  $("invitation").hidden = false;
  count();
  look();
}

/** People compare pair by pair: a line never ends within one. */
function showFingerprint(element, fingerprint) {
  const pairs = fingerprint.split(/(?<=:)/);
  element.replaceChildren(...pairs.flatMap((pair) => [pair, document.createElement("wbr")]));
}

function count() {
  const left = Math.ceil((over - Date.now()) / 1000);
  if (left <= 0) $("invitation").hidden = true;
  else $("left").textContent = text("codeLeft", { minutes: `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` });
}

async function look() {
  const [lan, known] = await Promise.all([ask("GET", "lan"), ask("GET", "devices")]);
  if (lan === null || known === null) return;
  $("serving").hidden = lan.state !== "on";
  $("where").textContent = text("lanOn", { where: lan.addresses.join(" ") });
  const ids = known.devices.map((device) => device.id).join(" ");
  if ($("paired").dataset.ids === ids) return; // a button that has the focus keeps it
  if ($("paired").dataset.ids !== undefined && known.devices.length > $("paired").children.length) {
    $("invitation").hidden = true; // it was for one device, and that has come
    outcome(text("devicesCame", { name: known.devices.at(-1).name }));
  }
  $("paired").dataset.ids = ids;
  $("paired").replaceChildren(...known.devices.map(row));
  $("nobody").hidden = known.devices.length > 0;
}

function row(device) {
  const since = new Date(device.paired).toLocaleDateString(language);
  const said = document.createElement("span");
  said.textContent = text("pairedSince", { name: device.name, since });
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button plain";
  button.textContent = text("pairedRemove");
  button.setAttribute("aria-label", `${text("pairedRemove")}: ${device.name}`);
  button.addEventListener("click", async () => {
    if (await ask("DELETE", `devices/${device.id}`)) outcome(text("devicesGone", { name: device.name }));
    look();
  });
  const item = document.createElement("li");
  item.append(said, button);
  return item;
}

translate();
$("add").addEventListener("click", invite);
$("off").addEventListener("click", async () => {
  await ask("DELETE", "lan");
  $("invitation").hidden = true;
  look();
});
setInterval(count, 1000);
setInterval(() => document.hidden || look(), LOOK_MS);
look();
