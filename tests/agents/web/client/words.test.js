import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { WORDS, readable, wordsFor } from "../../../../agents/web/client/words.js";

const CLIENT = new URL("../../../../agents/web/client/", import.meta.url);

test("every language has every word, with the same places in it", () => {
  const places = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
  for (const words of Object.values(WORDS)) {
    assert.deepEqual(Object.keys(words), Object.keys(WORDS.en));
    for (const key of Object.keys(words)) assert.deepEqual(places(words[key]), places(WORDS.en[key]), key);
  }
});

test("every word that a module asks for exists", () => {
  for (const name of readdirSync(CLIENT).filter((file) => file.endsWith(".js"))) {
    for (const [, key] of readFileSync(new URL(name, CLIENT), "utf8").matchAll(/\bwords\("(\w+)"/g)) {
      assert.ok(key in WORDS.en, `${name}: ${key}`);
    }
  }
});

test("a language that is not known speaks English, and a region its language", () => {
  assert.equal(wordsFor("xx")("send"), "Send");
  assert.equal(wordsFor("de-AT")("send"), "Senden");
});

test("a page may say it in its own words, and values stand in their places", () => {
  assert.equal(wordsFor("en", { allow: "Go ahead" })("allow"), "Go ahead");
  assert.equal(wordsFor("en")("permission", { name: "open door" }), "May I use open door?");
  assert.equal(wordsFor("en")("permission"), "May I use ?");
  assert.equal(readable("glove_update-tasks"), "glove update tasks");
});
