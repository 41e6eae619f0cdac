"""A whole conversation with a recogniser and a voice on servers, and with servers that fail in the middle of it."""

from __future__ import annotations

from agents.models.scripted import Say, ScriptedModel
from audio.events import UserTurn
from audio.providers.elevenlabs.stt import ScribeStt
from audio.providers.elevenlabs.tts import ElevenLabsVoices
from audio.stt.fallback import FallbackStt
from audio.stt.scripted import ScriptedSegmentStt
from audio.tts.fallback import FallbackTts
from audio.tts.scripted import ScriptedVoice
from tests.audio.providers.fake_elevenlabs import FakeScribe, FakeVoices
from tests.support.session import Session

KEY = "sk_very-secret-key"
REPLY = "Good morning to you. It will be sunny all day long."


def turns(session: Session) -> list[str]:
    return [event.text for event in session.events if isinstance(event, UserTurn)]


async def test_a_conversation_goes_through_the_services() -> None:
    ears, mouth = FakeScribe(["How will the weather be?"]), FakeVoices()
    stt, tts = ScribeStt(KEY, dial=ears.dial), ElevenLabsVoices(KEY, dial=mouth.dial)
    async with Session(ScriptedModel([[Say(REPLY)]]), stt=stt, tts=tts, partials=False) as session:
        await session.say("whatever", 1.5)
        await session.settle()
        assert turns(session) == ["How will the weather be?"]
        assert (await session.history())[-1] == ("agent", REPLY)
    assert not stt.is_connected and mouth.connection.closed_by_client


async def test_what_was_heard_of_a_reply_that_is_cut_is_known_to_the_word() -> None:
    """50 ms a character: after 1.03 s of the first sentence, "Good morning to you." is heard as it was said."""
    ears, mouth = FakeScribe(["How will the weather be?"]), FakeVoices(chunk_chars=7)
    stt, tts = ScribeStt(KEY, dial=ears.dial), ElevenLabsVoices(KEY, dial=mouth.dial)
    async with Session(ScriptedModel([[Say(REPLY)]]), stt=stt, tts=tts, partials=False) as session:
        player = session.room.player
        await session.say("whatever", 1.5)
        for words, ends_at in (("Good morning to", 15), ("Good morning to you.", 20)):
            await session.until(lambda ends_at=ends_at: player.played_total >= ends_at * 0.05 * player.rate_hz + 10)
            said = words
        session.voice.interrupt()
        await session.settle()
        heard = (await session.history())[-1][1]
        assert heard.startswith(said) and len(heard.split()) <= len(said.split()) + 1


async def test_services_that_fail_in_mid_conversation_are_not_missed() -> None:
    ears, mouth = FakeScribe(), FakeVoices()
    stt = FallbackStt(ScribeStt(KEY, dial=ears.dial), ScriptedSegmentStt(["How will the weather be?"], latency_s=0.3))
    tts = FallbackTts(ElevenLabsVoices(KEY, dial=mouth.dial), ScriptedVoice())
    mouth.down = True
    async with Session(ScriptedModel([[Say(REPLY)]]), stt=stt, tts=tts, partials=False) as session:
        ears.down = True
        ears.connection.drop(1011)
        await session.say("whatever", 1.5)
        await session.settle()
        assert turns(session) == ["How will the weather be?"]
        assert (await session.history())[-1] == ("agent", REPLY)
