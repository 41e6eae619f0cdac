"""The ears of a session whose provider hears the user: frames go out, and turns are what the provider makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.turns.contract import Phase
from audio.vad.base import VadAdapter, VadEvent
from realtime.agent import RealtimeAgent
from realtime.uplink import Uplink

AFTER_KEY_S = 1.5
"""Silence sent after the talk key was released, for providers that find the end of a turn by themselves."""


class ProviderEars:
    """Hands the microphone to a realtime agent (``Ears``).

    Where the host marks the turns, one begins with the talk key, or with the first frame after the one before was
    committed, and ends with ``commit``.

    Args:
        agent: hears.
        key_turns: whether turns begin and end by command, not only those of the talk key.
    """

    def __init__(self, agent: RealtimeAgent, *, key_turns: bool) -> None:
        self.trim: Callable[[str], str] = str.strip
        self.takes_floor: Callable[[str], bool] | None = None
        self._agent = agent
        self._key_turns = key_turns
        self._uplink = Uplink(agent.adapter.input_format.rate_hz)
        self._held = False

    @property
    def vad(self) -> VadAdapter | None:
        """The provider has its own."""
        return None

    @property
    def phase(self) -> Phase:
        """Where the user is, as the provider tells it."""
        if self._held:
            return Phase.HELD
        return Phase.SPEAKING if self._agent.dialogue.user_speaks else Phase.QUIET

    @property
    def settled(self) -> bool:
        """Whether nobody speaks, and nothing that was said is still to be written down or answered."""
        return not self._held and not self._agent.dialogue.user_speaks and not self._agent.dialogue.owes_answer

    def observe(self, frame: Pcm, sample: int) -> list[VadEvent]:
        """There is nothing to ask."""
        return []

    def process(self, frame: Pcm, sample: int, events: list[VadEvent] | None = None) -> None:
        """One frame of the microphone."""
        if self._key_turns and not self._held:
            self._begin()
        self._agent.send_audio(self._uplink.push(frame))

    def hold(self, frames: Iterable[Pcm]) -> None:
        """The talk key is pressed, just after ``frames``."""
        if self._held:
            return
        self._begin()
        for frame in frames:
            self._agent.send_audio(self._uplink.push(frame))

    def commit(self) -> None:
        """The user has spoken."""
        if not self._held:
            return
        self._held = False
        if self._agent.adapter.manual_turns:
            self._agent.end_turn()
        else:
            self._agent.send_audio(self._uplink.push(silence(round(AFTER_KEY_S * CAPTURE_RATE_HZ))))

    def forget(self) -> None:
        """What was said in a turn that was to be committed does not count."""
        if self._held:
            self._held = False
            if self._agent.adapter.manual_turns:
                self._agent.end_turn(respond=False)

    def _begin(self) -> None:
        self._held = True
        if self._agent.adapter.manual_turns:
            self._agent.begin_turn()
