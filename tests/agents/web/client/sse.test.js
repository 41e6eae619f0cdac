import assert from "node:assert/strict";
import { test } from "node:test";

import { SseParser, sseValues } from "../../../../agents/web/client/sse.js";

const body = (chunks) =>
  new Response(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    }),
  );
const all = async (response) => {
  const values = [];
  for await (const value of sseValues(response)) values.push(value);
  return values;
};
const WIRE = 'data: {"text":"Grüße 👋"}\n\n: heartbeat\n\nevent: x\ndata: {"n":\r\ndata: 2}\r\n\r\ndata:{"last":true}';
const VALUES = [{ text: "Grüße 👋" }, { n: 2 }, { last: true }];

test("events are the same wherever the bytes are cut, multi-byte characters and line ends included", async () => {
  const bytes = new TextEncoder().encode(WIRE);
  for (let at = 0; at <= bytes.length; at++) {
    assert.deepEqual(await all(body([bytes.slice(0, at), bytes.slice(at)])), VALUES, `cut at ${at}`);
  }
});

test("events come byte by byte", async () => {
  const bytes = new TextEncoder().encode(WIRE);
  assert.deepEqual(await all(body([...bytes].map((byte) => Uint8Array.of(byte)))), VALUES);
});

test("the last event counts without the blank line after it", () => {
  const parser = new SseParser();
  assert.deepEqual(parser.push("data: 1\n\ndata: 2"), ["1"]);
  assert.deepEqual(parser.end(), ["2"]);
  assert.deepEqual(parser.end(), []);
});

test("lone carriage returns end lines too", () => {
  const parser = new SseParser();
  assert.deepEqual([...parser.push("data: 1\r\rdata: 2\r"), ...parser.push("\rx")], ["1", "2"]);
});

test("comments, blank lines and other fields are no events", () => {
  const parser = new SseParser();
  assert.deepEqual(parser.push(":\n\n\n\nid: 3\nretry: 1\n\n"), []);
});

test("what is not JSON is a fault with a name", async () => {
  await assert.rejects(all(body([new TextEncoder().encode("data: <html>\n\n")])), { code: "ERR_SSE" });
});

test("an event that never ends is not collected for ever", async () => {
  const chunk = new TextEncoder().encode("data: " + "x".repeat(9_000_000));
  await assert.rejects(all(body([chunk, chunk])), { code: "ERR_SSE_TOO_LONG" });
});

test("a reader who leaves early cancels the request", async () => {
  let cancelled = false;
  const stream = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
    cancel: () => (cancelled = true),
  });
  for await (const value of sseValues(new Response(stream))) if (value === 1) break;
  assert.equal(cancelled, true);
});
