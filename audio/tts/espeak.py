"""The voice for languages without a better one: espeak-ng, a separate program that is run once per sentence.

It needs about 10 ms for a sentence and speaks a hundred languages, all of them plainly. Its Japanese and Chinese read
syllable scripts; most ideographs it only names.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from dataclasses import dataclass

from agents.base.clock import infer, real_time_work
from agents.base.errors import ConfigError, GloveVoiceError, InputError
from audio.io.wavfile import read_wav
from audio.pcm import Pcm, silence
from audio.tts.local import SentenceTts, Speech
from audio.tts.trim import trim_silence

RATE_HZ = 22_050
SYNTHESIS_COST_S = 0.02
"""Declared duration of one sentence on the virtual clock."""
TIMEOUT_S = 20.0

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
_OTHER_TAG = re.compile(r"\(([^\s()]+) \d+\)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_PREFERRED = {"en": "en-us", "fr": "fr-fr", "es": "es", "pt": "pt", "zh": "cmn", "no": "nb"}
_REMEDY = "Install it with: apt-get install espeak-ng"


@dataclass(frozen=True)
class EspeakLanguage:
    """A language of the installed program: its tag and further tags that it answers to, in lower case."""

    tag: str
    others: tuple[str, ...] = ()


class EspeakVoice(SentenceTts):
    """Speaks ``language`` with espeak-ng; 22.05 kHz, without word timings.

    Text reaches the program on its standard input only and the voice is one of those that the program itself lists, so
    nothing that a model writes can become an argument.

    Args:
        language: BCP-47 tag. Raises ``ConfigError`` (``ERR_TTS_VOICE``) if it is not one.
        binary: name or path of the program.
        lead_s: see ``SentenceTts``.
    """

    def __init__(self, language: str = "en", *, binary: str = "espeak-ng", lead_s: float | None = 30.0) -> None:
        super().__init__(lead_s=lead_s)
        if not _TAG.fullmatch(language):
            raise ConfigError("ERR_TTS_VOICE", f"{language!r} is not a language tag.", "Use a tag such as 'de'.")
        self.language = language
        self._binary = binary
        self._voice: str | None = None

    @property
    def sample_rate_hz(self) -> int:
        """22050."""
        return RATE_HZ

    async def prepare(self) -> None:
        """Find the voice. Raises ``GloveVoiceError`` (``ERR_TTS_CONNECTION``) without program or language."""
        voice = choose_voice(self.language, await espeak_languages(self._binary))
        if voice is None:
            raise GloveVoiceError(
                "ERR_TTS_CONNECTION", f"espeak-ng has no voice for {self.language!r}.", "Choose another language."
            )
        self._voice = voice

    async def render(self, text: str) -> Speech:
        """The sound of one sentence."""
        if self._voice is None:
            raise RuntimeError("the voice was not opened")
        # "[[" would open the program's own phoneme notation.
        spoken = _CONTROL.sub(" ", text).replace("[[", "[ [").encode("utf-8", "ignore")
        wav = await _run(self._binary, "-v", self._voice, "-b", "1", "--stdin", "--stdout", feed=spoken)
        pcm, _ = trim_silence(parse_wav(wav), RATE_HZ)
        return Speech(pcm)


_known: dict[str, tuple[EspeakLanguage, ...]] = {}


async def espeak_languages(binary: str = "espeak-ng") -> tuple[EspeakLanguage, ...]:
    """The languages of the installed program, asked once. Raises ``GloveVoiceError`` (``ERR_TTS_CONNECTION``)."""
    if binary not in _known:
        _known[binary] = parse_languages((await _run(binary, "--voices")).decode("utf-8", "replace"))
    return _known[binary]


def parse_languages(listing: str) -> tuple[EspeakLanguage, ...]:
    """Read the table that ``espeak-ng --voices`` prints."""
    rows = [line for line in listing.splitlines()[1:] if len(line.split()) >= 5]
    return tuple(
        EspeakLanguage(row.split()[1].lower(), tuple(tag.lower() for tag in _OTHER_TAG.findall(row)))
        for row in rows
        if _TAG.fullmatch(row.split()[1])
    )


def choose_voice(language: str, known: tuple[EspeakLanguage, ...]) -> str | None:
    """The best of ``known`` for a BCP-47 tag: the tag itself, else its primary language; None if there is neither."""
    tags = {entry.tag for entry in known}
    tag = language.lower()
    primary = tag.split("-")[0]
    for wanted in (_PREFERRED.get(tag, tag), tag, _PREFERRED.get(primary, primary), primary):
        if wanted in tags:
            return wanted
        for entry in known:
            if wanted in entry.others:
                return entry.tag
    return None


def parse_wav(wav: bytes) -> Pcm:
    """The samples of a streamed mono WAV at 22.05 kHz, whose length fields may be wrong; none if it is empty.

    Raises ``GloveVoiceError`` (``ERR_TTS_SYNTHESIS``) for anything else.
    """
    if not wav:
        return silence(0)
    unusual: InputError | None = None
    try:
        sound = read_wav(io.BytesIO(wav))
        if (sound.rate_hz, sound.channels) == (RATE_HZ, 1):
            return sound.read(RATE_HZ)
    except InputError as fault:
        if fault.code == "ERR_WAV_EMPTY":
            return silence(0)
        unusual = fault
    raise GloveVoiceError(
        "ERR_TTS_SYNTHESIS", "espeak-ng returned something that is not its usual sound.", cause=unusual
    )


async def _run(binary: str, *arguments: str, feed: bytes = b"") -> bytes:
    """Run the program and return what it prints; kill it if the caller is cancelled.

    Raises ``GloveVoiceError``: ``ERR_TTS_CONNECTION`` if it cannot be started, ``ERR_TTS_SYNTHESIS`` if it fails.
    """
    pipe = asyncio.subprocess.PIPE
    with real_time_work():
        try:
            process = await asyncio.create_subprocess_exec(binary, *arguments, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as fault:
            raise GloveVoiceError(
                "ERR_TTS_CONNECTION", f"The program {binary} cannot be started.", _REMEDY, fault
            ) from fault
        try:
            async with asyncio.timeout(TIMEOUT_S):
                out, err = await process.communicate(feed)
        except TimeoutError as fault:
            raise GloveVoiceError("ERR_TTS_SYNTHESIS", f"{binary} did not answer in time.", cause=fault) from fault
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
    if process.returncode:
        said = err.decode("utf-8", "replace").strip().splitlines()
        raise GloveVoiceError("ERR_TTS_SYNTHESIS", f"{binary} failed: {said[0] if said else process.returncode}")
    await infer(lambda: None, cost_s=SYNTHESIS_COST_S)
    return out
