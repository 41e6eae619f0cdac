"""A record that is kept on a server, over real HTTP."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from agents.base.errors import GloveError
from agents.core.glove import Glove
from agents.core.messages import InboxItem, Message, Task, TokenUsage
from agents.core.store import StoreAdapter
from agents.core.store_conformance import check_store
from agents.models.scripted import ScriptedModel
from agents.stores.memory import MemoryStore
from agents.web.access import Access, new_token
from agents.web.remote_store import RemoteStore, StoreActions, create_remote_store
from agents.web.routes import web_routes
from agents.web.store_client import http_actions
from tests.agents.web.peer import ask, call, served

TOKEN = new_token()


def stores(kept: dict[str, StoreAdapter] | None = None) -> Starlette:
    kept = {} if kept is None else kept
    return Starlette(routes=web_routes(Access(TOKEN).allows, store=lambda sid: kept.setdefault(sid, MemoryStore(sid))))


@pytest.mark.realtime
async def test_a_remote_store_does_all_that_a_store_must() -> None:
    names = (f"session-{number}" for number in itertools.count())
    async with served(stores()) as url:

        async def make() -> StoreAdapter:
            return create_remote_store(next(names), f"{url}/api", token=TOKEN)

        ran = await check_store(make)
    assert {"keeps_messages_whole", "amends", "keeps_tasks", "keeps_inbox", "remembers_permissions"} <= set(ran)


async def test_an_agent_with_only_two_actions_keeps_its_messages_there_and_the_rest_here() -> None:
    kept: list[dict[str, Any]] = []

    async def get_messages(session_id: str) -> list[dict[str, Any]]:
        assert session_id == "s-1"
        return kept

    async def append_messages(_: str, messages: list[Message]) -> None:
        kept.extend(message.model_dump() for message in messages)

    store = create_remote_store("s-1", StoreActions(get_messages, append_messages))
    with ScriptedModel(["Hello.", "Again."]) as model:
        glove = Glove(model=model).build(store)
        await glove.process_request("hi")
        await glove.process_request("hi again")
        await glove.close()
    assert [message["text"] for message in kept] == ["hi", "Hello.", "hi again", "Again."]
    assert [message.text for message in model.requests[1].messages] == ["hi", "Hello.", "hi again"]
    assert await store.get_turn_count() == 2 and await store.get_token_count() > 0
    await store.add_tasks([Task(id="t", content="walk")])
    await store.add_inbox_item(InboxItem(id="i", tag="t", request="r"))
    await store.set_permission("look", "granted", {"a": 1})
    again = create_remote_store("s-1", StoreActions(get_messages, append_messages))
    assert await store.get_tasks() and not await again.get_tasks()
    assert await store.get_inbox_items() and not await again.get_inbox_items()
    assert await store.get_permission("look", {"a": 1}) == "granted"
    assert await again.get_permission("look", {"a": 1}) == "unset"
    assert len(await again.get_messages()) == 4 and "amend" not in again.supports


async def test_what_actions_hand_out_is_not_changed_by_the_agent() -> None:
    live = [Message(sender="user", text="as it was")]

    async def get_messages(_: str) -> list[Message]:
        return live

    async def append_messages(_: str, messages: list[Message]) -> None:
        live.extend(messages)

    store = create_remote_store("s", StoreActions(get_messages, append_messages))
    given = Message(sender="agent", text="given")
    await store.append_messages([given])
    given.text = "changed"
    (await store.get_messages())[0].text = "changed"
    assert [message.text for message in live] == ["as it was", "given"]


async def test_a_wired_action_wins_over_memory() -> None:
    asked: list[tuple[Any, ...]] = []

    async def note(*values: Any) -> list[Any]:
        asked.append(values)
        return []

    store = create_remote_store("s", StoreActions(note, note, get_tasks=note, add_tasks=note, get_turn_count=None))
    await store.add_tasks([Task(id="t", content="walk")])
    assert await store.get_tasks() == []
    assert [values[0] for values in asked] == ["s", "s"]
    await store.append_messages([])
    assert len(asked) == 2, "appending nothing asks nobody"


async def test_hostile_session_ids_reach_no_store() -> None:
    kept: dict[str, StoreAdapter] = {}
    app = stores(kept)
    for name in ("a__b", ".hidden", "..", "a b", "x" * 200, "ä"):
        status, answer = await ask(app, "GET", f"/api/sessions/{name}/messages", token=TOKEN)
        assert (status, answer["code"]) == (400, "ERR_SESSION_ID"), name
    for path in ("/api/sessions//messages", "/api/sessions/a/b/messages", "/api/sessions/../../messages"):
        async with call(app, "GET", path, token=TOKEN) as made:
            await made.task
            assert made.status == 404, path
    assert not kept
    with pytest.raises(GloveError):
        create_remote_store("../x", "http://localhost/api")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("messages", {"messages": [{"sender": "x"}]}, "messages.0.sender"),
        ("messages", {}, "messages"),
        ("messages/amend", {"messageId": "r", "text": "t", "heard": "maybe"}, "heard"),
        ("tasks", {"tasks": [{"id": "a"}]}, "tasks.0.content"),
        ("tasks/update", {"taskId": "a", "updates": {"status": "odd"}}, "updates.status"),
        ("inbox", {"item": {}}, "item.id"),
        ("inbox/update", {"itemId": "a", "updates": {"status": 1}}, "updates.status"),
        ("permissions", {"toolName": "a", "status": "maybe"}, "status"),
        ("tasks", {"tasks": [{"id": "a", "content": "c", "activeForm": "d", "status": "pending"}] * 2}, "tasks"),
        ("tokens", {"tokens_in": -1}, "tokens_in"),
        ("tokens", {"tokens_in": 10**30}, "tokens_in"),
    ],
)
async def test_wrong_fields_are_named_and_nothing_is_written(path: str, body: Any, field: str) -> None:
    kept: dict[str, StoreAdapter] = {}
    status, answer = await ask(stores(kept), "POST", f"/api/sessions/a/{path}", body, token=TOKEN)
    assert (status, answer["code"], answer["field"]) == (400, "ERR_BODY", field)
    assert not kept


async def test_without_the_token_nothing_is_read_or_written() -> None:
    kept: dict[str, StoreAdapter] = {}
    app = stores(kept)
    for method, path in [("GET", "messages"), ("POST", "messages"), ("GET", "inbox"), ("POST", "counters/reset")]:
        for token in (None, "wrong"):
            status, answer = await ask(app, method, f"/api/sessions/a/{path}", {"messages": []}, token=token)
            assert (status, answer["code"]) == (401, "ERR_UNAUTHORISED")
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        status, answer = await ask(app, "GET", "/api/sessions/a/messages", token=TOKEN, **headers)
        assert (status, answer["code"]) == (403, "ERR_FORBIDDEN")
    assert not kept


async def test_what_a_store_cannot_keep_is_said() -> None:
    class Plain(MemoryStore):
        async def get_tasks(self) -> list[Task]:
            raise NotImplementedError

    app = stores({"a": Plain("a")})
    status, answer = await ask(app, "GET", "/api/sessions/a/tasks", token=TOKEN)
    assert (status, answer["code"]) == (501, "ERR_STORE_UNSUPPORTED")


async def test_faults_of_the_server_are_named() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/tasks"):
            raise httpx.ConnectError("no route")
        if request.url.path.endswith("/inbox"):
            return httpx.Response(502, text="<html>")
        return httpx.Response(401, json={"error": "The token is missing or not valid.", "code": "ERR_UNAUTHORISED"})

    store = RemoteStore("s", http_actions("https://h/api", "t", transport=httpx.MockTransport(answer)))
    for work, code, words in [
        (store.get_messages, "ERR_STORE_REFUSED", "token is missing"),
        (store.get_inbox_items, "ERR_STORE_REFUSED", "status 502"),
        (store.get_tasks, "ERR_STORE_UNREACHABLE", "ConnectError"),
    ]:
        with pytest.raises(GloveError, match=words) as fault:
            await work()
        assert fault.value.code == code
    await store.close()
    with pytest.raises(GloveError):
        create_remote_store("s", "ftp://h")


async def test_counters_of_a_long_conversation_add_up_over_the_wire() -> None:
    kept: dict[str, StoreAdapter] = {}
    app = stores(kept)
    for _ in range(2):
        usage = TokenUsage(tokens_in=3, cache_read_input_tokens=1).model_dump()
        assert await ask(app, "POST", "/api/sessions/a/tokens", usage, token=TOKEN) == (204, None)
    assert (await ask(app, "POST", "/api/sessions/a/turns", {}, token=TOKEN))[0] == 204
    _, told = await ask(app, "GET", "/api/sessions/a/tokens", token=TOKEN)
    assert (told["tokens_in"], told["cache_read_input_tokens"], told["turns"]) == (6, 2, 1)
