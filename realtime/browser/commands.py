"""What a caller may ask for, and what is done about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from audio.pcm import FRAME_MS
from realtime.browser.protocol import (
    Audio,
    BargeIn,
    ClientMessage,
    Commit,
    Mute,
    Ping,
    Playback,
    PlaybackDone,
    Ptt,
    Say,
    SlotAnswer,
    SlotRefusal,
    SlotTouch,
    Speaker,
    Stop,
    TimerCommand,
)
from realtime.browser.room import PcmRoom
from realtime.browser.session import BrowserSession
from realtime.browser.wire import Message, timers_message

LAST_WORDS_S = 0.5
"""Longest wait for sound that arrived before the talk button was let go."""


class Commands:
    """Carries out the messages of a caller.

    Args:
        session: the session.
        room: its room.
        post: answers the caller.
    """

    def __init__(self, session: BrowserSession, room: PcmRoom, post: Callable[[Message], None]) -> None:
        self._session = session
        self._room = room
        self._post = post

    async def take(self, message: ClientMessage) -> None:
        """Do what ``message`` says."""
        voice, speaker = self._session.voice, self._room.speaker
        match message:
            case Playback():
                speaker.report(message.epoch, message.position)
            case PlaybackDone():
                speaker.heard_all(message.turnId)
            case Audio():
                self._room.speaker_works = message.speaker
            case Say():
                voice.say_to_agent(message.text)
            case BargeIn():
                self._barge_in()
            case Stop():
                voice.interrupt()
            case Mute():
                self._mute(muted=message.t == "mute")
            case Ptt():
                await self._talk(message.phase)
            case Commit():
                voice.commit_turn()
            case SlotAnswer():
                self._answer(message)
            case SlotRefusal():
                self._refuse(message)
            case SlotTouch():
                self._session.mind.agent.display.touch(message.id)
            case TimerCommand():
                await self._timer(message)
            case Ping():
                self._post({"t": "pong"})
            case Speaker():
                pass  # one speaker per room: there is nothing to choose

    def _barge_in(self) -> None:
        if self._session.voice.current_mode == "speaking":
            self._session.voice.interrupt()
        else:
            # The caller has paused its own speaker and must not be left so.
            self._post({"t": "resume"})

    def _mute(self, *, muted: bool) -> None:
        voice = self._session.voice
        if muted:
            voice.mute()
            self._room.microphone.forget()
        else:
            voice.unmute()
        self._post({"t": "muted", "muted": voice.is_muted})

    async def _talk(self, phase: str) -> None:
        voice = self._session.voice
        if phase == "down":
            voice.ptt_down()
        elif phase == "up":
            await self._last_words()
            voice.ptt_up()
        else:
            voice.ptt_cancel()
        self._post({"t": "muted", "muted": voice.is_muted})

    async def _last_words(self) -> None:
        """What was said before the button was let go has arrived and waits to be heard."""
        microphone = self._room.microphone
        try:
            async with asyncio.timeout(LAST_WORDS_S):
                while microphone.waiting:
                    await asyncio.sleep(FRAME_MS / 1000)
        except TimeoutError:
            microphone.forget()

    def _answer(self, message: SlotAnswer) -> None:
        display = self._session.mind.agent.display
        if not display.resolve(message.id, message.value) and not display.remove_slot(message.id):
            self._gone(message.id)

    def _refuse(self, message: SlotRefusal) -> None:
        display = self._session.mind.agent.display
        if not display.reject(message.id) and not display.remove_slot(message.id):
            self._gone(message.id)

    def _gone(self, slot_id: str) -> None:
        self._post({"t": "slot_resolve", "id": slot_id, "answered": False, "value": None})

    async def _timer(self, message: TimerCommand) -> None:
        timers = self._session.mind.timers
        if message.t == "timer_dismiss":
            timers.dismiss(message.id)
        elif message.id is not None:
            await timers.cancel(message.id)
        self._post(timers_message(timers))
