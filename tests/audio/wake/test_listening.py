"""Being called, as a user would notice it, on virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from agents.models.scripted import Say, ScriptedModel
from audio.pcm import Pcm
from audio.vad.base import SpeechProb, VadEvent
from audio.vad.segment import SegmentMachine, SegmentSettings
from audio.wake.attention import AttentionSettings
from tests.support.session import LevelVad, Session

WAKE = AttentionSettings()
LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."


def turns(session: Session) -> list[str]:
    return [turn.text for turn in session.of("user_turn")]


async def test_nothing_is_heard_before_the_wake_phrase() -> None:
    vad = LevelVad()
    async with Session(ScriptedModel([]), attention=WAKE, vad=vad) as session:
        await session.say("What time is it?")
        await asyncio.sleep(3.0)
        assert vad.samples == 0, "not even the voice detector runs"
        assert not session.stt.calls and not session.types()
        assert session.voice.attention == "asleep"


async def test_phrase_and_question_in_one_breath() -> None:
    async with Session(ScriptedModel(["It is noon."]), attention=WAKE) as session:
        await asyncio.sleep(1.0)
        session.call()
        await session.say("what time is it?", 1.0)
        await asyncio.sleep(0.7)
        await session.settle()
        assert turns(session) == ["What time is it?"], "the phrase is not part of the question"
        assert [event.phrase for event in session.of("wake")] == ["Hey Jarvis"]
        assert session.states() == ["awake", "engaged", "follow_up"]
        assert session.of("agent_speech_stopped")[0].heard == "It is noon."


async def test_phrase_then_a_pause_then_the_question() -> None:
    async with Session(ScriptedModel(["It is noon."]), attention=WAKE) as session:
        session.call()
        await asyncio.sleep(3.0)
        assert [event.reason for event in session.of("discarded")] == ["wake_word"]
        await session.say("What time is it?")
        await session.settle()
        assert turns(session) == ["What time is it?"]


async def test_a_very_short_command_right_behind_the_phrase_is_not_lost() -> None:
    async with Session(ScriptedModel(["Fine."]), attention=WAKE, partials=False) as session:
        await asyncio.sleep(1.0)
        session.call()
        session.living.speak("louder", 0.2)
        await session.until(lambda: session.of("user_turn"), 10)
        assert turns(session) == ["Louder"]


async def test_waking_makes_a_sound() -> None:
    async with Session(ScriptedModel([]), attention=WAKE) as session:
        session.call()
        await session.until(lambda: session.of("wake"))
        before = np.abs(session.living.right).max(initial=0)
        await asyncio.sleep(0.8)
        assert before < 300 < np.abs(session.living.right).max()


async def test_somebody_who_talks_on_is_not_talked_over_by_that_sound() -> None:
    async with Session(ScriptedModel(["It is noon."]), attention=WAKE) as session:
        session.call()
        session.living.speak("What time is it, please, in Rome?", 2.0)
        await session.until(lambda: session.of("wake"))
        await asyncio.sleep(1.5)
        assert np.abs(session.living.right).max(initial=0) < 300
        await session.settle()
        assert session.of("agent_speech_stopped")[0].heard == "It is noon."


async def test_the_follow_up_needs_no_phrase_and_ends() -> None:
    async with Session(ScriptedModel(["It is noon.", "In Rome too."]), attention=WAKE) as session:
        session.call()
        await session.say("What time is it?")
        await session.until(lambda: session.voice.attention == "follow_up")
        await asyncio.sleep(4.0)
        await session.say("And in Rome?")
        await session.until(lambda: session.voice.attention == "follow_up")
        opened = session.of("attention")[-1].t
        await session.until(lambda: session.voice.attention == "asleep")
        assert session.of("attention")[-1].t - opened == pytest.approx(6.0, abs=0.05)
        await session.say("And in Oslo?")
        await asyncio.sleep(3.0)
        assert turns(session) == ["What time is it?", "And in Rome?"]


async def test_noise_does_not_keep_the_window_open() -> None:
    async with Session(ScriptedModel([]), attention=WAKE) as session:
        session.call()
        await session.until(lambda: session.voice.attention == "awake")
        woken = session.room.time_s
        for _ in range(8):
            await session.say("", 0.6)
            await asyncio.sleep(1.2)
        assert session.voice.attention == "asleep"
        asleep = [event.t for event in session.of("attention") if event.state == "asleep"]
        assert asleep[0] - woken < 6.0 + 2.5
        assert not turns(session)


async def test_the_wake_phrase_ends_a_reply_and_listens() -> None:
    async with Session(ScriptedModel([LONG, "Yes."]), attention=WAKE) as session:
        session.call()
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(1.0)
        session.call()
        await session.say("stop counting please.")
        await asyncio.sleep(0.7)
        await session.settle()
        assert turns(session) == ["Count.", "Stop counting please."]
        assert len(session.of("interrupted")) == 1


async def test_without_echo_cancellation_only_the_phrase_interrupts() -> None:
    session = Session(ScriptedModel([LONG, "Yes."]), attention=WAKE)
    session.room.full_duplex = False
    async with session:
        session.call()
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
        await session.say("Some words over it.", 1.0)
        await asyncio.sleep(0.5)
        assert not session.of("playback_paused") and not session.of("interrupted")
        session.call()
        await session.until(lambda: session.of("interrupted"), 3)
        await asyncio.sleep(0.5)
        await session.say("What time is it?")
        await session.settle()
        assert turns(session) == ["Count.", "What time is it?"]


async def test_without_echo_cancellation_the_follow_up_is_heard() -> None:
    session = Session(ScriptedModel(["One two three.", "Yes."]), attention=WAKE)
    session.room.full_duplex = False
    async with session:
        session.call()
        await session.say("Count.")
        await session.until(lambda: session.voice.attention == "follow_up")
        await asyncio.sleep(0.5)
        await session.say("Again.")
        await session.settle()
        assert turns(session) == ["Count.", "Again."]


@pytest.mark.parametrize("full_duplex", [True, False])
async def test_its_own_voice_does_not_wake_it(full_duplex: bool) -> None:
    """The microphone hears the phrase while the player plays it."""
    session = Session(ScriptedModel([LONG]), attention=WAKE)
    session.room.full_duplex = full_duplex
    async with session:
        speaking = asyncio.create_task(session.voice.announce("Anything."))
        await session.until(lambda: session.of("agent_speech_started"))
        player = session.room.player
        player.enqueue(np.full(player.rate_hz, 1000, np.int16), player.rate_hz, player.generation)
        session.call(1.0)
        await speaking
        await asyncio.sleep(2.0)
        assert not session.of("wake") and not session.of("interrupted") and not turns(session)
        await asyncio.sleep(3.0)
        session.call()
        await asyncio.sleep(1.5)
        assert session.of("wake"), "afterwards it can be woken"


async def test_an_announcement_falls_silent_at_stop_and_at_nothing_else() -> None:
    async with Session(ScriptedModel(["Done."]), attention=WAKE) as session:
        ringing = asyncio.create_task(session.voice.announce(LONG, urgent=True))
        await session.until(lambda: session.of("agent_speech_started"))
        assert session.voice.attention == "sounding"
        await session.say("I am talking to somebody else.", 1.5)
        await asyncio.sleep(1.0)
        assert not session.of("playback_paused") and not session.of("interrupted") and not turns(session)
        await session.say("Stop!", 0.5)
        await ringing
        await session.settle()
        assert turns(session) == ["Stop!"]
        assert len(session.of("interrupted")) == 1


async def test_stop_is_heard_for_a_while_after_an_alert_and_not_for_ever() -> None:
    async with Session(ScriptedModel(["Done."]), attention=WAKE) as session:
        await session.voice.announce("Your timer is ringing.", urgent=True)
        await asyncio.sleep(3.0)
        await session.say("What a nice evening.")
        await asyncio.sleep(2.5)
        assert not turns(session)
        await session.until(lambda: session.voice.attention == "asleep", 10)
        await session.say("Stop.", 0.5)
        await asyncio.sleep(3.0)
        assert not turns(session)
        await session.voice.announce("Your timer is ringing.", urgent=True)
        await asyncio.sleep(4.0)
        await session.say("Stop.", 0.5)
        await session.settle()
        assert turns(session) == ["Stop."]


async def test_a_message_waits_until_nobody_is_invited_to_speak() -> None:
    async with Session(ScriptedModel(["It is noon."]), attention=WAKE) as session:
        session.call()
        await session.say("What time is it?")
        await session.until(lambda: session.voice.attention == "follow_up")
        await session.voice.announce("A parcel is here.")
        await session.settle()
        assert session.states()[-3:] == ["asleep", "sounding", "asleep"]


async def test_an_alert_waits_for_the_user_but_not_for_ever_for_a_reply() -> None:
    story = " ".join(["One two three four five."] * 40)
    async with Session(ScriptedModel([story]), attention=WAKE) as session:
        session.call()
        await session.say("Tell me a story.")
        await session.until(lambda: session.of("agent_speech_started"))
        began = session.room.time_s
        await session.voice.announce("Your timer is ringing.", urgent=True)
        stopped = [event.heard for event in session.of("agent_speech_stopped")]
        assert stopped[-1] == "Your timer is ringing." and stopped[0] != story
        assert session.of("interrupted")[0].t - began == pytest.approx(10.0, abs=0.3)


async def test_two_messages_are_spoken_one_after_the_other() -> None:
    async with Session(ScriptedModel([])) as session:
        await asyncio.gather(session.voice.announce("One two three."), session.voice.announce("Four five six."))
        heard = [event.heard for event in session.of("agent_speech_stopped")]
        assert heard == ["One two three.", "Four five six."]


async def test_a_typed_line_does_not_open_the_microphone() -> None:
    async with Session(ScriptedModel(["One two three."]), attention=WAKE) as session:
        session.voice.say_to_agent("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await session.say("Words of the room.", 1.0)
        await session.settle()
        await session.say("More words.")
        await asyncio.sleep(2.0)
        assert turns(session) == ["Count."]
        assert session.states() == ["sounding", "asleep"]


async def test_an_open_microphone_is_always_awake() -> None:
    async with Session(ScriptedModel(["Yes.", "Yes."]), attention=AttentionSettings(mode="open")) as session:
        for text in ("First thing.", "Second thing."):
            await asyncio.sleep(20.0)
            await session.say(text)
            await session.settle()
        assert turns(session) == ["First thing.", "Second thing."]
        assert session.states() == ["engaged", "awake", "engaged", "awake"]


async def test_a_turn_the_agent_wants_is_spoken_without_opening_the_microphone() -> None:
    async with Session(ScriptedModel([Say("The build failed.", 4.0)]), attention=WAKE) as session:
        await session.voice.speak_up(
            lambda abort=None, **how: session.glove.process_request("A build failed.", abort, **how)
        )
        assert [event.heard for event in session.of("agent_speech_stopped")] == ["The build failed."]
        assert session.states() == ["sounding", "asleep"]
        assert session.heard_words() == 3, "no cue while nobody waits"


async def test_activity_is_the_last_turn_or_reply() -> None:
    async with Session(ScriptedModel(["One two three."]), attention=WAKE) as session:
        await asyncio.sleep(10.0)
        assert session.voice.activity == pytest.approx(0.0, abs=0.1)
        session.call()
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        loop = asyncio.get_running_loop()
        assert session.voice.activity == loop.time()
        await session.settle()
        ended = session.voice.activity
        await asyncio.sleep(10.0)
        assert session.voice.activity == ended == pytest.approx(loop.time() - 10, abs=0.2)


async def test_a_conversation_that_stands_still_is_ended() -> None:
    """The room has stopped playing and does not say so."""
    async with Session(ScriptedModel([LONG]), attention=AttentionSettings(stalled_s=5.0)) as session:
        session.call()
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        session.room.player.pause()
        session.room.player.resume = lambda: None  # type: ignore[method-assign]
        await session.until(lambda: session.voice.attention == "asleep", 250)
        assert "ERR_TURN_STALLED" in [error.code for error in session.of("error")]
        assert session.voice.settled


async def test_a_noise_that_is_no_speech_does_not_keep_attention_when_the_reply_was_cut_in_it() -> None:
    async with Session(ScriptedModel([LONG]), attention=WAKE, partials=False) as session:
        session.call()
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
        session.living.speak("", 0.15)
        await session.until(lambda: session.of("playback_paused"))
        session.voice.interrupt()
        await session.until(lambda: session.voice.attention == "follow_up", 2)
        await session.until(lambda: session.voice.attention == "asleep", 8)


class Hesitant(LevelVad):
    """Finds a murmur nearly as likely as speech, without calling it that."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = SegmentMachine(SegmentSettings(positive=0.6, negative=0.5))
        self.murmurs = False

    def process(self, pcm: Pcm) -> list[VadEvent]:
        events = super().process(pcm)
        if not self.murmurs:
            return events
        return [replace(event, probability=0.45) if isinstance(event, SpeechProb) else event for event in events]


async def test_a_murmur_behind_a_noise_does_not_keep_the_session_waiting() -> None:
    """The recogniser is still looking into the noise when the murmur comes."""
    vad = Hesitant()
    async with Session(ScriptedModel([LONG]), attention=WAKE, vad=vad) as session:
        session.stt._latency_s = 1.0
        session.call()
        await session.say("Count.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
        session.living.speak("", 0.15)
        await session.until(lambda: session.of("playback_paused"))
        await asyncio.sleep(0.75)
        vad.murmurs = True
        await session.until(lambda: session.voice.attention == "follow_up", 30)
