from __future__ import annotations

import numpy as np
import pytest

from audio.gate import SpeechGate
from audio.pcm import Pcm, silence

PREROLL = 12_800


class Chunks:
    """Numbered sound: every sample of the stream is its own index."""

    def __init__(self) -> None:
        self.at = 0

    def next(self, size: int) -> Pcm:
        chunk = np.arange(self.at, self.at + size).astype(np.int16)
        self.at += size
        return chunk


def joined(chunks: list[Pcm]) -> list[int]:
    return np.concatenate([silence(0), *chunks]).tolist()


def feed(gate: SpeechGate, chunks: Chunks, samples: int, size: int) -> list[Pcm]:
    out: list[Pcm] = []
    for _ in range(samples // size):
        out += gate.feed(chunks.next(size))
    return out


@pytest.mark.parametrize("size", [128, 320, 512, 800, 5000])
def test_a_closed_gate_lets_nothing_through_and_keeps_the_last_moments(size: int) -> None:
    gate, chunks = SpeechGate(), Chunks()
    for _ in range(60_000 // size):
        assert gate.feed(chunks.next(size)) == []
        if chunks.at > PREROLL + size:
            assert PREROLL <= gate.buffered < PREROLL + size
    kept = joined(gate.open())
    assert kept == np.arange(chunks.at - len(kept), chunks.at).astype(np.int16).tolist()


def test_one_chunk_longer_than_the_preroll_is_kept_whole() -> None:
    gate, chunks = SpeechGate(), Chunks()
    gate.feed(chunks.next(20_000))
    assert gate.buffered == 20_000


def test_confirmed_speech_arrives_with_its_preroll_in_order_and_then_flows() -> None:
    gate, chunks = SpeechGate(), Chunks()
    feed(gate, chunks, 12_800, 320)
    gate.hold()
    assert gate.is_pending
    assert feed(gate, chunks, 3_200, 320) == []
    assert joined(gate.open()) == list(range(16_000))
    assert gate.is_open
    after = chunks.next(320)
    (through,) = gate.feed(after)
    assert through is after


def test_opening_without_a_hold_flushes_once() -> None:
    gate, chunks = SpeechGate(), Chunks()
    feed(gate, chunks, 640, 320)
    assert joined(gate.open()) == list(range(640))
    assert gate.open() == []
    assert gate.is_open


def test_a_cancelled_start_leaves_only_the_preroll_for_the_real_one() -> None:
    gate, chunks = SpeechGate(), Chunks()
    feed(gate, chunks, 12_800, 320)
    gate.hold()
    feed(gate, chunks, 16_000, 320)
    gate.cancel()
    assert not gate.is_pending
    assert not gate.is_open
    assert gate.buffered == PREROLL
    assert joined(gate.open()) == list(range(28_800 - PREROLL, 28_800))


def test_an_open_gate_ignores_cancel_and_hold() -> None:
    gate = SpeechGate()
    gate.open()
    gate.cancel()
    gate.hold()
    assert gate.is_open


@pytest.mark.parametrize("end", ["close", "reset"])
def test_closing_forgets_everything(end: str) -> None:
    gate, chunks = SpeechGate(), Chunks()
    feed(gate, chunks, 640, 320)
    gate.hold()
    getattr(gate, end)()
    assert not gate.is_pending
    assert gate.open() == []


def test_an_undecided_start_opens_by_itself_exactly_at_the_limit_with_everything() -> None:
    gate, chunks = SpeechGate(), Chunks()
    feed(gate, chunks, 12_800, 320)
    gate.hold()
    assert feed(gate, chunks, 80_000 - 12_800 - 320, 320) == []
    out = gate.feed(chunks.next(320))
    assert gate.is_open
    assert sum(chunk.size for chunk in out) == 80_000
    assert out[0][0] == 0


def test_empty_chunks_change_nothing() -> None:
    gate = SpeechGate()
    for _ in range(1000):
        gate.feed(silence(0))
    assert gate.open() == []
