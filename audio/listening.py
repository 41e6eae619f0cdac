"""The microphone's side of a session: who muted it, whether the talk key is held, what attention lets through.

Every frame of the room comes in here; what reaches the turn engine has passed the mute, the talk key or the ear.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from audio import earcons
from audio.events import AttentionChanged, VoiceEvent, VoiceFault, Wake
from audio.io.base import AudioIO
from audio.pcm import Pcm
from audio.turns.contract import Phase
from audio.turns.ears import Ears
from audio.turns.ptt import PushToTalk
from audio.voice_settings import Mute, VoiceSettings
from audio.wake.attention import Attending, Attention, AttentionMachine, Hearing
from audio.wake.base import WakeHeard
from audio.wake.ear import Ear
from audio.wake.phrases import is_stop, strip_wake_phrase

CUE_AFTER_S = 0.5
"""How long after the wake phrase it is confirmed by a sound: by then the user pauses, or is talking on."""


class ListeningHost(Protocol):
    """The session. Calls are synchronous."""

    def emit(self, event: VoiceEvent) -> None:
        """Publish an event."""
        ...

    def agent_busy(self) -> bool:
        """Whether a reply is being prepared or spoken."""
        ...

    def awaits_answer(self) -> bool:
        """Whether the user was asked something and has not answered."""
        ...

    def agent_sounds(self) -> bool:
        """Whether a reply or an announcement can be heard."""
        ...

    def cut_agent(self) -> None:
        """The user takes the floor."""
        ...

    def interrupt(self) -> None:
        """Cut the reply in progress."""
        ...

    def cue(self, pcm: Pcm) -> None:
        """Play a short sound unless something is being said."""
        ...

    def discarded(self, reason: str) -> None:
        """What was heard is no turn."""
        ...

    def changed(self) -> None:
        """The talk key is up."""
        ...

    def progress(self) -> object:
        """Something that differs from the last time whenever anything moved."""
        ...


class Listening:
    """What the microphone is heard for, moment by moment, while a session is started.

    Args:
        host: the session.
        io: the room.
        engine: turns what it hears into turns.
        settings: of the session.
        attending: when to listen; an open microphone when None.
    """

    def __init__(
        self,
        host: ListeningHost,
        io: AudioIO,
        engine: Ears,
        settings: VoiceSettings,
        attending: Attending | None,
    ) -> None:
        self._host = host
        self._io = io
        self._engine = engine
        self._settings = settings
        self._called = False
        self._cue: asyncio.TimerHandle | None = None
        self._last_progress: object = None
        self._phrases: tuple[str, ...] = ()
        self._attention: AttentionMachine | None = None
        starts_muted = settings.turn_mode == "manual" if settings.start_muted is None else settings.start_muted
        self._mute = Mute.START if starts_muted else Mute.NOBODY
        self._key = PushToTalk(self, settings.talk)
        detector = None
        if attending is not None and settings.turn_mode == "vad":
            self._attention = AttentionMachine(
                attending.settings,
                lambda: self.user_speaks or host.agent_busy() or host.awaits_answer(),
                self._moved,
                self._stalled,
            )
            detector = attending.detector if attending.settings.mode == "wake" else None
        if detector is not None:
            detector.reset()
            self._phrases = detector.phrases
            engine.trim = self._trim
        self._ear = Ear(
            engine,
            self,
            detector,
            io.player,
            full_duplex=lambda: io.full_duplex,
            latency_s=lambda: io.output_latency_s,
            constant_vad=io.vad is not None,
        )
        self._rest()

    def close(self) -> None:
        """Stop all timers and let go of the player; idempotent. The engine belongs to the owner."""
        self._drop_cue()
        self._key.reset()
        self._ear.close()
        if self._attention is not None:
            self._attention.close()
        if self._engine.vad is not None:
            self._engine.vad.set_resting(False)

    @property
    def muted(self) -> bool:
        """Whether the microphone is ignored."""
        return self._mute is not Mute.NOBODY

    @property
    def key_held(self) -> bool:
        """Whether the talk key is recording."""
        return self._key.recording

    @property
    def state(self) -> Attention:
        """The state of attention; AWAKE with an open microphone."""
        return Attention.AWAKE if self._attention is None else self._attention.state

    @property
    def refused(self) -> int:
        """Frames that were not 16-bit mono."""
        return self._ear.refused

    @property
    def user_speaks(self) -> bool:
        """Whether an utterance is being heard, recognised or waited for."""
        return self._key.recording or not self._engine.settled

    @property
    def invited(self) -> bool:
        """Whether the user has the appliance's attention just now, so that it should not speak by itself."""
        if self._attention is None or self._attention.settings.mode == "open":
            return False
        return self.state not in (Attention.ASLEEP, Attention.SOUNDING)

    def hearing(self) -> Hearing:
        """What speech may do now (``EarHost``)."""
        return Hearing.EVERYTHING if self._attention is None else self._attention.hearing

    def frame(self, frame: Pcm, sample: int) -> None:
        """One frame of the microphone."""
        if self._key.recording:
            self._ear.talk(frame, sample)
        elif not self.muted:
            self._ear.hear(frame, sample)
        elif self._mute is Mute.START:
            self._ear.keep(frame, sample)

    def mute(self, who: Mute) -> None:
        """Ignore the microphone; speech in progress is dropped."""
        fresh = not self.muted
        self._mute = who
        if who is Mute.USER:
            self._key.reset()
            self._host.changed()
        if not fresh and who is not Mute.USER:
            return
        self._ear.forget()
        if self._settings.turn_mode == "vad":
            self._engine.forget()
        if self._attention is not None:
            self._attention.sleep()

    def unmute(self, *who: Mute) -> None:
        """Hear the microphone again; with ``who``, only if one of them muted it."""
        if not who or self._mute in who:
            self._mute = Mute.NOBODY

    def press(self) -> bool:
        """The talk key is pressed. Returns whether an utterance is being recorded now."""
        return self._key.down()

    def release(self) -> None:
        """The talk key is released."""
        self._key.up()

    def cancel(self) -> None:
        """The talk key was pressed by mistake."""
        self._key.cancel()

    def speech(self) -> None:
        """Speech is established."""
        if self._attention is not None:
            self._attention.speech()

    def turn(self, *, spoken: bool) -> None:
        """A turn is committed."""
        self._called = False
        if self._attention is not None and spoken:
            self._attention.turn()

    def asked(self) -> None:
        """The user is being asked something and needs no wake word to answer."""
        if self._attention is not None:
            self._attention.ask()

    def false_start(self) -> None:
        """What might have become speech was none: whatever ended meanwhile waited for it."""
        if self._attention is not None:
            self._attention.settle()

    def utterance_over(self) -> None:
        """What was heard is no turn."""
        self._called = False
        if self._attention is not None:
            self._attention.settle()

    def reply_began(self, *, urgent: bool) -> None:
        """The appliance begins to say something, or to think about it."""
        if self._attention is not None:
            self._attention.reply(urgent=urgent)

    def reply_ended(self) -> None:
        """The last sample was handed to the sink, or the reply was cut."""
        if self._attention is not None:
            self._attention.settle(self._io.output_latency_s)

    def talk_open(self) -> bool:
        """Begin to record what is said while the key is held."""
        if self._mute is Mute.USER:
            self._host.discarded("muted")
            return False
        if self._attention is not None:
            self._attention.turn()
        if self._host.agent_busy():
            self._host.cut_agent()
        self._engine.hold(self._ear.recent(self._settings.talk.preroll_ms))
        return True

    def talk_commit(self) -> None:
        """The key was released."""
        self._engine.commit()
        self._host.changed()

    def talk_drop(self) -> None:
        """The key was pressed by mistake."""
        self._engine.forget()
        self._host.discarded("cancelled")

    def agent_sounds(self) -> bool:
        """Whether a reply or an announcement can be heard."""
        return self._host.agent_sounds()

    def woken(self, heard: WakeHeard) -> bool:
        """The wake phrase was said. What is being said ends. Returns whether the engine needs what came before."""
        if self._attention is None:
            return False
        self._host.emit(Wake(self._io.time_s, heard.phrase))
        asleep = self._attention.hearing is Hearing.NOTHING and not self._ear.deaf
        self._called = True
        if self._host.agent_sounds() or self.state is Attention.SOUNDING:
            self._host.interrupt()
        self._attention.wake()
        self._drop_cue()
        self._cue = asyncio.get_running_loop().call_later(CUE_AFTER_S, self._confirm)
        return asleep

    def _confirm(self) -> None:
        """Say that the phrase was heard, unless the user is talking on: echo cancellation would take words with it."""
        self._cue = None
        if self._engine.phase not in (Phase.TENTATIVE, Phase.SPEAKING, Phase.RESUMING):
            self._host.cue(earcons.heard(self._io.player.rate_hz))

    def _drop_cue(self) -> None:
        if self._cue is not None:
            self._cue.cancel()
            self._cue = None

    def _trim(self, text: str) -> str:
        return strip_wake_phrase(text, self._phrases, heard=self._called)

    def _is_stop(self, text: str) -> bool:
        return is_stop(text, self._phrases)

    def _moved(self, before: Attention, state: Attention) -> None:
        self._host.emit(AttentionChanged(self._io.time_s, state.value))
        self._rest()
        hearing = self.hearing()
        self._engine.takes_floor = self._is_stop if hearing is Hearing.STOP_WORDS else None
        if hearing is Hearing.NOTHING:
            self._called = False
            self._engine.forget()
            if before is Attention.AWAKE and not self.muted:
                self._host.cue(earcons.asleep(self._io.player.rate_hz))

    def _rest(self) -> None:
        """While attention is asleep nobody needs to know at once what is speech."""
        if self._engine.vad is not None:
            self._engine.vad.set_resting(self.state is Attention.ASLEEP)

    def _stalled(self) -> bool:
        """Whether anything moved since the last time; if not, end it: no state may last for ever."""
        progress = self._host.progress()
        if progress != self._last_progress:
            self._last_progress = progress
            return True
        self._host.emit(VoiceFault(self._io.time_s, "ERR_TURN_STALLED", "The conversation stood still and was ended."))
        self._key.reset()
        self._engine.forget()
        self._host.interrupt()
        return False
