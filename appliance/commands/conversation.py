"""One conversation between files or pipes and the appliance, from the first sample to the last."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from agents.base import clock
from agents.base.errors import GloveError, InputError
from appliance.commands import exits
from appliance.commands.talk import TalkOptions
from appliance.config.schema import GloveConfig
from appliance.daemon.alerts import Alerts
from appliance.measured.event_log import EventLog
from appliance.session.build import Session, load_parts
from appliance.streams import STREAM, standard_input, standard_output
from audio.events import VoiceEvent
from audio.io.files import StereoSink, WavSource
from audio.io.pipe import PipeSink, PipeSource
from audio.io.pump import PumpRoom, SilentSource, Sink, Source
from audio.io.wavfile import read_wav

TAIL_S = 0.3
"""Silence recorded after the last sound."""

REMOTE_TAIL_S = 4.0
"""The same where a provider hears: it takes a moment to say that the user has spoken."""

LONGEST_TAIL_S = 120.0
"""Longest time that a conversation may go on after its input has ended."""


def run_talk(options: TalkOptions, config: GloveConfig) -> int:
    """Hold the conversation. Returns the exit code.

    Raises:
        InputError: the recording cannot be used, or a file cannot be written.
        GloveError: something failed on the way; what was recorded up to then is kept.
    """
    if options.pace == "fast":
        return clock.run_virtual(talk(options, config))
    return asyncio.run(talk(options, config))


async def talk(options: TalkOptions, config: GloveConfig) -> int:
    """``run_talk`` inside a loop."""
    async with AsyncExitStack() as living:
        room = PumpRoom(_source(options), _sink(options))
        living.push_async_callback(room.close)
        room.input_open = not options.say
        log = living.enter_context(_event_log(options))
        # Nothing can ring once the file has ended.
        parts = await load_parts(config, lasting_timers=False)
        living.push_async_callback(parts.close)
        session = await parts.session(room)
        living.push_async_callback(session.close)
        session.voice.events.on(VoiceEvent, log.write)
        alerts = Alerts(session.voice, parts.mind.timers, parts.language)
        living.push_async_callback(alerts.close)
        await session.start()
        alerts.start()
        tail_s = TAIL_S if config.engine.kind == "cascade" else REMOTE_TAIL_S
        await _converse(options, session, room, tail_s, pushed=config.turns.mode == "manual")
    if room.failed is not None and room.failed.code != "ERR_PIPE_CLOSED":
        raise room.failed
    if log.broken:
        raise GloveError("ERR_DISK_FULL", f"Not all events could be written to {options.events}.", "Free some space.")
    return 0


async def _converse(options: TalkOptions, session: Session, room: PumpRoom, tail_s: float, *, pushed: bool) -> None:
    """``pushed``: turns are committed by hand; what is heard then counts as one press of the button."""
    voice = session.voice
    for line in options.say:
        voice.say_to_agent(line)
        await _until(lambda: voice.settled or voice.listens_for_answer, room)
    if pushed:
        voice.unmute()
    room.input_open = True
    await room.input_ended.wait()
    if pushed:
        voice.commit_turn()
    ended = clock.now()
    while room.failed is None and clock.now() - ended < LONGEST_TAIL_S:
        await _until(lambda: voice.settled, room, ended + LONGEST_TAIL_S)
        quiet_since = clock.now()
        while voice.settled and clock.now() - quiet_since < tail_s:
            await asyncio.sleep(0.05)
        if voice.settled:
            return


async def _until(condition: Callable[[], bool], room: PumpRoom, deadline: float | None = None) -> None:
    while not condition() and room.failed is None and (deadline is None or clock.now() < deadline):
        await asyncio.sleep(0.02)


def _source(options: TalkOptions) -> Source:
    if options.source is None:
        return SilentSource(0.0)
    if options.live:
        return PipeSource(standard_input().fileno())
    audio = read_wav(options.source)
    if audio.truncated:
        exits.say_error(f"{options.source} holds less than its header promises; what is there is heard.")
    return WavSource(audio)


def _sink(options: TalkOptions) -> Sink:
    if options.out == STREAM:
        return PipeSink(standard_output().fileno())
    # A pipe can be read only once: there the record of the user is what the session hears.
    again = options.source is not None and options.source.is_file()
    return StereoSink(options.out, options.source if again else None)


@contextmanager
def _event_log(options: TalkOptions) -> Generator[EventLog]:
    path = options.events
    if path is None and options.live:
        yield EventLog(sys.stderr)
        return
    try:
        # Half a character (a command line may hold one) becomes a JSON escape instead of costing the whole event.
        stream = (path or Path(os.devnull)).open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as fault:
        raise InputError("ERR_OUTPUT", f"--events: {path} cannot be written: {fault.strerror}.", cause=fault) from fault
    with stream:
        yield EventLog(stream)
