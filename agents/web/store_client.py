"""The other end of ``store_routes``: a record over HTTP."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote

import httpx

from agents.base.clock import real_time_work
from agents.base.errors import ConfigError, GloveError
from agents.core.messages import InboxItem, Message, Task, TokenUsage
from agents.web.remote_store import StoreActions
from agents.web.wire import to_json

TIMEOUT_S = 30.0
"""Longest silence of the server."""


def http_actions(
    url: str, token: str | None = None, *, transport: httpx.AsyncBaseTransport | None = None
) -> StoreActions:
    """The functions of a remote store that use the ``store_routes`` of the API at ``url``.

    They raise ``GloveError``: ``ERR_STORE_UNREACHABLE``, or ``ERR_STORE_REFUSED`` with what the server said. Nothing is
    tried twice: a message that may have been written would then be there twice.

    Args:
        url: for example ``https://example.org/api``.
        token: the server's token, if it wants one.
        transport: the way to the server; the network when None.

    Raises:
        ConfigError: ``ERR_STORE_URL``.
    """
    if not url.startswith(("https://", "http://")):
        raise ConfigError("ERR_STORE_URL", f"{url!r} is no address of a server.", 'Give one like "https://host/api".')
    server = _Server(url, token, transport)

    async def get_messages(session_id: str) -> list[Any]:
        return (await server.read(session_id, "messages"))["messages"]

    async def get_visible_messages(session_id: str) -> list[Any]:
        return (await server.read(session_id, "messages?visible=1"))["messages"]

    async def append_messages(session_id: str, messages: list[Message]) -> None:
        await server.write(session_id, "messages", {"messages": messages})

    async def amend_message(session_id: str, message_id: str, text: str, heard: str) -> bool:
        body = {"messageId": message_id, "text": text, "heard": heard}
        return (await server.write(session_id, "messages/amend", body))["found"]

    async def get_token_consumption(session_id: str) -> dict[str, int]:
        counted = await server.read(session_id, "tokens")
        return {name: counted[name] for name in TokenUsage.model_fields}

    async def get_turn_count(session_id: str) -> int:
        return (await server.read(session_id, "tokens"))["turns"]

    async def add_tokens(session_id: str, usage: TokenUsage) -> None:
        await server.write(session_id, "tokens", usage)

    async def increment_turn(session_id: str) -> None:
        await server.write(session_id, "turns", {})

    async def reset_counters(session_id: str) -> None:
        await server.write(session_id, "counters/reset", {})

    async def get_tasks(session_id: str) -> list[Any]:
        return (await server.read(session_id, "tasks"))["tasks"]

    async def add_tasks(session_id: str, tasks: list[Task]) -> None:
        await server.write(session_id, "tasks", {"tasks": tasks})

    async def update_task(session_id: str, task_id: str, changes: dict[str, Any]) -> None:
        await server.write(session_id, "tasks/update", {"taskId": task_id, "updates": changes})

    async def get_permission(session_id: str, tool: str, tool_input: Any) -> str:
        return (await server.write(session_id, "permissions/get", {"toolName": tool, "input": tool_input}))["status"]

    async def set_permission(session_id: str, tool: str, status: str, tool_input: Any) -> None:
        body = {"toolName": tool, "status": status, "input": tool_input}
        await server.write(session_id, "permissions", body)

    async def get_inbox_items(session_id: str) -> list[Any]:
        return (await server.read(session_id, "inbox"))["items"]

    async def get_resolved_inbox_items(session_id: str) -> list[Any]:
        return (await server.read(session_id, "inbox/resolved"))["items"]

    async def add_inbox_item(session_id: str, item: InboxItem) -> None:
        await server.write(session_id, "inbox", {"item": item})

    async def update_inbox_item(session_id: str, item_id: str, changes: dict[str, Any]) -> None:
        await server.write(session_id, "inbox/update", {"itemId": item_id, "updates": changes})

    return StoreActions(
        get_messages=get_messages,
        append_messages=append_messages,
        get_visible_messages=get_visible_messages,
        amend_message=amend_message,
        get_token_consumption=get_token_consumption,
        add_tokens=add_tokens,
        get_turn_count=get_turn_count,
        increment_turn=increment_turn,
        reset_counters=reset_counters,
        get_tasks=get_tasks,
        add_tasks=add_tasks,
        update_task=update_task,
        get_permission=get_permission,
        set_permission=set_permission,
        get_inbox_items=get_inbox_items,
        add_inbox_item=add_inbox_item,
        update_inbox_item=update_inbox_item,
        get_resolved_inbox_items=get_resolved_inbox_items,
        close=server.close,
    )


class _Server:
    """Requests about the sessions of one server."""

    def __init__(self, url: str, token: str | None, transport: httpx.AsyncBaseTransport | None) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.AsyncClient(
            base_url=f"{url.rstrip('/')}/sessions/", headers=headers, timeout=TIMEOUT_S, transport=transport
        )

    async def read(self, session_id: str, path: str) -> dict[str, Any]:
        return await self._ask("GET", session_id, path)

    async def write(self, session_id: str, path: str, body: object) -> dict[str, Any]:
        return await self._ask("POST", session_id, path, to_json(body))

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, method: str, session_id: str, path: str, content: bytes | None = None) -> dict[str, Any]:
        headers = {"content-type": "application/json"} if content is not None else None
        try:
            with real_time_work():
                response = await self._client.request(
                    method, f"{quote(session_id, safe='')}/{path}", content=content, headers=headers
                )
        except httpx.HTTPError as fault:
            raise GloveError(
                "ERR_STORE_UNREACHABLE",
                f"The server of the record could not be reached ({type(fault).__name__}).",
                "Check the network, then try again.",
                fault,
            ) from fault
        if response.status_code >= 400:
            raise _refused(response)
        return cast("dict[str, Any]", response.json()) if response.content else {}


def _refused(response: httpx.Response) -> GloveError:
    try:
        said = str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        said = f"It answered with status {response.status_code}."
    remedy = "Check the token." if response.status_code in (401, 403) else None
    return GloveError("ERR_STORE_REFUSED", f"The server of the record refused: {said}", remedy)
