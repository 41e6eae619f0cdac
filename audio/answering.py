"""The agent's side of a session: one turn at a time, from the committed words to the end of the answer.

Whatever happens, a committed turn ends in something audible: the answer, a failure line, or at least a sound. What is
said, and what was heard of it, is kept by ``speaking``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import structlog

from agents.base.abort import Aborted
from agents.base.errors import GloveError, GloveVoiceError
from agents.base.scope import Scope
from audio.answering_contract import AnsweringHost, Ask, EventTurn, SpokenAgent
from audio.events import Metric
from audio.flight import Flight
from audio.io.base import AudioIO
from audio.pcm import Pcm
from audio.phrases import failure_phrase, phrase
from audio.preparing import Preparation
from audio.reply import Reply
from audio.speaking import Speaking
from audio.tts.base import TtsFactory
from audio.turns.contract import Committed
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

    Attributes:
        on_settled: called whenever ``settled`` may have come true.
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
        self._speaking = Speaking(agent, io, tts, host, self._scope)
        self._flight: Flight | None = None
        self._turn: asyncio.Task[None] | None = None
        self._preparation = Preparation(agent, self._scope, self._report_prepared)
        self.on_settled: Callable[[], None] = lambda: None

    @property
    def busy(self) -> bool:
        """Whether a reply is being prepared or spoken."""
        return self._speaking.reply is not None

    @property
    def settled(self) -> bool:
        """Whether nothing is being prepared, spoken or tidied up."""
        return not self.busy and (self._turn is None or self._turn.done())

    @property
    def sounding(self) -> bool:
        """Whether the first sample of a reply was played and the reply has not ended."""
        return self._speaking.sounding

    @property
    def last_sign(self) -> float:
        """When the reply in progress last showed a sign of life; 0 without one."""
        reply = self._speaking.reply
        return 0.0 if reply is None else reply.last_sign

    @property
    def unheard(self) -> str:
        """The user's words whose answer has neither been heard nor had an effect: what follows continues them."""
        return self._speaking.unheard

    def saying(self) -> str:
        """What is just being said; empty without a reply."""
        reply = self._speaking.reply
        return "" if reply is None else reply.saying()

    @property
    def turn(self) -> object:
        """The turn of the agent that is under way, to be told from others; None without one."""
        return self._flight

    def may_ask(self, turn: object) -> bool:
        """Whether a question that came up in ``turn`` may be asked now: nothing is being said, unless by that turn."""
        flight = self._flight
        return not self.busy or (flight is not None and flight is turn and flight.reply is not None)

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
        self._speaking.answers(committed)
        ask = partial(self._agent.process_request, committed.text, flight.token)
        self._begin_task(self._run(ask, flight, self._turn), "turn")

    def prepare(self, turn: Committed) -> None:
        """``turn`` will most likely be committed: have the model asked already, in silence."""
        self._preparation.begin(turn.text, turn.language)

    def unprepare(self) -> None:
        """The user went on."""
        self._preparation.drop()

    def apologise(self, text: str, language: str) -> None:
        """Speak ``text`` instead of an answer, if nothing else is being said."""
        if not self.busy:
            self._begin_task(self._speaking.speak_out(self._speaking.begin(language), text), "apology")

    async def say(self, text: str, language: str) -> None:
        """Speak ``text``, which belongs to no turn; returns when it was heard or cut.

        Raises:
            GloveError: the voice failed.
        """
        self._clear_floor()
        reply = self._speaking.begin(language)
        try:
            await self._speaking.speak_out(reply, text)
        finally:
            if self._speaking.reply is reply:  # nobody waits for it any more
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

        task = self._begin_task(self._run(ask, flight, self._turn), "event")
        try:
            await asyncio.wait([task])
        finally:
            if not task.done():  # nobody waits for it any more
                self.cut()
        if outcome:
            raise outcome[0]

    def cue(self, pcm: Pcm) -> None:
        """Play a short sound at the player's rate, unless a reply is being prepared or spoken."""
        self._speaking.cue(pcm)

    async def pose(self, text: str, language: str) -> bool:
        """Ask ``text`` aloud, after what the turn is saying, and give the floor to the user while the turn goes on.

        Returns when it was heard or cut: whether anything of it was heard.
        """
        flight = self._flight
        if flight is None:
            self._clear_floor()
            reply = self._speaking.begin(language)
        else:
            reply = flight.reply or self._go_on(flight)
            flight.give_floor()
        return await self._speaking.ask(reply, text)

    @property
    def question_heard(self) -> bool:
        """Whether anything of the question that is being asked was heard already."""
        return self._speaking.question_heard

    def give_floor(self) -> None:
        """What is being said ends, and the turn that says it goes on: the user answers a question of it."""
        flight = self._flight
        if flight is not None and flight.reply is not None:
            flight.give_floor()
        self._speaking.end()

    def take_floor(self) -> None:
        """The question is settled: it is not asked any more, and the turn that asked it goes on."""
        flight = self._flight
        if flight is not None and flight.reply is None and not flight.token.aborted:
            self._go_on(flight)
        elif self._speaking.poses:
            self._speaking.end()

    def cut(self) -> None:
        """End the reply and its turn now; what was heard of it is reported."""
        flight, self._flight = self._flight, None
        if flight is None and not self.busy:
            return
        self._speaking.end()
        if flight is not None:
            flight.unwatch()
            flight.token.abort("interrupted")
        if not self._agent.display.pending:
            self._agent.display.clear_stack()

    def _clear_floor(self) -> None:
        """What is being said ends. A turn that waits for the answer to a question goes on waiting."""
        if self.busy and self._flight is not None and self._flight.reply is self._speaking.reply:
            self.cut()
        else:
            self._speaking.end()

    async def close(self) -> None:
        """Cut, wait for the turn to put history in order, stop; idempotent."""
        self.cut()
        if self._turn is not None and not self._turn.done():
            await asyncio.wait([self._turn], timeout=2.0)
        await self._scope.close()

    def _begin_task(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run ``work`` as the turn in progress."""
        self._turn = task = self._scope.spawn(work, name)
        task.add_done_callback(lambda _: self.on_settled())
        return task

    def _take_off(self, language: str, *, awaited: bool) -> Flight:
        self._flight = flight = Flight(language, self._go_on, awaited=awaited)
        self._go_on(flight)
        return flight

    def _go_on(self, flight: Flight) -> Reply:
        """The turn has the floor, with a reply of its own."""
        reply = self._speaking.begin(flight.language)
        watching = watch(
            reply,
            flight.token,
            self._io.player,
            awaited=flight.awaited,
            cue_s=self._cue_s,
            give_up_s=self._give_up_s,
            on_too_slow=lambda: self._speaking.report_fault(
                GloveVoiceError("ERR_TURN_TIMEOUT", "The answer took too long.")
            ),
        )
        flight.speak_in(reply, self._scope.spawn(watching, "watch"))
        return reply

    async def _run(self, ask: Ask, flight: Flight, previous: asyncio.Task[None] | None) -> None:
        try:
            if previous is not None:
                await asyncio.wait([previous])
            if not flight.token.aborted:
                self._speaking.reached("asked", self._io.time_s)
                await self._ask(ask, flight)
            if self._flight is not flight:
                return
            reply = flight.reply or self._go_on(flight)
            self._flight = None
            await self._speaking.speak_out(reply, awaited=flight.awaited)
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
        self._speaking.report_fault(fault)
        if flight.awaited and self._flight is flight:
            (flight.reply or self._go_on(flight)).say(line)

    def _report_prepared(self, used: bool) -> None:
        self._host.emit(Metric(self._io.time_s, "prepared", data={"used": used}))

    def follow_player(self) -> None:
        """Be told by the player what is heard."""
        self._speaking.follow_player()

    def playback_started(self, at: float) -> None:
        """The player handed the first sample of something to the sink, at ``at`` seconds on the media clock."""
        self._speaking.playback_started(at)

    def playback_drained(self) -> None:
        """The player has nothing left."""
        self._speaking.playback_drained()
