"""The agent's side of a session: one reply at a time, from the committed turn to the last sample that was heard.

Whatever happens, a committed turn ends in something audible: the answer, a failure line, or at least a sound. A cut
raises the player's generation first, so nothing of the old reply can be heard afterwards, and tidies up later.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

import structlog

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError, GloveVoiceError
from agents.base.scope import Scope
from agents.core.events import ToolUse, ToolUseResult
from audio import earcons
from audio.answering_contract import AnsweringHost, Ask, EventTurn, SpokenAgent
from audio.events import (
    AgentSays,
    AgentSpeechStarted,
    AgentSpeechStopped,
    AgentText,
    Interrupted,
    Metric,
    ToolFinished,
    ToolUsed,
    VoiceFault,
)
from audio.io.base import AudioIO
from audio.pcm import Pcm
from audio.phrases import failure_phrase, phrase
from audio.reply import HeardReport, Reply
from audio.tts.base import TtsFactory
from audio.turns.engine import Committed

__all__ = ["Answering", "EventTurn", "SpokenAgent"]

log = structlog.get_logger(__name__)

TOO_SLOW = "too slow"

WATCH_S = 0.05
"""How often the watch looks at a turn."""

TOOL_PATIENCE = 4
"""How many times longer than a model a running tool may be silent before the turn is given up."""


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
        self._tts = tts
        self._host = host
        self._cue_s = cue_s
        self._give_up_s = give_up_s
        self._scope = Scope("answering")
        self._reply: Reply | None = None
        self._sounding = False
        self._token: AbortToken | None = None
        self._turn: asyncio.Task[None] | None = None
        self._committed: tuple[Committed, float] | None = None
        self._drained = asyncio.Event()

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

    def answer(self, committed: Committed) -> None:
        """Let the agent answer; whatever it was doing ends."""
        reply = self._begin(committed.language)
        self._committed = (committed, self._io.time_s)
        self._token = token = AbortToken()
        ask = partial(self._agent.process_request, committed.text, token)
        self._turn = self._scope.spawn(self._run(ask, reply, token, self._turn), "turn")

    def apologise(self, text: str, language: str) -> None:
        """Speak ``text`` instead of an answer, if nothing else is being said."""
        if not self.busy:
            self._turn = self._scope.spawn(self._speak_out(self._begin(language), text), "apology")

    async def say(self, text: str, language: str) -> None:
        """Speak ``text``, which belongs to no turn; returns when it was heard or cut.

        Raises:
            GloveError: the voice failed.
        """
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
        reply = self._begin(language)
        self._token = token = AbortToken()
        outcome: list[Exception] = []

        async def ask(*, language: str | None = None, heard_reports: bool = False) -> None:
            try:
                await turn(token, language=language, heard_reports=heard_reports)
            except Exception as fault:
                outcome.append(fault)
                raise

        self._turn = task = self._scope.spawn(self._run(ask, reply, token, self._turn, awaited=False), "event")
        try:
            await asyncio.wait([task])
        finally:
            if self._reply is reply:  # nobody waits for it any more
                self.cut()
        if outcome:
            raise outcome[0]

    def cue(self, pcm: Pcm) -> None:
        """Play a short sound at the player's rate, unless a reply is being prepared or spoken."""
        if self._reply is None:
            player = self._io.player
            player.enqueue(pcm, player.rate_hz, player.next_generation())

    def cut(self) -> None:
        """End the reply now; what was heard of it is reported."""
        reply, token = self._reply, self._token
        if reply is None:
            return
        reports, heard, played = reply.heard(), reply.heard_text(), reply.played
        self._io.player.next_generation()
        reply.void = True
        self._reply = self._token = self._committed = None
        if token is not None:
            token.abort("interrupted")
        self._drained.set()
        if self._sounding:
            at = self._io.time_s
            self._host.emit(Interrupted(at, heard, round(played * 1000 / self._io.player.rate_hz)))
            self._host.emit(AgentSpeechStopped(at, heard))
        self._sounding = False
        self._scope.spawn(self._tidy(reply, reports), "tidy")
        if not self._agent.display.pending:
            self._agent.display.clear_stack()
        self._host.reply_ended()

    async def close(self) -> None:
        """Cut, wait for the turn to put history in order, stop; idempotent."""
        self.cut()
        if self._turn is not None and not self._turn.done():
            await asyncio.wait([self._turn], timeout=2.0)
        await self._scope.close()

    def _begin(self, language: str) -> Reply:
        self.cut()
        self._drained.clear()
        self._reply = Reply(
            self._io.player,
            self._tts,
            language,
            now=lambda: self._io.time_s,
            on_text=lambda text: self._host.emit(AgentText(self._io.time_s, text)),
            on_tool=self._tool,
            on_say=lambda text: self._host.emit(AgentSays(self._io.time_s, text)),
        )
        self._host.reply_began()
        return self._reply

    async def _run(
        self, ask: Ask, reply: Reply, token: AbortToken, previous: asyncio.Task[None] | None, *, awaited: bool = True
    ) -> None:
        watch = self._scope.spawn(self._watch(reply, token, awaited), "watch")
        try:
            if previous is not None:
                await asyncio.wait([previous])
            if not token.aborted:
                await self._ask(ask, reply, awaited)
            if awaited and not reply.void and not reply.audible and not reply.text:
                reply.sound(earcons.done(self._io.player.rate_hz))
            await self._speak_out(reply)
        finally:
            watch.cancel()

    async def _watch(self, reply: Reply, token: AbortToken, awaited: bool) -> None:
        """See to it that the user is not left in silence: a sound, a word of patience, an honest end."""
        began, cued, patient = clock.now(), not awaited, not awaited
        heard = began
        played = self._io.player.played_total
        while not reply.void and not token.aborted:
            await asyncio.sleep(WATCH_S)
            if self._io.player.played_total != played:
                played = self._io.player.played_total
                reply.alive()
                heard = clock.now()
            silent_s = clock.now() - max(began, reply.last_sign)
            # Work that nobody hears (a subagent talks for a minute) is a sign of life, but silence to the user.
            quiet_s = clock.now() - max(heard, reply.last_words)
            if not cued and not reply.audible and quiet_s >= self._cue_s:
                cued = True
                reply.sound(earcons.thinking(self._io.player.rate_hz))
            if reply.tools_open and quiet_s >= self._give_up_s and not patient:
                patient = True
                reply.say(phrase("still_working", reply.language))
            elif silent_s >= self._give_up_s * (TOOL_PATIENCE if reply.tools_open else 1):
                self._report_fault(GloveVoiceError("ERR_TURN_TIMEOUT", "The answer took too long."))
                if awaited:
                    reply.dismiss(phrase("too_slow", reply.language))
                token.abort(TOO_SLOW)

    async def _ask(self, ask: Ask, reply: Reply, awaited: bool) -> None:
        self._agent.add_subscriber(reply)
        try:
            await ask(language=reply.language, heard_reports=True)
        except Aborted as outcome:
            log.debug("turn aborted", reason=outcome.reason)
        except GloveError as fault:
            self._fail(reply, fault, failure_phrase(fault.code, reply.language) if awaited else "")
        except Exception as fault:
            log.exception("the agent failed")
            error = GloveVoiceError("ERR_GLOVE_REQUEST", f"The agent failed: {fault}", cause=fault)
            self._fail(reply, error, phrase("failed", reply.language) if awaited else "")
        finally:
            self._agent.remove_subscriber(reply)

    def _fail(self, reply: Reply, fault: GloveError, line: str) -> None:
        self._report_fault(fault)
        if line and not reply.void:
            reply.say(line)

    async def _speak_out(self, reply: Reply, text: str | None = None) -> None:
        """Wait until ``reply`` (after saying ``text``) was heard to its end, and report what was heard."""
        if reply.void:
            return
        if text is not None:
            reply.say(text)
        await reply.spoken()
        while not reply.void and not self._io.player.idle:
            self._drained.clear()
            await self._drained.wait()
        if reply.void:
            return
        if reply.fault is not None:
            self._report_fault(reply.fault)
        heard, reports = reply.heard_text(), reply.heard()
        if self._sounding:
            self._host.emit(AgentSpeechStopped(self._io.time_s, heard))
        self._sounding = False
        self._reply = self._token = self._committed = None
        self._host.reply_ended()
        await self._tidy(reply, reports)

    async def _tidy(self, reply: Reply, reports: list[HeardReport]) -> None:
        try:
            for report in reports:
                if report.reply_id:
                    await self._agent.report_heard(report.reply_id, report.text, report.complete)
        finally:
            await reply.close()

    def _report_fault(self, fault: GloveError) -> None:
        self._host.emit(VoiceFault(self._io.time_s, fault.code, str(fault)))

    def _tool(self, event: ToolUse | ToolUseResult) -> None:
        if isinstance(event, ToolUse):
            self._host.emit(ToolUsed(self._io.time_s, event.name, event.input))
        else:
            self._host.emit(ToolFinished(self._io.time_s, event.tool_name, event.result.status))

    def follow_player(self) -> None:
        """Be told by the player on this loop, with the time of the call; its sink may call from an audio thread."""
        loop, owner = asyncio.get_running_loop(), threading.get_ident()

        def bring(effect: Callable[[float], None]) -> Callable[[], None]:
            def call() -> None:
                at = self._io.time_s
                if threading.get_ident() == owner:
                    effect(at)
                else:
                    loop.call_soon_threadsafe(effect, at)

            return call

        self._io.player.on_started = bring(self.playback_started)
        self._io.player.on_drained = bring(lambda _: self.playback_drained())

    def playback_started(self, at: float) -> None:
        """The player handed the first sample of something to the sink, at ``at`` seconds on the media clock."""
        if self._reply is None or self._sounding:
            return
        self._sounding = True
        self._host.reply_sounds()
        self._host.emit(AgentSpeechStarted(at))
        self._measure(self._reply, at)

    def playback_drained(self) -> None:
        """The player has nothing left."""
        self._drained.set()

    def _measure(self, reply: Reply, at: float) -> None:
        """Report where the time between the end of the user's speech and the first sample went, in milliseconds."""
        marks = reply.marks
        if self._committed is None or not {"text", "sentence", "sound"} <= set(marks):
            return
        committed, committed_at = self._committed
        stages = {
            "wait": committed_at - committed.speech_end_s,
            "agent": marks["text"] - committed_at,
            "sentence": marks["sentence"] - marks["text"],
            "voice": marks["sound"] - marks["sentence"],
            "playout": at - marks["sound"],
        }
        data: dict[str, object] = {f"{name}_ms": round(1000 * value, 1) for name, value in stages.items()}
        data |= {"hold": committed.reason, "hold_ms": committed.hold_ms, "late_ms": committed.late_ms}
        total_ms = round(1000 * (at - committed.speech_end_s), 1)
        self._host.emit(Metric(self._io.time_s, "voice_to_voice", total_ms, data))
