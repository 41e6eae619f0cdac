import assert from "node:assert/strict";
import { test } from "node:test";

/** As much of a document as drawing needs. */
class Element {
  constructor(name) {
    Object.assign(this, { tagName: name, childNodes: [], attributes: {}, listeners: {}, dataset: {}, parent: null });
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  addEventListener(name, listener) {
    assert.equal(typeof listener, "function");
    this.listeners[name] = listener;
  }
  append(...children) {
    for (const child of children) this.insertBefore(child, null);
  }
  insertBefore(child, next) {
    child.remove?.();
    if (typeof child === "object") child.parent = this;
    this.childNodes.splice(next ? this.childNodes.indexOf(next) : this.childNodes.length, 0, child);
  }
  remove() {
    if (this.parent) this.parent.childNodes.splice(this.parent.childNodes.indexOf(this), 1);
    this.parent = null;
  }
  get firstChild() {
    return this.childNodes[0] ?? null;
  }
  get lastElementChild() {
    return this.childNodes.findLast((child) => child instanceof Element) ?? null;
  }
  get nextSibling() {
    return this.parent.childNodes[this.parent.childNodes.indexOf(this) + 1] ?? null;
  }
  get textContent() {
    return this.childNodes.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  }
  set textContent(text) {
    this.childNodes = [text];
  }
  querySelector(name) {
    return this.all(name)[0] ?? null;
  }
  all(name) {
    return this.childNodes.flatMap((child) => (child instanceof Element ? [...(child.tagName === name ? [child] : []), ...child.all(name)] : []));
  }
}
const reported = [];
Object.assign(globalThis, {
  document: { createElement: (name) => new Element(name), documentElement: { lang: "en" } },
  requestAnimationFrame: () => 1,
  cancelAnimationFrame: () => undefined,
  reportError: (fault) => reported.push(fault),
});

const { GloveClient } = await import("../../../../agents/web/client/client.js");
const { TimelineView } = await import("../../../../agents/web/client/render.js");
const { toolRenderers } = await import("../../../../agents/web/client/tools.js");

const open = (config = {}) => {
  const settled = [];
  const transport = () => ({
    tells: true,
    open: async () => null,
    send: async () => undefined,
    resolveSlot: async (...call) => settled.push(["resolve", ...call]) > 0,
    rejectSlot: async (id) => settled.push(["reject", id]) > 0,
    close: () => undefined,
  });
  const client = new GloveClient({ sessionId: "s", transport, ...config });
  const view = new TimelineView(new Element("body"), client);
  return { client, view, settled };
};
const slot = (id, renderer, input, blocking = true) => ({ type: "slot", id, renderer, input, blocking });

/** Values that JSON can hold and that no sane agent sends. */
const ODD = ['{"toString": 1}', '{"__proto__": {"x": 1}}', "[null]", "[[]]", '"constructor"', '"__proto__"', "null", "1e999", '""'];
const FIELDS = ["title", "message", "options", "fields", "steps", "variant", "type", "default", "error", "toolName", "toolInput", "name"];

test("whatever an agent puts into a card, the conversation is drawn and the question can be closed", async () => {
  const { client, view } = open();
  await client.opened;
  client.emit({ type: "user_message", text: "before" });
  for (const renderer of Object.keys(toolRenderers)) {
    for (const field of FIELDS) {
      for (const odd of ODD) {
        const text = `{"${field}": ${odd}, "fields": [{"name": "a", "${field}": ${odd}}], "options": [{"label": "b", "${field}": ${odd}}]}`;
        client.emit(slot("s1", renderer, JSON.parse(text)));
        client.emit(slot("s2", renderer, JSON.parse(odd)));
        view.draw();
        const [said, ...cards] = view.list.childNodes;
        assert.match(said.textContent, /before/);
        assert.deepEqual(cards.map((card) => card.all("button").length > 0), [true, true], `${renderer}.${field} = ${odd}`);
      }
    }
  }
  assert.equal({}.x, undefined);
});

test("a question that cannot be drawn says so and can be refused; a card can be closed", async () => {
  const broken = { render: () => assert.fail("broken") };
  const { client, view, settled } = open({ renderers: { broken } });
  await client.opened;
  client.emit(slot("s1", "broken", {}));
  client.emit(slot("s2", "broken", {}, false));
  view.draw();
  const [question, card] = view.list.childNodes;
  assert.match(question.textContent, /cannot be shown/);
  question.all("button")[0].listeners.click();
  card.all("button")[0].listeners.click();
  assert.deepEqual(settled, [["reject", "s1"], ["resolve", "s2", null]]);
  assert.ok(reported.length >= 2);
});

test("names out of JSON's dark corners are names like any other", async () => {
  const { client, view } = open();
  await client.opened;
  const before = client.state;
  for (const type of ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty"]) {
    client.emit({ type, text: "x" });
    assert.equal(client.state, before);
  }
  for (const name of ["__proto__", "constructor", "toString"]) {
    client.emit({ type: "tool_use", id: name, name, input: { name } });
    client.emit({ type: "tool_use_result", call_id: name, tool_name: name, result: { status: name, data: name, renderData: { name } } });
    client.emit(slot(name, name, { title: "Really?" }));
  }
  view.draw();
  assert.equal(view.list.childNodes.length, 6);
  assert.match(view.list.textContent, /constructor/);
});

test("markup in names, labels, answers and faults stays text", async () => {
  const { client, view } = open();
  await client.opened;
  const evil = '"><img src=x onerror=alert(1)><script>alert(2)</script>[a](javascript:alert(3))';
  client.emit({ type: "user_message", text: evil, images: [evil, "javascript:alert(1)", `data:image/svg+xml,${evil}`] });
  client.emit({ type: "tool_use", id: evil, name: evil, input: { [evil]: evil } });
  client.emit({ type: "tool_use_result", call_id: evil, tool_name: evil, result: { status: "success", data: evil } });
  client.emit({ type: "text_delta", text: evil, reply_id: evil });
  client.emit({ type: "request_end", outcome: "error", message: evil });
  for (const renderer of [evil, ...Object.keys(toolRenderers)]) {
    client.emit(slot(`${evil}${renderer}`, renderer, { title: evil, toolName: evil, options: [{ label: evil, value: evil }], fields: [{ name: evil }], steps: [evil] }));
  }
  view.draw();
  for (const name of ["img", "script", "a", "iframe"]) assert.deepEqual(view.list.all(name), [], name);
  assert.ok(view.list.textContent.split("<script>").length > 8);
});
