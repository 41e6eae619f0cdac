"""A server of scripted agents, for tests of what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette

from agents.core.display import DisplayManager
from agents.core.glove import Glove
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.scripted import Reply, ScriptedModel
from agents.stores.memory import MemoryStore
from agents.web.access import Access, new_token
from agents.web.agent_routes import AgentSessions, agent_sessions
from agents.web.routes import web_routes
from tests.agents.web.peer import ask, call

TOKEN = new_token()
CHAT = "/api/sessions/s-1/chat"
EVENTS = "/api/sessions/s-1/events"


class House:
    """A server with one scripted agent per session."""

    def __init__(self, *replies: Reply, tools: Sequence[Tool[Any]] = (), **options: Any) -> None:
        self.gloves: dict[str, Glove] = {}
        self.model = ScriptedModel(replies)
        self._tools = tools
        self.sessions: AgentSessions = agent_sessions(self._open, **options)
        self.app = Starlette(routes=web_routes(Access(TOKEN).allows, agent=self.sessions))

    def _open(self, session_id: str) -> Glove:
        glove = Glove(model=self.model, store=MemoryStore(session_id), display=DisplayManager())
        for tool in self._tools:
            glove.fold(tool)
        self.gloves[session_id] = glove.build()
        return glove

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return call(self.app, method, path, body, token=TOKEN)

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return await ask(self.app, method, path, body, token=TOKEN)


def types(events: Sequence[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


class Place(BaseModel):
    place: str


def tool(name: str, run: Callable[[ToolContext], Any]) -> Tool[Any]:
    async def call_it(_: NoArgs, context: ToolContext) -> Any:
        return await run(context)

    return Tool(name, "Does something.", call_it, NoArgs)
