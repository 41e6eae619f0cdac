"""A record per session over HTTP: what ``create_remote_store`` and the browser's remote store talk to."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agents.base.errors import GloveError
from agents.core.messages import Heard, InboxItem, Message, PermissionStatus, Task, TokenUsage
from agents.core.store import StoreAdapter
from agents.web.bodies import MAX_BODY_BYTES, Body, Nothing, read_body
from agents.web.gate import Authorise, Endpoint, Gate
from agents.web.refusals import done, reply

OpenStore = Callable[[str], contextlib.AbstractAsyncContextManager[StoreAdapter]]
"""The record of a session, for the time of one request."""


class Appended(Body):
    """Messages to add at the end."""

    messages: list[Message]


class Amended(Body):
    """What was heard of a reply."""

    messageId: str
    text: str
    heard: Heard


class TaskList(Body):
    """The tasks that replace those there were."""

    tasks: list[Task]

    @field_validator("tasks")
    @classmethod
    def _each_once(cls, tasks: list[Task]) -> list[Task]:
        if len({task.id for task in tasks}) < len(tasks):
            raise ValueError("two tasks have the same id")
        return tasks


class TaskChanges(Body):
    """Fields of a task; those that are not given stay."""

    content: str = ""
    activeForm: str = ""
    status: Literal["pending", "in_progress", "completed"] = "pending"


class TaskUpdate(Body):
    """Changed fields of one task."""

    taskId: str
    updates: TaskChanges


class NewItem(Body):
    """An inbox item to add."""

    item: InboxItem


class ItemChanges(Body):
    """Fields of an inbox item; those that are not given stay."""

    status: Literal["pending", "resolved", "consumed"] = "pending"
    response: str | None = None
    resolved_at: str | None = None


class ItemUpdate(Body):
    """Changed fields of one inbox item."""

    itemId: str
    updates: ItemChanges


class Question(Body):
    """A tool and its input, about which permission was asked."""

    toolName: str
    input: Any = None


class Answer(Question):
    """What was answered."""

    status: PermissionStatus


Count = Annotated[int, Field(ge=0, le=1_000_000_000_000)]
"""Tokens of one call; sums of them stay numbers that databases and browsers can count with."""


class Counted(Body):
    """Tokens to add."""

    tokens_in: Count = 0
    tokens_out: Count = 0
    cache_creation_input_tokens: Count = 0
    cache_read_input_tokens: Count = 0


Reading = Callable[[StoreAdapter, Request], Awaitable[Response]]
Writing = Callable[[StoreAdapter, Any], Awaitable[Response]]


def reading_routes(open_store: OpenStore, prefix: str, authorise: Authorise) -> list[BaseRoute]:
    """Routes that show a record and change nothing."""
    addresses: dict[str, Reading] = {
        "messages": _messages,
        "tokens": _tokens,
        "tasks": _tasks,
        "inbox": _inbox,
        "inbox/resolved": _resolved,
    }
    return [
        Route(f"{prefix}/{path}", Gate(Endpoint(_reading(open_store, read), "GET"), authorise), methods=["GET"])
        for path, read in addresses.items()
    ]


def store_routes(
    open_store: OpenStore, prefix: str, authorise: Authorise, *, max_body_bytes: int = MAX_BODY_BYTES
) -> list[BaseRoute]:
    """All routes of a record under ``prefix``, which ends in ``{session_id}``; docs/web.md lists them.

    Args:
        open_store: the record of a session.
        prefix: where the routes are.
        authorise: who may ask.
        max_body_bytes: longest request.
    """
    addresses: dict[str, tuple[type[Body], Writing]] = {
        "messages": (Appended, _append),
        "messages/amend": (Amended, _amend),
        "tokens": (Counted, _count),
        "turns": (Nothing, _turn),
        "counters/reset": (Nothing, _reset),
        "tasks": (TaskList, _replace_tasks),
        "tasks/update": (TaskUpdate, _update_task),
        "inbox": (NewItem, _add_item),
        "inbox/update": (ItemUpdate, _update_item),
        "permissions": (Answer, _remember),
        "permissions/get": (Question, _recall),
    }
    about = Endpoint(_reading(open_store, _about), "GET")
    return [
        Route(prefix, Gate(about, authorise), methods=["GET"]),
        *reading_routes(open_store, prefix, authorise),
        *(
            Route(
                f"{prefix}/{path}",
                Gate(Endpoint(_writing(open_store, shape, write, max_body_bytes), "POST"), authorise),
                methods=["POST"],
            )
            for path, (shape, write) in addresses.items()
        ),
    ]


def _reading(open_store: OpenStore, read: Reading) -> Callable[[Request], Awaitable[Response]]:
    async def handler(request: Request) -> Response:
        async with _opened(open_store, request) as store:
            return await read(store, request)

    return handler


def _writing(
    open_store: OpenStore, shape: type[Body], write: Writing, max_body_bytes: int
) -> Callable[[Request], Awaitable[Response]]:
    async def handler(request: Request) -> Response:
        body = await read_body(request, shape, max_body_bytes)
        async with _opened(open_store, request) as store:
            return await write(store, body)

    return handler


@contextlib.asynccontextmanager
async def _opened(open_store: OpenStore, request: Request) -> AsyncGenerator[StoreAdapter]:
    """The record that ``request`` is about; an operation that its store lacks is refused."""
    async with open_store(request.path_params["session_id"]) as store:
        try:
            yield store
        except NotImplementedError:
            raise GloveError("ERR_STORE_UNSUPPORTED", "The store of this server does not keep this.") from None


async def _about(store: StoreAdapter, request: Request) -> Response:
    return reply({"sessionId": request.path_params["session_id"], "supports": sorted(store.supports)})


async def _messages(store: StoreAdapter, request: Request) -> Response:
    visible = request.query_params.get("visible") == "1"
    return reply({"messages": await (store.get_visible_messages() if visible else store.get_messages())})


async def _tokens(store: StoreAdapter, _: Request) -> Response:
    usage = await store.get_token_consumption()
    return reply({**usage.model_dump(), "turns": await store.get_turn_count()})


async def _tasks(store: StoreAdapter, _: Request) -> Response:
    return reply({"tasks": await store.get_tasks()})


async def _inbox(store: StoreAdapter, _: Request) -> Response:
    return reply({"items": await store.get_inbox_items()})


async def _resolved(store: StoreAdapter, _: Request) -> Response:
    return reply({"items": await store.get_resolved_inbox_items()})


async def _append(store: StoreAdapter, body: Appended) -> Response:
    await store.append_messages(body.messages)
    return done()


async def _amend(store: StoreAdapter, body: Amended) -> Response:
    return reply({"found": await store.amend_message(body.messageId, text=body.text, heard=body.heard)})


async def _count(store: StoreAdapter, body: Counted) -> Response:
    await store.add_tokens(TokenUsage.model_validate(body.model_dump()))
    return done()


async def _turn(store: StoreAdapter, _: Nothing) -> Response:
    await store.increment_turn()
    return done()


async def _reset(store: StoreAdapter, _: Nothing) -> Response:
    await store.reset_counters()
    return done()


async def _replace_tasks(store: StoreAdapter, body: TaskList) -> Response:
    await store.add_tasks(body.tasks)
    return done()


async def _update_task(store: StoreAdapter, body: TaskUpdate) -> Response:
    await store.update_task(body.taskId, body.updates.model_dump(exclude_unset=True))
    return done()


async def _add_item(store: StoreAdapter, body: NewItem) -> Response:
    await store.add_inbox_item(body.item)
    return done()


async def _update_item(store: StoreAdapter, body: ItemUpdate) -> Response:
    await store.update_inbox_item(body.itemId, body.updates.model_dump(exclude_unset=True))
    return done()


async def _remember(store: StoreAdapter, body: Answer) -> Response:
    await store.set_permission(body.toolName, body.status, body.input)
    return done()


async def _recall(store: StoreAdapter, body: Question) -> Response:
    return reply({"status": await store.get_permission(body.toolName, body.input)})
