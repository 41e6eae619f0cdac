"""What every recogniser must do, as checks that anybody can run against their own.

A *bench* for streaming recognisers takes the texts of utterances and gives, as an asynchronous context, an adapter that
is not connected and whose service recognises them, one per flush, whatever the sound::

    @asynccontextmanager
    async def bench(texts):
        async with my_fake_service(texts) as url:
            yield MyStt(url)

    await check_streaming_stt(bench)

Segment recognisers are handed real speech: ``await check_segment_stt(lambda: MyStt(), speech, "what is said")``. Each
failure is an ``AssertionError`` that names the rule; no check waits longer than ``PATIENCE_S``.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

import numpy as np

from agents.base import clock
from agents.base.conformance import same, true
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.stt.base import SegmentStt, StreamingStt, SttEvent, SttFinal, SttPartial, Transcript

Bench = Callable[[Sequence[str]], AbstractAsyncContextManager[StreamingStt]]
Make = Callable[[], SegmentStt]

PATIENCE_S = 60.0
"""Longest wait for an adapter, in seconds."""

AT_ONCE_S = 0.5


async def check_streaming_stt(bench: Bench) -> list[str]:
    """Run all checks of streaming recognisers. Returns the names of those that ran."""
    for check in STREAM_CHECKS:
        async with asyncio.timeout(PATIENCE_S):
            await check(bench)
    return [check.__name__ for check in STREAM_CHECKS]


async def check_segment_stt(make: Make, speech: Pcm, text: str) -> list[str]:
    """Run all checks of segment recognisers; ``speech`` is 16 kHz sound in which ``text`` is said."""
    for check in SEGMENT_CHECKS:
        stt = make()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await check(stt, speech, text)
        finally:
            stt.close()
            stt.close()
    return [check.__name__ for check in SEGMENT_CHECKS]


async def connects_and_disconnects(bench: Bench) -> None:
    """Connected is what says so; both ways may be asked for twice, and it can be connected again."""
    async with bench(["One."]) as stt:
        true(not stt.is_connected, "it is not connected before connect")
        await stt.disconnect()
        for _ in range(2):
            await stt.connect()
            true(stt.is_connected, "it is connected after connect")
        await stt.disconnect()
        await stt.disconnect()
        true(not stt.is_connected, "it is not connected after disconnect")
        await stt.connect()
        same(await _heard(stt), "One.", "it works after being connected again")
        await stt.disconnect()


async def recognises_utterances_in_order(bench: Bench) -> None:
    """One final per flush, in order; no partial is left behind."""
    async with bench(["One, two.", "Three.", "Four?"]) as stt:
        await stt.connect()
        for text in ("One, two.", "Three.", "Four?"):
            same(await _heard(stt), text, "each flush brings the next final")
            same(stt.current_partial, "", "a final ends the partial")
        await stt.disconnect()


async def answers_an_empty_flush_at_once(bench: Bench) -> None:
    """Nothing fed is nothing said: an empty final, without a wait and without using up an utterance."""
    async with bench(["Here."]) as stt:
        await stt.connect()
        began = clock.now()
        final = _next_final(stt)
        stt.flush_utterance()
        same((await final).text, "", "the final of nothing is empty")
        true(clock.now() - began <= AT_ONCE_S, "the final of nothing comes at once")
        same(await _heard(stt), "Here.", "an empty flush uses nothing up")
        await stt.disconnect()


async def takes_sound_in_any_pieces(bench: Bench) -> None:
    """Nothing, one sample, a second at once, read-only: everything is taken, and nothing is changed."""
    async with bench(["All of it."]) as stt:
        await stt.connect()
        sound = _speech(1.0)
        copy = sound.copy()
        sound.setflags(write=False)
        for piece in (silence(0), sound[:1], sound[1:], sound):
            stt.send_audio(piece)
        final = _next_final(stt)
        stt.flush_utterance()
        same((await final).text, "All of it.", "sound in any pieces is heard")
        true(np.array_equal(sound, copy), "the sound is not changed")
        await stt.disconnect()


async def drops_what_it_cannot_hear(bench: Bench) -> None:
    """Without a session sound is dropped without a word, and is not heard later."""
    async with bench(["Afterwards."]) as stt:
        stt.send_audio(_speech(1.0))
        same(stt.current_partial, "", "there is no partial without a session")
        await stt.connect()
        began = clock.now()
        final = _next_final(stt)
        stt.flush_utterance()
        same((await final).text, "", "what was said before is not heard later")
        true(clock.now() - began <= AT_ONCE_S, "nothing said is answered at once")
        same(await _heard(stt), "Afterwards.", "what is said then is heard")
        await stt.disconnect()


async def is_silent_after_disconnect(bench: Bench) -> None:
    """No event follows a disconnect, also not what was on its way."""
    async with bench(["Too late."]) as stt:
        await stt.connect()
        stt.send_audio(_speech(1.0))
        stt.flush_utterance()
        await stt.disconnect()
        events: list[SttEvent] = []
        stt.events.on(SttEvent, events.append)
        stt.send_audio(_speech(1.0))
        await asyncio.sleep(5)
        same(events, [], "nothing comes after disconnect")


async def shows_partials_as_it_says(bench: Bench) -> None:
    """The current partial is the one emitted last."""
    async with bench(["Something."]) as stt:
        seen: list[tuple[str, str]] = []
        stt.events.on(SttPartial, lambda event: seen.append((event.text, stt.current_partial)))
        await stt.connect()
        await _heard(stt)
        true(all(told == current for told, current in seen), "the current partial is the one emitted last")
        await stt.disconnect()


STREAM_CHECKS: tuple[Callable[[Bench], Awaitable[None]], ...] = (
    connects_and_disconnects,
    recognises_utterances_in_order,
    answers_an_empty_flush_at_once,
    takes_sound_in_any_pieces,
    drops_what_it_cannot_hear,
    is_silent_after_disconnect,
    shows_partials_as_it_says,
)


async def recognises_speech(stt: SegmentStt, speech: Pcm, text: str) -> None:
    """Most of what is said is written down, in trimmed text, with a language and plausible scores."""
    heard = await stt.recognise(speech)
    wanted, found = _words(text), _words(heard.text)
    true(len([word for word in wanted if word in found]) * 2 >= len(wanted), f"speech is recognised: {heard.text!r}")
    _plausible(heard)


async def writes_nothing_where_nothing_is_said(stt: SegmentStt, speech: Pcm, text: str) -> None:
    """No sound, one sample and silence are no words and no error."""
    for sound in (silence(0), silence(1), silence(2 * CAPTURE_RATE_HZ)):
        heard = await stt.recognise(sound)
        same(heard.text, "", "nothing said is nothing written")
        _plausible(heard)


async def keeps_nothing_between_calls(stt: SegmentStt, speech: Pcm, text: str) -> None:
    """The same sound gives the same text, also when asked at the same time, and is not changed."""
    copy = speech.copy()
    sound = speech.copy()
    sound.setflags(write=False)
    heard = [await stt.recognise(sound), *await asyncio.gather(stt.recognise(sound), stt.recognise(sound))]
    same({one.text for one in heard}, {heard[0].text}, "the same sound gives the same text")
    true(np.array_equal(sound, copy), "the sound is not changed")


async def declares_what_it_needs(stt: SegmentStt, speech: Pcm, text: str) -> None:
    """Its cost, the longest stretch and the silence that it adds make sense."""
    same(stt.kind, "segment", "a segment recogniser says so")
    true(stt.cost_s >= 0 and stt.max_seconds >= 5 and 0 <= stt.pad_s < 5, "declared figures make sense")


SEGMENT_CHECKS: tuple[Callable[[SegmentStt, Pcm, str], Awaitable[None]], ...] = (
    recognises_speech,
    writes_nothing_where_nothing_is_said,
    keeps_nothing_between_calls,
    declares_what_it_needs,
)


async def _heard(stt: StreamingStt) -> str:
    """The final of a second of sound, fed as a microphone would."""
    final = _next_final(stt)
    for _ in range(100):
        stt.send_audio(_speech(0.01))
        await asyncio.sleep(0.01)
    stt.flush_utterance()
    return (await final).text


def _next_final(stt: StreamingStt) -> asyncio.Future[SttFinal]:
    future: asyncio.Future[SttFinal] = asyncio.get_running_loop().create_future()
    off = stt.events.on(SttFinal, lambda event: None if future.done() else future.set_result(event))
    future.add_done_callback(lambda _: off())
    return future


def _speech(seconds: float) -> Pcm:
    time = np.arange(round(seconds * CAPTURE_RATE_HZ))
    return (3000 * np.sin(time / 12)).astype(np.int16)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _plausible(heard: Transcript) -> None:
    same(heard.text, heard.text.strip(), "texts are trimmed")
    true(bool(re.fullmatch("[a-z]{2,3}", heard.language)), "the language is a primary tag")
    true(heard.score is None or (math.isfinite(heard.score) and heard.score <= 0.01), "a score is a log probability")
    true(heard.no_speech is None or 0 <= heard.no_speech <= 1, "no_speech is a probability")
