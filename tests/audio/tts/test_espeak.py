import asyncio
import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from agents.base.errors import ConfigError, GloveVoiceError
from audio.tts.base import AudioChunk, PieceDone, TtsDone, TtsEvent, TtsFault
from audio.tts.espeak import RATE_HZ, EspeakVoice, choose_voice, parse_languages, parse_wav

needs_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
LISTING = """Pty Language       Age/Gender VoiceName          File                 Other Languages
 5  cmn             --/M      Chinese_(Mandarin,_latin_as_English) sit/cmn              (zh-cmn 5)(zh 5)
 5  de              --/M      German             gmw/de
 2  en-gb           --/M      English_(Great_Britain) gmw/en               (en 2)
 2  en-us           --/M      English_(America)  gmw/en-US            (en 3)
 5  es              --/M      Spanish_(Spain)    roa/es
 5  es-419          --/M      Spanish_(Latin_America) roa/es-419           (es-mx 6)(es 6)
 5  fr-fr           --/M      French_(France)    roa/fr               (fr 5)
 5  nb              --/M      Norwegian_Bokmål  gmq/nb               (no 5)
"""


@pytest.mark.parametrize(
    ("language", "voice"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("en", "en-us"),
        ("en-GB", "en-gb"),
        ("es", "es"),
        ("es-MX", "es-419"),
        ("fr", "fr-fr"),
        ("zh-TW", "cmn"),
        ("no", "nb"),
        ("xx", None),
    ],
)
def test_the_voice_follows_the_language(language: str, voice: str | None) -> None:
    assert choose_voice(language, parse_languages(LISTING)) == voice


@pytest.mark.parametrize("language", ["", "-h", "de; rm", "--path=/x", "de\n", "d", "../de", "de_DE"])
def test_what_is_no_language_tag_is_refused(language: str) -> None:
    with pytest.raises(ConfigError):
        EspeakVoice(language)


def record(tts: EspeakVoice) -> list[TtsEvent]:
    events: list[TtsEvent] = []
    tts.events.on(TtsEvent, events.append)
    return events


@needs_espeak
@pytest.mark.parametrize(
    ("language", "text"), [("de", "Guten Tag, wie geht es Ihnen?"), ("ja", "こんにちは。"), ("es", "Hola.")]
)
async def test_it_speaks(language: str, text: str) -> None:
    tts = EspeakVoice(language)
    events = record(tts)
    tts.send_text(text)
    tts.send_text("🙂")
    tts.flush()
    await tts.open()
    await asyncio.sleep(1)
    pcm = np.concatenate([event.pcm for event in events if isinstance(event, AudioChunk)])
    assert 0.3 < pcm.size / RATE_HZ < 4
    assert [event for event in events if not isinstance(event, AudioChunk)] == [PieceDone(0), PieceDone(1), TtsDone()]
    await tts.destroy()


@needs_espeak
@pytest.mark.realtime
async def test_it_speaks_on_the_real_clock() -> None:
    tts = EspeakVoice("en")
    done = asyncio.Event()
    tts.events.on(TtsDone, lambda _: done.set())
    await tts.open()
    tts.send_text("-h --help [[x]] $(id) \x00\n\n\ud800 fine.")
    tts.flush()
    async with asyncio.timeout(20):
        await done.wait()
    await tts.destroy()


@needs_espeak
async def test_a_language_without_voice_has_a_name() -> None:
    with pytest.raises(GloveVoiceError) as failure:
        await EspeakVoice("xx").open()
    assert failure.value.code == "ERR_TTS_CONNECTION"


async def test_a_missing_program_says_how_to_get_it() -> None:
    with pytest.raises(GloveVoiceError) as failure:
        await EspeakVoice("de", binary="no-such-espeak").open()
    assert failure.value.code == "ERR_TTS_CONNECTION"
    assert "apt-get install espeak-ng" in (failure.value.remedy or "")


def program(folder: Path, body: str) -> str:
    path = folder / "espeak-ng"
    path.write_text(
        f"#!/bin/sh\nif [ \"$1\" = --voices ]; then printf 'Pty\\n 5  de  --/M  German  gmw/de\\n'; exit; fi\n{body}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.realtime
async def test_destroy_ends_the_program(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    tts = EspeakVoice("de", binary=program(tmp_path, f'echo $$ > "{pid_file}"; exec sleep 600'))
    events = record(tts)
    await tts.open()
    tts.send_text("Hallo.")
    async with asyncio.timeout(20):
        while not (pid_file.exists() and pid_file.read_text().strip()):
            await asyncio.sleep(0.01)
        await tts.destroy()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
    assert events == []


async def test_a_failing_program_is_a_fault(tmp_path: Path) -> None:
    tts = EspeakVoice("de", binary=program(tmp_path, "echo no data >&2; exit 3"))
    events = record(tts)
    await tts.open()
    tts.send_text("Hallo.")
    await asyncio.sleep(1)
    (event,) = events
    assert isinstance(event, TtsFault)
    assert isinstance(event.error, GloveVoiceError)
    assert event.error.code == "ERR_TTS_SYNTHESIS"
    assert "no data" in event.error.message


async def test_text_reaches_the_program_on_its_input_only(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    tts = EspeakVoice("de", binary=program(tmp_path, f'echo "$@" > "{seen}"; cat > "{seen}.in"'))
    await tts.open()
    tts.send_text("-w /tmp/x [[a]] Hallo")
    await asyncio.sleep(1)
    assert seen.read_text().split() == ["-v", "de", "-b", "1", "--stdin", "--stdout"]
    assert Path(f"{seen}.in").read_text() == "-w /tmp/x [ [a]] Hallo"


def test_a_wav_that_is_none_is_refused() -> None:
    assert parse_wav(b"").size == 0
    for data in (b"RIFF", b"nonsense" * 20, b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0" + b"\0" * 40):
        with pytest.raises(GloveVoiceError):
            parse_wav(data)
