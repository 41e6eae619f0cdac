"""The turn engine: the one place that commits what the user said as a turn.

It follows the voice detector through the phases of an utterance, keeps the audio of the utterance in a transcriber, has
it recognised while the silence is still being waited for, and commits once the hold is over. Interruption of the agent
is decided in ``barge_in``.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.gate import SpeechGate
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.stt.base import Transcript
from audio.turns.barge_in import BargeIn, BargeInTimes
from audio.turns.hold import RuleDetector, TurnDetector
from audio.turns.transcriber import Transcriber
from audio.turns.words import has_words
from audio.vad.base import SpeechEnd, SpeechProb, SpeechRealStart, SpeechStart, VadAdapter, VadEvent, VadMisfire


class Phase(Enum):
    """Where the user is in an utterance."""

    QUIET = "quiet"
    TENTATIVE = "tentative"
    SPEAKING = "speaking"
    TRAILING = "trailing"
    HOLDING = "holding"
    RESUMING = "resuming"


TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.QUIET: frozenset({Phase.TENTATIVE}),
    Phase.TENTATIVE: frozenset({Phase.SPEAKING, Phase.QUIET}),
    Phase.SPEAKING: frozenset({Phase.TRAILING, Phase.HOLDING, Phase.QUIET}),
    Phase.TRAILING: frozenset({Phase.SPEAKING, Phase.HOLDING, Phase.QUIET}),
    Phase.HOLDING: frozenset({Phase.RESUMING, Phase.QUIET}),
    Phase.RESUMING: frozenset({Phase.SPEAKING, Phase.HOLDING, Phase.QUIET}),
}
"""What may follow what: tentative speech is confirmed or taken back, a silence trails off into a hold, speech resumes
inside a hold, and a commit (or reset) leads back to quiet from anywhere."""


@dataclass(frozen=True)
class TurnSettings:
    """Limits of the engine.

    Attributes:
        gated: whether the recogniser hears confirmed speech only; otherwise tentative speech is recognised too, however
            short it turns out to be.
        preroll_ms: audio kept from before the speech began.
        voiced_probability: frames at or above it count as voice.
        speculate_ms: silence after which recognition of the final starts.
        max_turn_s: a turn of this length is committed even if the voice never stops.
        barge_in: limits of interruption.
    """

    gated: bool = True
    preroll_ms: int = 800
    voiced_probability: float = 0.35
    speculate_ms: int = 200
    max_turn_s: float = 60.0
    barge_in: BargeInTimes = field(default_factory=BargeInTimes)


@dataclass(frozen=True)
class Committed:
    """A turn of the user.

    Attributes:
        text: what was said.
        language: BCP-47 primary tag.
        speech_end_s: end of the speech on the media clock.
        reason: why the hold was as long as it was.
        hold_ms: the hold.
        late_ms: how much later than the end of the hold the text was there.
    """

    text: str
    language: str
    speech_end_s: float
    reason: str
    hold_ms: int = 0
    late_ms: float = 0.0


class TurnHost(Protocol):
    """What the engine needs from, and tells, the session it works for. All calls are synchronous."""

    def agent_busy(self) -> bool:
        """Whether the agent is speaking, pausing, or about to speak."""
        ...

    def pause_agent(self) -> None:
        """Let the agent's sound stand still."""
        ...

    def resume_agent(self) -> None:
        """Go on at the same sample."""
        ...

    def user_started(self) -> None:
        """Speech is established."""
        ...

    def user_stopped(self, speech_end_s: float) -> None:
        """Silence is established after confirmed speech."""
        ...

    def user_partial(self, text: str) -> None:
        """What the utterance seems to say."""
        ...

    def cut_agent(self) -> None:
        """The user takes the floor."""
        ...

    def turn(self, committed: Committed) -> None:
        """A turn is committed."""
        ...

    def discarded(self, reason: str) -> None:
        """An utterance is dropped."""
        ...

    def unintelligible(self, fault: GloveVoiceError) -> None:
        """Speech was heard but could not be recognised."""
        ...


class TurnEngine:
    """Commits turns from voice activity and text, or by command in manual mode.

    Args:
        host: the session.
        vad: the voice detector, or None for manual turns.
        transcriber: knows the text of the utterance.
        detector: says how long to hold.
        settings: limits.
    """

    def __init__(
        self,
        host: TurnHost,
        vad: VadAdapter | None,
        transcriber: Transcriber,
        detector: TurnDetector | None = None,
        settings: TurnSettings | None = None,
    ) -> None:
        self.host = host
        self.vad = vad
        self.settings = settings or TurnSettings()
        self.phase = Phase.QUIET
        self.barge_in = BargeIn(host.pause_agent, host.resume_agent, host.cut_agent, self.settings.barge_in)
        self._transcriber = transcriber
        self._detector = detector or RuleDetector()
        self._gate = SpeechGate(preroll_ms=self.settings.preroll_ms) if vad else None
        self._scope = Scope("turns")
        self._sequence = 0
        self._established = 0.0
        self._hold: asyncio.TimerHandle | None = None
        self._probe: asyncio.TimerHandle | None = None
        self._fed = 0
        self._sample = 0
        self._last_voice = 0
        self._over_agent = False
        self._awaited = False
        transcriber.on_partial = self._partial

    # -- what comes in

    @property
    def settled(self) -> bool:
        """Whether nothing of the user is being heard, recognised or waited for."""
        return self.phase is Phase.QUIET and not self._awaited and not self.barge_in.paused

    def process(self, frame: Pcm, sample: int) -> None:
        """One frame of the microphone; ``sample``: its end on the media clock (16 kHz samples)."""
        self._sample = sample
        if self.vad is None:
            self._transcriber.append(frame)
            self._limit()
            return
        self._fed += frame.size
        for event in self.vad.process(frame):
            self._on_vad(event)
        assert self._gate is not None
        for chunk in self._gate.feed(frame):
            self._transcriber.append(chunk)
        self._limit()

    def commit(self) -> None:
        """Commit what was said so far (the send button, the release of push-to-talk). Nothing said: nothing happens."""
        if self._transcriber.seconds <= 0:
            return
        self._cancel_hold()
        if self.phase is not Phase.HOLDING:
            self._transcriber.voiced()
        self._decide_after(now=True)

    def forget(self) -> None:
        """Drop the utterance in progress (the microphone was muted, the caller changed)."""
        self._cancel_hold()
        self.barge_in.release()
        self._clear()
        if self.vad is not None:
            self.vad.reset()

    async def close(self) -> None:
        """Stop; idempotent. The transcriber and the detector belong to the owner."""
        self.forget()
        await self._scope.close()

    # -- voice activity

    def _on_vad(self, event: VadEvent) -> None:
        match event:
            case SpeechProb():
                self._on_probability(event)
            case SpeechStart():
                self._on_start()
            case SpeechRealStart():
                self._on_real_start()
            case VadMisfire():
                self._on_misfire()
            case SpeechEnd():
                self._on_end(event)
            case _:
                pass

    def _on_probability(self, event: SpeechProb) -> None:
        if event.probability >= self.settings.voiced_probability:
            if self.phase in (Phase.TENTATIVE, Phase.SPEAKING, Phase.TRAILING):
                self._last_voice = self._media(event.sample)
            if self.phase is Phase.TRAILING:
                self._move(Phase.SPEAKING)
            if self.phase is Phase.SPEAKING:
                self._transcriber.voiced()
        elif self.phase is Phase.SPEAKING and self._silent_ms() >= self.settings.speculate_ms:
            self._move(Phase.TRAILING)
            self._transcriber.speculate()

    def _on_start(self) -> None:
        if self.phase is Phase.HOLDING:
            self._cancel_hold()
            self._move(Phase.RESUMING)
        elif self.phase is Phase.QUIET:
            self._move(Phase.TENTATIVE)
        if self._gate is not None:
            self._gate.hold()
        self._over_agent = self.host.agent_busy()
        if self._over_agent:
            self.barge_in.started()
        if self.vad is not None and not self.vad.supports_real_start:
            # A detector that cannot confirm is asked again after the time that a confirming one would take.
            self._probe = asyncio.get_running_loop().call_later(0.25, self._confirm_by_duration)
            self._establish()
        elif not self.settings.gated:
            self._establish()

    def _confirm_by_duration(self) -> None:
        self._probe = None
        if self.vad is not None and self.vad.is_speaking:
            self.barge_in.confirmed()
        else:
            self.barge_in.misfire()

    def _on_real_start(self) -> None:
        if self.host.agent_busy():
            self._over_agent = True
            self.barge_in.started()
        self.barge_in.confirmed()
        self._establish()

    def _establish(self) -> None:
        """Tentative speech counts as speech: the recogniser hears it, with what came just before it."""
        if self.phase not in (Phase.TENTATIVE, Phase.RESUMING):
            return
        self._move(Phase.SPEAKING)
        if self._gate is not None:
            for chunk in self._gate.open():
                self._transcriber.append(chunk)
        self._transcriber.voiced()
        self.host.user_started()

    def _on_misfire(self) -> None:
        if self.phase is Phase.RESUMING:
            self._move(Phase.HOLDING)
            self._decide_after(established=self._established)
        elif self.phase is Phase.TENTATIVE:
            self._move(Phase.QUIET)
            if self._gate is not None:
                self._gate.cancel()
        elif self.phase in (Phase.SPEAKING, Phase.TRAILING):
            self._hold_from(self._last_voice)
            return
        self.barge_in.misfire()

    def _on_end(self, event: SpeechEnd) -> None:
        if self.phase not in (Phase.SPEAKING, Phase.TRAILING):
            return
        self._hold_from(max(self._last_voice, self._media(event.last_speech)))

    def _hold_from(self, last_voice: int) -> None:
        self._last_voice = last_voice
        self._move(Phase.HOLDING)
        self.host.user_stopped(last_voice / CAPTURE_RATE_HZ)
        self._decide_after()

    # -- the decision

    def _decide_after(self, *, established: float | None = None, now: bool = False) -> None:
        """Have the utterance recognised and judged. ``established``: loop time from which the hold counts."""
        self._sequence += 1
        self._awaited = True
        self._established = established if established is not None else asyncio.get_running_loop().time()
        self._scope.spawn(self._decide(self._sequence, now), "decide")

    async def _decide(self, sequence: int, now: bool) -> None:
        try:
            transcript = await self._transcriber.final()
        except GloveVoiceError as fault:
            if sequence == self._sequence:
                self._give_up(fault)
            return
        if sequence != self._sequence:
            return
        if not self._floor_taken(transcript):
            self._discard("backchannel" if has_words(transcript.text) else "no_words")
            return
        hold = self._detector.decide(transcript.text, transcript.language)
        loop = asyncio.get_running_loop()
        ms, reason = (0, "command") if now else (hold.ms, hold.reason)
        due = self._established + ms / 1000
        late_ms = round(1000 * max(0.0, loop.time() - due), 1)
        end_s = (self._last_voice or self._sample) / CAPTURE_RATE_HZ
        committed = Committed(transcript.text.strip(), transcript.language, end_s, reason, ms, late_ms)
        self._hold = loop.call_at(max(loop.time(), due), self._commit, sequence, committed)

    def _floor_taken(self, transcript: Transcript) -> bool:
        if self._over_agent:
            return self.barge_in.ended(transcript.text, transcript.language)
        return has_words(transcript.text)

    def _commit(self, sequence: int, committed: Committed) -> None:
        if sequence == self._sequence:
            self._clear()
            self.host.turn(committed)

    def _give_up(self, fault: GloveVoiceError) -> None:
        self._clear()
        self.barge_in.misfire()
        self.host.unintelligible(fault)

    def _discard(self, reason: str) -> None:
        self._clear()
        self.host.discarded(reason)

    def _clear(self) -> None:
        self._sequence += 1
        self._awaited = False
        self._hold = None
        self._over_agent = False
        self._last_voice = 0
        self._transcriber.clear()
        if self._probe is not None:
            self._probe.cancel()
            self._probe = None
        if self._gate is not None:
            self._gate.close()
        if self.vad is not None and self.vad.is_speaking:
            self.vad.reset()
        self.phase = Phase.QUIET

    def _cancel_hold(self) -> None:
        self._sequence += 1
        self._awaited = False
        if self._hold is not None:
            self._hold.cancel()
            self._hold = None

    # -- partials and limits

    def _partial(self, text: str, language: str) -> None:
        if self.phase is Phase.QUIET and self.vad is not None:
            return
        self.barge_in.words(text, language)
        self.host.user_partial(text)

    def _limit(self) -> None:
        if self._transcriber.seconds < self.settings.max_turn_s or self._awaited:
            return
        if self.vad is not None:
            if self.phase not in (Phase.SPEAKING, Phase.TRAILING):
                return
            self._move(Phase.HOLDING)
            self.host.user_stopped(self._last_voice / CAPTURE_RATE_HZ)
        self._decide_after(now=True)

    def _silent_ms(self) -> float:
        return (self._sample - self._last_voice) * 1000 / CAPTURE_RATE_HZ

    def _media(self, vad_sample: int) -> int:
        """A detector's sample index on the media clock; muted audio, which never reaches the detector, lies between."""
        return vad_sample + self._sample - self._fed

    def _move(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise RuntimeError(f"illegal turn transition {self.phase.value} → {phase.value}")
        self.phase = phase
