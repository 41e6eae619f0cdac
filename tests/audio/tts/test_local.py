import asyncio

import numpy as np
import pytest

from agents.base.clock import infer, now
from agents.base.errors import GloveVoiceError, InputError
from audio.pcm import silence
from audio.tts.base import AudioChunk, PieceDone, TtsDone, TtsEvent, TtsFault, WordTiming
from audio.tts.local import SentenceTts, Speech
from audio.tts.trim import trim_silence


class Counting(SentenceTts):
    """One sample per character and millisecond, at 1 kHz; 100 ms of work per part."""

    def __init__(self, lead_s: float | None = None) -> None:
        super().__init__(lead_s=lead_s)
        self.rendered: list[str] = []
        self.seen: list[TtsEvent] = []
        self.events.on(TtsEvent, self.seen.append)

    @property
    def sample_rate_hz(self) -> int:
        return 1000

    async def prepare(self) -> None:
        await asyncio.sleep(1)

    async def render(self, text: str) -> Speech:
        def work() -> Speech:
            self.rendered.append(text)
            if "break" in text:
                raise ValueError("broken")
            return Speech(silence(10 * len(text)), (WordTiming(text.split()[0], 0, 5),))

        return await infer(work, cost_s=0.1)

    def sound(self, piece: int) -> list[AudioChunk]:
        return [event for event in self.seen if isinstance(event, AudioChunk) and event.piece == piece]


async def test_pieces_are_spoken_in_order_in_short_slices() -> None:
    tts = Counting()
    tts.send_text("x" * 45)
    tts.send_text(" 🙂 ")
    assert not tts.is_ready
    await tts.open()
    assert tts.is_ready
    tts.send_text("short", flush=True)
    tts.flush()
    tts.flush()
    await asyncio.sleep(1)
    assert [chunk.pcm.size for chunk in tts.sound(0)] == [200, 200, 50]
    assert [chunk.words is not None for chunk in tts.sound(0)] == [True, False, False]
    done = [event for event in tts.seen if not isinstance(event, AudioChunk)]
    assert done == [PieceDone(0), PieceDone(1), PieceDone(2), TtsDone()]
    assert [event.type for event in tts.seen[:4]] == ["audio_chunk"] * 3 + ["piece_done"]


async def test_a_long_piece_begins_before_it_is_all_made() -> None:
    tts = Counting()
    await tts.open()
    sentence = "This is one of many sentences that follow one another in a single piece. "
    tts.send_text(sentence * 8)
    await asyncio.sleep(0.15)
    assert tts.sound(0)
    assert len(tts.rendered) <= 2
    await asyncio.sleep(3)
    assert "".join(tts.rendered) == sentence * 8
    starts = [chunk.words[0].start for chunk in tts.sound(0) if chunk.words]
    assert starts == [10 * len(sentence) * k for k in range(8)]


async def test_synthesis_runs_only_a_bounded_time_ahead() -> None:
    tts = Counting(lead_s=2.0)
    await tts.open()
    for _ in range(100):
        tts.send_text("x" * 50)
    opened = now()
    for _ in range(30):
        await asyncio.sleep(1)
        emitted_s = sum(chunk.pcm.size for piece in range(100) for chunk in tts.sound(piece)) / 1000
        assert emitted_s - (now() - opened) <= 2.3
    assert emitted_s > 29
    await tts.destroy()


async def test_a_failure_is_told_once_by_name() -> None:
    tts = Counting()
    await tts.open()
    for text in ("fine", "break", "after"):
        tts.send_text(text)
    tts.flush()
    await asyncio.sleep(2)
    faults = [event for event in tts.seen if isinstance(event, TtsFault)]
    assert len(faults) == 1
    assert tts.seen[-1] is faults[0]
    assert isinstance(faults[0].error, GloveVoiceError)
    assert faults[0].error.code == "ERR_TTS_SYNTHESIS"
    assert "broken" in faults[0].error.message
    assert not tts.is_ready
    assert tts.rendered == ["fine", "break"]


async def test_after_destroy_nothing_follows() -> None:
    tts = Counting()
    await tts.open()
    tts.send_text("x" * 100)
    tts.send_text("y" * 100)
    await asyncio.sleep(0.05)
    await tts.destroy()
    await tts.destroy()
    tts.send_text("dead")
    await asyncio.sleep(5)
    assert tts.seen == []
    assert not tts.is_ready


async def test_destroy_from_inside_an_event() -> None:
    tts = Counting()
    tasks: list[asyncio.Task[None]] = []
    tts.events.on(AudioChunk, lambda _: tasks.append(asyncio.ensure_future(tts.destroy())))
    await tts.open()
    tts.send_text("x" * 100)
    await asyncio.sleep(1)
    assert len(tts.sound(0)) <= 2
    assert not [event for event in tts.seen if not isinstance(event, AudioChunk)]
    await asyncio.gather(*tasks)


async def test_destroy_while_opening() -> None:
    tts = Counting()
    opening = asyncio.ensure_future(tts.open())
    tts.send_text("hello")
    await asyncio.sleep(0.5)
    await tts.destroy()
    await opening
    await asyncio.sleep(1)
    assert not tts.is_ready
    assert tts.rendered == []


async def test_too_much_text_and_text_after_the_end_are_refused() -> None:
    tts = Counting()
    tts.send_text("x" * 999_999)
    with pytest.raises(InputError) as refusal:
        tts.send_text("xx")
    assert refusal.value.code == "ERR_TTS_TEXT_TOO_LONG"
    tts.flush()
    with pytest.raises(RuntimeError):
        tts.send_text("x")


def test_silence_around_speech_is_shortened() -> None:
    loud = np.full(2000, 3000, np.int16)
    pcm = np.concatenate((silence(5000), loud, silence(9000)))
    trimmed, cut = trim_silence(pcm, 10_000, lead_ms=30, tail_ms=350)
    assert cut == 4700
    assert trimmed.size == 300 + 2000 + 3500
    assert trim_silence(silence(1000), 10_000)[0].size == 0
    assert trim_silence(silence(3), 10_000)[0].size == 0
