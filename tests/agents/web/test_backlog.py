"""Events that wait for somebody."""

from __future__ import annotations

import pytest

from agents.web.backlog import Backlog
from agents.web.wire import Event


def text(words: str, reply_id: str = "r1") -> Event:
    return {"type": "text_delta", "text": words, "reply_id": reply_id}


def test_the_words_of_one_reply_are_joined_and_nothing_else() -> None:
    backlog = Backlog()
    tool: Event = {"type": "tool_use", "text": "not words"}
    for event in (text("a"), text("b"), text("c", "r2"), tool, tool, text("d", "r2"), text("e", "r2")):
        backlog.add(event)
    assert len(backlog) == 5
    taken = [backlog.take() for _ in range(5)]
    assert [event["text"] for event in taken] == ["ab", "c", "not words", "not words", "de"]
    assert taken[2] is tool, "who waits for an event of its own finds it again"
    with pytest.raises(IndexError):
        backlog.take()


def test_what_was_handed_out_does_not_grow_afterwards() -> None:
    backlog = Backlog()
    first = text("a")
    backlog.add(first)
    backlog.add(text("b"))
    (seen,) = backlog.events
    backlog.add(text("c"))
    assert backlog.events[0]["text"] == "abc"
    assert (first["text"], seen["text"]) == ("a", "ab")


def test_words_after_what_was_taken_are_a_piece_of_their_own() -> None:
    backlog = Backlog()
    for words in ("a", "b"):
        backlog.add(text(words))
        assert backlog.take()["text"] == words
    backlog.add(text("c"))
    backlog.clear()
    backlog.add(text("d"))
    assert [event["text"] for event in backlog.events] == ["d"]
