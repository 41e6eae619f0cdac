"""``glove say``: speaks a text, aloud or into a WAV file."""

from __future__ import annotations

import shutil
import tempfile
import wave
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, BinaryIO, cast

import typer

from agents.base.errors import GloveError, GloveVoiceError, InputError
from appliance.commands.options import ConfigOption, settings
from appliance.streams import STREAM, standard_input, standard_output

if TYPE_CHECKING:
    from audio.pcm import Pcm
    from audio.tts.base import TtsAdapter, TtsFactory

COLLECTED_BYTES = 1 << 23
"""Sound for a pipe that is kept in memory; more of it goes to a temporary file."""

Take = Callable[["Pcm", int], None]
"""Receives sound: PCM and its rate in Hz."""


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(say)
    return command


def say(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="What to say; - reads it from standard input.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="WAV|-", help="File instead of the loudspeaker; - for a pipe.")
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="TAG", help="Language of the text, such as de; without it that of the configuration."),
    ] = None,
    config: ConfigOption = None,
) -> int:
    """Speak a text with the appliance's own voice, aloud or into a WAV file."""
    from agents.base.clock import run_virtual
    from appliance.session.parts import build_voices

    loaded = settings(ctx, config)
    words = _text(text)
    tag = language or loaded.config.speech.default_language
    sentences = list(spoken_sentences(words, tag))
    if not sentences:
        raise InputError("ERR_NOTHING_TO_SAY", "There is nothing in the text that can be spoken.")
    with _output(out) as take:
        run_virtual(speak(sentences, tag, build_voices(loaded.config), take))
    return 0


def spoken_sentences(text: str, language: str) -> Iterator[str]:
    """``text`` cut into sentences and made fit for the ear; what cannot be spoken is left out."""
    from audio.sentences import SentenceBuffer
    from audio.speakable import Speakable

    buffer, ear = SentenceBuffer(language), Speakable(language)
    sentences = buffer.push(text)
    rest = buffer.flush()
    for sentence in [*sentences, rest] if rest else sentences:
        spoken = ear.feed(sentence)
        if spoken.strip():
            yield spoken


async def speak(sentences: list[str], language: str, voices: TtsFactory, take: Take) -> None:
    """Synthesise ``sentences`` in order and hand the sound to ``take`` as it comes.

    Raises:
        GloveVoiceError: the voice failed.
    """
    import asyncio

    from audio.tts.base import AudioChunk, TtsDone, TtsFault

    voice = voices(language)
    finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(_: TtsDone) -> None:
        if not finished.done():
            finished.set_result(None)

    def failed(fault: TtsFault) -> None:
        if not finished.done():
            finished.set_exception(fault.error)

    def sound(chunk: AudioChunk) -> None:
        try:
            take(chunk.pcm, voice.sample_rate_hz)
        except Exception as fault:  # noqa: BLE001 - the emitter would swallow it; it ends the command instead
            if not finished.done():
                finished.set_exception(fault)

    voice.events.on(AudioChunk, sound)
    voice.events.on(TtsDone, done)
    voice.events.on(TtsFault, failed)
    try:
        await voice.open()
        _send(voice, sentences)
        await finished
    finally:
        await voice.destroy()


def _send(voice: TtsAdapter, sentences: list[str]) -> None:
    for sentence in sentences:
        voice.send_text(sentence)
    voice.flush()


def _text(argument: str) -> str:
    if argument != "-":
        return argument
    try:
        return standard_input().buffer.read().decode("utf-8")
    except UnicodeDecodeError as fault:
        raise InputError("ERR_TEXT", "The text on standard input is not UTF-8.", cause=fault) from fault


@contextmanager
def _output(out: Path | None) -> Generator[Take]:
    if out is None:
        with _loudspeaker() as take:
            yield take
        return
    if out == STREAM:
        with _pipe(standard_output().buffer) as take:
            yield take
        return
    try:
        stream = out.open("wb")
    except OSError as fault:
        raise InputError("ERR_OUTPUT", f"--out: {out} cannot be written: {fault.strerror}.", cause=fault) from fault
    with stream, _file(stream) as take:
        yield take


@contextmanager
def _file(stream: IO[bytes]) -> Generator[Take]:
    """Write a mono WAV file as the sound comes; its header is right whenever writing ends."""
    from audio.pcm import wire_bytes

    writer: wave.Wave_write | None = None

    def take(pcm: Pcm, rate_hz: int) -> None:
        nonlocal writer
        if writer is None:
            writer = _writer(stream, rate_hz)
        writer.writeframesraw(wire_bytes(pcm))

    try:
        try:
            yield take
        finally:
            if writer is not None:
                writer.close()
    except OSError as fault:
        raise GloveError("ERR_DISK_FULL", f"The sound could not be written: {fault.strerror}.", cause=fault) from fault


@contextmanager
def _pipe(stream: BinaryIO) -> Generator[Take]:
    """Write a mono WAV file to a pipe: the header comes first and names the length, so the sound is collected."""
    with tempfile.SpooledTemporaryFile(COLLECTED_BYTES) as collected:
        with _file(collected) as take:
            yield take
        collected.seek(0)
        shutil.copyfileobj(collected, stream)
        stream.flush()


def _writer(stream: IO[bytes], rate_hz: int) -> wave.Wave_write:
    writer = wave.Wave_write(stream)
    writer.setnchannels(1)
    writer.setsampwidth(2)
    writer.setframerate(rate_hz)
    return writer


@contextmanager
def _loudspeaker() -> Generator[Take]:
    """Play through the system's default device, which paces the synthesis by blocking."""
    try:
        import sounddevice
    except OSError as fault:  # the PortAudio library is missing
        raise _no_speaker(fault) from fault
    device = cast(Any, sounddevice)
    stream: Any = None

    def take(pcm: Pcm, rate_hz: int) -> None:
        nonlocal stream
        try:
            if stream is None:
                stream = device.OutputStream(samplerate=rate_hz, channels=1, dtype="int16")
                stream.start()
            stream.write(pcm.reshape(-1, 1))
        except device.PortAudioError as fault:
            raise _no_speaker(fault) from fault

    try:
        yield take
        if stream is not None:
            stream.stop()
    finally:
        if stream is not None:
            stream.close()


def _no_speaker(fault: Exception) -> GloveVoiceError:
    return GloveVoiceError(
        "ERR_SPEAKER_UNAVAILABLE", "There is no loudspeaker to play on.", "Write a file instead: --out FILE.wav", fault
    )
