"""What somebody said is not lost, wherever the program dies before it is in history; and it is not told twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from agents.base.abort import Aborted, AbortToken
from agents.base.errors import GloveError
from agents.core.extensions.hooks import HookInvocation, HookResult
from agents.core.glove import Glove
from agents.core.messages import Message
from agents.models.scripted import ScriptedModel
from agents.stores.memory import MemoryStore
from agents.stores.sqlite import SqliteStore
from agents.testing import FaultyStore, InterruptingStore, left_behind
from tests.agents.core.scene import sent, story

ROOT = Path(__file__).resolve().parents[3]

DYING = """
import asyncio, sys
from agents.core.glove import Glove
from agents.models.scripted import ScriptedModel
from agents.stores.sqlite import SqliteStore

async def hang(*_):
    print("working", flush=True)
    await asyncio.Event().wait()

async def main(path, place):
    glove = Glove(model=ScriptedModel(), store=SqliteStore(path, "s"))
    if place == "hook":
        glove.define_hook("order", hang)
    elif place == "skill":
        glove.define_skill("order", hang)
    elif place == "preparer":
        glove.add_turn_preparer(hang)
    else:
        glove.add_context_provider(hang, delivery="history", key="place")
    glove.build()
    first = asyncio.ensure_future(glove.process_request("/order two pizzas"))
    await asyncio.sleep(0)
    await asyncio.gather(first, glove.process_request("and hurry"))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.realtime
@pytest.mark.parametrize("place", ["hook", "skill", "preparer", "history"])
async def test_killed_before_the_message_is_in_history_the_words_are_still_there(tmp_path: Path, place: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DYING, str(tmp_path / "talk.db"), place,
        stdout=asyncio.subprocess.PIPE, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"working\n"
    await _journalled(tmp_path / "talk.db", 2)
    process.send_signal(signal.SIGKILL)
    await process.wait()

    store = SqliteStore(tmp_path / "talk.db", "s")
    ran: list[str] = []

    def order(call: HookInvocation) -> HookResult | None:
        ran.append(call.raw_text)
        return None

    model = ScriptedModel(["Hello."])
    glove = Glove(model=model, store=store).define_hook("order", order).build()
    left = await glove.recover()
    assert left is not None and left.text == "and hurry"
    await glove.process_request("hello?")
    lines = sent(model.requests[0].messages)
    assert [lines[0], lines[2], lines[4]] == ["user: /order two pizzas", "user: and hurry", "user: hello?"]
    assert "was not answered" in lines[1] and "was not answered" in lines[3]
    assert ran == []
    again = Glove(model=ScriptedModel(), store=store).build()
    assert await again.recover() is None
    assert len(await story(store)) == 6
    await store.close()


async def _journalled(path: Path, count: int) -> None:
    store = SqliteStore(path, "s")
    async with asyncio.timeout(10):
        while len(await store.get_journal()) < count:
            await asyncio.sleep(0.01)
    await store.close()


async def test_the_journal_is_empty_whenever_no_turn_runs() -> None:
    store = MemoryStore()

    def refuse(_: HookInvocation) -> HookResult:
        raise GloveError("ERR_SHOP_CLOSED", "The shop is closed.")

    glove = Glove(model=ScriptedModel(["Hi."]), store=store).define_hook("order", refuse)
    glove.define_hook("hush", lambda _: HookResult(short_circuit="Quiet.")).build()
    await glove.process_request("hello")
    assert await store.get_journal() == []
    await glove.process_request("/hush")
    assert await store.get_journal() == []
    with pytest.raises(GloveError):
        await glove.process_request("/order")
    assert await store.get_journal() == []
    assert (await story(store))[-1] == "user: /order"


async def test_a_request_that_is_stopped_while_it_waits_for_its_place_is_not_brought_back() -> None:
    store = MemoryStore()
    free = asyncio.Event()

    async def wait(_: HookInvocation) -> None:
        await free.wait()

    glove = Glove(model=ScriptedModel(["Done."]), store=store).define_hook("wait", wait).build()
    first = asyncio.ensure_future(glove.process_request("/wait"))
    await asyncio.sleep(0)
    abort = AbortToken()
    second = asyncio.ensure_future(glove.process_request("never mind", abort))
    await asyncio.sleep(0.1)
    assert [message.text for message in await store.get_journal()] == ["/wait", "never mind"]
    abort.abort()
    with pytest.raises(Aborted):
        await second
    assert [message.text for message in await store.get_journal()] == ["/wait"]
    free.set()
    await first
    assert await Glove(model=ScriptedModel(), store=store).build().recover() is None
    await asyncio.sleep(0.1)
    assert left_behind() == []


async def test_requests_that_wait_are_not_taken_for_those_of_an_earlier_process() -> None:
    store = MemoryStore()
    await store.add_journal_entry(Message(sender="user", text="from before", id="turn_0"))
    glove = Glove(model=ScriptedModel(["One.", "Two."]), store=store).build()
    await asyncio.gather(glove.process_request("first"), glove.process_request("second"))
    lines = await story(store)
    assert lines[0] == "user: from before" and "not answered" in lines[1]
    assert lines[2:] == ["user: first", "agent: One.", "user: second", "agent: Two."]
    assert await store.get_journal() == []


async def test_what_a_store_kept_in_both_places_is_told_once() -> None:
    store = MemoryStore()
    both = Message(sender="user", text="once", id="turn_0")
    await store.append_messages([both, Message(sender="agent", text="Fine.")])
    await store.add_journal_entry(both)
    assert await Glove(model=ScriptedModel(), store=store).build().recover() is None
    assert await story(store) == ["user: once", "agent: Fine."]
    assert await store.get_journal() == []


@pytest.mark.parametrize("on_disk", [False, True])
async def test_a_turn_writes_into_the_journal_once(tmp_path: Path, on_disk: bool) -> None:
    inner = SqliteStore(tmp_path / "talk.db", "s") if on_disk else MemoryStore()
    store = FaultyStore(inner)
    glove = Glove(model=ScriptedModel(["Hi.", "Hi."]), store=store).build()
    await glove.process_request("hello")
    store.operations.clear()
    await glove.process_request("hello")
    assert [name for name in store.operations if "journal" in name] == ["add_journal_entry"]
    await inner.close()


async def test_a_journal_that_cannot_be_written_is_no_reason_not_to_answer() -> None:
    store = FaultyStore(MemoryStore())
    glove = Glove(model=ScriptedModel(["Hi.", "Still here."]), store=store).build()
    await glove.process_request("hello")
    store.at = {len(store.operations) + 1}
    assert (await glove.process_request("hello?")).text == "Still here."
    assert store.operations.count("add_journal_entry") == 2


async def test_a_turn_that_is_cut_off_in_mid_write_leaves_nothing_behind() -> None:
    inner = MemoryStore()
    abort = AbortToken()
    store = InterruptingStore(inner, 1, abort.abort)
    glove = Glove(model=ScriptedModel(["Hi."]), store=store).build()
    with pytest.raises(Aborted):
        await glove.process_request("hello", abort)
    assert await inner.get_journal() == []
    await asyncio.sleep(0.1)
    assert left_behind() == []


class NoJournal(MemoryStore):
    """A store without a journal."""

    supports = MemoryStore.supports - {"journal"}

    async def add_journal_entry(self, message: Message) -> None:
        raise NotImplementedError

    async def get_journal(self) -> list[Message]:
        raise NotImplementedError


async def test_a_store_without_a_journal_is_answered_from_all_the_same() -> None:
    store = NoJournal()
    assert (await Glove(model=ScriptedModel(["Hi."]), store=store).build().process_request("hello")).text == "Hi."
    assert await story(store) == ["user: hello", "agent: Hi."]
