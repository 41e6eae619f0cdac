"""The one place that commits what the user said as a turn.

It follows the voice detector through the phases of an utterance, keeps the audio of the utterance in a transcriber, has
it recognised while the silence is still being waited for, and commits once the hold is over. Interruption of the agent
is decided in ``barge_in``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

import structlog

from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.gate import SpeechGate
from audio.pcm import CAPTURE_RATE_HZ, Pcm, ms_to_samples
from audio.stt.base import Transcript
from audio.turns.barge_in import BargeIn, Floor
from audio.turns.contract import TRANSITIONS, Committed, Phase, TurnHost, TurnSettings
from audio.turns.following import Following
from audio.turns.foresight import Foresight
from audio.turns.glimpse import Glimpse
from audio.turns.hold import Hold, TurnDetector, Utterance
from audio.turns.rules import RuleDetector
from audio.turns.speaker import Speaker
from audio.turns.stop import says_stop
from audio.turns.streaming import StreamingTranscriber
from audio.turns.tail import Tail
from audio.turns.timing import UtteranceClock
from audio.turns.transcriber import Transcriber
from audio.turns.words import has_words
from audio.vad.base import SpeechEnd, SpeechProb, SpeechRealStart, SpeechStart, VadAdapter, VadEvent, VadMisfire
from audio.vad.feed import VadFeed

log = structlog.get_logger(__name__)

JUST_S = 0.1
"""What came just before a press of the talk key is known already if sound was processed within this time."""

JUDGED_S = 8.0
"""So much of the end of an utterance is shown to the detector."""

SILENCE_JUDGED_MS = 50
"""So much of the silence behind it: the longer the silence it hears, the surer Smart Turn is, whatever was said."""

__all__ = ["TRANSITIONS", "Committed", "Phase", "TurnEngine", "TurnHost", "TurnSettings"]


class TurnEngine:
    """Commits turns from voice activity and text, or by command in manual mode.

    Args:
        host: the session.
        vad: the voice detector, or None for manual turns.
        transcriber: knows the text of the utterance.
        detector: says how long to hold.
        settings: limits.

    Attributes:
        takes_floor: which texts may become a turn; None: all. While it is set, speech does not pause the agent, and a
            text that it accepts cuts the agent at once.
        trim: takes off a transcript what is not meant for the agent (a wake phrase).
        context: what was said before, for the detector: (``user`` or ``assistant``, text), oldest first.
        expects: whether a text in a language is an answer that is waited for; it is a turn even if it is only a nod.
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
        self.takes_floor: Callable[[str], bool] | None = None
        self.trim: Callable[[str], str] = str.strip
        self.expects: Callable[[str, str], bool] = lambda text, language: False
        self._feed = VadFeed(vad, self._on_stalled, self._on_misfire) if vad else None
        self._gate = SpeechGate(preroll_ms=self.settings.preroll_ms) if vad else None
        self._scope = Scope("turns")
        preemptive = self.settings.preemptive
        self._foresight = Foresight(host, transcriber, self._foreseen, self._scope, enabled=preemptive)
        self._glimpse = Glimpse(transcriber, self._scope, self._glimpsed)
        self._misfired = False
        self._tail = Tail(JUDGED_S)
        self._times = UtteranceClock()
        self._speaker = Speaker(self.settings.far_field_ratio)
        self.barge_in.is_far = lambda: self._speaker.is_far(self._sample)
        self.context: Callable[[], tuple[tuple[str, str], ...]] = tuple
        self._sequence = 0
        self._established = 0.0
        self._hold: asyncio.TimerHandle | None = None
        self._probe: asyncio.TimerHandle | None = None
        self._worded = False
        self._sample = 0
        self._heard_at = float("-inf")
        self._last_voice = 0
        self._over_agent = False
        self._awaited = False
        self._by_key = False
        transcriber.on_partial = self._partial
        transcriber.on_unasked = self._unasked
        self._following: Following | None = None
        if isinstance(transcriber, StreamingTranscriber):
            transcriber.on_correction = self._corrected
            if vad is not None and transcriber.hears_all:
                self._following = Following(self, transcriber)

    @property
    def settled(self) -> bool:
        """Whether nothing of the user is being heard, recognised or waited for."""
        return self.phase is Phase.QUIET and not self._awaited and not self.barge_in.paused

    def observe(self, frame: Pcm, sample: int) -> list[VadEvent]:
        """Show a frame to the voice detector alone; give the result to ``process`` if the frame shall count."""
        return [] if self._feed is None else self._feed.feed(frame, sample)

    def process(self, frame: Pcm, sample: int, events: list[VadEvent] | None = None) -> None:
        """One frame of the microphone; ``sample``: its end on the media clock (16 kHz samples).

        ``events``: what ``observe`` said of it, if it was asked.
        """
        self._sample = sample
        if self._by_key and self.phase is Phase.HOLDING:
            return
        self._transcriber.hear(frame)
        self._heard_at = asyncio.get_running_loop().time()
        if self._feed is None or self.phase is Phase.HELD:
            self._append(frame)
            if self.phase is Phase.HELD:
                self._times.began(sample)
                self._transcriber.voiced()
            self._limit()
            return
        for event in self._feed.feed(frame, sample) if events is None else events:
            self._on_vad(event)
        assert self._gate is not None
        for chunk in self._gate.feed(frame):
            self._append(chunk)
        if self.phase is not Phase.QUIET or (self._following is not None and not self.host.agent_busy()):
            self._speaker.heard(frame)
        self._limit()

    def hold(self, frames: Iterable[Pcm]) -> None:
        """A talk key is pressed: what follows is one utterance, whatever the voice detector says, until ``commit``.

        ``frames``: what came just before. An utterance of the key that is still being recognised goes on instead.
        """
        if self.phase is Phase.HELD:
            return
        if self.phase is Phase.HOLDING and self._by_key:
            self._cancel_hold()
        else:
            self.forget()
            fresh = asyncio.get_running_loop().time() - self._heard_at > JUST_S
            for frame in frames:
                if fresh:
                    self._transcriber.hear(frame)
                self._append(frame)
        self._move(Phase.HELD)
        self._by_key = True
        self.host.user_started()

    def commit(self) -> None:
        """Commit what was said so far (the send button, the release of push-to-talk). Nothing said: nothing happens."""
        if self._transcriber.seconds <= 0:
            if self.phase is Phase.HELD:
                self._discard("empty")
            return
        self._cancel_hold()
        if self.phase is Phase.HELD:
            self._last_voice = self._sample
            self._move(Phase.HOLDING)
            self.host.user_stopped(self._sample / CAPTURE_RATE_HZ)
        elif self.phase is not Phase.HOLDING:
            self._transcriber.voiced()
        self._decide_after(now=True)

    def forget(self) -> None:
        """Drop the utterance in progress (the microphone was muted, the caller changed)."""
        self._cancel_hold()
        self.barge_in.misfire()  # a reply that stood still for it goes on
        self.barge_in.release()
        self._clear()
        if self._feed is not None:
            self._feed.reset()

    async def close(self) -> None:
        """Stop; idempotent. The transcriber and the detector belong to the owner."""
        self.forget()
        if self._following is not None:
            await self._following.close()
        await self._scope.close()

    def _append(self, chunk: Pcm) -> None:
        self._transcriber.append(chunk)
        self._tail.append(chunk)

    def _on_vad(self, event: VadEvent) -> None:
        match event:
            case SpeechProb():
                self._on_probability(event)
            case SpeechStart():
                self._times.began(event.sample)
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
        if self._following is not None:
            self._following.probability(event.probability, event.sample)
        if event.probability >= self.settings.voiced_probability:
            if self.phase in (Phase.TENTATIVE, Phase.SPEAKING, Phase.TRAILING):
                self._last_voice = event.sample
            if self.phase is Phase.TENTATIVE and not self._misfired:
                self._glimpse.drop()  # the answer for sound that is over already ends this phase
            if self.phase is Phase.TRAILING:
                self._move(Phase.SPEAKING)
                self._foresight.gone()
                self._glimpse.drop()
                self.barge_in.confirmed()
            if self.phase is Phase.SPEAKING:
                self._transcriber.voiced()
        elif self._silent_ms() >= self.settings.speculate_ms:
            self._trail_off()

    def _trail_off(self) -> None:
        """A silence has begun that may be the end, or a gap."""
        if self.phase is Phase.SPEAKING:
            self._move(Phase.TRAILING)
            self._transcriber.speculate()
            self._times.dispatched(self._sample)
            self._foresight.trailing()
            self.barge_in.quiet()
            if self.barge_in.floor is not Floor.FREE:
                self._glimpse.begin()
        elif self.phase is Phase.TENTATIVE and self._gate is not None and self._may_stop():
            self._glimpse.begin(self._gate.held)

    def _may_stop(self) -> bool:
        """Whether a word that is too short to count as speech could be a "stop"."""
        return self.barge_in.paused or (self.takes_floor is not None and self.host.agent_busy())

    def _glimpsed(self, transcript: Transcript) -> None:
        """What was said before the silence that is going on."""
        tentative = self.phase is Phase.TENTATIVE
        stop = says_stop(self.trim(transcript.text))
        if stop or (transcript.text and not tentative):
            self._partial(transcript.text, transcript.language, complete=True)
        if tentative and stop:
            self._establish()
            self._hold_from(self._last_voice)
        elif tentative and self._misfired:
            self._on_misfire()

    async def _foreseen(self, transcript: Transcript) -> Committed | None:
        """The turn that would be committed if the user said no more; None if it would be none, or is disputed."""
        text, language = self.trim(transcript.text), transcript.language
        if self.barge_in.paused or self.takes_floor is not None or not has_words(text) or self.expects(text, language):
            return None
        hold = await self._detector.judge(self._utterance(replace(transcript, text=text)))
        return Committed(text, language, self._last_voice / CAPTURE_RATE_HZ, hold.reason, hold.ms)

    def _on_start(self) -> None:
        self._speaker.began(self._sample)
        if self.phase is Phase.HOLDING:
            self._cancel_hold()
            self._move(Phase.RESUMING)
        elif self.phase is Phase.QUIET:
            self._move(Phase.TENTATIVE)
        if self._gate is not None:
            self._gate.hold()
        self._over_agent = self._misfired = False
        self._speech_over_agent()
        if self.vad is not None and not self.vad.supports_real_start:
            # A detector that cannot confirm is asked again after the time that a confirming one would take.
            self._probe = asyncio.get_running_loop().call_later(0.25, self._confirm_by_duration)
            self._establish()
        elif not self.settings.gated:
            self._establish()

    def _speech_over_agent(self) -> None:
        if self.takes_floor is None and self.host.agent_busy():
            self._over_agent = True
            self.barge_in.started()

    def _confirm_by_duration(self) -> None:
        self._probe = None
        if self.vad is not None and self.vad.is_speaking:
            self.barge_in.confirmed()
        else:
            self.barge_in.misfire()

    def _on_real_start(self) -> None:
        self._speech_over_agent()
        self.barge_in.confirmed()
        self._establish()

    def _establish(self) -> None:
        """Tentative speech counts as speech: the recogniser hears it, with what came just before it."""
        if self.phase not in (Phase.TENTATIVE, Phase.RESUMING):
            return
        if self._following is not None:
            self._following.speech(self._sample)
        self._speaker.confirmed(answered=self.phase is Phase.TENTATIVE and self.host.agent_busy())
        self._move(Phase.SPEAKING)
        self._times.confirmed(self._sample)
        self._foresight.gone()
        self._glimpse.drop()
        if self._gate is not None:
            for chunk in self._gate.open():
                self._append(chunk)
        self._transcriber.voiced()
        self.host.user_started()

    def _on_misfire(self) -> None:
        if self.phase is Phase.RESUMING:
            self._move(Phase.HOLDING)
            self._decide_after(established=self._established)
        elif self.phase is Phase.TENTATIVE:
            self._misfired = self._glimpse.running
            if self._misfired:
                return
            self._move(Phase.QUIET)
            self._times.clear()
            if self._gate is not None:
                self._gate.cancel()
            self.barge_in.misfire()
            self.host.false_start()
            return
        elif self.phase in (Phase.SPEAKING, Phase.TRAILING):
            self._hold_from(self._last_voice)
            return
        self.barge_in.misfire()

    def _on_stalled(self) -> None:
        self._on_misfire()
        self.host.detector_stalled()

    def _on_end(self, event: SpeechEnd) -> None:
        if self.phase not in (Phase.SPEAKING, Phase.TRAILING):
            return
        self._hold_from(max(self._last_voice, event.last_speech))

    def _hold_from(self, last_voice: int) -> None:
        self._last_voice = last_voice
        self._move(Phase.HOLDING)
        self._speaker.ended(last_voice)
        self.host.user_stopped(last_voice / CAPTURE_RATE_HZ)
        self._decide_after()

    def _decide_after(self, *, established: float | None = None, now: bool = False, reason: str = "") -> None:
        """Have the utterance recognised and judged. ``established``: loop time from which the hold counts."""
        self._sequence += 1
        self._awaited = True
        if established is None:
            self._times.silent(self._sample)
        self._established = established if established is not None else asyncio.get_running_loop().time()
        self._scope.spawn(self._decide(self._sequence, now, reason), "decide")

    async def _decide(self, sequence: int, now: bool, because: str) -> None:
        try:
            transcript = await self._transcriber.final()
        except GloveVoiceError as fault:
            if sequence == self._sequence:
                self._give_up(fault)
            return
        if sequence != self._sequence:
            return
        self._times.recognised(self._sample)
        whole, transcript = transcript, replace(transcript, text=self.trim(transcript.text))
        if (because or not now) and await self._is_far(transcript):
            if sequence == self._sequence:
                self._turn_away()
            return
        if sequence != self._sequence:
            return
        unwanted = self._unwanted(whole, transcript)
        if unwanted:
            self._discard(unwanted)
            return
        hold = await self._detector.judge(self._utterance(transcript))
        if sequence != self._sequence:
            return
        loop = asyncio.get_running_loop()
        ms, reason = self._speaker.hold_ms(hold.ms, self._sample), hold.reason
        if now:
            ms, reason = 0, because or ("push_to_talk" if self._by_key else "command")
        due = self._established + ms / 1000
        late_ms = round(1000 * max(0.0, loop.time() - due), 1)
        end_s = (self._last_voice or self._sample) / CAPTURE_RATE_HZ
        committed = Committed(transcript.text, transcript.language, end_s, reason, ms, late_ms, self._times.times)
        if not now:
            self._foresight.decided(committed)
        self._hold = loop.call_at(max(loop.time(), due), self._commit, sequence, committed)

    def _utterance(self, transcript: Transcript) -> Utterance:
        spare_ms = max(0.0, self._silent_ms() - SILENCE_JUDGED_MS)
        sound = self._tail.until(ms_to_samples(spare_ms, CAPTURE_RATE_HZ))
        return Utterance(transcript.text, transcript.language, sound, self.context())

    async def _is_far(self, transcript: Transcript) -> bool:
        """Whether somebody speaks at another table: quietly, unasked, and nothing that this appliance understands."""
        text, language = transcript.text, transcript.language
        has_floor = self._over_agent and not self.barge_in.paused
        if has_floor or not has_words(text) or not self._speaker.is_far(self._sample):
            return False
        if says_stop(text) or self.expects(text, language) or self.takes_floor is not None:
            return False
        return (await self._detector.judge(self._utterance(transcript))).reason != "command"

    def _turn_away(self) -> None:
        self._speaker.turned_away(self._sample)
        self.barge_in.misfire()
        self._discard("far_field")

    def _unwanted(self, whole: Transcript, trimmed: Transcript) -> str:
        """Why the utterance is no turn; empty if it is one."""
        expected = self.expects(trimmed.text, trimmed.language)
        if not self._floor_taken(whole, expected=expected):
            return "backchannel" if has_words(whole.text) else "no_words"
        if not has_words(trimmed.text):
            return "wake_word"
        if self.takes_floor is not None and not self.takes_floor(trimmed.text):
            return "not_addressed"
        return ""

    def _floor_taken(self, transcript: Transcript, *, expected: bool) -> bool:
        if self._over_agent:
            return self.barge_in.ended(transcript.text, transcript.language, expected=expected)
        return has_words(transcript.text)

    def _commit(self, sequence: int, committed: Committed) -> None:
        if sequence == self._sequence:
            self._foresight.over(committed=True)
            self._speaker.took_turn(self._sample)
            self._transcriber.take(committed.text)
            self._clear()
            self.host.turn(committed)

    def _give_up(self, fault: GloveVoiceError) -> None:
        self._clear()
        self.barge_in.misfire()
        self.host.unintelligible(fault)

    def _discard(self, reason: str) -> None:
        log.info("an utterance is no turn", reason=reason, seconds=round(self._transcriber.seconds, 2))
        self._clear()
        self.host.discarded(reason)

    def _clear(self) -> None:
        self._sequence += 1
        self._awaited = False
        self._hold = None
        self._foresight.over()
        self._glimpse.drop()
        self._misfired = False
        self._over_agent = self._by_key = self._worded = False
        self._last_voice = 0
        self._transcriber.clear()
        self._tail.clear()
        self._times.clear()
        self._speaker.over()
        if self._following is not None:
            self._following.clear()
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

    def _partial(self, text: str, language: str, *, complete: bool = False) -> None:
        if self._following is not None:
            grown = self._following.partial(text, self._sample)
            if grown and self.phase is Phase.HOLDING and not self._by_key:
                self._cancel_hold()
                self._decide_after(established=self._established)
            if self.phase is Phase.QUIET and not (self.host.agent_busy() or not self._following.fresh(self._sample)):
                self.host.user_partial(self.trim(text))
        if self.phase is Phase.QUIET and self.vad is not None:
            return
        self._worded = self._worded or has_words(text)
        trimmed = self.trim(text)
        if trimmed:
            self._times.worded(self._sample)
        if self.takes_floor is None:
            self.barge_in.words(text, language, complete=complete)
        elif self.takes_floor(trimmed) and self.host.agent_busy():
            self.host.cut_agent()
        if trimmed:
            self.host.user_partial(trimmed)

    def _unasked(self, text: str) -> None:
        """The recogniser understood something where the voice detector heard nobody."""
        if self._following is not None:
            self._following.ended(self._sample)
            return
        self._transcriber.clear()
        if has_words(text):
            self.host.present()
            self.host.discarded("phantom")

    def _corrected(self, sent: str, actual: str) -> None:
        self.host.corrected(self.trim(sent), self.trim(actual))

    def agent_has_floor(self) -> bool:
        """Whether the agent is speaking, pausing, or about to speak."""
        return self.host.agent_busy() or self.barge_in.paused

    async def judge_live(self) -> Hold:
        """The hold for what a streaming recogniser understands at present."""
        return await self._detector.judge(self._utterance(await self._transcriber.final()))

    def take_live(self, reason: str) -> None:
        """Let what a streaming recogniser understands be a turn, if it is one."""
        if self._awaited or self.phase not in (Phase.QUIET, Phase.SPEAKING, Phase.TRAILING):
            return
        if self.phase is not Phase.QUIET:
            self._move(Phase.HOLDING)
            self.host.user_stopped(self._last_voice / CAPTURE_RATE_HZ)
        self._decide_after(now=True, reason=reason)

    def drop_live(self, reason: str) -> None:
        """What a streaming recogniser understands is no turn."""
        if self.phase is Phase.QUIET and not self._awaited:
            self.host.present()
            self._discard(reason)

    def detector_deaf(self) -> None:
        """The voice detector hears nobody although words are understood: start it anew."""
        log.warning("the voice detector is deaf")
        if self._feed is not None:
            self._feed.reset()
        self._on_misfire()
        self.host.detector_stalled()

    async def _ask_for_words(self, sequence: int) -> None:
        """Whether the voice that goes on and on says anything; if not, it is noise."""
        try:
            transcript = await self._transcriber.final()
        except GloveVoiceError as fault:
            log.warning("a long utterance could not be checked for words", code=fault.code)
            return
        if sequence == self._sequence and self.phase in (Phase.SPEAKING, Phase.TRAILING):
            if has_words(transcript.text):
                self.host.present()
            else:
                self.barge_in.misfire()
                self._discard("noise")

    def _limit(self) -> None:
        voiced = self.phase in (Phase.SPEAKING, Phase.TRAILING)
        if voiced and not self._worded and self._transcriber.seconds >= self.settings.noise_s:
            self._worded = True
            self._scope.spawn(self._ask_for_words(self._sequence), "noise")
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

    def _move(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise RuntimeError(f"illegal turn transition {self.phase.value} → {phase.value}")
        self.phase = phase
