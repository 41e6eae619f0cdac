"""Whatever history holds, a provider gets alternating turns with every tool call answered once."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from agents.core.messages import ContentPart, Message, Source, ToolCall, ToolResult, ToolResultData, media_note
from agents.models.normalise import (
    NO_RESULT,
    CallBlock,
    MediaBlock,
    ResultBlock,
    TextBlock,
    normalise,
    result_text,
)
from tests.agents.models.asking import user


def calling(*ids: str | None) -> Message:
    return Message(sender="agent", text="", tool_calls=[ToolCall(tool_name="look", input_args={}, id=i) for i in ids])


def results(*pairs: tuple[str | None, str]) -> Message:
    made = [ToolResult(tool_name="look", call_id=i, result=ToolResultData(data=data)) for i, data in pairs]
    return Message(sender="user", text="tool results", tool_results=made)


def contents(messages: list[Message]) -> list[tuple[str, list[object]]]:
    return [(turn.role, [block.content for block in turn.blocks]) for turn in normalise(messages)]


def test_neighbours_of_one_role_are_merged_with_their_media() -> None:
    picture = ContentPart(type="image", source=Source(type="url", url="https://example.org/a.png"))
    shown = Message(
        sender="user", text="[multimodal message]", content=[picture, ContentPart(type="text", text="see?")]
    )
    merged = contents([user("one"), shown, user("two")])
    assert merged == [("user", [TextBlock("one"), MediaBlock(picture), TextBlock("see?"), TextBlock("two")])]


def test_the_first_of_two_results_counts_and_words_come_after_results() -> None:
    history = [user("go"), calling("c1", "c2"), user("hurry"), results(("c2", "b"), ("c1", "a"), ("c1", "again"))]
    assert contents(history)[2] == ("user", [ResultBlock("c2", "b"), ResultBlock("c1", "a"), TextBlock("hurry")])


def test_calls_without_results_are_answered_in_the_middle_and_at_the_end() -> None:
    in_the_middle = contents([user("go"), calling("c1"), user("never mind")])
    assert in_the_middle[2] == ("user", [ResultBlock("c1", NO_RESULT, True), TextBlock("never mind")])
    assert contents([user("go"), calling("c1")])[-1] == ("user", [ResultBlock("c1", NO_RESULT, True)])


def test_calls_without_ids_get_the_same_ones_every_time() -> None:
    history = [user("go"), calling(None, None), results((None, "a"), (None, "b"))]
    first, again = contents(history), contents(history)
    calls = [block.id for block in first[1][1] if isinstance(block, CallBlock)]
    assert len(set(calls)) == 2
    assert first[2][1] == [ResultBlock(calls[0], "a"), ResultBlock(calls[1], "b")]
    assert first == again


def test_a_result_whose_call_is_gone_is_told_as_text() -> None:
    ((_, blocks),) = contents([results(("c9", "forty-two"))])
    assert isinstance(blocks[0], TextBlock)
    assert "forty-two" in blocks[0].text


def test_what_the_model_reads_of_a_result() -> None:
    seen = ToolResultData(data={"a": "ü"}, renderData="<b>", summary="short")
    assert result_text(seen) == ('{"a": "ü"}', False)
    assert result_text(ToolResultData(data="as is")) == ("as is", False)
    assert result_text(ToolResultData(status="error")) == ("Error: Unknown error", True)
    assert result_text(ToolResultData(status="error", message="no", data=[1])) == ("Error: no\n[1]", True)
    assert result_text(ToolResultData(status="aborted", message="Stopped.")) == ("Stopped.", True)


def test_an_attachment_that_cannot_be_sent_is_mentioned() -> None:
    film = ContentPart(type="video", name="party", source=Source(type="base64", media_type="video/mp4", data="AA=="))
    assert media_note(film) == "[Attachment omitted: party (video/mp4)]"


message = st.one_of(
    st.sampled_from(["", "hello"]).map(user),
    st.sampled_from(["", "well"]).map(lambda text: Message(sender="agent", text=text)),
    st.lists(st.sampled_from(["c1", "c2", None]), max_size=2).map(lambda ids: calling(*ids)),
    st.lists(st.tuples(st.sampled_from(["c1", "c2", "c3", None]), st.just("x")), min_size=1, max_size=3).map(
        lambda pairs: results(*pairs)
    ),
)


@given(st.lists(message, max_size=8))
def test_any_history_becomes_acceptable(history: list[Message]) -> None:
    turns = normalise(history)
    assert all(one.role != other.role for one, other in itertools.pairwise(turns))
    for index, turn in enumerate(turns):
        assert turn.blocks
        calls = [block.content.id for block in turn.blocks if isinstance(block.content, CallBlock)]
        if calls:
            following = [block.content for block in turns[index + 1].blocks]
            answered = [result.call_id for result in following if isinstance(result, ResultBlock)]
            assert sorted(answered) == sorted(calls)
            assert len(set(calls)) == len(calls)
            assert all(isinstance(block, ResultBlock) for block in following[: len(answered)])
    for turn in turns[:1]:
        assert not any(isinstance(block.content, ResultBlock) for block in turn.blocks)
