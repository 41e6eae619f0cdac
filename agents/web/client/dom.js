// Elements without markup: whatever a string holds, it becomes text.

/** @typedef {Node | string | null | undefined | false} Child */

/** Properties, where setting the attribute would do something else or nothing. */
const PROPERTIES = new Set(["value", "checked", "selected", "disabled", "hidden", "required", "open"]);

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes] functions named `on…` listen; null and false leave an attribute out
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name.startsWith("on")) throw new TypeError(`${name} takes a function`);
    else if (PROPERTIES.has(name)) /** @type {any} */ (made)[name] = value;
    else made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/**
 * Make the children of `place` exactly `wanted`, moving as little as possible: what has the focus keeps it.
 * @param {Element} place
 * @param {Node[]} wanted
 */
export function reconcile(place, wanted) {
  const keep = new Set(wanted);
  for (const child of [...place.childNodes]) if (!keep.has(child)) child.remove();
  let at = place.firstChild;
  for (const node of wanted) {
    if (node === at) at = node.nextSibling;
    else place.insertBefore(node, at);
  }
}

const PICTURES = /^data:image\/(?:png|jpeg|gif|webp|avif|bmp);base64,[A-Za-z0-9+/=\s]+$/;

/** @param {string} address @returns {boolean} whether it may be loaded as a picture: pictures in themselves, or by http(s) */
export function isPicture(address) {
  if (PICTURES.test(address)) return true;
  return /^(?:https?|blob):/i.test(address);
}

/**
 * What `draw` makes, or `otherwise` when it fails: one card that cannot be drawn must not take the conversation with it.
 * @template Made
 * @param {() => Made} draw
 * @param {() => Made} otherwise
 * @returns {Made}
 */
export function drawn(draw, otherwise) {
  try {
    return draw();
  } catch (fault) {
    reportError(fault);
    return otherwise();
  }
}

let serial = 0;

/** @param {string} name @returns {string} an id that no other element of the page has */
export function uniqueId(name) {
  serial += 1;
  return `glove-${name}-${serial}`;
}
