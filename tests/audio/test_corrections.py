"""A recogniser that changes its mind about a turn it had already been taken at."""

from __future__ import annotations

import asyncio

import pytest

from agents.models.scripted import ScriptedModel
from audio.stt.scripted import ScriptedStreamingStt
from audio.tts.scripted import ScriptedVoice
from tests.support.session import Session


async def ask(session: Session, stt: ScriptedStreamingStt, text: str) -> None:
    session.living.speak("ignored", 1.0)
    await asyncio.sleep(0.8)
    stt.partial(text)
    await session.until(lambda: session.of("user_turn"))


async def test_a_turn_that_was_misheard_is_answered_anew_while_nobody_heard_the_answer() -> None:
    stt = ScriptedStreamingStt()
    model = ScriptedModel(["It is on.", "It is off."])
    async with Session(model, stt=stt, tts=ScriptedVoice(first_audio_s=1.0)) as session:
        await ask(session, stt, "Turn on the light.")
        await asyncio.sleep(0.3)
        stt.final("Turn off the light.")
        await session.settle()
        assert [(event.was, event.text) for event in session.of("user_turn_corrected")] == [
            ("Turn on the light.", "Turn off the light.")
        ]
        assert [event.heard for event in session.of("agent_speech_stopped")] == ["It is off."]
        assert model.requests[-1].messages[-1].text == "Turn off the light."


async def test_a_correction_after_the_answer_was_heard_is_only_told() -> None:
    stt = ScriptedStreamingStt()
    async with Session(ScriptedModel(["It is on."]), stt=stt) as session:
        await ask(session, stt, "Turn on the light.")
        await session.until(lambda: session.of("agent_speech_started"))
        stt.final("Turn off the light.")
        await session.settle()
        assert len(session.of("user_turn_corrected")) == 1
        assert [event.heard for event in session.of("agent_speech_stopped")] == ["It is on."]


@pytest.mark.parametrize("final", ["Turn on the light", "turn on the light, please."])
async def test_the_same_words_and_a_few_more_are_no_correction(final: str) -> None:
    stt = ScriptedStreamingStt()
    async with Session(ScriptedModel(["It is on."]), stt=stt) as session:
        await ask(session, stt, "Turn on the light.")
        stt.final(final)
        await session.settle()
        assert not session.of("user_turn_corrected") and len(session.of("user_turn")) == 1
