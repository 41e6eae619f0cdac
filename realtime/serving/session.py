"""One client's session: what it asks for, what it says, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from audio.pcm import CAPTURE_RATE_HZ, Pcm
from audio.stt.base import Transcript
from realtime.s2s.turn_detection import SemanticVad
from realtime.serving import commands
from realtime.serving.codec import decoded, rate_hz
from realtime.serving.contract import Engine, Line
from realtime.serving.conversation import Conversation
from realtime.serving.items import Item, Part, new_id
from realtime.serving.judging import hold_ms
from realtime.serving.limits import DEFAULT, Limits
from realtime.serving.listening import Began, Heard, Listening, Paused
from realtime.serving.making import Made, made_item
from realtime.serving.outbox import Outbox
from realtime.serving.planning import check_texts, planned
from realtime.serving.recognising import recognised
from realtime.serving.refusal import Refusal
from realtime.serving.response import Response
from realtime.serving.settings import SessionSettings, changed

log = structlog.get_logger(__name__)

SHORTEST_TURN_S = 0.1
GOING_AWAY = 1001
GOODBYE_S = 1.0
"""How long the last words to a client may take."""

READER_SHARE = 4
"""Requests are still read while an answer waits for the client to read, so that it can be stopped."""


class Session:
    """Serves one client.

    Args:
        line: to the client.
        engine: hears, thinks and speaks.
        settings: what it begins with.
        limits: how much the client may ask for.
    """

    def __init__(
        self, line: Line, engine: Engine, settings: SessionSettings | None = None, limits: Limits = DEFAULT
    ) -> None:
        self.id = new_id("sess")
        self.settings = settings or SessionSettings()
        self._line = line
        self._engine = engine
        self._limits = limits
        self._outbox = Outbox(line, limits.unsent_events, limits.reads_s)
        self._scope = Scope(f"realtime session {self.id}")
        self._conversation = Conversation(limits.items)
        self._listening = Listening(engine, limits)
        self._judge = engine.detector()
        self._active: Response | None = None
        self._beside: list[Response] = []
        self._answer_due = False
        self._has_spoken = False
        self._turn_id = new_id("item")
        self._paused: tuple[Paused, Transcript | None] | None = None
        self._expires_at_s = 0

    async def serve(self) -> None:
        """Serve until the client hangs up, the session is over, or the client does not read."""
        self._expires_at_s = round(clock.wall().timestamp() + self._limits.session_s)
        reading = asyncio.ensure_future(self._read())
        sending = asyncio.ensure_future(self._outbox.run())
        reason = ""
        try:
            await asyncio.wait({reading, sending}, return_when=asyncio.FIRST_COMPLETED)
            reason = await self._end_of(reading, sending)
        finally:
            for task in (reading, sending):
                task.cancel()
            await asyncio.wait({reading, sending})
            await self._scope.close()
            self._listening.close()
            await self._line.close(GOING_AWAY, reason)

    async def _end_of(self, reading: asyncio.Future[str], sending: asyncio.Future[None]) -> str:
        """Why the session is over. What the client was told last is still sent."""
        if sending.done():
            fault = sending.exception()
            log.info("a client is gone", reason=str(fault))
            return str(fault)
        if (fault := reading.exception()) is not None:
            if isinstance(fault, ConnectionError):
                return str(fault)
            log.error("a client could not be served", error=repr(fault), exc_info=fault)
            self.put(Refusal("server_error", "The session failed.", kind="server_error").told())
        self._answer_due = False
        for answer in (self._active, *self._beside):
            if answer is not None:
                answer.cancel("client_cancelled")
        await self._say_goodbye(sending)
        return "" if fault is not None else reading.result()

    async def _say_goodbye(self, sending: asyncio.Future[None]) -> None:
        flushing = asyncio.ensure_future(self._outbox.flushed())
        await asyncio.wait({sending, flushing}, timeout=GOODBYE_S, return_when=asyncio.FIRST_COMPLETED)
        flushing.cancel()

    async def _read(self) -> str:
        """Do what the client asks for. Returns why the session is over."""
        await self._listening.detect(self.settings.audio.input.turn_detection)
        self.put({"type": "session.created", "session": self._told()})
        ends_at = clock.now() + self._limits.session_s
        while True:
            try:
                async with asyncio.timeout(min(ends_at - clock.now(), self._limits.idle_s)):
                    text = await self._line.receive()
            except TimeoutError:
                return self._out_of_time(clock.now() >= ends_at)
            if text is None:
                return ""
            await self._serve(text)
            await self._outbox.room(READER_SHARE)

    def _out_of_time(self, expired: bool) -> str:
        if expired:
            minutes = self._limits.session_s / 60
            refusal = Refusal("session_expired", f"The session has reached its longest time of {minutes:g} minutes.")
        else:
            refusal = Refusal("session_idle", f"Nothing was asked for {self._limits.idle_s:g} seconds.")
        self.put(refusal.told())
        return refusal.code

    async def _serve(self, text: str) -> None:
        event_id: str | None = None
        try:
            message = commands.message_of(text)
            named = message.get("event_id")
            event_id = named if isinstance(named, str) else None
            await self._do(commands.command_of(message))
        except Refusal as refusal:
            self.put(refusal.told(event_id))
        except GloveError as fault:
            log.warning("a request failed", code=fault.code, error=fault.message)
            self.put(Refusal(fault.code, str(fault), kind="server_error").told(event_id))

    async def _do(self, command: commands.Command) -> None:
        match command:
            case commands.AppendAudio():
                await self._append(command)
            case commands.UpdateSession():
                await self._update(command)
            case commands.CommitAudio():
                self._commit_buffer()
            case commands.ClearAudio():
                self._listening.clear()
                self._paused = None
                self.put({"type": "input_audio_buffer.cleared"})
            case commands.CreateItem():
                self._create(command)
            case commands.RetrieveItem():
                item = self._conversation.get(command.item_id, "retrieve")
                self.put({"type": "conversation.item.retrieved", "item": item.told()})
            case commands.DeleteItem():
                self._conversation.remove(self._conversation.get(command.item_id, "delete"))
                self.put({"type": "conversation.item.deleted", "item_id": command.item_id})
            case commands.TruncateItem():
                self._truncate(command)
            case commands.CreateResponse():
                self._respond(command.response or commands.ResponseWishes())
            case commands.CancelResponse():
                self._cancel(command.response_id)
            case _:
                raise AssertionError(f"no way to serve {type(command).__name__}")

    def put(self, event: dict[str, Any]) -> None:
        """See ``Audience``."""
        self._outbox.put(event)

    async def room(self) -> None:
        """See ``Audience``."""
        await self._outbox.room()

    def keep(self, item: Item) -> None:
        """See ``Audience``."""
        previous = self._conversation.add(item)
        self._has_spoken = self._has_spoken or item.speech is not None
        self.put({"type": "conversation.item.added", "previous_item_id": previous, "item": item.told()})

    def kept(self, item: Item) -> None:
        """See ``Audience``."""
        previous = self._conversation.before(item)
        self.put({"type": "conversation.item.done", "previous_item_id": previous, "item": item.told()})

    def over(self, response: Response) -> None:
        """See ``Audience``. There are no rates that are limited here, and that is what clients are told."""
        self.put({"type": "rate_limits.updated", "rate_limits": []})
        if response in self._beside:
            self._beside.remove(response)
        if response is self._active:
            self._active = None
            if self._answer_due and not self._scope.closed:
                self._answer_turn()

    def _told(self) -> dict[str, Any]:
        return self.settings.told(self.id, self._expires_at_s)

    async def _update(self, command: commands.UpdateSession) -> None:
        settings = changed(self.settings, command.session)
        check_texts(settings.instructions, settings.tools, self._limits, "session")
        if self._has_spoken and settings.audio.output.voice != self.settings.audio.output.voice:
            message = "The voice cannot change any more: it has been heard."
            raise Refusal("cannot_update_voice", message, param="session.audio.output.voice")
        self.settings = settings
        await self._listening.detect(settings.audio.input.turn_detection)
        self.put({"type": "session.updated", "session": self._told()})

    async def _append(self, command: commands.AppendAudio) -> None:
        sound = self.settings.audio.input.format
        for step in self._listening.to_capture_rate(decoded(command.audio, sound), rate_hz(sound)):
            for heard in await self._listening.hear(step):
                await self._heard(heard)
            if self._paused is not None and self._listening.is_over():
                self._turn_over(*self._paused)

    async def _heard(self, heard: Heard) -> None:
        detection = self.settings.audio.input.turn_detection
        if isinstance(heard, Began):
            self._turn_id = new_id("item")
            event = {"audio_start_ms": _ms(heard.start), "item_id": self._turn_id}
            self.put({"type": "input_audio_buffer.speech_started", **event})
            if detection is not None and detection.interrupt_response and self._active is not None:
                self._active.cancel("turn_detected")
        elif isinstance(detection, SemanticVad) and not heard.forced:
            await self._judge_pause(detection, heard)
        else:
            self._turn_over(heard, None)

    async def _judge_pause(self, detection: SemanticVad, paused: Paused) -> None:
        """Find out how long to wait. The client's further sound waits meanwhile, in its connection."""
        words = await recognised(self._engine, paused.sound, self._language_hint)
        self._paused = paused, words
        self._listening.hold(await hold_ms(self._judge, detection, words, paused, self._conversation))

    def _turn_over(self, paused: Paused, words: Transcript | None) -> None:
        self._paused = None
        self._listening.take_until(paused.end)
        event = {"audio_end_ms": _ms(paused.end), "item_id": self._turn_id}
        self.put({"type": "input_audio_buffer.speech_stopped", **event})
        self._commit(paused.sound, words)
        detection = self.settings.audio.input.turn_detection
        if detection is None or not detection.create_response:
            return
        self._answer_turn()

    def _answer_turn(self) -> None:
        """Answer what the user has said: now, or after the answer that is under way."""
        self._answer_due = self._active is not None
        if self._answer_due:
            return
        try:
            self._respond(commands.ResponseWishes())
        except Refusal as refusal:
            self.put(refusal.told())

    def _commit_buffer(self) -> None:
        if self._listening.held < SHORTEST_TURN_S * CAPTURE_RATE_HZ:
            held_ms = _ms(self._listening.held)
            message = f"There are {held_ms} ms of sound to commit; a turn has {SHORTEST_TURN_S * 1000:g} ms or more."
            raise Refusal("input_audio_buffer_commit_empty", message)
        self._paused = None
        self._commit(self._listening.take(), None)

    def _commit(self, sound: Pcm, words: Transcript | None) -> None:
        part = Part("input_audio")
        item = Item("message", id=self._turn_id, role="user", parts=[part])
        item.known.clear()
        self._turn_id = new_id("item")
        previous = self._conversation.add(item)
        event = {"item_id": item.id, "previous_item_id": previous}
        self.put({"type": "input_audio_buffer.committed", **event})
        self._tell_item(item, previous)
        self._scope.spawn(self._find_words(item, [(part, sound)], words), "recognise")

    def _create(self, command: commands.CreateItem) -> None:
        made = made_item(command.item, self.settings.audio.input.format, self._limits)
        self._tell_item(made.item, self._conversation.add(made.item, command.previous_item_id))
        self._recognise(made)

    def _recognise(self, made: Made) -> None:
        if made.sounds:
            self._scope.spawn(self._find_words(made.item, made.sounds), "recognise")

    def _tell_item(self, item: Item, previous: str | None) -> None:
        for kind in ("added", "done"):
            self.put({"type": f"conversation.item.{kind}", "previous_item_id": previous, "item": item.told()})

    @property
    def _language_hint(self) -> str | None:
        wanted = self.settings.audio.input.transcription
        return wanted.language.split("-")[0].lower() if wanted is not None and wanted.language else None

    async def _find_words(
        self, item: Item, sounds: Sequence[tuple[Part, Pcm]], words: Transcript | None = None
    ) -> None:
        told = self.settings.audio.input.transcription is not None
        try:
            for part, sound in sounds:
                place = {"item_id": item.id, "content_index": item.parts.index(part)}
                try:
                    found = words or await recognised(self._engine, sound, self._language_hint)
                except GloveError as fault:
                    log.warning("speech could not be recognised", code=fault.code, error=fault.message)
                    self._tell_words("failed", place, error=_complaint(fault))
                    continue
                part.text, item.language = found.text, found.language
                if told:
                    usage = {"type": "duration", "seconds": sound.size / CAPTURE_RATE_HZ}
                    self._tell_words("completed", place, transcript=found.text, usage=usage)
        finally:
            item.known.set()

    def _tell_words(self, what: str, place: dict[str, Any], **fields: Any) -> None:
        self.put({"type": f"conversation.item.input_audio_transcription.{what}", **place, **fields})

    def _truncate(self, command: commands.TruncateItem) -> None:
        item = self._conversation.get(command.item_id, "truncate")
        speech = item.speech
        if speech is None or command.content_index:
            raise Refusal("invalid_value", "Only what was spoken here can be truncated.", param="content_index")
        if command.audio_end_ms > speech.milliseconds:
            message = f"The sound has {speech.milliseconds} ms, which is less than {command.audio_end_ms} ms."
            raise Refusal("invalid_value", message, param="audio_end_ms")
        played = command.audio_end_ms * speech.rate_hz // 1000
        item.heard = "complete" if speech.tracker.complete(played) else "interrupted"
        item.parts[0].text = speech.tracker.heard(played)
        event = {"item_id": item.id, "content_index": 0, "audio_end_ms": command.audio_end_ms}
        self.put({"type": "conversation.item.truncated", **event})

    def _respond(self, wishes: commands.ResponseWishes) -> None:
        beside = wishes.conversation == "none"
        if not beside and self._active is not None:
            message = f"An answer is under way already: {self._active.id}."
            raise Refusal("conversation_already_has_active_response", message)
        if len(self._beside) >= self._limits.out_of_band:
            message = f"{self._limits.out_of_band} answers beside the conversation are under way already."
            raise Refusal("too_many_responses", message)
        plan = planned(self.settings, wishes, self._input(wishes), self._limits)
        response = Response(plan, self._engine, self, self._limits)
        if beside:
            self._beside.append(response)
        else:
            self._active = response
        response.start(self._scope)

    def _input(self, wishes: commands.ResponseWishes) -> list[Item]:
        if wishes.input is None:
            return list(self._conversation)
        items: list[Item] = []
        for given in wishes.input:
            if isinstance(given, commands.ItemReference):
                items.append(self._conversation.get(given.id, "reference"))
            else:
                made = made_item(given, self.settings.audio.input.format, self._limits)
                self._recognise(made)
                items.append(made.item)
        return items

    def _cancel(self, response_id: str | None) -> None:
        under_way = [one for one in (self._active, *self._beside) if one is not None]
        wanted = (
            self._active if response_id is None else next((one for one in under_way if one.id == response_id), None)
        )
        if wanted is None:
            raise Refusal("response_cancel_not_active", "There is no such answer under way.", param="response_id")
        wanted.cancel("client_cancelled")


def _ms(samples: int) -> int:
    return samples * 1000 // CAPTURE_RATE_HZ


def _complaint(fault: GloveError) -> dict[str, Any]:
    return {"type": "server_error", "code": fault.code, "message": fault.message}
