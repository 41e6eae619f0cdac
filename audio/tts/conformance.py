"""What every voice must do, as checks that anybody can run against their own.

    await check_tts(lambda language: MyVoice(language))

The checks speak short English sentences. Each failure is an ``AssertionError`` that names the rule; no check waits
longer than ``PATIENCE_S``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np

from agents.base.conformance import same, true
from audio.tts.base import AudioChunk, PieceDone, TtsAdapter, TtsDone, TtsEvent, TtsFactory, TtsFault

Check = Callable[[TtsFactory], Awaitable[None]]

PATIENCE_S = 60.0
"""Longest wait for a voice, in seconds."""

FIRST, SECOND = "Good morning, everybody.", "How are you?"


async def check_tts(factory: TtsFactory) -> list[str]:
    """Run all checks. Returns the names of those that ran."""
    for check in CHECKS:
        async with asyncio.timeout(PATIENCE_S):
            await check(factory)
    return [check.__name__ for check in CHECKS]


async def speaks_pieces_in_order(factory: TtsFactory) -> None:
    """Sound of each piece, pieces in order, the end once and last."""
    events, voice = await _spoken(factory, FIRST, SECOND)
    same([type(event) for event in events if isinstance(event, TtsDone | TtsFault)], [TtsDone], "it ends once")
    true(isinstance(events[-1], TtsDone), "the end comes last")
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    true(voice.sample_rate_hz >= 8_000, "the rate is one of speech")
    seconds = sum(chunk.pcm.size for chunk in chunks) / voice.sample_rate_hz
    true(0.3 <= seconds <= 60, f"two short sentences take a plausible time, not {seconds:.1f} s")
    true(any(chunk.pcm.any() for chunk in chunks), "there is sound")
    for chunk in chunks:
        true(chunk.pcm.dtype == np.int16 and chunk.pcm.ndim == 1 and chunk.pcm.size > 0, "sound is int16, mono")
    pieces = [chunk.piece for chunk in chunks if chunk.piece is not None]
    same(pieces, sorted(pieces), "pieces are spoken in order")
    true(set(pieces) <= {0, 1}, "pieces are numbered from 0")


async def says_when_a_piece_is_over(factory: TtsFactory) -> None:
    """Where pieces are reported, each is once, in order, behind its sound; words do not come later."""
    events, voice = await _spoken(factory, FIRST, "…", SECOND)
    done = [event.piece for event in events if isinstance(event, PieceDone)]
    same(done, sorted(set(done)), "pieces are over once each, in order")
    if voice.reports_pieces:
        same(done, [0, 1, 2], "every piece is over at some time, one without words as well")
    over: set[int] = set()
    for event in events:
        if isinstance(event, PieceDone):
            over.add(event.piece)
        elif isinstance(event, AudioChunk):
            true(event.piece not in over, "no sound of a piece follows its end")


async def times_words_within_their_sound(factory: TtsFactory) -> None:
    """Where words are timed, their times ascend and lie within the sound of their piece."""
    events, _ = await _spoken(factory, FIRST)
    chunks = [event for event in events if isinstance(event, AudioChunk)]
    words = [word for chunk in chunks for word in chunk.words or ()]
    samples = sum(chunk.pcm.size for chunk in chunks)
    at = 0
    for word in words:
        true(at <= word.start <= word.end <= samples, f"the times of {word.word!r} ascend within the sound")
        at = word.start
    if words:
        same(len(words), len(FIRST.split()), "every word is timed")


async def speaks_what_was_sent_before_it_was_open(factory: TtsFactory) -> None:
    """Text and its end may be sent before ``open``."""
    voice = factory("en")
    events = _collected(voice)
    true(not voice.is_ready, "it is not ready before open")
    voice.send_text(FIRST)
    voice.flush()
    await voice.open()
    await _over(events)
    true(any(isinstance(event, AudioChunk) for event in events), "what was sent before open is spoken")
    true(isinstance(events[-1], TtsDone), "a response sent before open ends")
    await voice.destroy()


async def ends_without_words(factory: TtsFactory) -> None:
    """Nothing at all, and text without words, end like any response."""
    for pieces in ((), ("…",), ("", " ")):
        events, _ = await _spoken(factory, *pieces)
        true(isinstance(events[-1], TtsDone), f"a response of {pieces} ends")


async def is_silent_after_destroy(factory: TtsFactory) -> None:
    """Nothing follows ``destroy``, in mid-sentence, before ``open`` or twice; what is sent then is ignored."""
    for opened in (True, False):
        voice = factory("en")
        if opened:
            await voice.open()
            true(voice.is_ready, "it is ready after open")
        voice.send_text(FIRST)
        events = _collected(voice)
        await voice.destroy()
        await voice.destroy()
        begun = len(events)
        voice.send_text(SECOND)
        voice.flush()
        await asyncio.sleep(2)
        true(not voice.is_ready, "it is not ready after destroy")
        same(len(events), begun, "nothing follows destroy")


async def serves_several_responses_at_once(factory: TtsFactory) -> None:
    """Voices of one factory know nothing of each other."""
    spoken = await asyncio.gather(_spoken(factory, FIRST), _spoken(factory, SECOND))
    for events, _ in spoken:
        true(isinstance(events[-1], TtsDone), "each response ends by itself")


CHECKS: tuple[Check, ...] = (
    speaks_pieces_in_order,
    says_when_a_piece_is_over,
    times_words_within_their_sound,
    speaks_what_was_sent_before_it_was_open,
    ends_without_words,
    is_silent_after_destroy,
    serves_several_responses_at_once,
)


async def _spoken(factory: TtsFactory, *pieces: str) -> tuple[list[TtsEvent], TtsAdapter]:
    voice = factory("en")
    events = _collected(voice)
    await voice.open()
    for piece in pieces:
        voice.send_text(piece)
    voice.flush()
    await _over(events)
    fault = events[-1]
    if isinstance(fault, TtsFault):
        raise AssertionError(f"the voice works: {fault.error}")
    await voice.destroy()
    return events, voice


def _collected(voice: TtsAdapter) -> list[TtsEvent]:
    events: list[TtsEvent] = []
    voice.events.on(TtsEvent, events.append)
    return events


async def _over(events: list[TtsEvent]) -> None:
    while not events or not isinstance(events[-1], TtsDone | TtsFault):
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.1)
