"""The suites for recognisers, on all of ours; and they find what is wrong with broken ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from agents.base.weights import WeightsStore
from audio.pcm import Pcm
from audio.providers.elevenlabs.stt import ScribeStt
from audio.providers.openai_compatible.client import SpeechServer
from audio.providers.openai_compatible.stt import OpenAiStt
from audio.stt.base import StreamingStt, SttFinal
from audio.stt.conformance import SEGMENT_CHECKS, STREAM_CHECKS, check_segment_stt, check_streaming_stt
from audio.stt.fallback import FallbackSegmentStt, FallbackStt
from audio.stt.moonshine import MoonshineStt
from audio.stt.scripted import ScriptedSegmentStt, ScriptedStreamingStt
from audio.stt.whisper import WhisperStt
from tests.audio.babble import babble
from tests.audio.providers import fake_speech_server as fake
from tests.audio.providers.fake_elevenlabs import FakeScribe
from tests.audio.stt.conftest import Ensure

Bench = Callable[[Sequence[str]], AbstractAsyncContextManager[StreamingStt]]


def bench(make: Callable[[list[str]], StreamingStt]) -> Bench:
    @asynccontextmanager
    async def opened(texts: Sequence[str]) -> AsyncIterator[StreamingStt]:
        yield make(list(texts))

    return opened


def scribe(texts: list[str]) -> ScribeStt:
    return ScribeStt("a-secret-key", dial=FakeScribe(texts).dial)


async def test_scribe_conforms() -> None:
    assert len(await check_streaming_stt(bench(scribe))) == len(STREAM_CHECKS)


async def test_a_recogniser_with_another_behind_it_conforms() -> None:
    def with_second(texts: list[str]) -> FallbackStt:
        return FallbackStt(scribe(texts), ScriptedSegmentStt(["never"], repeat_last=True))

    await check_streaming_stt(bench(with_second))


async def test_the_second_alone_conforms() -> None:
    def alone(texts: list[str]) -> FallbackStt:
        service = FakeScribe()
        service.down = True
        heard = iter(texts)
        second = ScriptedSegmentStt(lambda _: next(heard))
        return FallbackStt(ScribeStt("a-secret-key", dial=service.dial), second)

    await check_streaming_stt(bench(alone))


async def test_the_scripted_recogniser_conforms() -> None:
    await check_streaming_stt(bench(lambda texts: ScriptedStreamingStt(texts)))


BECKETT = "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better."


async def test_whisper_conforms(weights: WeightsStore, ensure: Ensure, beckett: Pcm) -> None:
    ensure("whisper-tiny.en")
    await check_segment_stt(lambda: WhisperStt.load(weights, "whisper-tiny.en"), beckett, BECKETT)


async def test_moonshine_conforms(weights: WeightsStore, ensure: Ensure, beckett: Pcm) -> None:
    ensure("moonshine-tiny-en")
    await check_segment_stt(lambda: MoonshineStt.load(weights), beckett, BECKETT)


async def test_openais_transcriptions_conform() -> None:
    async with fake.FakeSpeechServer([fake.heard_in_detail("Hello there.") for _ in range(10)]).running() as peer:
        servers: list[SpeechServer] = []

        def make() -> OpenAiStt:
            servers.append(SpeechServer(base_url=peer.url))
            return OpenAiStt(servers[-1])

        assert len(await check_segment_stt(make, babble(1.0), "Hello there.")) == len(SEGMENT_CHECKS)
        for server in servers:
            await server.close()


async def test_a_segment_recogniser_with_another_behind_it_conforms() -> None:
    def make() -> FallbackSegmentStt:
        return FallbackSegmentStt(_Said(), _Said())

    await check_segment_stt(make, babble(1.0), "Hello there.")


class _Said(ScriptedSegmentStt):
    """Hears the same in all sound, and nothing in silence."""

    def __init__(self, text: str = "Hello there.", language: str = "en") -> None:
        super().__init__(lambda pcm: text if pcm.any() else "", language=language)


@pytest.mark.parametrize(
    ("stt", "rule"),
    [
        (_Said("Hello there. "), "trimmed"),
        (_Said("Something else."), "speech is recognised"),
        (_Said(language="en-GB"), "primary tag"),
        (ScriptedSegmentStt(lambda _: "Hello there."), "nothing said is nothing written"),
    ],
)
async def test_what_is_wrong_with_a_segment_recogniser_is_named(stt: ScriptedSegmentStt, rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        await check_segment_stt(lambda: stt, babble(1.0), "Hello there.")


class _Late(ScribeStt):
    """Answers nothing when nothing was said."""

    def flush_utterance(self) -> None:
        if self._unanswered.fresh:
            super().flush_utterance()


class _Twice(ScribeStt):
    """Emits after it was disconnected."""

    async def disconnect(self) -> None:
        await super().disconnect()
        asyncio.get_running_loop().call_later(1, self.events.emit, SttFinal("ghost"))


@pytest.mark.parametrize(("kind", "rule"), [(_Late, None), (_Twice, "ghost")])
async def test_what_is_wrong_with_a_streaming_recogniser_is_named(kind: type[ScribeStt], rule: str | None) -> None:
    faulty = bench(lambda texts: kind("a-secret-key", dial=FakeScribe(texts).dial))
    if rule is None:
        with pytest.raises(TimeoutError):
            await check_streaming_stt(faulty)
    else:
        with pytest.raises(AssertionError, match=rule):
            await check_streaming_stt(faulty)
