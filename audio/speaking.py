"""What is being said: one reply at a time, from its first word to the last sample that was heard.

A cut raises the player's generation first, so nothing of the old reply can be heard afterwards, and tidies up later.
"""

from __future__ import annotations

import asyncio

from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio import earcons
from audio.answering_contract import AnsweringHost, SpokenAgent
from audio.events import AgentSpeechStarted, AgentSpeechStopped, Interrupted, VoiceFault
from audio.following import follow_player
from audio.io.base import AudioIO
from audio.latency import voice_to_voice
from audio.pcm import Pcm
from audio.reply import Reply
from audio.reply_maker import ReplyMaker
from audio.reply_parts import HeardReport, Part
from audio.tts.base import TtsFactory
from audio.turns.contract import Committed


class Speaking:
    """Speaks replies into a room and knows what was heard of them.

    Args:
        agent: is told what was heard.
        io: the room.
        tts: makes voices.
        host: is told what happens.
        scope: owns what is under way.

    Attributes:
        reply: what is being prepared or spoken, or None.
        sounding: whether its first sample was played and it has not ended.
    """

    def __init__(self, agent: SpokenAgent, io: AudioIO, tts: TtsFactory, host: AnsweringHost, scope: Scope) -> None:
        self._agent = agent
        self._io = io
        self._host = host
        self._scope = scope
        self._replies = ReplyMaker(io, tts, host.emit, self.reached)
        self._posed: tuple[Reply, Part] | None = None
        self._committed: tuple[Committed, float] | None = None
        self._drained = asyncio.Event()
        self.reply: Reply | None = None
        self.sounding = False

    @property
    def unheard(self) -> str:
        """The user's words whose answer has neither been heard nor had an effect."""
        if self.reply is None or self._committed is None or self.sounding or self.reply.tools_done:
            return ""
        return self._committed[0].text

    @property
    def question_heard(self) -> bool:
        """Whether anything of the question that is being asked was heard already."""
        return self._posed is not None and self._posed[0].reached(self._posed[1])

    @property
    def poses(self) -> bool:
        """Whether what is being said asks a question."""
        return self._posed is not None and self._posed[0] is self.reply

    def begin(self, language: str) -> Reply:
        """A new reply in ``language``; what was being said ends."""
        self.end()
        self._drained.clear()
        self.reply = self._replies.make(language)
        self._host.reply_began()
        return self.reply

    def answers(self, committed: Committed) -> None:
        """The reply that has begun answers ``committed``."""
        self._committed = (committed, self._io.time_s)

    def end(self) -> None:
        """End the reply now; what was heard of it is reported. Nothing happens without one."""
        reply = self.reply
        if reply is None:
            return
        reports, heard, played = reply.heard(), reply.heard_text(), reply.played
        self._note_posed(reply)
        self._io.player.next_generation()
        reply.void = True
        self.reply = self._committed = None
        self._drained.set()
        if self.sounding:
            at = self._io.time_s
            self._host.emit(Interrupted(at, heard, round(played * 1000 / self._io.player.rate_hz)))
            self._host.emit(AgentSpeechStopped(at, heard))
        self.sounding = False
        self._scope.spawn(self._tidy(reply, reports), "tidy")
        self._host.reply_ended()

    async def speak_out(self, reply: Reply, text: str | None = None, *, awaited: bool = False) -> None:
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
            self.report_fault(reply.fault)
        heard, reports = reply.heard_text(), reply.heard()
        self._note_posed(reply)
        if self.sounding:
            self._host.emit(AgentSpeechStopped(self._io.time_s, heard))
        self.sounding = False
        self.reply = self._committed = None
        self._host.reply_ended()
        await self._tidy(reply, reports)

    async def ask(self, reply: Reply, text: str) -> bool:
        """Ask ``text`` in ``reply``; returns when it was heard or cut: whether anything of it was heard."""
        part = reply.say(text)
        self._posed = posed = (reply, part)
        await self.speak_out(reply)
        if self._posed is posed:
            self._posed = None
        return part.heard

    def cue(self, pcm: Pcm) -> None:
        """Play a short sound at the player's rate, unless a reply is being prepared or spoken."""
        if self.reply is None:
            player = self._io.player
            player.enqueue(pcm, player.rate_hz, player.next_generation())

    def report_fault(self, fault: GloveError) -> None:
        """Tell that something failed."""
        self._host.emit(VoiceFault(self._io.time_s, fault.code, str(fault)))

    def reached(self, step: str, at: float) -> None:
        """The answer to a turn has come so far."""
        if self._committed is not None:
            self._host.reached(step, at)

    def follow_player(self) -> None:
        """Be told by the player what is heard."""
        follow_player(self._io, self.playback_started, lambda _: self.playback_drained())

    def playback_started(self, at: float) -> None:
        """The player handed the first sample of something to the sink, at ``at`` seconds on the media clock."""
        if self.reply is None or self.sounding:
            return
        self.sounding = True
        self._host.reply_sounds()
        self._host.emit(AgentSpeechStarted(at))
        if self._committed is not None and (metric := voice_to_voice(self.reply, *self._committed, at)) is not None:
            self._host.emit(metric)

    def playback_drained(self) -> None:
        """The player has nothing left."""
        if self.reply is not None:
            self.reply.sounds()
        self._drained.set()

    def _note_posed(self, reply: Reply) -> None:
        """``reply`` is over: note whether the question in it was heard."""
        if self._posed is not None and self._posed[0] is reply:
            self._posed[1].heard = reply.reached(self._posed[1])

    async def _tidy(self, reply: Reply, reports: list[HeardReport]) -> None:
        try:
            for report in reports:
                if report.reply_id:
                    await self._agent.report_heard(report.reply_id, report.text, report.complete)
        finally:
            await reply.close()
