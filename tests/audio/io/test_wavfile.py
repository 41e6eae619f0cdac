from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import threading
import tracemalloc
import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base.errors import InputError
from audio.io.wavfile import read_wav
from audio.pcm import Pcm

INTEGER, FLOAT, ALAW, MULAW, EXTENSIBLE = 1, 3, 6, 7, 0xFFFE


def fmt_chunk(codec: int, channels: int, rate: int, width: int, *, extensible: bool = False, bits: int = 0) -> bytes:
    bits = bits or width * 8
    tag = EXTENSIBLE if extensible else codec
    body = struct.pack("<HHIIHH", tag, channels, rate, rate * channels * width, channels * width, bits)
    if extensible:
        guid_tail = bytes.fromhex("000000001000800000aa00389b71")
        body += struct.pack("<HHI", 22, bits, 0) + struct.pack("<H", codec) + guid_tail
    return b"fmt " + struct.pack("<I", len(body)) + body


def chunk(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def wav(*chunks: bytes, magic: bytes = b"RIFF") -> bytes:
    body = b"WAVE" + b"".join(chunks)
    return magic + struct.pack("<I", len(body)) + body


def encode(samples: npt.NDArray[np.float64], codec: int, width: int) -> bytes:
    """Samples of -1…1 (shape frames x channels) in a WAV encoding."""
    flat = samples.reshape(-1)
    if codec == FLOAT:
        return flat.astype(f"<f{width}").tobytes()
    if width == 1:
        return np.clip(np.rint(flat * 128 + 128), 0, 255).astype(np.uint8).tobytes()
    whole = np.clip(np.rint(flat * 2.0 ** (8 * width - 1)), -(2.0 ** (8 * width - 1)), 2.0 ** (8 * width - 1) - 1)
    raw = whole.astype("<i8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(raw[:, :width]).tobytes()


def tone(frames: int, channels: int = 1, rate: int = 16_000) -> npt.NDArray[np.float64]:
    mono = 0.5 * np.sin(2 * np.pi * 440 * np.arange(frames) / rate)
    return np.repeat(mono[:, None], channels, axis=1)


def sound(data: bytes, rate: int = 16_000) -> Pcm:
    return read_wav(io.BytesIO(data)).read(rate)


@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 6, 64])
@pytest.mark.parametrize(("codec", "width"), [(1, 1), (1, 2), (1, 3), (1, 4), (3, 4), (3, 8)])
def test_every_encoding_sounds_the_same(codec: int, width: int, channels: int, extensible: bool) -> None:
    data = wav(
        fmt_chunk(codec, channels, 16_000, width, extensible=extensible),
        chunk(b"data", encode(tone(3_000, channels), codec, width)),
    )
    error = np.abs(sound(data) - tone(3_000)[:, 0] * 32768).max()
    assert error <= (130 if width == 1 else 1)


def test_sixteen_bit_mono_is_passed_on_bit_by_bit() -> None:
    every = np.arange(-32768, 32768).astype("<i2")
    assert np.array_equal(sound(wav(fmt_chunk(1, 1, 16_000, 2), chunk(b"data", every.tobytes()))), every)


@pytest.mark.parametrize("rate", [4_000, 8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 192_000, 384_000])
def test_any_rate_becomes_the_rate_that_is_asked_for(rate: int) -> None:
    data = wav(fmt_chunk(1, 1, rate, 2), chunk(b"data", encode(tone(rate, 1, rate), 1, 2)))
    out = sound(data)
    assert abs(out.size - 16_000) <= 1
    assert np.abs(out[1600:-1600] - tone(16_000)[: out.size, 0][1600:-1600] * 32768).max() <= 3


@pytest.mark.parametrize(("codec", "expected"), [(ALAW, [-5504, 5504, -8, 8]), (MULAW, [-32124, 32124, 0, 0])])
def test_telephone_recordings_are_understood(codec: int, expected: list[int]) -> None:
    bytes_of = {ALAW: [0x00, 0x80, 0x55, 0xD5], MULAW: [0x00, 0x80, 0x7F, 0xFF]}[codec]
    data = wav(fmt_chunk(codec, 1, 16_000, 1), chunk(b"data", bytes(bytes_of)))
    assert sound(data).tolist() == expected


@pytest.mark.parametrize("codec", [ALAW, MULAW])
def test_telephone_codes_rise_over_the_whole_range(codec: int) -> None:
    values = sorted(set(sound(wav(fmt_chunk(codec, 1, 16_000, 1), chunk(b"data", bytes(range(256))))).tolist()))
    assert len(values) >= 255
    assert values[0] == -values[-1]
    assert values[-1] > 32_000


def test_channels_are_averaged_without_overflow() -> None:
    loud = np.full((100, 8), 32767, "<i2")
    loud[:, :2] = -32768
    out = sound(wav(fmt_chunk(1, 8, 16_000, 2), chunk(b"data", loud.tobytes())))
    assert out.tolist() == [round((6 * 32767 - 2 * 32768) / 8)] * 100


def test_broken_floats_become_silence_or_the_limit() -> None:
    floats = np.array([np.nan, np.inf, -np.inf, 7.0, 0.25], "<f4")
    assert sound(wav(fmt_chunk(3, 1, 16_000, 4), chunk(b"data", floats.tobytes()))).tolist() == [
        0,
        32767,
        -32768,
        32767,
        8192,
    ]


def test_twenty_four_bits_in_a_wider_container_are_found_by_the_block_size() -> None:
    samples = (tone(500)[:, 0] * 2**23).astype("<i4") << 8
    data = wav(fmt_chunk(1, 1, 16_000, 4, extensible=True, bits=24), chunk(b"data", samples.astype("<i4").tobytes()))
    assert np.abs(sound(data) - tone(500)[:, 0] * 32768).max() <= 1


def test_other_chunks_before_and_after_the_sound_are_not_heard() -> None:
    pcm = encode(tone(501), 1, 2)
    extra = [chunk(b"LIST", b"INFOISFT\x05\0\0\0Lavf\0"), chunk(b"junk", b"x" * 7)]
    out = sound(wav(*extra, fmt_chunk(1, 1, 16_000, 2), *extra, chunk(b"data", pcm), *extra))
    assert out.size == 501


def test_the_wide_header_of_very_long_recordings_is_understood() -> None:
    pcm = encode(tone(400), 1, 2)
    ds64 = chunk(b"ds64", struct.pack("<QQQI", 0, len(pcm), 400, 0))
    data = wav(ds64, fmt_chunk(1, 1, 16_000, 2), b"data\xff\xff\xff\xff" + pcm + chunk(b"LIST", b"tail"), magic=b"RF64")
    audio = read_wav(io.BytesIO(data))
    assert audio.frames == 400
    assert audio.read(16_000).size == 400


@pytest.mark.parametrize("size", [0, 0xFFFF_FFFF, 0x7FFF_FFFF, 0x7FFF_F000])
def test_a_recording_that_never_learned_its_length_is_played_to_its_end(size: int) -> None:
    data = wav(fmt_chunk(1, 1, 16_000, 2), b"data" + struct.pack("<I", size) + encode(tone(5_000), 1, 2))
    audio = read_wav(io.BytesIO(data))
    assert audio.frames is None
    assert audio.seconds is None
    assert audio.read(16_000).size == 5_000
    assert not audio.truncated


@pytest.mark.parametrize("cut", [1, 2, 2_001, 9_990])
def test_a_file_that_was_cut_off_plays_what_is_there_and_says_so(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.wav"
    path.write_bytes(wav(fmt_chunk(1, 1, 16_000, 2), chunk(b"data", encode(tone(5_000), 1, 2)))[:-cut])
    with read_wav(path) as audio:
        assert audio.truncated
        assert audio.frames == 5_000
        assert audio.read(16_000).size == (10_000 - cut) // 2


def test_a_whole_file_is_not_called_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "whole.wav"
    path.write_bytes(wav(fmt_chunk(1, 2, 16_000, 3), chunk(b"data", encode(tone(333, 2), 1, 3))))
    audio = read_wav(path)
    assert not audio.truncated
    assert audio.read(16_000).size == 333
    assert not audio.truncated
    assert audio.seconds == pytest.approx(333 / 16_000)


def test_a_pipe_that_delivers_in_pieces_and_breaks_off_is_read_to_its_end() -> None:
    data = wav(fmt_chunk(1, 1, 16_000, 2), chunk(b"data", encode(tone(50_000), 1, 2)))[:-1001]
    reader, writer = os.pipe()

    def send() -> None:
        with os.fdopen(writer, "wb", buffering=0) as out:
            for i in range(0, len(data), 777):
                out.write(data[i : i + 777])

    thread = threading.Thread(target=send)
    thread.start()
    with os.fdopen(reader, "rb") as stream:
        audio = read_wav(stream)
        assert audio.read(16_000).size == (100_000 - 1001) // 2
        assert audio.truncated
    thread.join()


def test_other_programs_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "std.wav"
    with wave.open(str(path), "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(44_100)
        out.writeframes(encode(tone(44_100, 2, 44_100), 1, 2))
    assert read_wav(str(path)).read(44_100).size == 44_100


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "ERR_WAV_EMPTY", "is empty"),
        (b"RI", "ERR_WAV_FORMAT", "not a WAV file"),
        (b"hello, this is no sound at all", "ERR_WAV_FORMAT", "not a WAV file"),
        (b"ID3\x04" + bytes(100), "ERR_WAV_FORMAT", "MP3"),
        (b"fLaC" + bytes(100), "ERR_WAV_FORMAT", "FLAC"),
        (b"OggS" + bytes(100), "ERR_WAV_FORMAT", "Ogg"),
        (b"RIFF\0\0\0\0AVI " + bytes(100), "ERR_WAV_FORMAT", "not a WAV file"),
        (wav(), "ERR_WAV_FORMAT", "without any description"),
        (wav(fmt_chunk(1, 1, 16_000, 2)), "ERR_WAV_EMPTY", "without any sound"),
        (wav(fmt_chunk(1, 1, 16_000, 2), b"data\0\0\0\0"), "ERR_WAV_EMPTY", "without any sound"),
        (wav(fmt_chunk(1, 1, 16_000, 2), b"data\xff\xff\xff\xff"), "ERR_WAV_EMPTY", "without any sound"),
        (wav(fmt_chunk(1, 1, 16_000, 2), b"data\0\0\0\0" + chunk(b"LIST", b"INFO")), "ERR_WAV_EMPTY", "without any"),
        (wav(fmt_chunk(1, 2, 16_000, 2), chunk(b"data", b"abc")), "ERR_WAV_EMPTY", "without any sound"),
        (wav(chunk(b"data", b"abcd"), fmt_chunk(1, 1, 16_000, 2)), "ERR_WAV_FORMAT", "no description"),
        (wav(b"fmt \x04\0\0\0\x01\0\x01\0"), "ERR_WAV_FORMAT", "broken"),
        (wav(fmt_chunk(1, 0, 16_000, 2)), "ERR_WAV_CHANNELS", "0 channels"),
        (wav(fmt_chunk(1, 65, 16_000, 2)), "ERR_WAV_CHANNELS", "65 channels"),
        (wav(fmt_chunk(1, 1, 0, 2)), "ERR_WAV_RATE", "0 Hz"),
        (wav(fmt_chunk(1, 1, 3_999, 2)), "ERR_WAV_RATE", "3999 Hz"),
        (wav(fmt_chunk(1, 1, 400_000_000, 2)), "ERR_WAV_RATE", "400000000 Hz"),
        (wav(fmt_chunk(0x55, 1, 16_000, 1)), "ERR_WAV_CODEC", "MP3"),
        (wav(fmt_chunk(0x11, 1, 16_000, 1, bits=4)), "ERR_WAV_CODEC", "ADPCM"),
        (wav(fmt_chunk(0x1234, 1, 16_000, 1)), "ERR_WAV_CODEC", "codec 4660"),
        (wav(fmt_chunk(1, 1, 16_000, 5)), "ERR_WAV_CODEC", "40 bits"),
        (wav(fmt_chunk(3, 1, 16_000, 2)), "ERR_WAV_CODEC", "16 bits"),
    ],
)
def test_what_cannot_be_heard_is_refused_with_one_clear_sentence(
    data: bytes, code: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "in.wav"
    path.write_bytes(data)
    with pytest.raises(InputError) as raised:
        read_wav(path)
    assert raised.value.code == code
    assert words in raised.value.message
    assert "in.wav" in raised.value.message
    assert raised.value.message.count(". ") == 0
    assert raised.value.message.endswith(".")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path, code in (
        (tmp_path / "none.wav", "ERR_WAV_MISSING"),
        (tmp_path / "none" / "in.wav", "ERR_WAV_MISSING"),
        (tmp_path, "ERR_WAV_DIRECTORY"),
    ):
        with pytest.raises(InputError) as raised:
            read_wav(path)
        assert raised.value.code == code
        assert str(path) in raised.value.message


def test_a_name_that_the_system_refuses_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        read_wav(tmp_path / ("x" * 300))
    assert raised.value.code == "ERR_WAV_ACCESS"


class _Endless(io.RawIOBase):
    """A WAV file of three hours of 48 kHz stereo that is made while it is read."""

    def __init__(self) -> None:
        size = 3 * 3600 * 48_000 * 4
        self._head = wav(fmt_chunk(1, 2, 48_000, 2), b"data" + struct.pack("<I", size))
        self._left = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._head:
            part, self._head = self._head[:size], self._head[size:]
            return part
        size = min(size, self._left)
        self._left -= size
        return b"\x10" * size


def test_three_hours_need_no_more_memory_than_a_moment() -> None:
    audio = read_wav(_Endless())  # type: ignore[arg-type]
    samples = 0
    tracemalloc.start()
    for count, block in enumerate(audio.blocks(16_000)):
        samples += block.size
        if count == 600:
            break
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert samples > 200 * 16_000
    assert peak < 16_000_000


def test_a_frame_of_many_wide_channels_is_read_in_small_blocks() -> None:
    data = wav(fmt_chunk(3, 64, 384_000, 8), chunk(b"data", encode(tone(2_000, 64, 384_000), 3, 8)))
    audio = read_wav(io.BytesIO(data))
    blocks = list(audio.mono())
    assert sum(block.size for block in blocks) == 2_000
    assert max(block.size for block in blocks) <= 512


def test_the_sound_can_be_read_only_once() -> None:
    audio = read_wav(io.BytesIO(wav(fmt_chunk(1, 1, 16_000, 2), chunk(b"data", b"abcd"))))
    audio.read(16_000)
    with pytest.raises(RuntimeError):
        audio.read(16_000)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=120), st.integers(0, 44))
def test_no_damage_does_worse_than_an_input_error(noise: bytes, at: int) -> None:
    whole = bytearray(wav(fmt_chunk(1, 1, 16_000, 2), chunk(b"data", bytes(64))))
    whole[at : at + len(noise)] = noise
    try:
        read_wav(io.BytesIO(bytes(whole))).read(16_000)
    except InputError as error:
        assert error.code.startswith("ERR_WAV_")


def test_the_file_is_not_left_open(tmp_path: Path) -> None:
    path = tmp_path / "in.wav"
    path.write_bytes(wav(fmt_chunk(1, 1, 16_000, 2), chunk(b"data", bytes(64))))
    script = (
        "import sys, gc; from audio.io.wavfile import read_wav\n"
        "read_wav(sys.argv[1]).read(16000)\n"
        "with read_wav(sys.argv[1]): pass\n"
        "gc.collect()"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", script, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "ResourceWarning" not in done.stderr
