"""How a voice session behaves, and the modes it moves between."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from audio.turns.contract import TurnSettings
from audio.turns.ptt import TalkTimes


class Mode(Enum):
    """What the session is doing."""

    IDLE = "idle"
    LISTENING = "listening"
    THINKING = "thinking"
    SPEAKING = "speaking"


MOVES: dict[Mode, frozenset[Mode]] = {
    Mode.IDLE: frozenset({Mode.LISTENING}),
    Mode.LISTENING: frozenset({Mode.THINKING, Mode.IDLE}),
    Mode.THINKING: frozenset({Mode.SPEAKING, Mode.LISTENING, Mode.IDLE}),
    Mode.SPEAKING: frozenset({Mode.LISTENING, Mode.IDLE}),
}


class Mute(Enum):
    """Who muted the microphone. An open microphone is NOBODY's; the talk key speaks through all but the USER's."""

    NOBODY = "nobody"
    USER = "user"
    START = "start"
    NARRATION = "narration"


@dataclass(frozen=True)
class VoiceSettings:
    """How a session behaves.

    Attributes:
        turn_mode: ``vad``: turns end by silence; ``manual``: by ``commit_turn``.
        language: BCP-47 primary tag of what is spoken, or None to recognise it.
        reply_language: language of announcements before anything was said.
        start_muted: whether the microphone starts muted; None means: in manual mode.
        turns: limits of the turn engine.
        talk: limits of push-to-talk.
        cue_s: silence after a committed turn until a "still thinking" sound.
        give_up_s: silence after a committed turn until an honest failure line.
    """

    turn_mode: Literal["vad", "manual"] = "vad"
    language: str | None = None
    reply_language: str = "en"
    start_muted: bool | None = None
    turns: TurnSettings = field(default_factory=TurnSettings)
    talk: TalkTimes = field(default_factory=TalkTimes)
    cue_s: float = 2.5
    give_up_s: float = 15.0
