"""Faults of voices, models and recognisers that resemble those of the list of field cases, and are not in it."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from agents.base.errors import GloveError
from agents.models.scripted import Call, Fail, Hang, Say, ScriptedModel
from audio.pcm import Pcm
from audio.stt.base import SegmentStt, Transcript
from audio.stt.scripted import ScriptedStreamingStt
from audio.tts.base import AudioChunk, PieceDone, TtsAdapter, TtsDone, TtsFault
from audio.turns.contract import TurnSettings
from audio.voice import VoiceSettings
from tests.support.session import Session

SENTENCE = "Good morning to you."


class OddVoice(TtsAdapter):
    """A voice that does as ``acts`` says for each text."""

    def __init__(self, acts: Any) -> None:
        super().__init__()
        self._acts = acts
        self._pieces = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def sample_rate_hz(self) -> int:
        return 24_000

    @property
    def is_ready(self) -> bool:
        return True

    async def open(self) -> None:
        pass

    def send_text(self, text: str, *, flush: bool = False) -> None:
        self._pieces += 1

    def flush(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        for step in self._acts(self._pieces):
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                self.events.emit(step)

    async def destroy(self) -> None:
        if self._task is not None:
            self._task.cancel()


def sound(seconds: float = 0.5, dtype: Any = np.int16) -> Any:
    return np.full(round(seconds * 24_000), 5000, dtype)


async def reply_of(acts: Any, text: str = SENTENCE) -> Session:
    session = Session(ScriptedModel([text, "Fine."]), tts=lambda _: OddVoice(acts))
    async with session:
        await session.say("Hello there.")
        await session.settle(120)
        assert session.voice.current_mode == "listening" and session.room.player.idle
        assert np.abs(session.living.right).max() > 300, "nothing at all was heard"
        assert session.voice.events.faults == 0
    return session


async def test_a_voice_that_is_done_without_a_sound_is_told_and_nothing_counts_as_heard() -> None:
    session = await reply_of(lambda _: [PieceDone(0), TtsDone()])
    assert [error.code for error in session.of("error")] == ["ERR_TTS_SYNTHESIS"]
    assert SENTENCE not in [text for who, text in await session.history() if who == "agent"]


async def test_a_voice_that_never_says_that_it_is_done_does_not_hold_the_floor() -> None:
    session = await reply_of(lambda _: [AudioChunk(sound(), 0)])
    assert [error.code for error in session.of("error")] == ["ERR_TTS_CONNECTION"]


async def test_a_voice_that_is_done_twice_is_done() -> None:
    session = await reply_of(lambda _: [AudioChunk(sound(), 0), PieceDone(0), TtsDone(), TtsDone(), PieceDone(0)])
    assert session.of("agent_speech_stopped")[-1].heard == SENTENCE and not session.of("error")


@pytest.mark.parametrize("piece", [7, -1, None])
async def test_sound_of_a_piece_that_nobody_sent_is_sound_all_the_same(piece: int | None) -> None:
    session = await reply_of(lambda _: [AudioChunk(sound(), piece), TtsDone()])
    assert session.of("agent_speech_stopped")[-1].heard == SENTENCE


async def test_an_end_of_a_piece_that_nobody_sent_is_ignored() -> None:
    session = await reply_of(lambda _: [PieceDone(9), AudioChunk(sound(), 0), PieceDone(0), PieceDone(4), TtsDone()])
    assert session.of("agent_speech_stopped")[-1].heard == SENTENCE


@pytest.mark.parametrize("wrong", [sound(0.5, np.float32), sound(0.5).reshape(-1, 2)])
async def test_sound_in_a_wrong_format_is_a_fault_of_the_voice(wrong: Any) -> None:
    session = await reply_of(lambda _: [AudioChunk(wrong, 0), PieceDone(0), TtsDone()])
    assert [error.code for error in session.of("error")] == ["ERR_TTS_SYNTHESIS"]


async def test_empty_chunks_are_no_sound_but_no_harm() -> None:
    session = await reply_of(
        lambda _: [AudioChunk(sound(0), 0), AudioChunk(sound(), 0), AudioChunk(sound(0), 0), PieceDone(0), TtsDone()]
    )
    assert session.of("agent_speech_stopped")[-1].heard == SENTENCE


async def test_a_fault_after_the_last_sound_does_not_take_back_what_was_heard() -> None:
    session = await reply_of(
        lambda _: [AudioChunk(sound(2.0), 0), PieceDone(0), 3.0, TtsFault(GloveError("ERR_TTS_SYNTHESIS", "Late."))]
    )
    assert session.of("agent_speech_stopped")[0].heard == SENTENCE


@pytest.mark.parametrize("text", ["", " \n\t ", "👍🎉", "***", "```\nprint(1)\n```", "---\n\n", "…", "\u200b\u200b"])
async def test_an_answer_without_a_word_still_ends_in_something_audible(text: str) -> None:
    async with Session(ScriptedModel([text])) as session:
        await session.say("Hello there.")
        await session.settle(60)
        assert np.abs(session.living.right).max() > 300, "nothing at all was heard"
        assert session.voice.current_mode == "listening"


async def test_a_model_that_fails_after_its_first_words_says_so_and_what_was_heard_is_kept() -> None:
    model = ScriptedModel([[Say("Well, let me see. "), Fail(GloveError("ERR_MODEL_UNREACHABLE", "Gone."), 3.0)]])
    async with Session(model) as session:
        await session.say("Hello there.")
        await session.settle()
        assert "cannot reach" in session.of("agent_speech_stopped")[-1].heard
        assert [error.code for error in session.of("error")] == ["ERR_MODEL_UNREACHABLE"]


async def test_a_model_that_calls_a_tool_which_does_not_exist_for_ever_is_stopped() -> None:
    model = ScriptedModel(lambda _: [Call("nothing_like_it")])
    async with Session(model) as session:
        await session.say("Hello there.")
        await session.settle(300)
        assert np.abs(session.living.right).max() > 300
        assert session.voice.current_mode == "listening"


async def test_a_model_that_drips_a_character_every_few_seconds_can_be_stopped() -> None:
    model = ScriptedModel([[step for letter in "So very slow" for step in (Say(letter, 4.0),)], "Fine."])
    async with Session(model) as session:
        await session.say("Hello there.")
        await asyncio.sleep(9.0)
        session.voice.interrupt()
        session.voice.say_to_agent("And now?")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Fine."


async def test_stop_while_nothing_plays_and_stop_twice_are_harmless() -> None:
    async with Session(ScriptedModel([[Say("One. "), Hang()], "Fine."])) as session:
        session.voice.interrupt()
        session.voice.interrupt()
        await session.say("Hello there.")
        await session.until(lambda: session.of("agent_speech_started"))
        session.voice.interrupt()
        session.voice.interrupt()
        await session.settle()
        assert len(session.of("interrupted")) <= 1
        session.voice.say_to_agent("And now?")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Fine."


async def test_a_session_that_is_stopped_twice_at_once_and_in_an_answer_leaves_nothing() -> None:
    async with Session(ScriptedModel([[Say("One two three. "), Hang()]])) as session:
        await session.say("Hello there.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.gather(session.voice.stop(), session.voice.stop())
        assert not session.voice.is_active
        await session.voice.start()
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not rest, rest


def streaming() -> tuple[Session, ScriptedStreamingStt]:
    stt = ScriptedStreamingStt()
    return Session(ScriptedModel(lambda request: f"You said {request.messages[-1].text}"), stt=stt), stt


async def spoken(session: Session, stt: ScriptedStreamingStt, text: str) -> None:
    session.living.speak(text, 1.0)
    await asyncio.sleep(0.6)
    stt.partial(text)
    await asyncio.sleep(0.45)


async def test_two_finals_of_one_utterance_are_one_turn() -> None:
    session, stt = streaming()
    async with session:
        await spoken(session, stt, "hello there")
        await session.until(lambda: session.of("user_turn"), 10)
        stt.final("Hello there.")
        stt.final("Hello there.")
        await session.settle()
        stt.final("Hello there.")
        await session.settle()
        assert len(session.of("user_turn")) == 1


async def test_a_final_that_comes_a_minute_late_is_no_turn() -> None:
    session, stt = streaming()
    async with session:
        await spoken(session, stt, "hello there")
        await session.until(lambda: session.of("user_turn"), 10)
        await session.settle()
        await asyncio.sleep(60.0)
        stt.final("Hello there.")
        await session.settle()
        assert len(session.of("user_turn")) == 1


async def test_an_empty_final_for_words_that_were_understood_does_not_take_them_back() -> None:
    session, stt = streaming()
    async with session:
        await spoken(session, stt, "hello there")
        stt.final("")
        await session.until(lambda: session.of("user_turn"), 10)
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["hello there"]


async def test_a_partial_that_shrinks_and_grows_is_one_turn_with_its_last_words() -> None:
    session, stt = streaming()
    async with session:
        session.living.speak("", 1.6)
        for text in ("set a", "set a time", "set", "", "set a timer", "set a timer for"):
            await asyncio.sleep(0.2)
            stt.partial(text)
        await asyncio.sleep(0.2)
        stt.partial("set a timer for five minutes")
        await session.until(lambda: session.of("user_turn"), 10)
        stt.final("Set a timer for five minutes.")
        await session.settle()
        assert [turn.text.lower().rstrip(".") for turn in session.of("user_turn")] == ["set a timer for five minutes"]


async def test_events_of_a_recogniser_after_the_session_has_ended_do_nothing() -> None:
    session, stt = streaming()
    async with session:
        await spoken(session, stt, "hello there")
    before = len(session.events)
    stt.partial("ghost")
    stt.final("A ghost speaks.")
    stt.fail(RuntimeError("late"))
    stt.drop()
    await asyncio.sleep(5.0)
    assert len(session.events) == before and stt.events.faults == 0


async def test_a_recogniser_whose_every_final_is_a_caption_is_never_a_turn() -> None:
    async with Session(ScriptedModel([]), partials=False) as session:
        for caption in ("[music]", "(silence)", "♪♪♪", "...", "[BLANK_AUDIO]", " "):
            await session.say(caption, 0.8)
            await session.settle()
        assert not session.of("user_turn")


@pytest.mark.parametrize("preemptive", [False, True])
async def test_speech_that_goes_on_at_the_very_moment_of_the_commit_is_not_lost(preemptive: bool) -> None:
    """The user resumes 0 to 400 ms around the time at which the turn is committed."""
    settings = VoiceSettings(turns=TurnSettings(preemptive=preemptive))
    for offset_ms in range(0, 1200, 40):
        model = ScriptedModel(lambda request: f"You said {request.messages[-1].text}", first_token_s=0.8)
        async with Session(model, settings=settings) as session:
            await session.say("Call my mother.", 0.8)
            await asyncio.sleep(offset_ms / 1000)
            await session.say("And my father.", 0.8)
            await session.settle()
            assert session.of("user_turn")[-1].text == "Call my mother. And my father.", f"{offset_ms} ms"


class NoSense(SegmentStt):
    """Understands nothing that could be a text in its first call."""

    def __init__(self) -> None:
        self.calls = 0

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        self.calls += 1
        return Transcript("Hello there.") if self.calls > 1 else None  # type: ignore[return-value]


async def test_a_recogniser_that_answers_nonsense_is_told_and_heard_again() -> None:
    session = Session(ScriptedModel(["Yes."]), stt=NoSense(), partials=False)
    async with session:
        await session.say("x")
        await session.settle()
        assert [error.code for error in session.of("error")] == ["ERR_STT_FAILED"]
        assert session.of("agent_says"), "the user is told aloud"
        await session.say("y")
        await session.settle()
        assert [turn.text for turn in session.of("user_turn")] == ["Hello there."]


class SlowAndWordless(SegmentStt):
    """Takes its time to find out that nothing was said."""

    cost_s = 1.5

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        return Transcript("")


async def test_noise_with_gaps_is_let_go_however_slow_the_recogniser_is() -> None:
    """Each gap asks for a text of its own; the question whether there are words at all is answered all the same."""
    session = Session(ScriptedModel([]), stt=SlowAndWordless(), partials=False)
    async with session:
        for length in range(40, 100):
            session.living.speak("", length / 100)
            session.living.waiting += [np.zeros(160, np.int16)] * 30
        await session.until(lambda: session.of("discarded"), 60)
        (discarded,) = session.of("discarded")
        assert discarded.reason == "noise" and discarded.t < 20
