"""Speech services as configured: who hears, who speaks, whose key goes where, and what the doctor says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.base.errors import ConfigError, GloveVoiceError
from appliance.commands import checks
from appliance.commands.talk import rehearsed
from appliance.config.schema import GloveConfig
from appliance.session.build import SpeechTrouble, load_parts
from appliance.session.parts import build_recogniser, build_voices
from appliance.session.services import segment_recogniser, service_voices, speech_secrets, stream_recogniser
from appliance.session.stock import needed_weights, wants_partials
from audio.events import VoiceFault
from audio.providers.cartesia.stt import CartesiaStt
from audio.providers.deepgram.stt import DeepgramStt
from audio.providers.elevenlabs.stt import ScribeStt
from audio.providers.elevenlabs.tts import ElevenLabsVoices
from audio.providers.openai_compatible.stt import OpenAiStt
from audio.providers.openai_compatible.tts import OpenAiVoices
from audio.stt.fallback import FallbackSegmentStt, FallbackStt
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.fallback import FallbackTts
from audio.tts.scripted import ScriptedVoice
from tests.appliance.house import Room

LOCAL = ScriptedSegmentStt(["here"])
KEYS = tuple(f"{name}_API_KEY" for name in ("ELEVENLABS", "DEEPGRAM", "CARTESIA", "OPENAI", "OPENAI_COMPAT"))


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def config(**sections: dict[str, object]) -> GloveConfig:
    return GloveConfig(**sections)  # type: ignore[arg-type]


def with_stt(**stt: object) -> GloveConfig:
    return config(stt=stt, speech={"stt": "simulated", "tts": "simulated"}, turns={"vad": "energy"})


def test_without_a_word_this_machine_hears_and_speaks() -> None:
    here = config()
    assert stream_recogniser(here, LOCAL) is None and segment_recogniser(here, LOCAL) is LOCAL
    voices = ScriptedVoice()
    assert service_voices(here, voices) is voices
    assert speech_secrets(here) == ()


def test_a_service_has_this_machine_behind_it_unless_that_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, "sk-secret-of-mine")
    streaming = {"elevenlabs": ScribeStt, "deepgram": DeepgramStt, "cartesia": CartesiaStt}
    for provider, kind in streaming.items():
        assert isinstance(stream_recogniser(with_stt(provider=provider), LOCAL), FallbackStt)
        assert isinstance(stream_recogniser(with_stt(provider=provider), None), kind)
    assert isinstance(segment_recogniser(with_stt(provider="openai"), LOCAL), FallbackSegmentStt)
    assert isinstance(segment_recogniser(with_stt(provider="openai"), None), OpenAiStt)
    for provider, voice in (("elevenlabs", ElevenLabsVoices), ("openai", OpenAiVoices)):
        both = service_voices(config(tts={"provider": provider}), ScriptedVoice())
        assert isinstance(both, FallbackTts) and isinstance(both.first, voice)
        assert isinstance(
            service_voices(config(tts={"provider": provider, "fallback": "none"}), ScriptedVoice()), voice
        )


def test_weights_are_needed_only_where_this_machine_may_have_to_hear() -> None:
    alone = config(stt={"provider": "openai", "fallback": "none"}, speech={"partials": False})
    assert not any("whisper" in name for name in needed_weights(alone))
    assert any("whisper" in name for name in needed_weights(config(stt={"provider": "openai"})))
    assert not wants_partials(config(stt={"provider": "elevenlabs"})), "the service itself says what is being said"


@pytest.mark.parametrize(
    ("sections", "key"),
    [
        ({"stt": {"provider": "elevenlabs"}}, "ELEVENLABS_API_KEY"),
        ({"stt": {"provider": "deepgram"}}, "DEEPGRAM_API_KEY"),
        ({"stt": {"provider": "cartesia"}}, "CARTESIA_API_KEY"),
        ({"stt": {"provider": "openai"}}, "OPENAI_API_KEY"),
        ({"tts": {"provider": "elevenlabs"}}, "ELEVENLABS_API_KEY"),
        ({"tts": {"provider": "openai"}}, "OPENAI_API_KEY"),
    ],
)
async def test_a_missing_key_is_told_at_the_start_and_by_the_doctor(
    sections: dict[str, dict[str, object]], key: str
) -> None:
    lacking = config(**{"speech": {"stt": "simulated", "tts": "simulated"}, **sections})
    with pytest.raises(ConfigError) as caught:
        await load_parts(lacking)
    assert key in (caught.value.remedy or "")
    finding = checks.speech(lacking)
    assert finding.state == "fault" and key in (finding.remedy or "")


def test_a_server_of_ones_own_needs_no_key_and_never_gets_openais(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-only-for-openai")
    own = with_stt(provider="openai", url="http://localhost:8000/v1", fallback="none")
    stt = build_recogniser(own)
    assert isinstance(stt, OpenAiStt)
    assert stt._server.account.secrets == () and stt._server.account.key_name == "OPENAI_COMPAT_API_KEY"
    assert checks.speech(own).state == "ok"
    monkeypatch.setenv("OPENAI_COMPAT_API_KEY", "mine-mine-mine")
    again = build_recogniser(own)
    assert isinstance(again, OpenAiStt) and again._server.account.secrets == ("mine-mine-mine",)
    assert isinstance(build_voices(config(tts={"provider": "openai", "url": "http://localhost:8000/v1"})), FallbackTts)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/", "http://me:pw@host/v1", "http://a b/"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    for section in ("stt", "tts"):
        with pytest.raises(ValueError, match="address"):
            config(**{section: {"provider": "openai", "url": url}})


def test_the_doctor_says_who_hears_and_who_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.speech(config()).message == "Recognised and spoken on this machine."
    monkeypatch.setenv("ELEVENLABS_API_KEY", "sk-secret-of-mine")
    finding = checks.speech(config(stt={"provider": "elevenlabs"}))
    assert finding.state == "ok"
    assert finding.message == "Recognised by elevenlabs, spoken on this machine."


def test_a_running_session_on_a_server_cannot_be_hurried() -> None:
    with pytest.raises(ConfigError, match="real time"):
        rehearsed(with_stt(provider="elevenlabs"))


async def test_trouble_with_a_service_is_shown_in_every_room() -> None:
    parts = await load_parts(config(speech={"stt": "simulated", "tts": "simulated"}, turns={"vad": "energy"}))
    session = await parts.session(Room())
    faults: list[VoiceFault] = []
    session.voice.events.on(VoiceFault, faults.append)
    parts.troubles.emit(SpeechTrouble(GloveVoiceError("ERR_STT_CONNECTION", "Nobody there.")))
    assert [fault.code for fault in faults] == ["ERR_STT_CONNECTION"]
    await session.close()
    parts.troubles.emit(SpeechTrouble(GloveVoiceError("ERR_STT_CONNECTION", "Nobody there.")))
    assert len(faults) == 1 and parts.troubles.listener_count == 0
    await parts.close()
