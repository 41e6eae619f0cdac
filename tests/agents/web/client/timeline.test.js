import assert from "node:assert/strict";
import { test } from "node:test";

import { MOST_ENTRIES, callOf, initialState, isNews, reduce } from "../../../../agents/web/client/timeline.js";

const play = (...events) => events.reduce(reduce, initialState());
const delta = (text, reply_id) => ({ type: "text_delta", text, ...(reply_id ? { reply_id } : {}) });
const use = (id, name, input = {}) => ({ type: "tool_use", id, name, input });
const result = (call_id, tool_name, data, more = {}) => ({
  type: "tool_use_result",
  call_id,
  tool_name,
  result: { status: "success", data, ...more },
});
const kinds = (state) => state.timeline.map((entry) => entry.kind);
const tools = (state) => Object.fromEntries(state.timeline.filter((e) => e.kind === "tool").map((e) => [e.id, e]));

test("text streams, and is an entry once the request is over", () => {
  const streaming = play({ type: "user_message", text: "hi" }, delta("Hel"), delta("lo. "));
  assert.equal(streaming.streamingText, "Hello. ");
  assert.deepEqual(kinds(streaming), ["user"]);
  const over = reduce(streaming, { type: "request_end", outcome: "success" });
  assert.equal(over.streamingText, "");
  assert.equal(over.timeline[1].text, "Hello.");
});

test("words before a tool come before the tool", () => {
  const state = play(delta(" Let me look. "), use("a", "look"), delta("Here."), { type: "flush" });
  assert.deepEqual(kinds(state), ["agent_text", "tool", "agent_text"]);
  assert.equal(state.timeline[0].text, "Let me look.");
});

test("blank text makes no entry", () => {
  assert.deepEqual(kinds(play(delta(" \n"), use("a", "look"))), ["tool"]);
});

test("parallel calls find their own results in any order", () => {
  const state = play(use("a", "look"), use("b", "look"), result("b", "look", "second"), result("a", "look", "first"));
  assert.equal(tools(state).a.output, "first");
  assert.equal(tools(state).b.output, "second");
  assert.equal(tools(state).a.status, "success");
});

test("an id that is used again settles the call that runs", () => {
  const state = play(use("a", "look"), result("a", "look", "one"), use("a", "look"), result("a", "look", "two"));
  assert.deepEqual(state.timeline.map((entry) => entry.output), ["one", "two"]);
});

test("a result without an id settles the oldest running call of its name", () => {
  const state = play(use("", "look"), use("", "other"), { ...result(null, "look", "found"), call_id: undefined });
  assert.equal(state.timeline[0].output, "found");
  assert.equal(state.timeline[1].status, "running");
});

test("a result that nobody asked for changes nothing", () => {
  const state = play(use("a", "look"));
  assert.equal(reduce(state, result("z", "look", 1)), state);
});

test("data that is no text is shown as JSON, and the message where there is no data", () => {
  const state = play(use("a", "x"), result("a", "x", { n: [1] }), use("b", "x"), result("b", "x", null, { message: "gone" }));
  assert.equal(tools(state).a.output, '{"n":[1]}');
  assert.equal(tools(state).b.output, "gone");
});

test("data that JSON cannot spell does no harm", () => {
  const loop = {};
  loop.self = loop;
  assert.equal(typeof tools(play(use("a", "x"), result("a", "x", loop))).a.output, "string");
});

test("what is only for the screen is kept with its call", () => {
  const state = play(use("a", "x"), result("a", "x", 1, { renderData: { selected: "red" } }));
  assert.deepEqual(tools(state).a.renderData, { selected: "red" });
});

test("aborting keeps what was said and marks the tools that run", () => {
  const state = play(use("a", "x"), result("a", "x", 1), use("b", "x"), delta("Wait"), { type: "request_end", outcome: "aborted" });
  assert.equal(tools(state).a.status, "success");
  assert.equal(tools(state).b.status, "aborted");
  assert.equal(state.timeline[2].text, "Wait");
  assert.equal(state.busy, false);
});

test("a result that comes after the end still settles its call", () => {
  const state = play(use("a", "x"), { type: "request_end", outcome: "aborted" }, result("a", "x", "late"));
  assert.deepEqual([tools(state).a.status, tools(state).a.output], ["success", "late"]);
});

test("a fault is an entry of its own, after what was said", () => {
  const state = play(delta("Well"), { type: "request_end", outcome: "error", message: "no network" });
  assert.deepEqual(state.timeline.map((entry) => entry.text), ["Well", "Error: no network"]);
  assert.equal(state.timeline[1].error, true);
});

test("turns are counted by responses, tokens by consumption only", () => {
  const usage = { tokens_in: 10, tokens_out: 2, cache_read_input_tokens: 4 };
  const state = play(
    delta("a"),
    { type: "model_response_complete", text: "a", tokens_in: 10, tokens_out: 2 },
    { type: "token_consumption", consumption: usage },
    { type: "model_response", text: "b", tokens_in: 10 },
    { type: "token_consumption", consumption: usage },
  );
  assert.deepEqual(state.stats, {
    turns: 2,
    tokens_in: 20,
    tokens_out: 4,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 8,
  });
});

test("a model that does not stream is read too, and a streamed reply is not read twice", () => {
  const whole = play({ type: "model_response", text: "All at once." }, { type: "flush" });
  assert.deepEqual(whole.timeline.map((entry) => entry.text), ["All at once."]);
  const streamed = play(delta("Bit by bit."), use("a", "x"), { type: "model_response_complete", text: "Bit by bit." });
  assert.deepEqual(kinds(streamed), ["agent_text", "tool"]);
  assert.equal(streamed.streamingText, "");
});

test("a summary that is being written is not shown", () => {
  const during = play(
    { type: "compaction_start", current_token_consumption: 9 },
    delta("The user said"),
    { type: "model_response_complete", text: "The user said" },
  );
  assert.equal(during.isCompacting, true);
  assert.equal(during.streamingText, "");
  const after = [{ type: "compaction_end" }, delta("Now.")].reduce(reduce, during);
  assert.equal(after.isCompacting, false);
  assert.equal(after.streamingText, "Now.");
});

test("what a subagent says stays with the agent, and its tools say whose they are", () => {
  const state = play(
    { type: "subagent_invoked", name: "scout", prompt: "look" },
    delta("to the agent"),
    use("s", "search"),
    { type: "subagent_completed", name: "scout", status: "success" },
    delta("to the user"),
  );
  assert.equal(state.streamingText, "to the user");
  assert.equal(state.timeline[0].subagent, "scout");
});

test("tasks follow the tool that writes them", () => {
  const tasks = [{ id: "t", content: "Sweep", activeForm: "Sweeping", status: "pending" }];
  const done = play(use("a", "glove_update_tasks"), result("a", "glove_update_tasks", { tasks }));
  assert.deepEqual(done.tasks, tasks);
  const failed = play(use("a", "glove_update_tasks"), result("a", "glove_update_tasks", { tasks }, { status: "error" }));
  assert.deepEqual(failed.tasks, []);
});

test("a reply that was cut shows what was heard, and what was not", () => {
  const said = play(delta("One two three. ", "r"), { type: "flush" });
  const cut = reduce(said, { type: "heard", reply_id: "r", text: "One  two", complete: false });
  assert.equal(cut.timeline[0].text, "One two ");
  assert.equal(cut.timeline[0].unheard, "three.");
  assert.equal(cut.timeline[0].heard, "interrupted");
});

test("a reply is cut while it still streams", () => {
  const cut = play(delta("One two three", "r"), { type: "heard", reply_id: "r", text: "One", complete: false });
  assert.equal(cut.streamingText, "");
  assert.deepEqual([cut.timeline[0].text.trim(), cut.timeline[0].unheard], ["One", "two three"]);
});

test("what was heard is shared out over the parts of a reply with tools in it", () => {
  const said = play(delta("First part.", "r"), use("a", "x"), delta("Second part.", "r"), { type: "flush" });
  const cut = reduce(said, { type: "heard", reply_id: "r", text: "First part. Second", complete: false });
  assert.deepEqual(
    cut.timeline.filter((e) => e.kind === "agent_text").map(({ text, heard, unheard }) => [text.trim(), heard, unheard]),
    [
      ["First part.", "complete", undefined],
      ["Second", "interrupted", "part."],
    ],
  );
});

test("nothing heard, all heard, and words that were spoken otherwise", () => {
  const said = play(delta("It costs 5 €.", "r"), { type: "flush" });
  const heard = (text, complete) => reduce(said, { type: "heard", reply_id: "r", text, complete }).timeline[0];
  assert.deepEqual([heard("", false).text, heard("", false).unheard], ["", "It costs 5 €."]);
  assert.deepEqual([heard("It costs 5 €.", true).heard, heard("x", true).text], ["complete", "It costs 5 €."]);
  assert.deepEqual([heard("It costs five", false).text, heard("It costs five", false).unheard], ["It costs five", undefined]);
});

test("what was heard of another reply changes nothing", () => {
  const said = play(delta("One.", "r"), { type: "flush" });
  assert.equal(reduce(said, { type: "heard", reply_id: "q", text: "", complete: false }), said);
});

test("announcements stand apart from replies", () => {
  const state = play(delta("Half a", "r"), { type: "announcement", text: "Your tea is ready.", reply_id: "s" });
  assert.deepEqual(state.timeline.map(({ text, announcement }) => [text, announcement]), [
    ["Half a", undefined],
    ["Your tea is ready.", true],
  ]);
});

test("a question that is read aloud is told apart from an announcement", () => {
  const asking = { ...initialState(), slots: [{ id: "s", renderer: "x", input: {}, blocking: true }] };
  assert.equal(reduce(asking, { type: "announcement", text: "Which?" }).timeline[0].asking, true);
});

test("events nobody knows change nothing at all", () => {
  const state = play(delta("x"));
  assert.equal(reduce(state, { type: "event_from_the_future", text: "?" }), state);
});

test("what is restored is no news, and what happens afterwards is", () => {
  const before = play({ type: "user_message", text: "old" }, { type: "request_start" });
  const state = [
    {
      type: "restored",
      messages: [{ sender: "user", text: "stored" }],
      stats: { turns: 2, tokens_in: 5 },
      events: [{ type: "user_message", text: "told" }, delta("Said before.", "r"), { type: "heard", reply_id: "r", text: "", complete: true }, delta("Half", "s")],
    },
    delta(" done.", "s"),
    { type: "flush" },
  ].reduce(reduce, before);
  assert.deepEqual(
    state.timeline.map((entry) => [entry.text, isNews(entry)]),
    [
      ["stored", false],
      ["told", false],
      ["Said before.", false],
      ["Half done.", true],
    ],
  );
  assert.equal(new Set(state.timeline.map((entry) => entry.key)).size, 4);
  assert.deepEqual([state.stats.turns, state.stats.tokens_in, state.busy], [2, 5, true]);
});

test("events never change the state they are given", () => {
  const deepFreeze = (value) => {
    Object.values(value ?? {}).forEach((inner) => typeof inner === "object" && deepFreeze(inner));
    return Object.freeze(value);
  };
  const events = [
    { type: "user_message", text: "hi" },
    delta("x", "r"),
    use("a", "x"),
    result("a", "x", 1),
    { type: "heard", reply_id: "r", text: "", complete: false },
    { type: "token_consumption", consumption: { tokens_in: 1 } },
    { type: "request_end", outcome: "aborted" },
  ];
  assert.doesNotThrow(() => events.reduce((state, event) => deepFreeze(reduce(state, event)), deepFreeze(initialState())));
});

test("a long conversation forgets its beginning and keeps its keys", () => {
  const state = play(...Array.from({ length: MOST_ENTRIES + 5 }, (_, i) => ({ type: "user_message", text: String(i) })));
  assert.equal(state.timeline.length, MOST_ENTRIES);
  assert.equal(state.timeline[0].text, "5");
  assert.equal(new Set(state.timeline.map((entry) => entry.key)).size, MOST_ENTRIES);
});

test("a question belongs to the call that it names, or the oldest that runs", () => {
  const { timeline } = play(use("a", "look"), use("b", "ask_preference"), use("c", "open"));
  assert.equal(callOf(timeline, { renderer: "ask_preference" }).id, "b");
  assert.equal(callOf(timeline, { renderer: "permission_request", input: { toolName: "open" } }).id, "c");
  assert.equal(callOf(timeline, { renderer: "generic" }).id, "a");
  assert.equal(callOf([], { renderer: "generic" }), null);
});
