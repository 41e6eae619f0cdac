"""What a room hears of hooks, skills and subagents: their answers, and nothing of what agents say to each other."""

from __future__ import annotations

import asyncio

import pytest

from agents.core.extensions.hooks import HookResult
from agents.core.extensions.subagents import INVOKE_SUBAGENT
from agents.core.glove import Glove
from agents.core.messages import TokenUsage
from agents.core.observer import Compaction
from agents.models.scripted import Call, Reply, Say, ScriptedModel
from audio.phrases import phrase
from tests.agents.core.scene import returning, story, tool
from tests.support.session import Session

ASK = Call(INVOKE_SUBAGENT, {"name": "scout", "prompt": "Look around."})
TALK = " ".join(["Between ourselves, there is a fox behind the house."] * 40)


def scouting(*child_replies: Reply, stream: bool = True, tokens_per_s: float | None = None) -> Session:
    def factory(_: object) -> Glove:
        usage = TokenUsage(tokens_in=50)
        model = ScriptedModel(child_replies, stream=stream, tokens_per_s=tokens_per_s, usage=usage)
        return (
            Glove(model=model, compaction=Compaction(context_limit_tokens=50)).fold(tool("look", returning(1))).build()
        )

    session = Session(ScriptedModel([[Say("One moment. "), ASK], "It is a fox.", "Yes?"]))
    session.glove.define_sub_agent("scout", factory)
    return session


@pytest.mark.parametrize("stream", [True, False])
async def test_what_a_subagent_says_is_not_spoken(stream: bool) -> None:
    """Not its words before a tool, not its summary, not its answer; and what is heard is what is stored."""
    async with scouting([Say("I look. "), Call("look")], "A summary.", "There is a fox.", stream=stream) as session:
        await session.say("What is out there?")
        await session.settle()
        assert [event.text.strip() for event in session.of("agent_text")] == ["One moment.", "It is a fox."]
        assert session.of("agent_speech_stopped")[-1].heard == "One moment. It is a fox."
        assert session.heard_words() == 6
        assert await story(session.glove.store) == [
            "user: What is out there?",
            f"agent: One moment.  +{INVOKE_SUBAGENT} (complete)",
            f"results: {INVOKE_SUBAGENT}=success",
            "agent: It is a fox. (complete)",
        ]


async def test_a_subagent_that_talks_for_long_is_silence_to_the_user_and_no_reason_to_give_up() -> None:
    session = Session(ScriptedModel([ASK, "It is a fox."]))
    child = Glove(model=ScriptedModel([TALK], tokens_per_s=9.0)).build()
    session.glove.define_sub_agent("scout", lambda _: child)
    async with session:
        await session.say("What is out there?")
        await session.until(lambda: session.of("user_turn"))
        await asyncio.sleep(2.6)
        assert session.room.player.played_total > 0, "a sound says that it thinks"
        assert not session.of("agent_text")
        await session.settle(limit_s=120)
        assert not session.of("voice_fault")
        heard = session.of("agent_speech_stopped")[-1].heard
        assert heard == f"{phrase('still_working', 'en')} It is a fox."


async def test_interrupting_a_subagent_ends_its_work_and_nothing_of_it_is_ever_heard() -> None:
    async with scouting(TALK, tokens_per_s=9.0) as session:
        await session.say("What is out there?")
        await session.until(lambda: session.heard_words() >= 2)
        await asyncio.sleep(1.0)
        session.glove.set_model(ScriptedModel(["Yes?"]))
        await session.say("Never mind.")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Yes?"
        assert [event.text.strip() for event in session.of("agent_text")] == ["One moment.", "Yes?"]
        lines = await story(session.glove.store)
        assert f"results: {INVOKE_SUBAGENT}=aborted" in lines
        assert lines[-2:] == ["user: Never mind.", "agent: Yes? (complete)"]


async def test_the_answer_of_a_hook_is_spoken_and_cut_like_any_other() -> None:
    long = "One two three four five six seven eight nine ten eleven twelve."
    session = Session(ScriptedModel(["Stopped."]))
    session.glove.define_hook("count", lambda call: HookResult(short_circuit=long))
    async with session:
        session.voice.say_to_agent("/count")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(1.2)
        await session.say("Stop.")
        await session.settle()
        cut = session.of("agent_speech_stopped")[0].heard
        assert cut and long.startswith(cut) and cut != long
        assert await story(session.glove.store) == [
            "user: [invoked_extension__hook_count]",
            f"agent: {cut} (interrupted)",
            "user: Stop.",
            "agent: Stopped. (complete)",
        ]


async def test_a_typed_skill_joins_the_conversation_and_only_the_answer_is_heard() -> None:
    session = Session(ScriptedModel(["Three things."]))
    session.glove.define_skill("brief", lambda call: "Answer in three words.")
    async with session:
        session.voice.say_to_agent("/brief what is new?")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Three things."
        assert (await story(session.glove.store))[0] == "user: [Skill: brief]\nAnswer in three words."


async def test_spoken_words_call_nothing() -> None:
    session = Session(ScriptedModel(["I do not know."]))
    session.glove.define_skill("brief", lambda call: pytest.fail("called"))
    async with session:
        await session.say("Slash brief and/or brief, please.")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "I do not know."


async def test_a_hook_that_fails_is_an_honest_failure_and_the_words_are_kept() -> None:
    session = Session(ScriptedModel(["Fine."]))

    def broken(_: object) -> None:
        raise OSError("no disk")

    session.glove.define_hook("broken", broken)
    async with session:
        session.voice.say_to_agent("/broken")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == phrase("failed", "en")
        await session.say("And now?")
        await session.settle()
        assert session.of("agent_speech_stopped")[-1].heard == "Fine."
        assert (await story(session.glove.store))[0] == "user: /broken"
