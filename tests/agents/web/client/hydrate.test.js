import assert from "node:assert/strict";
import { test } from "node:test";

import { hydrate } from "../../../../agents/web/client/hydrate.js";

const user = (text, more = {}) => ({ sender: "user", text, ...more });
const agent = (text, more = {}) => ({ sender: "agent", text, ...more });
const call = (id, tool_name, input_args = {}) => ({ id, tool_name, input_args });
const results = (...list) => user("tool results", { tool_results: list });
const result = (call_id, tool_name, data, more = {}) => ({ tool_name, call_id, result: { status: "success", data, ...more } });
const plain = (messages) => hydrate(messages).map(({ key: _, ...entry }) => entry);

test("both sides and their tools, in order, without the machinery between them", () => {
  const entries = plain([
    user("hi"),
    agent("Let me look.", { tool_calls: [call("a", "look", { at: 1 }), call("b", "look", { at: 2 })] }),
    results(result("b", "look", { found: 2 }), result("a", "look", "one", { renderData: { n: 1 } })),
    agent("There."),
  ]);
  assert.deepEqual(entries, [
    { kind: "user", text: "hi" },
    { kind: "agent_text", text: "Let me look." },
    { kind: "tool", id: "a", name: "look", input: { at: 1 }, status: "success", output: "one", renderData: { n: 1 } },
    { kind: "tool", id: "b", name: "look", input: { at: 2 }, status: "success", output: '{"found":2}' },
    { kind: "agent_text", text: "There." },
  ]);
});

test("a call without a result was aborted", () => {
  assert.equal(plain([agent("", { tool_calls: [call("a", "look")] })])[0].status, "aborted");
});

test("a stored fault of a tool is one", () => {
  const entry = plain([
    agent("", { tool_calls: [call("a", "look")] }),
    results(result("a", "look", null, { status: "error", message: "no eyes" })),
  ])[0];
  assert.deepEqual([entry.status, entry.output], ["error", "no eyes"]);
});

test("calls without ids find results without ids, one each", () => {
  const entries = plain([
    agent("", { tool_calls: [call(null, "look"), call(null, "look")] }),
    results(result(null, "look", "one"), result(null, "look", "two")),
  ]);
  assert.deepEqual(entries.map((entry) => entry.output), ["one", "two"]);
});

test("what neither side has said is a note, never the user's words", () => {
  const entries = plain([
    user("[Conversation summary from compaction]\nThey met.", { is_compaction: true }),
    user("Summarise", { is_compaction_request: true }),
    user("[Skill: cook]\nUse salt.", { is_skill_injection: true }),
    user("[Inbox: 1 item(s) resolved]", { framework_context: "inbox" }),
    user("<events/>", {
      framework_context: "event",
      events: [{ id: "1", source: "door", kind: "bell", text: "It rang." }],
    }),
    user("<context/>", { framework_context: "runtime" }),
    user("[Notice]", { framework_context: "notice" }),
  ]);
  assert.deepEqual(
    entries.map(({ kind, note, title, text }) => [kind, note, title, text]),
    [
      ["note", "summary", "", "[Conversation summary from compaction]\nThey met."],
      ["note", "skill", "cook", "Use salt."],
      ["note", "inbox", "", "[Inbox: 1 item(s) resolved]"],
      ["note", "event", "door", "It rang."],
      ["note", "context", "", "<context/>"],
      ["note", "notice", "", "[Notice]"],
    ],
  );
});

test("replies show how much of them was heard", () => {
  const entries = plain([agent("All of it.", { heard: "complete" }), agent("Half", { heard: "interrupted", id: "r" })]);
  assert.deepEqual(entries.map(({ heard, reply_id }) => [heard, reply_id]), [
    ["complete", undefined],
    ["interrupted", "r"],
  ]);
});

test("a reply of which nothing was heard leaves no empty line", () => {
  assert.deepEqual(plain([agent("  ", { heard: "interrupted" })]), []);
});

test("the user sees what they typed, not what a hook made of it", () => {
  assert.equal(plain([user("[rewritten]", { pre_modified_text: "/go home" })])[0].text, "/go home");
});

test("pictures and other media come with their message, without its placeholder", () => {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
  const linked = { type: "image", source: { type: "url", url: "https://example.org/a.png" } };
  const paper = { type: "document", name: "plan.pdf", source: { type: "url", url: "https://example.org/plan.pdf" } };
  assert.deepEqual(plain([user("[multimodal message]", { content: [image, linked, paper] })])[0], {
    kind: "user",
    text: "",
    images: ["data:image/png;base64,AAAA", "https://example.org/a.png"],
    attachments: ["plan.pdf"],
  });
  const captioned = user("see", { content: [image, { type: "text", text: "see this" }] });
  assert.equal(plain([captioned])[0].text, "see this");
});
