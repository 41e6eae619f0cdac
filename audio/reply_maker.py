"""Makes the replies of a session: with its voices, and telling it what they say and do."""

from __future__ import annotations

from collections.abc import Callable

from agents.core.events import ToolUse, ToolUseResult
from audio.events import AgentSays, AgentText, ToolFinished, ToolUsed, VoiceEvent
from audio.io.base import AudioIO
from audio.reply import Reply
from audio.speaking_rate import SpeakingRate
from audio.tts.base import TtsFactory


class ReplyMaker:
    """Makes replies, and remembers how fast each voice speaks.

    Args:
        io: the room.
        tts: makes voices.
        emit: publishes what a reply says and which tools its turn uses.
        reached: called once for each stage that a reply reaches (``Reply.marks``), with the time on the media clock.
    """

    def __init__(
        self,
        io: AudioIO,
        tts: TtsFactory,
        emit: Callable[[VoiceEvent], None],
        reached: Callable[[str, float], None],
    ) -> None:
        self._io = io
        self._tts = tts
        self._emit = emit
        self._reached = reached
        self._rates: dict[str, SpeakingRate] = {}

    def make(self, language: str) -> Reply:
        """A reply in ``language`` (BCP-47 primary tag); what was being played ends."""
        return Reply(
            self._io.player,
            self._tts,
            language,
            now=lambda: self._io.time_s,
            on_text=lambda text: self._emit(AgentText(self._io.time_s, text)),
            on_say=lambda text: self._emit(AgentSays(self._io.time_s, text)),
            on_tool=self._tool,
            rate=self._rates.setdefault(language, SpeakingRate()),
            on_mark=self._reached,
        )

    def _tool(self, event: ToolUse | ToolUseResult) -> None:
        if isinstance(event, ToolUse):
            self._emit(ToolUsed(self._io.time_s, event.name, event.input))
        else:
            self._emit(ToolFinished(self._io.time_s, event.tool_name, event.result.status))
