"""What callers may say."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from realtime.browser.protocol import Audio, BadMessage, Mute, Playback, Ptt, Say, SlotAnswer, parse


def test_messages_by_name() -> None:
    assert parse('{"t":"say","speaker":"user","text":"hello"}') == Say(t="say", text="hello")
    assert parse('{"t":"unmute"}') == Mute(t="unmute")
    assert parse('{"t":"audio","speaker":false}') == Audio(t="audio", speaker=False)
    assert parse('{"t":"ptt","phase":"up"}') == Ptt(t="ptt", phase="up")
    assert parse('{"t":"playback","epoch":2,"position":320}') == Playback(t="playback", epoch=2, position=320)
    assert parse('{"t":"slot_resolve","id":"slot_1","value":{"a":[1]}}') == SlotAnswer(
        t="slot_resolve", id="slot_1", value={"a": [1]}
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"say"',
        "{}",
        '{"t":"unknown"}',
        '{"t":["say"]}',
        '{"t":"say"}',
        '{"t":"say","text":7}',
        '{"t":"playback","epoch":-1,"position":0}',
        '{"t":"ptt","phase":"sideways"}',
        '{"t":"say","text":"' + "x" * 4001 + '"}',
        "[" * 100_000,
        '{"t":"slot_resolve","id":"a","value":' + "[" * 30_000 + "}",
        "\x00\x01",
        '{"t":"say","text":"\\ud800"}',
    ],
)
def test_what_makes_no_sense_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(BadMessage) as refusal:
        parse(text)
    assert len(str(refusal.value)) < 300


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_no_text_does_harm(text: str) -> None:
    with contextlib.suppress(BadMessage):
        parse(text)
