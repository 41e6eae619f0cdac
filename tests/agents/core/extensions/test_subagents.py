"""A piece of work goes to another agent and its answer comes back; whoever watches can tell the two apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agents.base import clock
from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.events import (
    AgentEvent,
    CompactionEnd,
    CompactionStart,
    SubagentCompleted,
    SubagentInvoked,
    TextDelta,
    ToolUseResult,
)
from agents.core.extensions.subagents import INVOKE_SUBAGENT, MAX_DEPTH, SubAgentFactory, SubAgentRequest
from agents.core.glove import Glove
from agents.core.messages import TokenUsage
from agents.core.model import PromptRequest
from agents.core.observer import Compaction
from agents.core.store import StoreAdapter
from agents.core.tool import ToolContext
from agents.models.scripted import Call, Fail, Hang, Reply, Say, ScriptedModel
from agents.stores.memory import MemoryStore
from agents.testing import Steps, left_behind, sweep
from tests.agents.core.scene import Ear, returning, sent, story, tool

ASK = Call(INVOKE_SUBAGENT, {"name": "scout", "prompt": "Look around."}, id="c")


def child(*replies: Reply, store: StoreAdapter | None = None, **settings: Any) -> Glove:
    return Glove(model=ScriptedModel(replies), store=store, **settings).build()


def parent(factory: SubAgentFactory, *replies: Reply) -> tuple[Glove, ScriptedModel, Ear]:
    model, ear = ScriptedModel(replies), Ear()
    glove = Glove(model=model).add_subscriber(ear)
    return glove.define_sub_agent("scout", factory, description="Looks around.").build(), model, ear


def brackets(events: list[AgentEvent]) -> list[str]:
    """Openings and closings in order; raises ``AssertionError`` unless they are nested and all are closed."""
    names: list[str] = []
    told: list[str] = []
    for event in events:
        match event:
            case SubagentInvoked():
                names.append(event.name)
                told.append(f"<{event.name}>")
            case SubagentCompleted():
                assert names.pop() == event.name
                told.append(f"</{event.name} {event.status}>")
            case CompactionStart():
                names.append("summary")
            case CompactionEnd():
                assert names.pop() == "summary"
            case _:
                pass
    assert not names, f"left open: {names}"
    return told


async def test_the_answer_of_a_subagent_is_the_result_of_the_call() -> None:
    made = child("There is a fox.")
    requests: list[SubAgentRequest] = []

    def factory(request: SubAgentRequest) -> Glove:
        requests.append(request)
        return made

    glove, model, ear = parent(factory, [Say("One moment. "), ASK], "A fox!")
    assert (await glove.process_request("what is out there?", language="de")).text == "A fox!"
    offered = next(tool for tool in model.requests[0].tools if tool.name == INVOKE_SUBAGENT)
    assert "- scout: Looks around." in offered.description
    assert await story(made.store) == ["user: Look around.", "agent: There is a fox."], "it sees nothing else"
    assert (await glove.store.get_messages())[2].tool_results[0].result.data == {  # type: ignore[index]
        "subagent": "scout",
        "content": "There is a fox.",
    }
    (request,) = requests
    assert (request.name, request.prompt) == ("scout", "Look around.")
    assert request.parent_store is glove.store
    assert request.parent_controls.glove is glove
    assert made.model.requests[0].language == "de"  # type: ignore[attr-defined]
    assert ear.types == [
        "tool_use", "model_response_complete", "token_consumption",
        "subagent_invoked", "model_response_complete", "token_consumption", "subagent_completed",
        "tool_use_result", "model_response_complete", "token_consumption",
    ]  # fmt: skip
    assert ear.only(SubagentInvoked) == SubagentInvoked("scout", "Look around.")
    assert ear.only(SubagentCompleted) == SubagentCompleted("scout", "success")


async def test_the_parents_subscribers_listen_only_while_it_works() -> None:
    made = child("One.", "Two.")
    glove, _, ear = parent(lambda _: made, [ASK], "Ok.")
    await glove.process_request("go")
    before = len(ear.events)
    await made.process_request("on its own")
    assert len(ear.events) == before


async def test_a_subagent_may_be_made_asynchronously_and_have_a_lasting_store() -> None:
    async def factory(request: SubAgentRequest) -> Glove:
        store = await request.parent_store.create_sub_agent_store(request.name, durable=True)
        return child("Noted.", store=store)

    glove, _, _ = parent(factory, [ASK], "Ok.", [ASK], "Ok.")
    await glove.process_request("go")
    await glove.process_request("go")
    lasting = await glove.store.create_sub_agent_store("scout", durable=True)
    assert await story(lasting) == ["user: Look around.", "agent: Noted."] * 2
    assert len(await story(glove.store)) == 8


async def test_silence_of_a_subagent_is_told_as_such() -> None:
    glove, _, ear = parent(lambda _: child(""), [ASK], "Ok.")
    await glove.process_request("go")
    assert ear.only(ToolUseResult).result.data["content"] == "[The subagent scout said nothing.]"


def throwing(request: SubAgentRequest) -> Glove:
    raise OSError("no room")


async def throwing_later(request: SubAgentRequest) -> Glove:
    await asyncio.sleep(0.1)
    raise OSError("no room")


def failing(request: SubAgentRequest) -> Glove:
    return child([Say("Half a "), Fail(GloveError("ERR_MODEL_UNREACHABLE", "No route."))])


def unbuilt(request: SubAgentRequest) -> Glove:
    return Glove(model=ScriptedModel([]))


def no_agent(request: SubAgentRequest) -> Any:
    return "a fox"


def itself(request: SubAgentRequest) -> Glove:
    return request.parent_controls.glove


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (throwing, "The factory of the subagent 'scout' threw: no room"),
        (throwing_later, "The factory of the subagent 'scout' threw: no room"),
        (failing, "The subagent 'scout' failed: No route."),
        (unbuilt, "The subagent 'scout' failed: The agent is not built yet. Call build() first."),
        (no_agent, "The factory of the subagent 'scout' made no agent, but a value of type str."),
        (itself, "The subagent 'scout' failed: What runs inside a turn asked its own agent"),
    ],
)
async def test_a_failure_is_told_once_and_the_bracket_is_closed(factory: SubAgentFactory, message: str) -> None:
    runs = 0

    def counted(request: SubAgentRequest) -> Any:
        nonlocal runs
        runs += 1
        return factory(request)

    glove, _, ear = parent(counted, [ASK], "Sorry.")
    await glove.process_request("go")
    assert runs == 1
    completed = ear.only(SubagentCompleted)
    assert completed.status == "error"
    assert (completed.message or "").startswith(message)
    assert ear.only(ToolUseResult).result.message == completed.message
    assert brackets(ear.events) == ["<scout>", "</scout error>"]


async def test_the_name_of_the_tool_in_any_case_has_its_bracket() -> None:
    call = Call(INVOKE_SUBAGENT.upper(), {"name": "scout", "prompt": "Look."})
    glove, _, ear = parent(lambda _: child("A fox."), [call], "Ok.")
    await glove.process_request("go")
    assert brackets(ear.events) == ["<scout>", "</scout success>"]


async def test_an_unknown_subagent_is_told_with_those_that_exist() -> None:
    call = Call(INVOKE_SUBAGENT, {"name": "cook", "prompt": "Eggs."})
    glove, _, ear = parent(lambda _: pytest.fail("made"), [call], "Ok.")
    await glove.process_request("go")
    assert ear.only(ToolUseResult).result.message == "There is no subagent named 'cook'. Subagents: scout."
    assert brackets(ear.events) == ["<cook>", "</cook error>"]


@pytest.mark.parametrize("given", [{}, {"name": "scout"}, {"name": "", "prompt": "x"}, None, "scout"])
async def test_a_call_that_makes_no_sense_opens_no_bracket(given: Any) -> None:
    glove, _, ear = parent(lambda _: pytest.fail("made"), [Call(INVOKE_SUBAGENT, given)], "Ok.")
    await glove.process_request("go")
    assert ear.only(ToolUseResult).result.message == "TOOL_INPUT_INVALID"
    assert brackets(ear.events) == []


async def test_the_list_for_the_model_follows_what_is_registered() -> None:
    glove, model, _ = parent(
        lambda _: child("1"), "Ok.", [Call(INVOKE_SUBAGENT, {"name": "cook", "prompt": "x"})], "Ok."
    )
    await glove.process_request("hi")
    glove.define_sub_agent("cook", lambda _: child("Eggs."), description="Cooks.")
    await glove.process_request("hi")
    first, second = (
        next(spec.description for spec in request.tools if spec.name == INVOKE_SUBAGENT)
        for request in model.requests[:2]
    )
    assert "cook" not in first and "- cook: Cooks." in second


async def test_subagents_may_have_subagents() -> None:
    def factory(_: SubAgentRequest) -> Glove:
        inner = Call(INVOKE_SUBAGENT, {"name": "deep", "prompt": "Dig."})
        return child([inner], "Gold.").define_sub_agent("deep", lambda _: child("Dug."))

    glove, _, ear = parent(factory, [ASK], "Rich!")
    await glove.process_request("go")
    assert brackets(ear.events) == ["<scout>", "<deep>", "</deep success>", "</scout success>"]
    assert "".join(delta.text for delta in ear.of(TextDelta)) == "Dug.Gold.Rich!"


async def test_an_abort_reaches_the_subagent_and_closes_the_bracket() -> None:
    made = child([Say("I see a", whole=True), Hang()])
    glove, _, ear = parent(lambda _: made, [ASK])
    abort = AbortToken()
    asyncio.get_running_loop().call_later(0.5, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    assert clock.now() == pytest.approx(0.5)
    assert ear.only(SubagentCompleted) == SubagentCompleted("scout", "error", "Aborted by the user.")
    assert await story(made.store) == ["user: Look around.", "agent: I see a (interrupted)"]
    assert (await story(glove.store))[1:] == [f"agent:  +{INVOKE_SUBAGENT}", f"results: {INVOKE_SUBAGENT}=aborted"]


async def test_a_subagent_that_cannot_stop_is_left_alone_and_not_heard_of_any_more() -> None:
    async def pay(_: Any, __: ToolContext) -> str:
        await asyncio.sleep(30)
        return "paid"

    made = child([Call("pay")]).fold(tool("pay", pay, un_abortable=True))
    glove, _, ear = parent(lambda _: made, [ASK], "Hello.")
    abort = AbortToken()
    asyncio.get_running_loop().call_later(0.5, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    assert clock.now() < 2.6, "the turn does not wait for it"
    assert brackets(ear.events) == ["<scout>", "</scout error>"]
    await glove.process_request("hi")
    heard = len(ear.events)
    await asyncio.sleep(60)
    assert len(ear.events) == heard
    assert (await story(made.store))[-1] == "results: pay=success", "what it could not stop is on record"
    assert left_behind() == []


async def test_what_a_stuck_subagent_began_is_ended_for_those_who_listen() -> None:
    """It was summarising and had a subagent of its own when the user had enough of it."""

    async def stuck(_: Any, __: ToolContext) -> str:
        await asyncio.sleep(30)
        return "late"

    def deep(_: SubAgentRequest) -> Glove:
        return child([Call("stuck")]).fold(tool("stuck", stuck, un_abortable=True))

    made = child([Call(INVOKE_SUBAGENT, {"name": "deep", "prompt": "Dig."})]).define_sub_agent("deep", deep)
    glove, _, ear = parent(lambda _: made, [ASK])
    abort = AbortToken()
    asyncio.get_running_loop().call_later(0.5, abort.abort)
    with pytest.raises(Aborted):
        await glove.process_request("go", abort)
    assert brackets(ear.events) == ["<scout>", "<deep>", "</deep error>", "</scout error>"]
    await asyncio.sleep(60)
    assert left_behind() == []


def busy_child(store: StoreAdapter) -> Glove:
    """Talks, uses a tool, has a subagent of its own, summarises and answers."""

    async def look(_: Any, __: ToolContext) -> str:
        await asyncio.sleep(0.1)
        return "grey"

    replies: list[Reply] = [
        [Say("Let me see. ", 0.1), Call("look")],
        "Summary.",
        [Call(INVOKE_SUBAGENT, {"name": "deep", "prompt": "Dig."})],
        "Summary.",
        [Say("All grey.", 0.1)],
    ]
    usage = TokenUsage(tokens_in=60, tokens_out=0)
    model = ScriptedModel(replies, usage=usage, tokens_per_s=20)
    compaction = Compaction(instructions="Sum up.", context_limit_tokens=60)
    glove = Glove(model=model, store=store, compaction=compaction).fold(tool("look", look))
    return glove.define_sub_agent("deep", lambda _: child([Say("Dug.", 0.1)])).build()


def assert_in_order(lines: list[str]) -> None:
    """Every reply that calls tools is followed by their results."""
    for index, line in enumerate(lines):
        if " +" in line:
            assert index + 1 < len(lines) and lines[index + 1].startswith("results:"), lines


def aborting(abort: AbortToken, _: asyncio.Task[Any]) -> None:
    abort.abort()


def cancelling(_: AbortToken, request: asyncio.Task[Any]) -> None:
    request.cancel()


@pytest.mark.parametrize("interfere", [aborting, cancelling])
def test_stopped_at_any_step_brackets_are_closed_and_both_histories_are_in_order(
    interfere: Callable[[AbortToken, asyncio.Task[Any]], None],
) -> None:
    """Swept over every step of every task, from the request to the answer."""

    async def scenario(step: int | None) -> int:
        abort, inner = AbortToken(), MemoryStore()

        async def factory(_: SubAgentRequest) -> Glove:
            await asyncio.sleep(0.05)
            return busy_child(inner)

        glove, _, ear = parent(factory, [Say("One moment. "), ASK], "Ok.", "Later.")
        steps = Steps(step, lambda: interfere(abort, request))
        with steps.counting():
            request = asyncio.ensure_future(glove.process_request("go", abort))
            ended = (await asyncio.gather(request, return_exceptions=True))[0]
        if step is None:
            assert not isinstance(ended, BaseException), ended
            assert brackets(ear.events) == ["<scout>", "<deep>", "</deep success>", "</scout success>"]
        told = len(ear.events)
        brackets(ear.events)
        assert_in_order(await story(glove.store))
        assert_in_order(await story(inner))
        await asyncio.sleep(5)
        assert len(ear.events) == told, "nothing is told after the turn"
        assert left_behind() == []
        glove.set_model(ScriptedModel(["Later."]))
        assert (await glove.process_request("still there?")).text == "Later."
        return steps.count

    assert sweep(scenario) > 50


async def test_a_subagent_sees_what_an_aborted_one_of_the_same_name_had_done() -> None:
    models = [ScriptedModel([[Say("I see a", whole=True), Hang()]]), ScriptedModel(["A fox."])]

    async def factory(request: SubAgentRequest) -> Glove:
        store = await request.parent_store.create_sub_agent_store("scout", durable=True)
        return Glove(model=models.pop(0), store=store).build()

    second = models[1]
    glove, _, _ = parent(factory, [ASK], [ASK], "A fox!")
    abort = AbortToken()
    asyncio.get_running_loop().call_later(0.5, abort.abort)
    first_turn = asyncio.ensure_future(glove.process_request("go", abort))
    await asyncio.sleep(0)
    await glove.process_request("go again")
    assert isinstance((await asyncio.gather(first_turn, return_exceptions=True))[0], Aborted)
    assert sent(second.requests[0].messages) == [
        "user: Look around.", "agent: I see a (interrupted)", "user: Look around.",
    ]  # fmt: skip


async def test_the_name_of_the_tool_is_not_taken_from_anybody() -> None:
    glove = Glove(model=ScriptedModel([])).fold(tool(INVOKE_SUBAGENT, returning(1)))
    with pytest.raises(GloveError) as fault:
        glove.define_sub_agent("scout", lambda _: child("x"))
    assert fault.value.code == "ERR_TOOL_DUPLICATE"


async def test_agents_that_call_their_own_kind_come_to_an_end() -> None:
    made = 0

    def again(request: PromptRequest) -> Any:
        if request.messages[-1].tool_results:
            return "Done."
        return [Call(INVOKE_SUBAGENT, {"name": "self", "prompt": "go deeper"})]

    def make(_: object = None) -> Glove:
        nonlocal made
        made += 1
        return Glove(model=ScriptedModel(again)).define_sub_agent("self", make).build()

    assert (await make().process_request("go")).text == "Done."
    assert made == MAX_DEPTH + 1
