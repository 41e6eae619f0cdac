"""From the silence behind an utterance to a turn, or to none: recognise, judge, hold, commit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Protocol

import structlog

from agents.base.errors import GloveVoiceError
from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ, Pcm, ms_to_samples
from audio.stt.base import Transcript
from audio.turns.addressed import Addressed
from audio.turns.contract import Committed, TurnHost, TurnSettings
from audio.turns.foresight import Foresight
from audio.turns.hold import Hold, TurnDetector, Utterance
from audio.turns.impression import Impression
from audio.turns.over_agent import OverAgent
from audio.turns.progress import Progress
from audio.turns.speaker import Speaker
from audio.turns.stop import says_stop
from audio.turns.tail import Tail
from audio.turns.transcriber import Transcriber
from audio.turns.words import has_words

log = structlog.get_logger(__name__)

JUDGED_S = 8.0
"""So much of the end of an utterance is shown to the detector."""

SILENCE_JUDGED_MS = 50
"""So much of the silence behind it: the longer the silence it hears, the surer Smart Turn is, whatever was said."""


class Outcome(Protocol):
    """Where an utterance ends: the turn engine, as seen from here."""

    def commit_turn(self, committed: Committed) -> None:
        """It is a turn."""
        ...

    def discard(self, reason: str) -> None:
        """It is none."""
        ...

    def give_up(self, fault: GloveVoiceError) -> None:
        """It was not understood."""
        ...


class Deciding:
    """One decision at a time; whatever is heard meanwhile cancels it.

    Args:
        outcome: is told what became of the utterance.
        host: is told of likely turns.
        addressed: what may become a turn.
        over: what was said over the agent.
        transcriber: knows the text of the utterance.
        detector: says how long to hold.
        progress: the utterance.
        scope: owns what is under way.
        settings: limits.

    Attributes:
        awaited: whether a decision is being made, or its hold runs.
        sequence: grows with each decision and utterance.
        speaker: who is speaking.
    """

    def __init__(
        self,
        outcome: Outcome,
        host: TurnHost,
        addressed: Addressed,
        over: OverAgent,
        transcriber: Transcriber,
        detector: TurnDetector,
        progress: Progress,
        scope: Scope,
        settings: TurnSettings,
    ) -> None:
        self.awaited = False
        self.sequence = 0
        self.speaker = Speaker(settings.far_field_ratio)
        self._outcome = outcome
        self._addressed = addressed
        self._over = over
        self._transcriber = transcriber
        self._detector = detector
        self._progress = progress
        self._scope = scope
        self._foresight = Foresight(host, transcriber, self._foreseen, scope, enabled=settings.preemptive)
        self._impression = Impression(detector, scope)
        self._tail = Tail(JUDGED_S)
        self._established = 0.0
        self._hold: asyncio.TimerHandle | None = None

    def append(self, chunk: Pcm) -> None:
        """More sound of the utterance."""
        self._tail.append(chunk)

    def trails_off(self) -> None:
        """A silence has begun that may be the end: what can be known at its end is found out meanwhile."""
        self._transcriber.speculate()
        self._progress.times.dispatched(self._progress.sample)
        self._impression.begin(self._sound(), self._progress.last_voice)
        self._foresight.trailing()

    def speaks_on(self) -> None:
        """The silence was none."""
        self._impression.drop()
        self._foresight.gone()

    def begin(self, *, now: bool = False, reason: str = "") -> None:
        """The silence is established. ``now``: commit without a hold, for ``reason`` where one is given."""
        self._progress.times.silent(self._progress.sample)
        self._established = asyncio.get_running_loop().time()
        self._start(now=now, reason=reason)

    def resume(self) -> None:
        """What seemed to go on did not: decide anew, with the hold counted from where it began."""
        self._start()

    def cancel(self) -> None:
        """The utterance goes on; idempotent."""
        self.sequence += 1
        self.awaited = False
        if self._hold is not None:
            self._hold.cancel()
            self._hold = None

    def clear(self, *, committed: bool = False) -> None:
        """The utterance is over."""
        self.sequence += 1
        self.awaited = False
        self._hold = None
        self._foresight.over(committed=committed)
        self._impression.drop()
        self._tail.clear()
        self.speaker.over()

    async def judge(self, transcript: Transcript) -> Hold:
        """The hold for what was said so far."""
        voice = await self._impression.of(self._progress.last_voice)
        context = self._addressed.context()
        return await self._detector.judge(
            Utterance(transcript.text, transcript.language, self._sound(), context, voice),
        )

    def _sound(self) -> Pcm:
        spare_ms = max(0.0, self._progress.silent_ms - SILENCE_JUDGED_MS)
        return self._tail.until(ms_to_samples(spare_ms, CAPTURE_RATE_HZ))

    def _start(self, *, now: bool = False, reason: str = "") -> None:
        self.sequence += 1
        self.awaited = True
        self._scope.spawn(self._decide(self.sequence, now, reason), "decide")

    async def _decide(self, sequence: int, now: bool, because: str) -> None:
        try:
            await self._consider(sequence, now, because)
        except GloveVoiceError as fault:
            if sequence == self.sequence:
                self._outcome.give_up(fault)
        except Exception as fault:
            # Whoever waits for an answer is told that there is none, and the next utterance begins anew.
            log.exception("an utterance could not be judged")
            if sequence == self.sequence:
                why = f"What was said could not be judged: {fault}"
                self._outcome.give_up(GloveVoiceError("ERR_STT_FAILED", why, cause=fault))

    async def _consider(self, sequence: int, now: bool, because: str) -> None:
        whole = await self._transcriber.final()
        if sequence != self.sequence:
            return
        self._progress.times.recognised(self._progress.sample)
        transcript = replace(whole, text=self._addressed.trim(whole.text))
        if (because or not now) and await self._is_far(transcript):
            if sequence == self.sequence:
                self._turn_away()
            return
        if sequence != self.sequence:
            return
        unwanted = self._unwanted(whole, transcript)
        if unwanted:
            self._outcome.discard(unwanted)
            return
        hold = self._commanded(because) if now else await self.judge(transcript)
        if sequence == self.sequence:
            self._wait(transcript, hold, scaled=not now)

    def _commanded(self, because: str) -> Hold:
        return Hold(0, because or ("push_to_talk" if self._progress.by_key else "command"))

    def _wait(self, transcript: Transcript, hold: Hold, *, scaled: bool) -> None:
        """Commit when the hold is over; ``scaled``: which is as long as this speaker needs it."""
        loop, progress = asyncio.get_running_loop(), self._progress
        ms = self.speaker.hold_ms(hold.ms, progress.sample) if scaled else hold.ms
        due = self._established + ms / 1000
        late_ms = round(1000 * max(0.0, loop.time() - due), 1)
        text, language = transcript.text, transcript.language
        committed = Committed(text, language, progress.end_s, hold.reason, ms, late_ms, progress.times.times)
        if scaled:
            self._foresight.decided(committed)
        self._hold = loop.call_at(max(loop.time(), due), self._commit, self.sequence, committed)

    def _commit(self, sequence: int, committed: Committed) -> None:
        if sequence == self.sequence:
            self.speaker.took_turn(self._progress.sample)
            self._outcome.commit_turn(committed)

    async def _foreseen(self, transcript: Transcript) -> Committed | None:
        """The turn that would be committed if the user said no more; None if it would be none, or is disputed."""
        addressed = self._addressed
        text, language = addressed.trim(transcript.text), transcript.language
        disputed = self._over.barge_in.paused or addressed.takes_floor is not None
        if disputed or not has_words(text) or addressed.expects(text, language):
            return None
        hold = await self.judge(replace(transcript, text=text))
        return Committed(text, language, self._progress.last_voice / CAPTURE_RATE_HZ, hold.reason, hold.ms)

    async def _is_far(self, transcript: Transcript) -> bool:
        """Whether somebody speaks at another table: quietly, unasked, and nothing that this appliance understands."""
        text, language = transcript.text, transcript.language
        has_floor = self._progress.over_agent and not self._over.barge_in.paused
        if has_floor or not has_words(text) or not self.speaker.is_far(self._progress.sample):
            return False
        if says_stop(text) or self._addressed.expects(text, language) or self._addressed.takes_floor is not None:
            return False
        return (await self.judge(transcript)).reason != "command"

    def _turn_away(self) -> None:
        self.speaker.turned_away(self._progress.sample)
        self._over.barge_in.misfire()
        self._outcome.discard("far_field")

    def _unwanted(self, whole: Transcript, trimmed: Transcript) -> str:
        """Why the utterance is no turn; empty if it is one."""
        expected = self._addressed.expects(trimmed.text, trimmed.language)
        if not self._over.takes_floor(whole, expected=expected):
            return "backchannel" if has_words(whole.text) else "no_words"
        if not has_words(trimmed.text):
            return "wake_word"
        if self._addressed.takes_floor is not None and not self._addressed.takes_floor(trimmed.text):
            return "not_addressed"
        return ""
