"""A provider that really hears: what is said to it is in the level of the sound, so that lost sound is a lost word."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agents.base import clock
from audio.pcm import Pcm
from realtime.s2s.samples import decode_samples
from realtime.testing import OpenAIDialect, Step, Violation, openai
from realtime.testing.session import PeerSession
from tests.realtime.agent.stage import tone

LEVEL = 100
"""Question *n* is sound of the level ``LEVEL + n``."""

WHOLE_S = 0.85
"""Less of a question than this is not understood."""


@dataclass
class World:
    """When which question is asked: the microphone of all sessions.

    Attributes:
        questions: when each begins, in seconds of the loop; each lasts a second.
        life_s: how long sessions last.
        heard_twice: questions that two sessions have answered.
    """

    questions: list[float]
    life_s: float
    answered: list[int] = field(default_factory=list[int])

    def frame(self, samples: int) -> Pcm:
        """The microphone now."""
        now = clock.now()
        for number, began in enumerate(self.questions):
            if began <= now < began + 1:
                return np.full(samples, LEVEL + number, np.int16)
        return np.zeros(samples, np.int16)


class _Ear(OpenAIDialect):
    """Notes what the sound says."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[int, float] = {}
        self.told: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        self._now = -1

    def samples(self, told: Mapping[str, Any]) -> int:
        if told["type"] != "input_audio_buffer.append":
            return 0
        pcm = decode_samples(told["audio"])
        number = int(pcm.max()) - LEVEL
        if number >= 0:
            self.seconds[number] = self.seconds.get(number, 0.0) + pcm.size / 24_000
        if number != self._now:
            if self._now >= 0:
                self.told.put_nowait(("ended", self._now))
            if number >= 0:
                self.told.put_nowait(("began", number))
            self._now = max(number, -1)
        return pcm.size


class HearingSession(Step):
    """One session, until its client goes: it takes a history, hears questions, and answers odd ones with a tool."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._responses = 0

    async def play(self, session: PeerSession) -> None:
        session.dialect = self._ear = _Ear()
        ends = clock.wall().timestamp() + self._world.life_s
        await session.say(openai.session_created(expires_at=ends))
        reading, hearing = asyncio.ensure_future(self._read(session)), asyncio.ensure_future(self._hear(session))
        try:
            await asyncio.wait({reading, hearing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reading.cancel()
            hearing.cancel()
        await asyncio.gather(reading, hearing, return_exceptions=True)

    async def _read(self, session: PeerSession) -> None:
        answers: list[int] = []
        while True:
            try:
                told = await session.next_message()
            except Violation:
                return
            match told["type"]:
                case "session.update":
                    await session.say(openai.session_updated(told["session"]))
                case "conversation.item.create":
                    for stored in openai.item_stored(session):
                        await session.say(stored)
                    found = re.findall(r"tool-(\d+)", str(told["item"]))
                    if told["item"]["type"] == "function_call_output" or told["item"].get("role") == "system":
                        answers += [int(number) for number in found]
                case "response.create":
                    await self._answer(session, answers.pop())
                case kind:
                    raise AssertionError(kind)

    async def _hear(self, session: PeerSession) -> None:
        while True:
            what, number = await self._ear.told.get()
            item = f"user_{number}"
            if what == "began":
                await session.say(openai.speech_started(item))
                continue
            if self._ear.seconds[number] < WHOLE_S:
                continue
            await asyncio.sleep(0.2)
            for told in [*openai.speech_stopped(item), *openai.transcript(f"question {number}", item)]:
                await session.say(told)
            if number % 2:
                self._responses += 1
                call = (f"call_{number}", "work", f'{{"number": {number}}}')
                for told in openai.tool_calls([call], f"r{self._responses}"):
                    await session.say(told)
            else:
                await self._answer(session, number)

    async def _answer(self, session: PeerSession, number: int) -> None:
        self._responses += 1
        self._world.answered.append(number)
        name = f"{self._responses}"
        for told in openai.answer(f"answer {number}", tone(0.6), f"r{name}", f"a{name}"):
            await session.say(told)
