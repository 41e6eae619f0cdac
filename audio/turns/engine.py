"""The one place that commits what the user said as a turn.

It follows the voice detector through the phases of an utterance and keeps the audio of the utterance in a transcriber.
Whether the utterance is a turn is decided in ``deciding``, whether it interrupts the agent in ``over_agent`` and
``barge_in``, whether it goes on too long in ``endless``, and what only a recogniser that hears everything has noticed
comes from ``live``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import structlog

from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.gate import SpeechGate
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.stt.base import Transcript
from audio.turns.addressed import Addressed
from audio.turns.contract import TRANSITIONS, Committed, Phase, TurnHost, TurnSettings
from audio.turns.deciding import Deciding
from audio.turns.endless import Endless
from audio.turns.hold import TurnDetector
from audio.turns.live import Live
from audio.turns.over_agent import OverAgent
from audio.turns.progress import Progress
from audio.turns.rules import RuleDetector
from audio.turns.stop import says_stop
from audio.turns.streaming import StreamingTranscriber
from audio.turns.transcriber import Transcriber
from audio.turns.words import has_words
from audio.vad.base import SpeechEnd, SpeechProb, SpeechRealStart, SpeechStart, VadAdapter, VadEvent, VadMisfire
from audio.vad.feed import VadFeed

log = structlog.get_logger(__name__)

JUST_S = 0.1
"""What came just before a press of the talk key is known already if sound was processed within this time."""

__all__ = ["TRANSITIONS", "Committed", "Phase", "TurnEngine", "TurnHost", "TurnSettings"]


class TurnEngine(Addressed):
    """Commits turns from voice activity and text, or by command in manual mode.

    What may become a turn is set from outside, see ``Addressed``.

    Args:
        host: the session.
        vad: the voice detector, or None for manual turns.
        transcriber: knows the text of the utterance.
        detector: says how long to hold.
        settings: limits.

    Attributes:
        phase: where the user is in an utterance.
        barge_in: decides whether speech over the agent takes the floor.
        on_settled: called whenever ``settled`` may have come true.
    """

    def __init__(
        self,
        host: TurnHost,
        vad: VadAdapter | None,
        transcriber: Transcriber,
        detector: TurnDetector | None = None,
        settings: TurnSettings | None = None,
    ) -> None:
        super().__init__()
        self.host = host
        self.vad = vad
        self.settings = limits = settings or TurnSettings()
        self.phase = Phase.QUIET
        self._transcriber = transcriber
        self._feed = VadFeed(vad, self._on_stalled, self._on_misfire) if vad else None
        self._gate = SpeechGate(preroll_ms=limits.preroll_ms) if vad else None
        self._scope = scope = Scope("turns")
        self._progress = progress = Progress()
        self._over = OverAgent(host, self, transcriber, progress, scope, self._glimpsed, limits.barge_in)
        self._deciding = Deciding(
            self, host, self, self._over, transcriber, detector or RuleDetector(), progress, scope, limits
        )
        self._endless = Endless(
            self, host, transcriber, self._deciding, self._over, progress, scope, limits, by_voice=vad is not None
        )
        self.on_settled: Callable[[], None] = lambda: None
        self.barge_in = self._over.barge_in
        self.barge_in.on_released = self._tell_settled
        self.barge_in.is_far = lambda: self._deciding.speaker.is_far(progress.sample)
        self._misfired = False
        self._heard_at = float("-inf")
        transcriber.on_partial = self._partial
        transcriber.on_unasked = self._unasked
        self._live: Live | None = None
        if isinstance(transcriber, StreamingTranscriber):
            transcriber.on_correction = lambda sent, actual: host.corrected(self.trim(sent), self.trim(actual))
            if vad is not None and transcriber.hears_all:
                self._live = Live(self, host, self, transcriber, self._deciding, self._over, progress)

    @property
    def settled(self) -> bool:
        """Whether nothing of the user is being heard, recognised or waited for."""
        return self.phase is Phase.QUIET and not self._deciding.awaited and not self.barge_in.paused

    def observe(self, frame: Pcm, sample: int) -> list[VadEvent]:
        """Show a frame to the voice detector alone; give the result to ``process`` if the frame shall count."""
        return [] if self._feed is None else self._feed.feed(frame, sample)

    def process(self, frame: Pcm, sample: int, events: list[VadEvent] | None = None) -> None:
        """One frame of the microphone; ``sample``: its end on the media clock (16 kHz samples).

        ``events``: what ``observe`` said of it, if it was asked.
        """
        self._progress.sample = sample
        if self._progress.by_key and self.phase is Phase.HOLDING:
            return
        self._transcriber.hear(frame)
        self._heard_at = asyncio.get_running_loop().time()
        if self._feed is None or self.phase is Phase.HELD:
            self._append(frame)
            if self.phase is Phase.HELD:
                self._progress.times.began(sample)
                self._transcriber.voiced()
            self._endless.check()
            return
        for event in self._feed.feed(frame, sample) if events is None else events:
            self._on_vad(event)
        assert self._gate is not None
        for chunk in self._gate.feed(frame):
            self._append(chunk)
        if self.phase is not Phase.QUIET or (self._live is not None and not self.host.agent_busy()):
            self._deciding.speaker.heard(frame)
        self._endless.check()

    def hold(self, frames: Iterable[Pcm]) -> None:
        """A talk key is pressed: what follows is one utterance, whatever the voice detector says, until ``commit``.

        ``frames``: what came just before. An utterance of the key that is still being recognised goes on instead.
        """
        if self.phase is Phase.HELD:
            return
        if self.phase is Phase.HOLDING and self._progress.by_key:
            self._deciding.cancel()
        else:
            self.forget()
            fresh = asyncio.get_running_loop().time() - self._heard_at > JUST_S
            for frame in frames:
                if fresh:
                    self._transcriber.hear(frame)
                self._append(frame)
        self._move(Phase.HELD)
        self._progress.by_key = True
        self.host.user_started()

    def commit(self) -> None:
        """Commit what was said so far (the send button, the release of push-to-talk). Nothing said: nothing happens."""
        if self._transcriber.seconds <= 0:
            if self.phase is Phase.HELD:
                self.discard("empty")
            return
        self._deciding.cancel()
        if self.phase is Phase.HELD:
            self._progress.last_voice = self._progress.sample
            self.fall_silent()
        elif self.phase is not Phase.HOLDING:
            self._transcriber.voiced()
        self._deciding.begin(now=True)

    def forget(self) -> None:
        """Drop the utterance in progress (the microphone was muted, the caller changed)."""
        self._deciding.cancel()
        self.barge_in.misfire()  # a reply that stood still for it goes on
        self.barge_in.release()
        self._clear()
        if self._feed is not None:
            self._feed.reset()

    async def close(self) -> None:
        """Stop; idempotent. The transcriber and the detector belong to the owner."""
        self.forget()
        if self._live is not None:
            await self._live.following.close()
        await self._scope.close()

    def fall_silent(self) -> None:
        """The silence behind the utterance counts as its end, unless it turns out to go on."""
        self._move(Phase.HOLDING)
        self.host.user_stopped(self._progress.last_voice / CAPTURE_RATE_HZ)

    def commit_turn(self, committed: Committed) -> None:
        """The utterance is a turn."""
        self._transcriber.take(committed.text)
        self._clear(committed=True)
        self.host.turn(committed)

    def discard(self, reason: str) -> None:
        """The utterance is no turn."""
        log.info("an utterance is no turn", reason=reason, seconds=round(self._transcriber.seconds, 2))
        self._clear()
        self.host.discarded(reason)

    def give_up(self, fault: GloveVoiceError) -> None:
        """The utterance was not understood."""
        self._clear()
        self.barge_in.misfire()
        self.host.unintelligible(fault)

    def restart_detector(self) -> None:
        """Start the voice detector anew: words are understood where it hears nobody."""
        if self._feed is not None:
            self._feed.reset()
        self._on_stalled()

    def _append(self, chunk: Pcm) -> None:
        self._transcriber.append(chunk)
        self._deciding.append(chunk)

    def _on_vad(self, event: VadEvent) -> None:
        match event:
            case SpeechProb():
                self._on_probability(event)
            case SpeechStart():
                self._progress.times.began(event.sample)
                self._on_start()
            case SpeechRealStart():
                self._on_real_start()
            case VadMisfire():
                self._on_misfire()
            case SpeechEnd() if self.phase in (Phase.SPEAKING, Phase.TRAILING):
                self._hold_from(max(self._progress.last_voice, event.last_speech))
            case _:
                pass

    def _on_probability(self, event: SpeechProb) -> None:
        if self._live is not None:
            self._live.following.probability(event.probability, event.sample)
        if event.probability >= self.settings.voiced_probability:
            self._on_voice(event.sample)
        elif self._progress.silent_ms >= self.settings.speculate_ms:
            self._trail_off()

    def _on_voice(self, sample: int) -> None:
        if self.phase in (Phase.TENTATIVE, Phase.SPEAKING, Phase.TRAILING):
            self._progress.last_voice = sample
        if self.phase is Phase.TENTATIVE and not self._misfired:
            self._over.speaks_on()  # the answer for sound that is over already ends this phase
        if self.phase is Phase.TRAILING:
            self._move(Phase.SPEAKING)
            self._deciding.speaks_on()
            self._over.speaks_on()
            self.barge_in.confirmed()
        if self.phase is Phase.SPEAKING:
            self._transcriber.voiced()

    def _trail_off(self) -> None:
        """A silence has begun that may be the end, or a gap."""
        if self.phase is Phase.SPEAKING:
            self._move(Phase.TRAILING)
            self._deciding.trails_off()
            self._over.trails_off()
        elif self.phase is Phase.TENTATIVE and self._gate is not None and self._over.may_stop:
            self._over.ask(self._gate.held)

    def _glimpsed(self, transcript: Transcript) -> None:
        """What was said before the silence that is going on."""
        tentative = self.phase is Phase.TENTATIVE
        stop = says_stop(self.trim(transcript.text))
        if stop or (transcript.text and not tentative):
            self._partial(transcript.text, transcript.language, complete=True)
        if tentative and stop:
            self._establish()
            self._hold_from(self._progress.last_voice)
        elif tentative and self._misfired:
            self._on_misfire()

    def _on_start(self) -> None:
        self._deciding.speaker.began(self._progress.sample)
        if self.phase is Phase.HOLDING:
            self._deciding.cancel()
            self._move(Phase.RESUMING)
        elif self.phase is Phase.QUIET:
            self._move(Phase.TENTATIVE)
        if self._gate is not None:
            self._gate.hold()
        self._progress.over_agent = self._misfired = False
        self._over.speech()
        if self.vad is not None and not self.vad.supports_real_start:
            self._over.confirm_later(self.vad)
            self._establish()
        elif not self.settings.gated:
            self._establish()

    def _on_real_start(self) -> None:
        self._over.speech()
        self.barge_in.confirmed()
        self._establish()

    def _establish(self) -> None:
        """Tentative speech counts as speech: the recogniser hears it, with what came just before it."""
        if self.phase not in (Phase.TENTATIVE, Phase.RESUMING):
            return
        if self._live is not None:
            self._live.following.speech(self._progress.sample)
        self._deciding.speaker.confirmed(answered=self.phase is Phase.TENTATIVE and self.host.agent_busy())
        self._move(Phase.SPEAKING)
        self._progress.times.confirmed(self._progress.sample)
        self._deciding.speaks_on()
        self._over.speaks_on()
        if self._gate is not None:
            for chunk in self._gate.open():
                self._append(chunk)
        self._transcriber.voiced()
        self.host.user_started()

    def _on_misfire(self) -> None:
        if self.phase is Phase.RESUMING:
            self._move(Phase.HOLDING)
            self._deciding.resume()
        elif self.phase is Phase.TENTATIVE:
            self._misfired = self._over.glimpsing
            if self._misfired:
                return
            self._move(Phase.QUIET)
            self._progress.times.clear()
            if self._gate is not None:
                self._gate.cancel()
            self.barge_in.misfire()
            self._tell_settled()
            self.host.false_start()
            return
        elif self.phase in (Phase.SPEAKING, Phase.TRAILING):
            self._hold_from(self._progress.last_voice)
            return
        self.barge_in.misfire()

    def _on_stalled(self) -> None:
        self._on_misfire()
        self.host.detector_stalled()

    def _hold_from(self, last_voice: int) -> None:
        self._progress.last_voice = last_voice
        self._deciding.speaker.ended(last_voice)
        self.fall_silent()
        self._deciding.begin()

    def _clear(self, *, committed: bool = False) -> None:
        self._deciding.clear(committed=committed)
        self._over.clear()
        self._misfired = False
        self._progress.clear()
        self._transcriber.clear()
        if self._live is not None:
            self._live.following.clear()
        if self._gate is not None:
            self._gate.close()
        if self.vad is not None and self.vad.is_speaking:
            self.vad.reset()
        self.phase = Phase.QUIET
        self._tell_settled()

    def _tell_settled(self) -> None:
        if self.settled:
            self.on_settled()

    def _partial(self, text: str, language: str, *, complete: bool = False) -> None:
        if self._live is not None:
            self._live.partial(text)
        if self.phase is not Phase.QUIET or self.vad is None:
            self._over.words(text, language, complete=complete)

    def _unasked(self, text: str) -> None:
        """The recogniser understood something where the voice detector heard nobody."""
        if self._live is not None:
            self._live.following.ended(self._progress.sample)
            return
        self._transcriber.clear()
        if has_words(text):
            self.host.present()
            self.host.discarded("phantom")

    def _move(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise RuntimeError(f"illegal turn transition {self.phase.value} → {phase.value}")
        self.phase = phase
