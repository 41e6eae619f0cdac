"""What goes wrong with echo, voice detection and turns of voice devices, by the numbers of the list of field cases."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents.base.clock import run_virtual
from agents.models.scripted import ScriptedModel
from audio.pcm import CAPTURE_RATE_HZ, FRAME_SAMPLES, Pcm, silence
from audio.stt.base import Transcript
from audio.stt.scripted import ScriptedSegmentStt, ScriptedStreamingStt
from audio.tts.scripted import ScriptedVoice
from audio.turns.contract import TurnSettings
from audio.turns.engine import TurnEngine
from audio.turns.transcriber import SegmentTranscriber
from audio.vad.base import VadEvent
from audio.vad.energy import EnergyVad
from audio.voice import VoiceSettings
from audio.wake.attention import AttentionSettings
from tests.support.session import LevelVad, Session

WAKE = AttentionSettings()


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["mute", "unmute", "restart", "call", "speak", "key", "release", "cancel", "wait", "interrupt"]
        ),
        max_size=10,
    )
)
@example(["call", "speak", "release", "interrupt", "release", "wait", "mute", "call"])
@example(["speak", "call", "release", "interrupt", "release", "call"])
def test_case_a6_no_sequence_of_mutes_and_restarts_kills_the_wake_word(actions: list[str]) -> None:
    run_virtual(_a6(actions))


async def _a6(actions: list[str]) -> None:
    session = Session(ScriptedModel(lambda _: "Yes."), attention=WAKE, partials=False)
    async with session:
        for action in actions:
            await _act(session, action)
        session.voice.ptt_cancel()
        session.voice.unmute()
        session.voice.unmute()
        await session.until(lambda: not session.living.waiting, 120)
        await asyncio.sleep(1.0)  # the last sound is judged before it counts whether somebody was woken by it
        await session.until(lambda: session.voice.attention == "asleep", 60)
        await asyncio.sleep(3.0)
        session.events.clear()
        session.call()
        await session.say("what time is it?")
        await session.until(lambda: session.of("user_turn"), 10)
        assert [event.type for event in session.events if event.type in ("wake", "user_turn")] == ["wake", "user_turn"]


async def _act(session: Session, action: str) -> None:
    voice = session.voice
    match action:
        case "mute":
            voice.mute()
        case "unmute":
            voice.unmute()
        case "restart":
            await voice.stop()
            await voice.start()
        case "call":
            session.call(0.3)
        case "speak":
            session.living.speak("Words.", 0.5)
        case "key":
            voice.ptt_down()
        case "release":
            voice.ptt_up()
        case "cancel":
            voice.ptt_cancel()
        case "interrupt":
            voice.interrupt()
        case _:
            await asyncio.sleep(1.3)
    await asyncio.sleep(0.1)


async def test_case_b8_the_follow_up_opens_when_playout_has_finished() -> None:
    """The voice needs a second to begin; what the room says meanwhile and during the answer must not be a turn."""
    voice = ScriptedVoice(first_audio_s=1.0)
    session = Session(ScriptedModel(["One two three."]), attention=WAKE, tts=voice)
    session.room.output_latency_s = 0.2
    async with session:
        session.call()
        await session.say("Count.")
        await session.until(lambda: session.voice.attention == "follow_up")
        opened = session.room.time_s
        last = int(np.flatnonzero(np.abs(session.living.right) > 300)[-1]) / session.room.player.rate_hz
        assert opened >= last + 0.2, "the last sample has left the loudspeaker"
        assert session.states() == ["awake", "engaged", "follow_up"], "it opened once"
        assert session.of("agent_speech_stopped")


class Deaf(LevelVad):
    """Dies silently while ``dead``."""

    def __init__(self) -> None:
        super().__init__()
        self.dead = False
        self.rebuilt = 0

    def process(self, pcm: Pcm) -> list[VadEvent]:
        return [] if self.dead else super().process(pcm)

    def rebuild(self) -> None:
        self.rebuilt += 1
        self.dead = False
        self.reset()


async def test_case_b10_steady_babble_after_speech_ends_at_the_adaptive_floor() -> None:
    async with Session(ScriptedModel(["Yes."]), vad=EnergyVad(), partials=False) as session:
        await asyncio.sleep(2.0)
        session.living.speak("Hello there.", 1.0)
        rng = np.random.default_rng(1)
        session.living.waiting += [rng.integers(-900, 900, FRAME_SAMPLES).astype(np.int16) for _ in range(4000)]
        await session.until(lambda: session.of("user_turn"), 60)
        assert session.of("user_turn")[0].t < 30


async def test_case_b10_a_voice_that_never_ends_meets_the_hard_cap() -> None:
    limits = VoiceSettings(turns=TurnSettings(max_turn_s=20.0))
    async with Session(ScriptedModel(lambda _: "Yes."), settings=limits, partials=False) as session:
        session.living.speak("blah", 100.0)
        await session.until(lambda: session.of("user_turn"), 60)
        assert session.of("user_turn")[0].t == pytest.approx(20.5, abs=1.0)


async def test_case_b10_noise_that_sounds_like_a_voice_is_asked_for_words_and_let_go() -> None:
    async with Session(ScriptedModel([]), attention=WAKE, partials=False) as session:
        session.call()
        await session.until(lambda: session.voice.attention == "awake")
        session.stt._script = lambda _: ""
        began = session.room.time_s
        session.living.speak("", 50.0)
        await session.until(lambda: len(session.of("discarded")) == 2, 40)
        assert session.of("discarded")[1].reason == "noise"
        assert session.of("discarded")[1].t - began < 16
        await session.until(lambda: session.voice.attention == "asleep", 5)


@pytest.mark.parametrize("samples", [37, 160, 441, 512, 4096])
async def test_case_b10_the_size_of_the_chunks_changes_nothing(samples: int) -> None:
    """Speech of one second between silences, cut into chunks of any size."""
    async with Session(ScriptedModel(["Yes."]), partials=False) as session:
        listening = session.voice._listening
        assert listening is not None
        level = np.full(CAPTURE_RATE_HZ, 2000, np.int16)
        session.living.texts.append("Hello.")
        sound = np.concatenate((silence(CAPTURE_RATE_HZ // 2), level, silence(2 * CAPTURE_RATE_HZ)))
        session.room.input_open = False
        for begin in range(0, sound.size, samples):
            chunk = sound[begin : begin + samples]
            listening.frame(chunk, begin + chunk.size)
            if begin // 16_000 != (begin + samples) // 16_000:
                await asyncio.sleep(0.3)
        await session.until(lambda: session.of("user_turn"), 10)
        assert session.of("user_turn")[0].text == "Hello."


async def test_case_b10_sound_in_a_wrong_format_is_refused() -> None:
    async with Session(ScriptedModel([]), attention=WAKE) as session:
        listening = session.voice._listening
        assert listening is not None
        wrong: Any = np.full(160, 0.5, np.float32)
        listening.frame(wrong, 160)
        listening.frame(np.zeros((160, 2), np.int16), 320)
        assert listening.refused == 2


async def test_case_b11_a_wake_with_nothing_behind_it_ends() -> None:
    async with Session(ScriptedModel([]), attention=WAKE) as session:
        session.call()
        await session.until(lambda: session.of("wake"))
        woken = session.of("wake")[0].t
        await asyncio.sleep(10.0)
        asleep = [event for event in session.of("attention") if event.state == "asleep"]
        assert len(asleep) == 1 and asleep[0].t - woken == pytest.approx(6.0, abs=0.1)


class Listener(SegmentTranscriber):
    """Keeps what the engine gives to the recogniser."""

    def __init__(self) -> None:
        super().__init__(ScriptedSegmentStt(["Yes."], repeat_last=True))
        self.heard: list[Pcm] = []

    def append(self, pcm: Pcm) -> None:
        self.heard.append(pcm)
        super().append(pcm)


class Host:
    """A session in which nothing else happens."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: False


async def _deliver(word_ms: int, preroll_ms: int = 800) -> tuple[Pcm, Pcm]:
    """Feed noise with a word in the middle; returns all of it and what the recogniser got."""
    listener, host = Listener(), Host()
    engine = TurnEngine(host, LevelVad(), listener, settings=TurnSettings(preroll_ms=preroll_ms))
    rng = np.random.default_rng(2)
    sound = rng.integers(-200, 200, 3 * CAPTURE_RATE_HZ).astype(np.int16)
    begin = CAPTURE_RATE_HZ * 3 // 2
    sound[begin : begin + word_ms * 16] = 3000
    for at in range(0, sound.size, FRAME_SAMPLES):
        engine.process(sound[at : at + FRAME_SAMPLES], at + FRAME_SAMPLES)
    heard = np.concatenate(listener.heard) if listener.heard else silence(0)
    await engine.close()
    await listener.close()
    return sound, heard


async def test_case_b12_no_sample_is_lost_and_the_preroll_is_there() -> None:
    sound, heard = await _deliver(600)
    word = int(np.flatnonzero(heard == 3000)[0])
    assert 800 * 16 <= word <= 800 * 16 + 1024, "800 ms, whole chunks, and the detector's frame"
    offset = CAPTURE_RATE_HZ * 3 // 2 - word
    assert np.array_equal(heard, sound[offset : offset + heard.size]), "one stretch of the source, to the sample"


async def test_case_b13_a_short_word_comes_with_what_preceded_it() -> None:
    _, heard = await _deliver(300)
    assert heard.size / 16 >= 300 + 300


class NeedsSilence(ScriptedSegmentStt):
    """Loses the last word where fewer than 300 ms of zeros follow."""

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        enough = pcm.size >= 4800 and not pcm[-4800:].any()
        return Transcript("Hello there." if enough else "Hello")


async def test_case_b14_recognisers_get_silence_at_the_end_and_it_is_counted() -> None:
    stt = NeedsSilence([])
    async with Session(ScriptedModel(["Yes."]), stt=stt, partials=False) as session:
        session.voice.ptt_down()
        await session.say("Hello there.", 0.6)
        session.voice.ptt_up()
        await session.settle()
        transcriber = session.voice._transcriber
        assert transcriber is not None and transcriber.padded == CAPTURE_RATE_HZ // 2
        assert session.of("user_turn")[0].text == "Hello there."


async def test_case_b14_a_recogniser_that_pads_by_itself_gets_no_more() -> None:
    stt = ScriptedSegmentStt(["Hello."], repeat_last=True)
    stt.pad_s = 0.5
    async with Session(ScriptedModel(["Yes."]), stt=stt, partials=False) as session:
        await session.say("Hello.", 0.6)
        await session.settle()
        transcriber = session.voice._transcriber
        assert transcriber is not None and transcriber.padded == 0


async def test_case_b15_a_detector_that_dies_is_started_anew_within_two_seconds() -> None:
    vad = Deaf()
    async with Session(ScriptedModel(["Yes."]), vad=vad) as session:
        await asyncio.sleep(1.0)
        vad.dead = True
        died = session.room.time_s
        await session.until(lambda: session.of("error"), 5)
        assert session.of("error")[0].code == "ERR_VAD_STALLED"
        assert session.of("error")[0].t - died == pytest.approx(2.0, abs=0.1)
        await session.say("Hello there.")
        await session.settle()
        assert session.of("user_turn") and vad.rebuilt == 1


async def test_case_b15_a_detector_that_dies_in_mid_sentence_does_not_lose_the_sentence() -> None:
    vad = Deaf()
    async with Session(ScriptedModel(["Yes."]), vad=vad) as session:
        session.living.speak("Hello there.", 1.0)
        await asyncio.sleep(0.8)
        vad.dead = True
        await session.until(lambda: session.of("user_turn"), 6)
        assert session.of("user_turn")[0].text == "Hello there."


async def test_case_b15_a_detector_that_stays_dead_is_not_started_anew_all_the_time() -> None:
    vad = Deaf()
    vad.rebuild = lambda: setattr(vad, "rebuilt", vad.rebuilt + 1)  # type: ignore[method-assign]
    async with Session(ScriptedModel([]), vad=vad) as session:
        vad.dead = True
        await asyncio.sleep(60.0)
        assert vad.rebuilt == 4, "after 2, 6, 14 and 30 s"
        assert session.voice.is_active


async def test_case_b16_a_transcript_without_a_voice_is_evidence_that_somebody_is_there() -> None:
    stt = ScriptedStreamingStt()
    async with Session(ScriptedModel([]), stt=stt) as session:
        await asyncio.sleep(30.0)
        stt.final("Are you still there?")
        assert session.voice.activity == pytest.approx(30.0, abs=0.1), "the conversation is alive"
        assert [event.reason for event in session.of("discarded")] == ["phantom"], "and it is not dropped unseen"
        assert not session.of("user_turn")


async def test_case_b17_speech_without_a_transcript_is_answered() -> None:
    stt = ScriptedStreamingStt()
    async with Session(ScriptedModel([]), stt=stt) as session:
        await session.say("Hello there.")
        await session.settle()
        assert [error.code for error in session.of("error")] == ["ERR_STT_TIMEOUT"]
        assert "did not catch" in session.of("agent_speech_stopped")[0].heard
