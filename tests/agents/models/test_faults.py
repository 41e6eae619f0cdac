"""Servers that are busy, slow, silent, hostile or not what they say: what people notice of each format's adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import TextDelta
from agents.core.glove import Glove
from agents.core.messages import Message
from agents.core.model import PromptRequest
from agents.core.tool import Tool, ToolContext
from agents.models import http_limit
from agents.models.faults import RETRY_AFTER_CAP_S, retry_after_s
from agents.models.scripted import Call, Say
from tests.agents.core.scene import Ear, Where
from tests.agents.models import fake_anthropic, fake_bedrock, fake_openai
from tests.agents.models.benches import FORMATS
from tests.agents.models.fake_server import Answer

NAMES = ("anthropic", "openai", "bedrock")
QUESTION = PromptRequest("", [Message(sender="user", text="hi")])


async def answered(name: str, *answers: Answer, abort: AbortToken | None = None, **options: Any) -> tuple[str, float]:
    """The text of a reply and how long it took, in the loop's seconds."""
    form = FORMATS[name]
    async with form.server(list(answers)).running() as server:
        model: Any = form.model(server, **options)
        await model.warm()
        begun = clock.now()
        try:
            result = await model.prompt(QUESTION, Ear().record, abort or AbortToken())
        finally:
            await model.close()
        return result.messages[0].text, clock.now() - begun


def busy(**headers: str) -> Answer:
    return Answer(
        status=429, body={"message": "slow down"}, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry_after": "7"}, 7.0, 7.1),
        ({"retry_after": "0"}, 0.0, 0.1),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5, 1.6),
        ({"retry_after": "86400"}, RETRY_AFTER_CAP_S, RETRY_AFTER_CAP_S + 0.1),
        ({"retry_after": "nan"}, 0.3, 0.6),
        ({"retry_after": "soon"}, 0.3, 0.6),
        ({}, 0.3, 0.6),
    ],
)
async def test_a_busy_server_says_when_it_will_be_asked_again(
    name: str, headers: Mapping[str, str], least: float, most: float
) -> None:
    yes = FORMATS[name].answer([Say("Now.")])
    text, waited_s = await answered(name, busy(**headers), yes, max_retries=1)
    assert text == "Now."
    assert least <= waited_s <= most


def test_a_date_to_come_back_is_a_wait() -> None:
    async def waits() -> list[float | None]:
        soon, past = (format_datetime(clock.wall() + timedelta(seconds=s), usegmt=True) for s in (90, -90))
        return [retry_after_s({"retry-after": date}) for date in (soon, past)]

    soon, past = clock.run_virtual(waits())
    assert soon is not None and 88 < soon <= 90
    assert past == 0.0


@pytest.mark.parametrize("name", NAMES)
async def test_nobody_waits_on_for_a_busy_server_after_an_abort(name: str) -> None:
    abort = AbortToken()
    form = FORMATS[name]
    async with form.server([busy(retry_after="15")]).running() as server:
        model: Any = form.model(server, max_retries=1)
        await model.warm()
        begun = clock.now()
        asyncio.get_running_loop().call_later(3.0, abort.abort)
        with pytest.raises(Aborted):
            await model.prompt(QUESTION, Ear().record, abort)
        assert clock.now() - begun < 3.1
        await model.close()


@pytest.mark.parametrize("name", NAMES)
async def test_a_server_that_stays_busy_is_not_asked_for_ever(name: str) -> None:
    with pytest.raises(GloveError) as fault:
        await answered(name, busy(), busy(), busy(), max_retries=2)
    assert fault.value.code == "ERR_MODEL_RATE_LIMIT"


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
async def test_a_connection_closed_without_a_word_is_tried_again(name: str) -> None:
    yes = FORMATS[name].answer([Say("Now.")])
    assert (await answered(name, Answer(silent=True), yes, max_retries=1))[0] == "Now."
    with pytest.raises(GloveError) as fault:
        await answered(name, Answer(silent=True))
    assert fault.value.code == "ERR_MODEL_UNREACHABLE"


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("begun", [True, False])
async def test_silence_ends(name: str, begun: bool) -> None:
    frames = FORMATS[name].answer([Say("Well, ")]).frames[:2]
    late = Answer(frames, hang=True) if begun else Answer(silent=True, hang=True)
    with pytest.raises(GloveError) as fault:
        await answered(name, late, timeout_s=0.4)
    assert fault.value.code == "ERR_MODEL_UNREACHABLE"


_NOISE = {"anthropic": b": ping\n\n", "openai": b": OPENROUTER PROCESSING\n\n", "bedrock": b"\0"}


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
async def test_a_drip_of_bytes_that_say_nothing_is_silence(name: str) -> None:
    form = FORMATS[name]
    drip = Answer([_NOISE[name]] * 200, pause_s=0.05, hang=True)
    async with form.server([drip]).running() as server:
        model: Any = form.model(server, timeout_s=0.5)
        await model.warm()
        begun = clock.now()
        with pytest.raises(GloveError) as fault:
            await model.prompt(QUESTION, Ear().record, AbortToken())
        assert clock.now() - begun < 8.0
        await model.close()
    assert fault.value.code == "ERR_MODEL_UNREACHABLE"


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
async def test_a_slow_reply_is_a_reply(name: str) -> None:
    slow = FORMATS[name].answer([Say("One two three four five six seven eight.")])
    slow.pause_s = 0.1
    # In all it takes longer than any one silence may.
    assert (await answered(name, slow, timeout_s=0.7))[0] == "One two three four five six seven eight."


_STRANGE: dict[str, list[Any]] = {
    "anthropic": [
        b"event: message_start\ndata: {not json\n\n",
        b"event: content_block_delta\ndata: 17\n\n",
        b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0}\n\n',
        {"type": "message_start", "message": None},
        {"type": "content_block_start", "index": 0, "content_block": "x"},
        {"type": "message_delta", "delta": None, "usage": None},
        b"<html>Please sign in.</html>",
        b"\xff\xfe\n\n",
    ],
    "openai": [
        b"data: {not json\n\n",
        b"data: 17\n\n",
        b"data: null\n\n",
        {"choices": "x"},
        {"choices": [{"delta": "x"}]},
        {"choices": [{"delta": {"tool_calls": "x"}, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": 3, "arguments": 7}}]}}]},
        b"<html>Please sign in.</html>",
        b"\xff\xfe\n\n",
    ],
    "bedrock": [
        b"<html>Please sign in.</html>",
        fake_bedrock.message("contentBlockDelta", b"{not json"),
        fake_bedrock.message("contentBlockDelta", {"contentBlockIndex": 0}),
        fake_bedrock.message("contentBlockDelta", {"delta": {"toolUse": {"input": "{}"}}, "contentBlockIndex": 5}),
        fake_bedrock.message("contentBlockStart", {"contentBlockIndex": 0}),
        fake_bedrock.message("messageStop", {})[:-4] + b"\0\0\0\0",
        fake_bedrock.message("messageStop", {}),
        b"\xff" * 64,
    ],
}


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
async def test_what_no_model_sends_is_a_fault_and_not_a_crash(name: str) -> None:
    form = FORMATS[name]
    begun = form.answer([Say("Well, well, well.")]).frames[:2]
    strange = [Answer([*frames, odd]) for odd in _STRANGE[name] for frames in ([], begun)]
    async with form.server(list(strange)).running() as server:
        model: Any = form.model(server)
        for number in range(len(strange)):
            with pytest.raises(GloveError) as fault:
                await model.prompt(QUESTION, Ear().record, AbortToken())
            assert fault.value.code == "ERR_MODEL_UNREACHABLE", number
        await model.close()


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
async def test_a_page_instead_of_a_reply_is_a_fault(name: str) -> None:
    """A captive portal answers everything with status 200."""
    with pytest.raises(GloveError) as fault:
        await answered(name, Answer(body="Please sign in."), stream=False)
    assert fault.value.code == "ERR_MODEL_UNREACHABLE"


@pytest.mark.realtime
@pytest.mark.parametrize("name", ["anthropic", "openai"])
async def test_a_line_without_an_end_does_not_fill_the_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_limit.limited, "__defaults__", (300_000,))
    endless = Answer([b"data: ", *[b"x" * 65_536] * 64])
    with pytest.raises(GloveError) as fault:
        await answered(name, endless)
    assert fault.value.code == "ERR_MODEL_UNREACHABLE"


@pytest.mark.realtime
async def test_a_reply_without_an_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.models.bedrock_reply.MAX_REPLY_BYTES", 300_000)
    endless = Answer([*fake_bedrock.begin(), *fake_bedrock.text(0, *["x" * 65_536] * 64)])
    with pytest.raises(GloveError, match="does not end"):
        await answered("bedrock", endless)


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
async def test_a_long_piece_is_a_piece(name: str) -> None:
    long = "x" * 1_000_000
    assert (await answered(name, FORMATS[name].answer([Say(long)])))[0] == long


_BROKEN_CALLS = {
    "anthropic": [
        fake_anthropic.start(), *fake_anthropic.call(0, "c1", "look", '{"place": '), *fake_anthropic.end("tool_use")
    ],
    "openai": [
        fake_openai.chunk(tool_calls=[fake_openai.call(0, "c1", "look", '{"place": ')]), fake_openai.chunk("tool_calls")
    ],
    "bedrock": [
        *fake_bedrock.begin(), *fake_bedrock.call(0, "c1", "look", '{"place": '), *fake_bedrock.end("tool_use")
    ],
}  # fmt: skip


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
async def test_a_model_hears_that_its_arguments_were_no_json_and_tries_again(name: str) -> None:
    looked: list[str] = []

    async def look(where: Where, _: ToolContext) -> str:
        looked.append(where.place)
        return "a wall"

    form = FORMATS[name]
    script = [Answer(_BROKEN_CALLS[name]), form.answer([Call("look", {"place": "up"})]), form.answer([Say("A wall.")])]
    async with form.server(script).running() as server:
        model: Any = form.model(server)
        glove = Glove(model=model).fold(Tool("look", "Looks.", look, Where)).build()
        reply = await glove.process_request("look up")
        await model.close()
    assert (reply.text, looked) == ("A wall.", ["up"])
    told = str(server.bodies[1])
    assert "TOOL_INPUT_INVALID" in told or "invalid" in told.lower()


@pytest.mark.realtime
@pytest.mark.parametrize("name", NAMES)
async def test_pieces_of_text_are_told_before_the_reply_is_whole(name: str) -> None:
    answer = FORMATS[name].answer([Say("Well, well.")])
    answer.frames, answer.hang = answer.frames[:3], True
    form = FORMATS[name]
    async with form.server([answer]).running() as server:
        model: Any = form.model(server)
        abort, ear = AbortToken(), Ear(lambda event: abort.abort() if isinstance(event, TextDelta) else None)
        with pytest.raises(Aborted):
            await model.prompt(QUESTION, ear.record, abort)
        assert ear.of(TextDelta)
        async with asyncio.timeout(10):
            await server.client_left.wait()
        await model.close()
