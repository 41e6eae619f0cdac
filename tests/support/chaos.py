"""Random conversations: everything that can happen, at any time, in any order; then everything must come to rest."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from agents.base.errors import GloveError
from agents.core.events import SubagentCompleted, SubagentInvoked
from agents.core.extensions.subagents import INVOKE_SUBAGENT, SubAgentRequest
from agents.core.glove import Glove
from agents.core.messages import Message
from agents.core.model import PromptRequest
from agents.core.store import StoreAdapter
from agents.core.tool import NoArgs, Tool
from agents.models.scripted import Call, Fail, Hang, Reply, Say, ScriptedModel
from agents.testing import RecordingSubscriber
from audio.tts.scripted import ScriptedVoice
from audio.turns.contract import TurnSettings
from audio.voice import VoiceSettings
from tests.support.session import Session

TEXTS = ("Stop it now.", "What about Tuesday?", "Mhm.", "", "Tell me about the", "Yes.", "Wait, no.", "Stop.")
SENTENCES = ("One two three. Four five six seven. Eight nine ten.", "Yes.", "Let me see.", "")


def make_model(rng: random.Random) -> ScriptedModel:
    """Answers with text, tool calls, both, faults or silence, after random delays."""

    def respond(_request: PromptRequest) -> Reply:
        say = Say(rng.choice(SENTENCES), rng.choice((0.0, 0.05, 0.8)))
        kind = rng.random()
        if kind < 0.55:
            return [say]
        if kind < 0.85:
            names = ("quick", "slow", "paying", "broken", INVOKE_SUBAGENT)
            calls = [Call(rng.choice(names), {"name": "scout", "prompt": "Go."}) for _ in range(rng.randint(1, 3))]
            return [say, *calls]
        if kind < 0.95:
            return [say, Fail(GloveError("ERR_MODEL_UNREACHABLE", "No route."), rng.choice((0.0, 0.3)))]
        return [say, Hang()]

    return ScriptedModel(respond, tokens_per_s=rng.choice((None, 50.0, 8.0)))


def make_tools(rng: random.Random) -> tuple[Tool[Any], ...]:
    """A quick, a slow, an unabortable and a failing tool."""

    def tool(name: str, seconds: float, **options: Any) -> Tool[NoArgs]:
        async def run(_args: NoArgs, _ctx: Any) -> str:
            await asyncio.sleep(seconds * rng.uniform(0.5, 1.5))
            if name == "broken":
                raise ValueError("broken on purpose")
            return name

        return Tool(name=name, description=name, run=run, args=NoArgs, **options)

    return tool("quick", 0.05), tool("slow", 2.0), tool("paying", 1.0, un_abortable=True), tool("broken", 0.1)


def scouting(rng: random.Random, glove: Glove) -> list[StoreAdapter]:
    """Let ``glove`` send out subagents that do anything, too. Returns their stores, as they come into being."""
    stores: list[StoreAdapter] = []

    async def factory(request: SubAgentRequest) -> Glove:
        await asyncio.sleep(rng.choice((0.0, 0.1)))
        stores.append(await request.parent_store.create_sub_agent_store("scout"))
        scout = Glove(model=make_model(rng), store=stores[-1])
        for tool in make_tools(rng):
            scout.fold(tool)
        return scout.build()

    glove.define_sub_agent("scout", factory)
    return stores


async def conversation(seed: int, steps: int = 25) -> None:
    """Run one random conversation and check what must hold at its end.

    Raises ``AssertionError`` naming the seed.
    """
    rng = random.Random(seed)
    voice = ScriptedVoice(first_audio_s=rng.choice((0.0, 0.12, 0.6)), open_s=rng.choice((0.0, 0.3)))
    eager = VoiceSettings(turns=TurnSettings(preemptive=rng.random() < 0.5))
    session = Session(make_model(rng), tools=make_tools(rng), tts=voice, settings=eager)
    ear = RecordingSubscriber()
    scouts = scouting(rng, session.glove.add_subscriber(ear))
    async with session:
        for _ in range(steps):
            await _act(rng, session, voice)
        voice.fault = None
        session.voice.unmute()
        await session.until(lambda: not session.living.waiting)
        await asyncio.sleep(1.0)
        await session.settle(limit_s=120)
        await asyncio.sleep(2.0)
        _check(seed, session)
        for store in (session.glove.store, *scouts):
            check_history(seed, await store.get_messages())
        brackets = [event.type for event in ear.events if isinstance(event, SubagentInvoked | SubagentCompleted)]
        assert brackets == ["subagent_invoked", "subagent_completed"] * (len(brackets) // 2), f"seed {seed}: {brackets}"
        words = session.heard_words()
        await asyncio.sleep(2.0)
        assert session.heard_words() == words, f"seed {seed}: sound after everything had settled"
    names = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    abandoned = [name for name in names if "tool" not in name]
    assert not abandoned, f"seed {seed}: tasks left behind: {abandoned}"


async def _act(rng: random.Random, session: Session, voice: ScriptedVoice) -> None:
    match rng.randrange(10):
        case 0 | 1 | 2 | 3:
            session.living.speak(rng.choice(TEXTS), rng.choice((0.1, 0.3, 0.6, 1.5)))
        case 4:
            session.voice.interrupt()
        case 5:
            session.voice.say_to_agent("A typed line.")
        case 6:
            session.voice.mute() if rng.random() < 0.3 else session.voice.unmute()
        case 7:
            voice.fault = rng.choice((None, None, "before_audio", "after_first_audio", "open"))
        case 8:
            session.voice.commit_turn()
        case _:
            pass
    await asyncio.sleep(rng.choice((0.0, 0.01, 0.1, 0.4, 1.0, 3.0)))


def _check(seed: int, session: Session) -> None:
    assert session.voice.current_mode == "listening", f"seed {seed}: {session.voice.current_mode}"
    assert not session.room.player.paused, f"seed {seed}: playback is still paused"
    assert session.room.player.idle, f"seed {seed}: sound is still queued"
    assert session.room.failed is None, f"seed {seed}: the room failed: {session.room.failed}"
    assert session.voice.events.faults == 0, f"seed {seed}: a listener failed"
    kinds = [event.type for event in session.events]
    assert kinds.count("agent_speech_started") == kinds.count("agent_speech_stopped"), f"seed {seed}: unbalanced speech"
    assert kinds.count("interrupted") <= kinds.count("agent_speech_stopped"), f"seed {seed}: interrupted in silence"


def check_history(seed: int, messages: list[Message]) -> None:
    """Every tool call has its result right behind it, and no reply waits to be reported."""
    for index, message in enumerate(messages):
        if not message.tool_calls:
            continue
        results = messages[index + 1].tool_results or [] if index + 1 < len(messages) else []
        assert len(results) == len(message.tool_calls), f"seed {seed}: a tool call without a result"
        assert all(result.result.status for result in results)
