"""What is said is heard to its end or ends cleanly: after faults, when nobody waits, and when a listener nods."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from agents.base.errors import GloveError
from agents.core.messages import Heard
from agents.core.tool import NoArgs, Tool
from agents.models.scripted import Call, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from audio.tts.base import TtsAdapter
from audio.tts.scripted import ScriptedVoice
from audio.voice import VoiceSettings
from tests.support.session import Session

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."


class FullStore(MemoryStore):
    """A store that finds no room for what was heard."""

    async def amend_message(self, message_id: str, *, text: str, heard: Heard) -> bool:
        raise GloveError("ERR_STORE_FULL", "There is no room left.")


class BrokenVoice(ScriptedVoice):
    """A voice whose first session fails in a way that no contract foresees."""

    def __call__(self, language: str) -> TtsAdapter:
        voice = super().__call__(language)
        if len(self.made) == 1:
            raise LookupError("no such file")
        return voice


def tasks_of(name: str) -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(name)]


@pytest.mark.parametrize("fault", ["open", None])
async def test_a_voice_that_does_not_open_is_given_back(fault: Any) -> None:
    voice = ScriptedVoice(fault=fault, open_s=0.0 if fault else 30.0)
    async with Session(ScriptedModel(["Hello to you."]), tts=voice) as session:
        await session.say("Hello there.")
        await session.settle()
        assert [event.code for event in session.of("error")] == ["ERR_TTS_CONNECTION"]
        assert [tts.destroyed for tts in voice.made] == [True]


async def test_a_voice_that_is_still_opening_is_given_back_when_the_user_interrupts() -> None:
    voice = ScriptedVoice(open_s=5.0)
    async with Session(ScriptedModel(["Hello to you."]), tts=voice) as session:
        await session.say("Hello there.")
        await session.until(lambda: voice.made)
        session.voice.interrupt()
        await session.settle()
        assert [tts.destroyed for tts in voice.made] == [True]


async def test_a_voice_that_fails_unforeseen_is_reported_and_heard_of() -> None:
    async with Session(ScriptedModel(["Hello to you.", "Better."]), tts=BrokenVoice()) as session:
        await session.say("Hello there.")
        await session.settle()
        assert [event.code for event in session.of("error")] == ["ERR_TTS_SYNTHESIS"]
        assert np.abs(session.living.right).max() > 300, "an earcon says that something went wrong"
        await session.say("And now?")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Better."


async def test_a_reply_whose_report_cannot_be_stored_leaves_nothing_running_when_it_is_cut() -> None:
    async def look(_args: NoArgs, _ctx: Any) -> str:
        await asyncio.sleep(5.0)
        return "done"

    model = ScriptedModel([[Say("Let me see."), Call("look")]])
    tool = Tool(name="look", description="look", run=look, args=NoArgs)
    async with Session(model, tools=(tool,), store=FullStore()) as session:
        await session.say("Have a look.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.4)
        session.voice.interrupt()
        await session.settle()
        assert tasks_of("reply") == []


async def test_an_announcement_that_nobody_waits_for_any_more_ends() -> None:
    async with Session(ScriptedModel(["Fine."])) as session:
        announcement = asyncio.create_task(session.voice.announce(LONG))
        await session.until(lambda: session.of("agent_speech_started"))
        announcement.cancel()
        await session.settle(limit_s=2.0)
        assert session.room.player.idle
        await session.say("How are you?")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Fine."


async def test_a_nod_in_the_users_language_does_not_take_the_floor() -> None:
    settings = VoiceSettings(language="de", reply_language="de")
    async with Session(ScriptedModel([LONG]), settings=settings) as session:
        await session.say("Zähle bitte.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
        await session.say("Ja, genau.", 0.7)
        await session.settle()
        assert session.of("user_partial")[-1].text == "Ja, genau."
        assert not session.of("interrupted")
        assert session.of("agent_speech_stopped")[-1].heard == LONG
