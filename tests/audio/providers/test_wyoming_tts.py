"""Wyoming voices: each piece is spoken with its own sound, whatever the service can do and whenever it fails."""

from __future__ import annotations

import asyncio

import pytest
from wyoming.error import Error
from wyoming.event import Event

from agents.base.errors import GloveVoiceError
from audio.providers.wyoming.tts import WyomingVoices
from audio.tts.base import AudioChunk, PieceDone, TtsDone, TtsEvent, TtsFault
from audio.tts.conformance import CHECKS, check_tts
from audio.tts.fallback import FallbackTts
from audio.tts.scripted import ScriptedVoice
from tests.audio.providers.sockets import collect
from tests.audio.providers.wyoming_peer import SOMEWHERE, Peer, Speaker

LONG = "It rains. " * 30


def voices(service: Speaker, voice: str = "", retries: int = 1) -> WyomingVoices:
    return WyomingVoices(SOMEWHERE, voice, retries=retries, dial=service.dial)


async def spoken(factory: WyomingVoices | FallbackTts, *pieces: str) -> tuple[list[TtsEvent], int]:
    """What was emitted, and at which rate."""
    voice = factory("en")
    events = collect(voice.events, TtsEvent)
    await voice.open()
    for piece in pieces:
        voice.send_text(piece)
    voice.flush()
    async with asyncio.timeout(120):
        while not events or not isinstance(events[-1], TtsDone | TtsFault):
            await asyncio.sleep(0.02)
    rate_hz = voice.sample_rate_hz
    await voice.destroy()
    return events, rate_hz


def seconds(events: list[TtsEvent], piece: int, rate_hz: int) -> float:
    chunks = [event for event in events if isinstance(event, AudioChunk) and event.piece == piece]
    return sum(chunk.pcm.size for chunk in chunks) / rate_hz


@pytest.mark.parametrize("streaming", [False, True])
async def test_the_voice_conforms(streaming: bool) -> None:
    service = Speaker(streaming=streaming)
    assert len(await check_tts(voices(service))) == len(CHECKS)


@pytest.mark.parametrize("streaming", [False, True])
async def test_each_piece_has_its_own_sound(streaming: bool) -> None:
    service = Speaker(streaming=streaming)
    events, rate_hz = await spoken(voices(service), "Good day.", LONG, "…", "Bye now.")
    assert rate_hz == 16_000
    assert [seconds(events, piece, rate_hz) for piece in (0, 2, 3)] == pytest.approx([0.5, 0.0, 0.5])
    assert seconds(events, 1, rate_hz) > 10
    assert [event.piece for event in events if isinstance(event, PieceDone)] == [0, 1, 2, 3]
    assert "".join(service.said) == f"Good day.{LONG}Bye now."


async def test_a_service_that_takes_streams_gets_a_long_piece_as_one() -> None:
    service = Speaker(streaming=True)
    await spoken(voices(service), LONG)
    assert len(service.events("synthesize-start")) == 1
    assert len(service.events("synthesize-chunk")) == 30
    assert len(service.events("synthesize")) == 1, "the protocol wants the whole text too"
    plain = Speaker()
    await spoken(voices(plain), LONG)
    assert len(plain.events("synthesize")) > 1 and not plain.events("synthesize-start")


async def test_the_voice_is_asked_for_by_name_or_by_language() -> None:
    service = Speaker()
    await spoken(voices(service), "Hello.")
    await spoken(voices(service, "amy"), "Hello.")
    assert [event.data["voice"] for event in service.events("synthesize")] == [{"language": "en"}, {"name": "amy"}]


@pytest.mark.parametrize(("rate", "width", "channels"), [(22_050, 2, 1), (48_000, 2, 2), (8_000, 1, 1), (24_000, 4, 1)])
async def test_sound_of_any_format_is_taken(rate: int, width: int, channels: int) -> None:
    service = Speaker(rate=rate, width=width, channels=channels)
    events, rate_hz = await spoken(voices(service), "Hello there you.")
    assert rate_hz == rate
    assert seconds(events, 0, rate_hz) == pytest.approx(1.0, abs=0.01)


async def test_a_rate_that_changes_between_pieces_does_not_change_the_pitch() -> None:
    service = Speaker(rate=16_000)

    def faster(*_: object) -> bool:
        service.format = (22_050, 2, 1) if len(service.said) > 1 else (16_000, 2, 1)
        return True

    service.before = faster
    events, rate_hz = await spoken(voices(service), "One one.", "Two two.", "Three th.")
    assert rate_hz == 16_000
    assert [seconds(events, piece, rate_hz) for piece in range(3)] == pytest.approx([0.5, 0.5, 0.5], abs=0.02)


@pytest.mark.parametrize("how", ["dies", "hangs", "refuses", "nonsense"])
async def test_a_failure_in_mid_synthesis_says_what_to_do(how: str) -> None:
    service = Speaker()

    async def fail(peer: Peer, event: Event) -> bool:
        if event.type != "synthesize":
            return True
        if how == "dies":
            return False
        if how == "refuses":
            await peer.write_event(Error("no such voice").event())
        if how == "nonsense":
            await peer.write_event(Event("audio-start", {"rate": -1, "width": 2, "channels": 1}))
        return True

    service.answer = fail  # type: ignore[method-assign]
    events, _ = await spoken(voices(service), "Hello.")
    (fault,) = events
    assert isinstance(fault, TtsFault) and isinstance(fault.error, GloveVoiceError)
    assert fault.error.code == ("ERR_TTS_REQUEST" if how in ("refuses", "nonsense") else "ERR_TTS_CONNECTION")
    assert "127.0.0.1:10300" in fault.error.message


async def test_this_machine_goes_on_with_the_piece_when_the_service_dies() -> None:
    service = Speaker()

    def die(peer: Peer, text: str) -> bool:
        if "Two" in text:
            service.down = True
            peer.drop()
            return False
        return True

    service.before = die
    events, _ = await spoken(FallbackTts(voices(service), ScriptedVoice()), "One.", "Two.", "Three.")
    assert isinstance(events[-1], TtsDone)
    assert [event.piece for event in events if isinstance(event, PieceDone)] == [0, 1, 2]
    assert service.said == ["One.", "Two."]


async def test_a_service_that_was_away_is_there_for_the_next_response() -> None:
    service = Speaker()
    service.down = True
    factory = voices(service)
    with pytest.raises(GloveVoiceError) as caught:
        await factory("en").open()
    assert caught.value.code == "ERR_TTS_CONNECTION" and caught.value.remedy
    service.down = False
    events, _ = await spoken(factory, "Hello.")
    assert isinstance(events[-1], TtsDone)


async def test_a_service_without_a_voice_is_refused() -> None:
    service = Speaker()
    service.info.tts = []
    with pytest.raises(GloveVoiceError, match="offers no voice") as caught:
        await voices(service)("en").open()
    assert caught.value.code == "ERR_TTS_REQUEST"


async def test_a_response_that_is_cut_off_hangs_up_at_once() -> None:
    service = Speaker()
    voice = voices(service)("en")
    events = collect(voice.events, TtsEvent)
    await voice.open()
    voice.send_text(LONG)
    while not events:
        await asyncio.sleep(0.01)
    await voice.destroy()
    heard = len(events)
    await asyncio.sleep(1)
    assert len(events) == heard
    assert all(peer.reader.at_eof() for peer in service.peers), "nobody speaks to nobody"
