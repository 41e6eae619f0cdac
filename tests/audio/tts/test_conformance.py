"""The suite for voices, on all of ours; and it finds what is wrong with broken ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from audio.providers.elevenlabs.tts import ElevenLabsVoices
from audio.providers.openai_compatible.client import SpeechServer
from audio.providers.openai_compatible.tts import OpenAiVoices
from audio.tts.base import AudioChunk, PieceDone, TtsAdapter, TtsDone, TtsEvent
from audio.tts.conformance import CHECKS, check_tts
from audio.tts.espeak import EspeakVoice
from audio.tts.fallback import FallbackTts
from audio.tts.hibari import HibariVoice
from audio.tts.scripted import ScriptedTts, ScriptedVoice
from audio.tts.select import VoiceSelector
from tests.audio.providers import fake_speech_server as fake
from tests.audio.providers.fake_elevenlabs import FakeVoices


class Lenient(ScriptedVoice):
    """The scripted voice takes no call after ``destroy``, since a session must not make one."""

    def __call__(self, language: str) -> TtsAdapter:
        return LenientTts(self, language)


class LenientTts(ScriptedTts):
    def _must(self, condition: bool, what: str) -> None:
        """Take everything."""


async def test_the_scripted_voice_conforms() -> None:
    assert len(await check_tts(Lenient())) == len(CHECKS)
    await check_tts(Lenient(word_timings=False))


async def test_espeak_conforms() -> None:
    await check_tts(EspeakVoice)


async def test_hibari_conforms() -> None:
    await check_tts(lambda _: HibariVoice())


async def test_the_selection_of_voices_conforms() -> None:
    await check_tts(VoiceSelector())


@pytest.mark.parametrize("aligned", [True, False])
async def test_elevenlabs_conforms(aligned: bool) -> None:
    service = FakeVoices(aligned=aligned)
    await check_tts(ElevenLabsVoices("a-secret-key", dial=service.dial))


async def test_openais_speech_conforms() -> None:
    sound = (1000 * np.sin(np.arange(24_000) / 20)).astype(np.int16)
    async with fake.FakeSpeechServer([fake.spoken(sound) for _ in range(40)]).running() as peer:
        server = SpeechServer(base_url=peer.url)
        await check_tts(OpenAiVoices(server))
        await server.close()


@pytest.mark.parametrize("fault", [None, "open", "before_audio"])
async def test_a_voice_with_another_behind_it_conforms(fault: str | None) -> None:
    await check_tts(FallbackTts(Lenient(fault=fault), Lenient()))  # type: ignore[arg-type]


class Faulty(LenientTts):
    """A scripted voice with a fault of ``kind``."""

    kind = ""

    def emit(self, event: TtsEvent) -> None:
        if self.kind == "endless" and isinstance(event, TtsDone):
            super().emit(event)
        if self.kind == "late words" and isinstance(event, AudioChunk) and event.words:
            event = replace(event, words=tuple(replace(word, end=10**9) for word in event.words))
        if self.kind == "no pieces" and isinstance(event, PieceDone):
            return
        if self.kind == "mixed" and isinstance(event, AudioChunk):
            event = replace(event, piece=1 - (event.piece or 0))
        super().emit(event)

    async def destroy(self) -> None:
        if self.kind != "talkative":
            await super().destroy()


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("endless", "ends once"),
        ("late words", "within the sound"),
        ("no pieces", "every piece is over"),
        ("mixed", "pieces are spoken in order"),
        ("talkative", "after destroy"),
    ],
)
async def test_what_is_wrong_is_named(kind: str, rule: str) -> None:
    def faulty(language: str) -> TtsAdapter:
        voice = Faulty(ScriptedVoice(), language)
        voice.kind = kind
        return voice

    with pytest.raises(AssertionError, match=rule):
        await check_tts(faulty)
