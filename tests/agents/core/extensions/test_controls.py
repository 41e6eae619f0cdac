"""Code that extends an agent reaches its inside, and can summarise the history from where it stands."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.core.display import DisplayManager
from agents.core.events import CompactionStart
from agents.core.executor import Executor
from agents.core.extensions.hooks import HookInvocation
from agents.core.extensions.skills import INVOKE_SKILL, SkillInvocation
from agents.core.extensions.subagents import INVOKE_SUBAGENT, SubAgentRequest
from agents.core.glove import Glove
from agents.core.messages import TokenUsage
from agents.core.observer import Compaction
from agents.models.scripted import Call, Hang, Reply, ScriptedModel
from tests.agents.core.scene import Ear, sent, story


def agent(*replies: Reply) -> tuple[Glove, ScriptedModel, Ear]:
    model, ear = ScriptedModel(replies, usage=TokenUsage(tokens_in=5, tokens_out=5)), Ear()
    glove = Glove(model=model, compaction=Compaction(instructions="Sum up."))
    return glove.add_subscriber(ear).build(), model, ear


async def test_everything_inside_can_be_reached_and_is_what_is_in_force() -> None:
    glove, model, _ = agent("Ok.")
    seen: list[HookInvocation] = []
    glove.define_hook("look", lambda call: seen.append(call))
    await glove.process_request("/look")
    controls = seen[0].controls
    assert controls.glove is glove
    assert controls.store is glove.store is controls.context.store
    assert controls.prompt_machine.model is model
    assert isinstance(controls.executor, Executor)
    assert await controls.observer.due() is False
    assert [message.sender for message in await controls.context.messages()] == ["user", "agent"]
    glove.set_display(other := DisplayManager())
    assert controls.display is other


async def test_a_hook_may_have_the_history_summarised_before_the_model_answers() -> None:
    glove, model, ear = agent("One.", "So far: one.", "Two.")
    done: list[bool] = []

    async def compact(call: HookInvocation) -> None:
        done.append(await call.controls.force_compaction())

    glove.define_hook("compact", compact)
    await glove.process_request("first")
    await glove.process_request("/compact go on")
    assert done == [True]
    assert len(ear.of(CompactionStart)) == 1
    lines = await story(glove.store)
    assert lines[:2] == ["user: first", "agent: One."]
    assert "So far: one." in lines[2]
    assert lines[3:] == ["user: [invoked_extension__hook_compact] go on", "agent: Two."]
    assert sent(model.requests[-1].messages) == lines[2:4]


@pytest.mark.parametrize("way", ["skill", "subagent"])
async def test_while_tools_run_the_summary_waits_for_their_results(way: str) -> None:
    calls: list[Reply] = {
        "skill": [[Call(INVOKE_SKILL, {"name": "tidy"}), Call(INVOKE_SKILL, {"name": "other"})]],
        "subagent": [[Call(INVOKE_SUBAGENT, {"name": "tidy", "prompt": "x"})]],
    }[way]  # type: ignore[assignment]
    glove, model, _ = agent(*calls, "So far: tidied.", "Done.")
    done: list[bool] = []

    async def tidy(call: SkillInvocation) -> str:
        done.append(await call.controls.force_compaction())
        return "Tidied."

    async def factory(request: SubAgentRequest) -> Glove:
        done.append(await request.parent_controls.force_compaction())
        return Glove(model=ScriptedModel(["Tidied."])).build()

    glove.define_skill("tidy", tidy, expose_to_agent=True).define_skill("other", lambda _: "x", expose_to_agent=True)
    glove.define_sub_agent("tidy", factory)
    await glove.process_request("go")
    assert done == [False]
    lines = await story(glove.store)
    assert [line.split(":")[0] for line in lines] == ["user", "agent", "results", "user", "agent"]
    assert "So far: tidied." in lines[3]
    assert sent(model.requests[1].messages) == [*lines[:3], "user: Sum up."], "the results are in the summary"
    assert sent(model.requests[2].messages) == [lines[3]]


async def test_outside_of_turns_it_is_an_ordinary_summary() -> None:
    glove, _, _ = agent("One.", "So far: one.")
    await glove.process_request("first")
    assert await glove.force_compaction()
    assert "So far: one." in (await story(glove.store))[-1]


async def test_it_ends_with_the_turn() -> None:
    glove, _, ear = agent("One.", Hang())

    async def compact(call: HookInvocation) -> None:
        await call.controls.force_compaction()

    glove.define_hook("compact", compact)
    await glove.process_request("first")
    abort = AbortToken()
    asyncio.get_running_loop().call_later(0.5, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("/compact go on", abort)
    assert ear.types.count("compaction_start") == ear.types.count("compaction_end") == 1
    assert await story(glove.store) == ["user: first", "agent: One.", "user: /compact go on"]
