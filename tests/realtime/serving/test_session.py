"""A session as its client sees it: turns, answers, interruptions, tools, items."""

from __future__ import annotations

import asyncio
import base64

import numpy as np
import pytest

from agents.base.errors import GloveError, GloveVoiceError
from audio.tts.scripted import ScriptedVoice
from realtime.serving import g711
from realtime.serving.contract import TextPiece
from realtime.serving.limits import Limits
from tests.realtime.serving.client import Bench, Judge, Mind, Words, b64, calls, noise, quiet, says, session

TURN = np.concatenate((quiet(0.5), noise(1.0), quiet(1.0)))


async def test_a_spoken_turn_is_answered_aloud() -> None:
    bench = Bench(stt=Words("what time is it"), mind=Mind([says("It is noon. Time for lunch.")]))
    async with session(bench) as client:
        client.configure(instructions="Be brief.", audio={"input": {"transcription": {"model": "any"}}})
        client.speak(TURN)
        done = await client.seen("response.done")
        assert [kind for kind in client.kinds() if "delta" not in kind] == [
            "session.created",
            "session.updated",
            "input_audio_buffer.speech_started",
            "input_audio_buffer.speech_stopped",
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
            "response.created",
            "conversation.item.input_audio_transcription.completed",
            "response.output_item.added",
            "conversation.item.added",
            "response.content_part.added",
            "response.output_audio.done",
            "response.output_audio_transcript.done",
            "response.content_part.done",
            "response.output_item.done",
            "conversation.item.done",
            "response.done",
            "rate_limits.updated",
        ]
        spoken = client.of("response.output_audio_transcript.done")[0]["transcript"]
        told = client.of("conversation.item.input_audio_transcription.completed")[0]
        assert (told["transcript"], spoken) == ("what time is it", "It is noon. Time for lunch.")
        assert bench.mind.asked[0].instructions == "Be brief."
        assert [message.text for message in bench.mind.asked[0].messages] == ["what time is it"]
        assert done["response"]["usage"]["total_tokens"] == 10
        assert client.sound().size == pytest.approx(6 * 0.25 * 24_000, abs=480)  # six words of a quarter of a second


async def test_when_a_turn_began_and_ended_is_told_in_milliseconds() -> None:
    async with session() as client:
        client.speak(TURN)
        started = await client.seen("input_audio_buffer.speech_started")
        stopped = await client.seen("input_audio_buffer.speech_stopped")
        committed = await client.seen("input_audio_buffer.committed")
        assert 0 <= started["audio_start_ms"] <= 500 and 1500 <= stopped["audio_end_ms"] <= 2500
        assert started["item_id"] == stopped["item_id"] == committed["item_id"]


async def test_speech_over_an_answer_ends_it() -> None:
    bench = Bench(mind=Mind([says("One two three four five six. " * 20)]))
    async with session(bench) as client:
        client.speak(TURN)
        await client.seen("response.output_audio.delta", 3)
        client.speak(TURN)
        done = await client.seen("response.done")
        assert (done["response"]["status"], done["response"]["status_details"]) == (
            "cancelled",
            {"type": "cancelled", "reason": "turn_detected"},
        )
        assert done["response"]["output"][0]["status"] == "incomplete"
        after = client.events.index(done)
        await client.seen("response.created", 2)
        late = [event for event in client.events[after + 1 :] if event.get("response_id") == done["response"]["id"]]
        client.send("response.cancel")
        client.send("conversation.item.retrieve", item_id=done["response"]["output"][0]["id"])
        kept = (await client.seen("conversation.item.retrieved"))["item"]["content"][0]["transcript"]
        assert 0 < len(kept) < 100 and kept == done["response"]["output"][0]["content"][0]["transcript"]
        assert not late and bench.mind.cancelled == 1 and bench.voice.made[0].destroyed


async def test_speech_does_not_end_an_answer_where_the_client_forbids_it_and_is_answered_next() -> None:
    bench = Bench(mind=Mind([says("One two three four five six. " * 4), says("Second.")]))
    async with session(bench) as client:
        client.detection({"type": "server_vad", "interrupt_response": False})
        client.speak(TURN)
        await client.seen("response.output_audio.delta")
        client.speak(TURN)
        await client.seen("input_audio_buffer.committed", 2)
        assert (await client.seen("response.done"))["response"]["status"] == "completed"
        assert (await client.seen("response.done", 2))["response"]["output"][0]["content"][0]["transcript"] == "Second."


async def test_turns_are_heard_without_an_answer_where_none_is_wanted() -> None:
    bench = Bench()
    async with session(bench) as client:
        client.detection({"type": "server_vad", "create_response": False})
        client.speak(TURN)
        await client.seen("input_audio_buffer.committed")
        await asyncio.sleep(5)
        assert not client.of("response.created")
        client.send("response.create")
        await client.seen("response.done")


async def test_noise_without_words_is_answered_with_nothing() -> None:
    bench = Bench(stt=Words(""))
    async with session(bench) as client:
        client.speak(TURN)
        done = await client.seen("response.done")
        assert (done["response"]["status"], done["response"]["output"]) == ("completed", [])
        assert not bench.mind.asked


async def test_the_client_may_mark_turns_itself() -> None:
    bench = Bench(stt=Words("by hand"))
    async with session(bench) as client:
        client.detection(None)
        client.speak(noise(0.5))
        client.send("input_audio_buffer.clear")
        client.speak(noise(1.0))
        client.send("input_audio_buffer.commit")
        client.send("response.create")
        await client.seen("response.done")
        assert not client.of("input_audio_buffer.speech_started")
        assert bench.mind.asked[0].messages[-1].text == "by hand"
        samples = bench.stt.heard[0][0] - 8000  # half a second of silence is put behind it
        assert samples == pytest.approx(16_000, abs=800)


async def test_a_pause_that_is_judged_unfinished_does_not_end_the_turn() -> None:
    judge = Judge(1500, 0)
    bench = Bench(stt=Words("I would like", "I would like some tea"), judge=judge)
    pause = np.concatenate((quiet(0.5), noise(0.8), quiet(0.9), noise(0.8), quiet(2.5)))
    async with session(bench) as client:
        client.detection({"type": "semantic_vad"}, transcription={"language": "en-GB"})
        client.speak(pause)
        await client.seen("response.done")
        assert len(client.of("input_audio_buffer.speech_started")) == 1
        assert len(client.of("input_audio_buffer.speech_stopped")) == 1
        told = client.of("conversation.item.input_audio_transcription.completed")[0]
        assert told["transcript"] == "I would like some tea"
        assert [one.text for one in judge.judged] == ["I would like", "I would like some tea"]
        assert bench.stt.heard[0][1] == "en" and len(bench.stt.heard) == 2  # the turn's words are not looked for again


@pytest.mark.parametrize(("eagerness", "turns"), [("high", 2), ("low", 1)])
async def test_an_eager_client_waits_less(eagerness: str, turns: int) -> None:
    bench = Bench(judge=Judge(600, 600))
    async with session(bench) as client:
        client.detection({"type": "semantic_vad", "eagerness": eagerness, "create_response": False})
        client.speak(np.concatenate((quiet(0.5), noise(0.8), quiet(1.0), noise(0.8), quiet(3))))
        await client.seen("input_audio_buffer.committed", turns)
        await asyncio.sleep(5)
        assert len(client.of("input_audio_buffer.committed")) == turns


async def test_a_tool_of_the_clients_is_called_and_its_result_answered() -> None:
    bench = Bench(mind=Mind([[TextPiece("One moment."), calls("weather", '{"city": "Paris"}')], says("It rains.")]))
    tool = {"type": "function", "name": "weather", "description": "Tells it.", "parameters": {"type": "object"}}
    async with session(bench) as client:
        client.configure(tools=[tool], output_modalities=["text"])
        client.say("Weather in Paris?")
        client.send("response.create")
        call = await client.seen("response.function_call_arguments.done")
        assert (call["name"], call["arguments"], call["output_index"]) == ("weather", '{"city": "Paris"}', 1)
        await client.seen("response.done")
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": '"rain"'}
        client.send("conversation.item.create", item=output)
        client.send("response.create")
        done = await client.seen("response.done", 2)
        assert done["response"]["output"][0]["content"] == [{"type": "output_text", "text": "It rains."}]
        assert [tool.name for tool in bench.mind.asked[0].tools] == ["weather"]
        question = bench.mind.asked[1].messages
        assert question[1].tool_calls is not None and question[1].tool_calls[0].input_args == {"city": "Paris"}
        assert question[2].tool_results is not None and question[2].tool_results[0].result.data == '"rain"'
        assert not client.of("response.output_audio.delta")


async def test_what_was_not_heard_is_forgotten() -> None:
    bench = Bench(mind=Mind([says("Alpha beta gamma. Delta epsilon zeta."), says("Go on.")]))
    async with session(bench) as client:
        client.say("Say the letters.")
        client.send("response.create")
        item = (await client.seen("response.done"))["response"]["output"][0]
        client.send("conversation.item.truncate", item_id=item["id"], content_index=0, audio_end_ms=1010)
        await client.seen("conversation.item.truncated")
        client.send("conversation.item.retrieve", item_id=item["id"])
        told = await client.seen("conversation.item.retrieved")
        assert told["item"]["content"][0]["transcript"] == "Alpha beta gamma. Delta"
        client.say("And then?")
        client.send("response.create")
        await client.seen("response.done", 2)
        before = bench.mind.asked[1].messages[1]
        assert (before.text, before.heard) == ("Alpha beta gamma. Delta", "interrupted")


async def test_items_are_put_in_their_place_and_taken_out() -> None:
    bench = Bench()
    async with session(bench) as client:
        client.say("second", id="b")
        content = [{"type": "input_text", "text": "The user is called Ada."}]
        item = {"type": "message", "role": "system", "content": content, "id": "a"}
        client.send("conversation.item.create", previous_item_id="root", item=item)
        client.say("third", id="c")
        client.say("between", id="x")
        client.send("conversation.item.delete", item_id="x")
        client.send("response.create")
        await client.seen("response.done")
        places = [event["previous_item_id"] for event in client.of("conversation.item.added")][:4]
        assert places == [None, None, "b", "c"]
        texts = [message.text for message in bench.mind.asked[0].messages]
        assert texts == ["[System: The user is called Ada.]", "second", "third"]


async def test_spoken_items_and_pictures_are_understood() -> None:
    bench = Bench(stt=Words("from a file"))
    async with session(bench) as client:
        picture = "data:image/png;base64,aGVsbG8="
        content = [{"type": "input_audio", "audio": b64(noise(1))}, {"type": "input_image", "image_url": picture}]
        client.send("conversation.item.create", item={"type": "message", "role": "user", "content": content})
        client.send("response.create")
        await client.seen("response.done")
        message = bench.mind.asked[0].messages[0]
        assert message.text == "from a file" and message.content is not None
        source = message.content[1].source
        assert source is not None and (source.media_type, source.data) == ("image/png", "aGVsbG8=")


async def test_an_answer_may_have_wishes_of_its_own() -> None:
    bench = Bench(mind=Mind([says("Beside."), says("Inside.")]))
    async with session(bench) as client:
        client.say("hello", id="h")
        wishes = {
            "conversation": "none",
            "instructions": "Classify.",
            "output_modalities": ["text"],
            "metadata": {"topic": "kind"},
            "input": [{"type": "item_reference", "id": "h"}],
            "tool_choice": "none",
        }
        client.send("response.create", response=wishes)
        client.send("response.create")
        await client.seen("response.done", 2)
        beside = next(e["response"] for e in client.of("response.done") if e["response"]["metadata"])
        assert beside["output"][0]["content"][0]["text"] == "Beside." and beside["conversation_id"] is None
        asked = next(question for question in bench.mind.asked if question.instructions == "Classify.")
        assert not asked.own_tools and [message.text for message in asked.messages] == ["hello"]
        kept = [event["item"] for event in client.of("conversation.item.added")]
        assert [item["role"] for item in kept] == ["user", "assistant"]


async def test_an_answer_is_cut_at_its_longest() -> None:
    bench = Bench(mind=Mind([says("one two three four five six seven eight nine ten")]))
    async with session(bench) as client:
        client.say("count")
        client.send("response.create", response={"max_output_tokens": 3})
        done = (await client.seen("response.done"))["response"]
        assert (done["status"], done["status_details"]["reason"]) == ("incomplete", "max_output_tokens")
        assert done["output"][0]["content"][0]["transcript"] == "one two thre"
        assert client.sound().size > 0


CODECS = {"audio/pcmu": (g711.encode_ulaw, g711.decode_ulaw), "audio/pcma": (g711.encode_alaw, g711.decode_alaw)}


@pytest.mark.parametrize("kind", CODECS)
async def test_sound_of_telephones_is_taken_and_given(kind: str) -> None:
    bench = Bench(stt=Words("by phone"), mind=Mind([says("Hello.")]))
    encode, decode = CODECS[kind]
    async with session(bench) as client:
        client.configure(audio={"input": {"format": {"type": kind}}, "output": {"format": {"type": kind}}})
        data = encode(np.concatenate((quiet(0.5, 8000), noise(1, 8000), quiet(1, 8000))))
        for at in range(0, len(data), 160):
            client.send("input_audio_buffer.append", audio=base64.b64encode(data[at : at + 160]).decode())
        await client.seen("response.done")
        sound = b"".join(base64.b64decode(event["delta"]) for event in client.of("response.output_audio.delta"))
        assert len(sound) == pytest.approx(0.25 * 8000, abs=160)
        assert np.abs(decode(sound).astype(float)).max() > 5000


async def test_a_fault_of_the_mind_is_told_and_the_session_goes_on() -> None:
    bench = Bench(mind=Mind([[GloveError("ERR_MODEL", "No model.")], [ValueError("odd")], says("Better.")]))
    async with session(bench) as client:
        client.say("hello")
        for count, code in ((1, "ERR_MODEL"), (2, "ERR_SERVE_MIND")):
            client.send("response.create")
            done = (await client.seen("response.done", count))["response"]
            assert (done["status"], done["status_details"]["error"]["code"]) == ("failed", code)
        client.send("response.create")
        assert (await client.seen("response.done", 3))["response"]["status"] == "completed"


@pytest.mark.parametrize("fault", ["open", "before_audio", "after_first_audio"])
async def test_a_fault_of_the_voice_is_told(fault: str) -> None:
    bench = Bench(voice=ScriptedVoice(fault=fault))  # type: ignore[arg-type]
    async with session(bench) as client:
        client.say("hello")
        client.send("response.create")
        assert (await client.seen("response.done"))["response"]["status"] == "failed"


async def test_a_voice_that_says_nothing_is_given_up() -> None:
    bench = Bench(voice=ScriptedVoice(fault="silent"), limits=Limits(answer_s=20))
    async with session(bench) as client:
        client.say("hello")
        client.send("response.create")
        done = (await client.seen("response.done"))["response"]
        assert done["status_details"]["error"]["code"] == "ERR_SERVE_SLOW"


async def test_speech_that_cannot_be_recognised_is_told() -> None:
    bench = Bench(stt=Words(GloveVoiceError("ERR_STT", "Deaf."), "again"))
    async with session(bench) as client:
        client.detection({"type": "server_vad"}, transcription={})
        client.speak(TURN)
        failed = await client.seen("conversation.item.input_audio_transcription.failed")
        assert failed["error"]["code"] == "ERR_STT"
        assert (await client.seen("response.done"))["response"]["output"] == []
        client.speak(TURN)
        await client.seen("conversation.item.input_audio_transcription.completed")
