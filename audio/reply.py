"""One reply: the agent's text becomes sound in order, and the sound played becomes the text that was heard.

A turn may hold several model responses (text before a tool call, text after it). Each is a *part* with a voice session
of its own; parts are spoken strictly one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from agents.core.events import (
    AgentEvent,
    CompactionEnd,
    CompactionStart,
    ModelResponse,
    ModelResponseComplete,
    SubagentCompleted,
    SubagentInvoked,
    TextDelta,
    ToolUse,
    ToolUseResult,
)
from audio import earcons
from audio.heard import HeardTracker
from audio.io.player import Player
from audio.part_voice import PartVoice
from audio.pcm import Pcm
from audio.reply_parts import HeardReport, Part
from audio.sentences import SentenceBuffer
from audio.speakable import Speakable
from audio.speaking_rate import SpeakingRate
from audio.tts.base import TtsAdapter, TtsFactory, as_voice_error

log = structlog.get_logger(__name__)

AHEAD_S = 12.0
"""How many seconds of sound may wait in the player before more text is given to the voice."""

IN_PROGRESS_S = 0.5
"""How far a word may reach beyond what was played of it."""


class Reply:
    """Subscriber of the agent for one turn, and the speaker of what it says.

    Args:
        player: where the sound goes; the reply takes a new generation of it.
        voices: makes a voice per part.
        language: of the turn.
        now: seconds on the room's media clock.
        on_text: called with the whole text of each response.
        on_tool: called with each tool event.
        on_say: called with words that no model wrote, before they are spoken.
        rate: how fast the voice speaks, as measured in earlier replies.
        on_mark: called once for each stage of ``marks``, with its time.
    """

    def __init__(
        self,
        player: Player,
        voices: TtsFactory,
        language: str,
        *,
        now: Callable[[], float],
        on_text: Callable[[str], None] = lambda _: None,
        on_tool: Callable[[ToolUse | ToolUseResult], None] = lambda _: None,
        on_say: Callable[[str], None] = lambda _: None,
        rate: SpeakingRate | None = None,
        on_mark: Callable[[str, float], None] = lambda stage, at: None,
    ) -> None:
        self.language = language
        self.generation = player.next_generation()
        self.parts: list[Part] = []
        self.tools_open = 0
        self.tools_done = 0
        self.tools_changed = asyncio.Event()
        self.last_sign = self.last_words = self.last_heard = clock.now()
        self.marks: dict[str, float] = {}
        self.fault: GloveError | None = None
        self.void = False
        self._player = player
        self._voices = voices
        self._now = now
        self._on_text = on_text
        self._on_tool = on_tool
        self._on_say = on_say
        self._rate = rate
        self._on_mark = on_mark
        self._buffer = SentenceBuffer(language)
        self._speakable = Speakable(language)
        self._aside = 0
        self._dismissed = False
        self._queued = 0
        self._pending: asyncio.Queue[Part | None] = asyncio.Queue()
        self._voice: TtsAdapter | None = None
        self._scope = Scope("reply")
        self._speaking = self._scope.spawn(self._speak_parts(), "speak")

    async def record(self, event: AgentEvent) -> None:
        """Take one event of the agent (the ``Subscriber`` contract)."""
        self.alive()
        if isinstance(event, ToolUse | ToolUseResult):
            self.tools_open += 1 if isinstance(event, ToolUse) else -1
            self.tools_done += isinstance(event, ToolUseResult)
            self.tools_changed.set()
            self._on_tool(event)
        elif isinstance(event, CompactionStart | SubagentInvoked):
            # What is said from here on is a summary, or between agents.
            self._aside += 1
        elif isinstance(event, CompactionEnd | SubagentCompleted):
            self._aside = max(0, self._aside - 1)
        elif self.speaks(event) and not self.void and not self._dismissed:
            self._record_text(event)

    def speaks(self, event: AgentEvent) -> bool:
        """Whether ``event`` is something that the agent says to the user."""
        return not self._aside and isinstance(event, TextDelta | ModelResponse | ModelResponseComplete)

    def follow(self, before: Reply) -> None:
        """Go on with the turn that was spoken in ``before``."""
        self.tools_open, self.tools_done = before.tools_open, before.tools_done
        self._aside, self._dismissed = before._aside, before._dismissed

    def _record_text(self, event: AgentEvent) -> None:
        match event:
            case TextDelta():
                self._add_text(event.reply_id, event.text)
            case ModelResponseComplete():
                self._end_part(event.text)
            case ModelResponse():
                if event.text:
                    self._add_text(event.reply_id, event.text)
                self._end_part(event.text)
            case _:
                pass

    def alive(self) -> None:
        """Something of the reply happens or is heard."""
        self.last_sign = clock.now()

    def sounds(self) -> None:
        """Something of the reply is heard at this moment."""
        self.last_heard = clock.now()
        self.alive()

    def dismiss(self, text: str) -> None:
        """End the reply with ``text``: what the agent still has to say is not spoken."""
        self._dismissed = True
        self.say(text)

    def say(self, text: str) -> Part:
        """Speak ``text``, which is no part of the conversation (a failure, an announcement, a question)."""
        self._close_part()
        if text.strip():
            self._on_say(text)
        self._add_text("", text)
        self._close_part()
        return self.parts[-1]

    def reached(self, part: Part) -> bool:
        """Whether anything of ``part`` was played."""
        return part.offset is not None and self.played > part.offset

    def sound(self, pcm: Pcm) -> None:
        """Play an earcon at the player's rate."""
        self._queued += self._player.enqueue(pcm, self._player.rate_hz, self.generation)

    def _add_text(self, reply_id: str, text: str) -> None:
        part = self.parts[-1] if self.parts else None
        if part is None or part.closed or part.reply_id != reply_id:
            self._close_part()
            part = Part(reply_id, self.language, HeardTracker(self._rate))
            self.parts.append(part)
            self._pending.put_nowait(part)
        part.text += text
        self.last_words = clock.now()
        self._mark("text")
        for sentence in self._buffer.push(text):
            part.sentences.put_nowait(sentence)

    def _end_part(self, text: str) -> None:
        if text.strip():
            self._on_text(text)
        self._close_part()

    def _close_part(self) -> None:
        part = self.parts[-1] if self.parts else None
        if part is None or part.closed:
            return
        rest = self._buffer.flush()
        if rest:
            part.sentences.put_nowait(rest)
        part.sentences.put_nowait(None)
        part.closed = True

    @property
    def audible(self) -> bool:
        """Whether any words of the reply were queued as sound."""
        return "sound" in self.marks

    @property
    def played(self) -> int:
        """Samples of the reply that were played."""
        return self._player.played if self._player.generation == self.generation else 0

    @property
    def text(self) -> str:
        """Everything the reply says."""
        return " ".join(part.text.strip() for part in self.parts if part.text.strip())

    def heard(self) -> list[HeardReport]:
        """What was heard up to this sample, for each response."""
        return [self._report(part) for part in self.parts]

    def heard_text(self) -> str:
        """What was heard up to this sample, as one text."""
        return " ".join(report.text.strip() for report in self.heard() if report.text.strip())

    def saying(self) -> str:
        """What was just said, the word in progress included."""
        ahead = round(IN_PROGRESS_S * self.rate_hz)
        played = self.played + ahead
        parts = [part for part in self.parts if part.offset is not None and part.offset < played]
        return " ".join(part.tracker.heard(played - (part.offset or 0)) for part in parts)

    def _report(self, part: Part) -> HeardReport:
        if part.offset is None:
            return HeardReport(part.reply_id, "", complete=False)
        played = max(0, self.played - part.offset)
        complete = part.closed and part.fault is None and part.tracker.complete(played)
        return HeardReport(part.reply_id, part.text if complete else part.tracker.heard(played), complete)

    async def spoken(self) -> None:
        """Wait until everything said so far has been handed to the player; no text may follow."""
        self._close_part()
        self._pending.put_nowait(None)
        await asyncio.wait([self._speaking])
        self._queued += self._player.finish(self.generation)

    async def close(self) -> None:
        """Drop what is not spoken yet; idempotent."""
        self.void = True
        await self._scope.close(timeout_s=2.0)

    async def _speak_parts(self) -> None:
        while (part := await self._pending.get()) is not None:
            try:
                await self._speak(part)
            except Exception as fault:
                error = as_voice_error(fault)
                log.warning("a voice failed", code=error.code, error=error.message, exc_info=error is not fault)
                part.fault = self.fault = error
                self.sound(earcons.failed(self._player.rate_hz))
            finally:
                voice, self._voice = self._voice, None
                if voice is not None:
                    await voice.destroy()

    async def _speak(self, part: Part) -> None:
        session = PartVoice(self, part)
        index = -1
        while (sentence := await part.sentences.get()) is not None:
            index += 1
            part.tracker.add_piece(index, sentence)
            spoken = self._speakable.feed(sentence)
            if not spoken:
                part.tracker.finish_piece(index)
                continue
            if self._voice is None:
                self._voice = self._voices(part.language)
                await session.open(self._voice)
            await self._room_ahead()
            self._mark("sentence")
            await session.send(index, spoken)
        if self._voice is not None:
            await session.finish()
        elif part.offset is None:
            part.offset = self._queued

    def _mark(self, stage: str) -> None:
        """Note when ``stage`` (first text, first sentence to the voice, first sound) was reached."""
        if stage not in self.marks:
            self.marks[stage] = at = self._now()
            self._on_mark(stage, at)

    async def _room_ahead(self) -> None:
        while self._player.queued_s > AHEAD_S:
            await asyncio.sleep(0.1)  # the sink drains in its own thread; there is nothing to wait on

    def queue_sound(self, part: Part, pcm: Pcm, rate_hz: int) -> int:
        """Hand sound of ``part`` to the player; returns the samples added at the player's rate."""
        if part.offset is None:
            part.offset = self._queued
        self._mark("sound")
        added = self._player.enqueue(pcm, rate_hz, self.generation)
        self._queued += added
        return added

    @property
    def rate_hz(self) -> int:
        """The player's rate."""
        return self._player.rate_hz
