// What somebody has chosen for this browser: language, looks, microphone, way to the room.

import { remember, remembered, text } from "./strings.js";

const $ = (id) => document.getElementById(id);

/** Whether calls are kept from: by the address of the page (`?via=websocket`), or by choice. */
export function socketOnly() {
  return new URLSearchParams(location.search).get("via") === "websocket" || remembered("path") === "websocket";
}

/** The microphone that was chosen; empty for the browser's choice. */
export const chosenMicrophone = () => remembered("microphone") ?? "";

/**
 * Join the dialog to what it changes.
 * @param {{microphone: (deviceId: string) => void}} on
 */
export function bindSettings(on) {
  const dialog = $("settings");
  $("settings-open").addEventListener("click", async () => {
    await listMicrophones();
    dialog.showModal();
  });
  // A touch beside the dialog closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  navigator.mediaDevices?.addEventListener("devicechange", () => dialog.open && listMicrophones());
  bind("language", () => location.reload());
  bind("theme", () => dispatchEvent(new Event("glove-theme")));
  bind("microphone", on.microphone);
  bind("path", () => {
    const here = new URL(location.href);
    here.searchParams.delete("via");
    location.replace(here);
    location.reload();
  });
}

/** @param {string} name of the choice @param {(value: string) => void} changed */
function bind(name, changed) {
  const field = $(`set-${name}`);
  field.value = remembered(name) ?? "";
  field.addEventListener("change", () => {
    remember(name, field.value);
    changed(field.value);
  });
}

/** Browsers tell the names of microphones once one was allowed, and before that only that there are some. */
async function listMicrophones() {
  const field = $("set-microphone");
  const known = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
  const named = known.filter(({ kind, deviceId, label }) => kind === "audioinput" && label && !["default", ""].includes(deviceId));
  const options = named.map(({ deviceId, label }) => new Option(label, deviceId));
  field.replaceChildren(new Option(text("asBrowser"), ""), ...options);
  field.value = named.some(({ deviceId }) => deviceId === chosenMicrophone()) ? chosenMicrophone() : "";
}
