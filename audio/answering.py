"""The agent's side of a session: one reply at a time, from the committed turn to the last sample that was heard.

Whatever happens, a committed turn ends in something audible: the answer, a failure line, or at least a sound. A cut
raises the player's generation first, so nothing of the old reply can be heard afterwards, and tidies up later.
"""

from __future__ import annotations

import asyncio
from functools import partial

import structlog

from agents.base.abort import Aborted
from agents.base.errors import GloveError, GloveVoiceError
from agents.base.scope import Scope
from audio import earcons
from audio.answering_contract import AnsweringHost, Ask, EventTurn, SpokenAgent
from audio.events import (
    AgentSpeechStarted,
    AgentSpeechStopped,
    Interrupted,
    Metric,
    VoiceFault,
)
from audio.flight import Flight
from audio.following import follow_player
from audio.io.base import AudioIO
from audio.latency import voice_to_voice
from audio.pcm import Pcm
from audio.phrases import failure_phrase, phrase
from audio.preparing import Preparation
from audio.reply import Reply
from audio.reply_maker import ReplyMaker
from audio.reply_parts import HeardReport, Part
from audio.tts.base import TtsFactory
from audio.turns.engine import Committed
from audio.watch import watch

__all__ = ["Answering", "EventTurn", "SpokenAgent"]

log = structlog.get_logger(__name__)


class Answering:
    """Runs turns through the agent and speaks the replies.

    Args:
        agent: the mind.
        io: the room.
        tts: makes voices.
        host: is told what happens.
        cue_s: silence after a committed turn until a "still thinking" sound.
        give_up_s: silence until an honest failure line; while a tool runs, until a word of patience.
    """

    def __init__(
        self, agent: SpokenAgent, io: AudioIO, tts: TtsFactory, host: AnsweringHost, cue_s: float, give_up_s: float
    ) -> None:
        self._agent = agent
        self._io = io
        self._host = host
        self._cue_s = cue_s
        self._give_up_s = give_up_s
        self._scope = Scope("answering")
        self._reply: Reply | None = None
        self._sounding = False
        self._flight: Flight | None = None
        self._posed: tuple[Reply, Part] | None = None
        self._turn: asyncio.Task[None] | None = None
        self._committed: tuple[Committed, float] | None = None
        self._drained = asyncio.Event()
        self._replies = ReplyMaker(io, tts, host.emit, self._reached)
        self._preparation = Preparation(agent, self._scope, self._report_prepared)

    @property
    def busy(self) -> bool:
        """Whether a reply is being prepared or spoken."""
        return self._reply is not None

    @property
    def settled(self) -> bool:
        """Whether nothing is being prepared, spoken or tidied up."""
        return self._reply is None and (self._turn is None or self._turn.done())

    @property
    def sounding(self) -> bool:
        """Whether the first sample of a reply was played and the reply has not ended."""
        return self._sounding

    @property
    def last_sign(self) -> float:
        """When the reply in progress last showed a sign of life; 0 without one."""
        return 0.0 if self._reply is None else self._reply.last_sign

    @property
    def unheard(self) -> str:
        """The user's words whose answer has neither been heard nor had an effect: what follows continues them."""
        if self._reply is None or self._committed is None or self._sounding or self._reply.tools_done:
            return ""
        return self._committed[0].text

    def saying(self) -> str:
        """What is just being said; empty without a reply."""
        return "" if self._reply is None else self._reply.saying()

    @property
    def in_turn(self) -> bool:
        """Whether a turn of the agent is under way and has the floor."""
        return self._flight is not None and self._flight.reply is not None

    @property
    def under_way(self) -> bool:
        """Whether a turn of the agent is under way, with the floor or without."""
        return self._flight is not None

    def answer(self, committed: Committed) -> None:
        """Let the agent answer; whatever it was doing ends."""
        self.cut()
        flight = self._take_off(committed.language, awaited=True)
        prepared = self._preparation.commit(committed.text, committed.language)
        if prepared is not None:
            flight.owns(prepared)
        self._committed = (committed, self._io.time_s)
        ask = partial(self._agent.process_request, committed.text, flight.token)
        self._turn = self._scope.spawn(self._run(ask, flight, self._turn), "turn")

    def prepare(self, turn: Committed) -> None:
        """``turn`` will most likely be committed: have the model asked already, in silence."""
        self._preparation.begin(turn.text, turn.language)

    def unprepare(self) -> None:
        """The user went on."""
        self._preparation.drop()

    def apologise(self, text: str, language: str) -> None:
        """Speak ``text`` instead of an answer, if nothing else is being said."""
        if not self.busy:
            self._turn = self._scope.spawn(self._speak_out(self._begin(language), text), "apology")

    async def say(self, text: str, language: str) -> None:
        """Speak ``text``, which belongs to no turn; returns when it was heard or cut.

        Raises:
            GloveError: the voice failed.
        """
        self._clear_floor()
        reply = self._begin(language)
        try:
            await self._speak_out(reply, text)
        finally:
            if self._reply is reply:  # nobody waits for it any more
                self.cut()
        if reply.fault is not None:
            raise reply.fault

    async def tell(self, turn: EventTurn, language: str) -> None:
        """Run a turn that the agent wants by itself, and speak it; returns when it was heard or cut.

        Nobody waits for it: it makes no sound before its first word, and none at all if it fails.

        Raises:
            Exception: whatever ``turn`` raises; ``Aborted`` when it was cut.
        """
        self.cut()
        flight = self._take_off(language, awaited=False)
        outcome: list[Exception] = []

        async def ask(*, language: str | None = None, heard_reports: bool = False) -> None:
            try:
                await turn(flight.token, language=language, heard_reports=heard_reports)
            except Exception as fault:
                outcome.append(fault)
                raise

        self._turn = task = self._scope.spawn(self._run(ask, flight, self._turn), "event")
        try:
            await asyncio.wait([task])
        finally:
            if not task.done():  # nobody waits for it any more
                self.cut()
        if outcome:
            raise outcome[0]

    def cue(self, pcm: Pcm) -> None:
        """Play a short sound at the player's rate, unless a reply is being prepared or spoken."""
        if self._reply is None:
            player = self._io.player
            player.enqueue(pcm, player.rate_hz, player.next_generation())

    async def pose(self, text: str, language: str) -> bool:
        """Ask ``text`` aloud, after what the turn is saying, and give the floor to the user while the turn goes on.

        Returns when it was heard or cut: whether anything of it was heard.
        """
        flight = self._flight
        if flight is None:
            self._clear_floor()
            reply = self._begin(language)
        else:
            reply = flight.reply or self._go_on(flight)
            flight.give_floor()
        part = reply.say(text)
        self._posed = posed = (reply, part)
        await self._speak_out(reply)
        if self._posed is posed:
            self._posed = None
        return part.heard

    @property
    def question_heard(self) -> bool:
        """Whether anything of the question that is being asked was heard already."""
        return self._posed is not None and self._posed[0].reached(self._posed[1])

    def give_floor(self) -> None:
        """What is being said ends, and the turn that says it goes on: the user answers a question of it."""
        flight = self._flight
        if flight is not None and flight.reply is not None:
            flight.give_floor()
        self._end()

    def take_floor(self) -> None:
        """The question is settled: it is not asked any more, and the turn that asked it goes on."""
        flight, posed = self._flight, self._posed
        if flight is not None and flight.reply is None and not flight.token.aborted:
            self._go_on(flight)
        elif posed is not None and posed[0] is self._reply:
            self._end()

    def cut(self) -> None:
        """End the reply and its turn now; what was heard of it is reported."""
        flight, self._flight = self._flight, None
        if flight is None and self._reply is None:
            return
        self._end()
        if flight is not None:
            flight.unwatch()
            flight.token.abort("interrupted")
        if not self._agent.display.pending:
            self._agent.display.clear_stack()

    def _end(self) -> None:
        """End the reply now; what was heard of it is reported."""
        reply = self._reply
        if reply is None:
            return
        reports, heard, played = reply.heard(), reply.heard_text(), reply.played
        self._note_posed(reply)
        self._io.player.next_generation()
        reply.void = True
        self._reply = self._committed = None
        self._drained.set()
        if self._sounding:
            at = self._io.time_s
            self._host.emit(Interrupted(at, heard, round(played * 1000 / self._io.player.rate_hz)))
            self._host.emit(AgentSpeechStopped(at, heard))
        self._sounding = False
        self._scope.spawn(self._tidy(reply, reports), "tidy")
        self._host.reply_ended()

    def _note_posed(self, reply: Reply) -> None:
        """``reply`` is over: note whether the question in it was heard."""
        if self._posed is not None and self._posed[0] is reply:
            self._posed[1].heard = reply.reached(self._posed[1])

    def _clear_floor(self) -> None:
        """What is being said ends. A turn that waits for the answer to a question goes on waiting."""
        if self._reply is not None and self._flight is not None and self._flight.reply is self._reply:
            self.cut()
        else:
            self._end()

    async def close(self) -> None:
        """Cut, wait for the turn to put history in order, stop; idempotent."""
        self.cut()
        if self._turn is not None and not self._turn.done():
            await asyncio.wait([self._turn], timeout=2.0)
        await self._scope.close()

    def _begin(self, language: str) -> Reply:
        self._end()
        self._drained.clear()
        self._reply = self._replies.make(language)
        self._host.reply_began()
        return self._reply

    def _take_off(self, language: str, *, awaited: bool) -> Flight:
        self._flight = flight = Flight(language, self._go_on, awaited=awaited)
        self._go_on(flight)
        return flight

    def _go_on(self, flight: Flight) -> Reply:
        """The turn has the floor, with a reply of its own."""
        reply = self._begin(flight.language)
        watching = watch(
            reply,
            flight.token,
            self._io.player,
            awaited=flight.awaited,
            cue_s=self._cue_s,
            give_up_s=self._give_up_s,
            on_too_slow=lambda: self._report_fault(GloveVoiceError("ERR_TURN_TIMEOUT", "The answer took too long.")),
        )
        flight.speak_in(reply, self._scope.spawn(watching, "watch"))
        return reply

    async def _run(self, ask: Ask, flight: Flight, previous: asyncio.Task[None] | None) -> None:
        try:
            if previous is not None:
                await asyncio.wait([previous])
            if not flight.token.aborted:
                self._reached("asked", self._io.time_s)
                await self._ask(ask, flight)
            if self._flight is not flight:
                return
            reply = flight.reply or self._go_on(flight)
            self._flight = None
            await self._speak_out(reply, awaited=flight.awaited)
        finally:
            flight.unwatch()
            flight.let_go()

    async def _ask(self, ask: Ask, flight: Flight) -> None:
        self._agent.add_subscriber(flight)
        language = flight.language
        try:
            await ask(language=language, heard_reports=True)
        except Aborted as outcome:
            log.debug("turn aborted", reason=outcome.reason)
        except GloveError as fault:
            self._fail(flight, fault, failure_phrase(fault.code, language))
        except Exception as fault:
            log.exception("the agent failed")
            error = GloveVoiceError("ERR_GLOVE_REQUEST", f"The agent failed: {fault}", cause=fault)
            self._fail(flight, error, phrase("failed", language))
        finally:
            self._agent.remove_subscriber(flight)

    def _fail(self, flight: Flight, fault: GloveError, line: str) -> None:
        self._report_fault(fault)
        if flight.awaited and self._flight is flight:
            (flight.reply or self._go_on(flight)).say(line)

    async def _speak_out(self, reply: Reply, text: str | None = None, *, awaited: bool = False) -> None:
        """Wait until ``reply`` (after saying ``text``) was heard to its end, and report what was heard.

        ``awaited``: somebody waits for it, so that a reply without a word is at least a sound.
        """
        if reply.void:
            return
        if text is not None:
            reply.say(text)
        await reply.spoken()
        if awaited and not (reply.void or reply.audible or reply.fault):
            reply.sound(earcons.done(self._io.player.rate_hz))
        while not reply.void and not self._io.player.idle:
            self._drained.clear()
            await self._drained.wait()
        if reply.void:
            return
        if reply.fault is not None:
            self._report_fault(reply.fault)
        heard, reports = reply.heard_text(), reply.heard()
        self._note_posed(reply)
        if self._sounding:
            self._host.emit(AgentSpeechStopped(self._io.time_s, heard))
        self._sounding = False
        self._reply = self._committed = None
        self._host.reply_ended()
        await self._tidy(reply, reports)

    async def _tidy(self, reply: Reply, reports: list[HeardReport]) -> None:
        try:
            for report in reports:
                if report.reply_id:
                    await self._agent.report_heard(report.reply_id, report.text, report.complete)
        finally:
            await reply.close()

    def _report_prepared(self, used: bool) -> None:
        self._host.emit(Metric(self._io.time_s, "prepared", data={"used": used}))

    def _report_fault(self, fault: GloveError) -> None:
        self._host.emit(VoiceFault(self._io.time_s, fault.code, str(fault)))

    def _reached(self, step: str, at: float) -> None:
        if self._committed is not None:
            self._host.reached(step, at)

    def follow_player(self) -> None:
        """Be told by the player what is heard."""
        follow_player(self._io, self.playback_started, lambda _: self.playback_drained())

    def playback_started(self, at: float) -> None:
        """The player handed the first sample of something to the sink, at ``at`` seconds on the media clock."""
        if self._reply is None or self._sounding:
            return
        self._sounding = True
        self._host.reply_sounds()
        self._host.emit(AgentSpeechStarted(at))
        if self._committed is not None and (metric := voice_to_voice(self._reply, *self._committed, at)) is not None:
            self._host.emit(metric)

    def playback_drained(self) -> None:
        """The player has nothing left."""
        if self._reply is not None:
            self._reply.sounds()
        self._drained.set()
