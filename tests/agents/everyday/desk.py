"""A desk with the everyday tools on it, used without a model."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

from agents.base.abort import AbortToken
from agents.core.messages import Message, ToolResultData
from agents.core.tool import Tool
from agents.everyday import everyday_tools
from agents.everyday.book import EverydayBook
from agents.everyday.timers import TimerBook
from agents.models.matcher import SentenceMatcher

NOON = datetime(2026, 3, 2, 11, 0, tzinfo=UTC)  # a Monday; noon in Berlin
BERLIN = ZoneInfo("Europe/Berlin")


class Desk:
    """The tools and what they keep; ``say`` does what a turn without a model does."""

    def __init__(self, book: EverydayBook | None = None) -> None:
        self.book = book or EverydayBook()
        self.timers = TimerBook(self.book)
        self.replies: list[str] = []
        self.tools: dict[str, Tool[Any]] = {
            tool.name: tool for tool in everyday_tools(self.book, self.timers, zone=BERLIN)
        }

    async def call(self, tool_name: str, tool_language: str = "en", /, **arguments: Any) -> ToolResultData:
        tool = self.tools[tool_name]
        assert tool.args is not None
        messages = [Message(sender="agent", text=text) for text in self.replies]

        async def get_messages() -> list[Message]:
            return messages

        glove = SimpleNamespace(store=SimpleNamespace(get_messages=get_messages))
        context: Any = SimpleNamespace(display=None, glove=glove, abort=AbortToken(), language=tool_language)
        return await tool.run(tool.args.model_validate(arguments), context)

    async def say(self, matcher: SentenceMatcher, text: str, language: str = "en") -> str:
        spoken: list[str] = []
        matches = matcher.match(text, language)
        assert matches, f"not understood: {text}"
        for match in matches:
            result = await self.call(match.tool, language, **match.arguments)
            assert result.speech is not None
            spoken.append(result.speech)
        self.replies.append(" ".join(spoken))
        return self.replies[-1]
