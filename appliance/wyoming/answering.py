"""Typed lines of Wyoming clients, answered by the agent of this machine.

A client names the conversation that it goes on with in the context of its line, as Home Assistant does; the last few
are kept.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

from agents.base.errors import GloveError
from appliance.daemon.conversations import RoomAgent
from appliance.session.mind import new_conversation_id

if TYPE_CHECKING:
    from appliance.session.mind import Mind

MOST_CONVERSATIONS = 8
"""Conversations that are kept at the same time; the one used least recently is over first."""

ANSWER_S = 60.0
"""How long an answer may take, in seconds. A question that the agent asks back has nobody to answer it."""


class Answers:
    """See ``Answer``.

    Args:
        mind: answers.
        idle_s: seconds without a line after which a conversation is over.
        answer_s: how long an answer may take, in seconds.
    """

    def __init__(self, mind: Mind, idle_s: float, answer_s: float = ANSWER_S) -> None:
        self._mind = mind
        self._idle_s = idle_s
        self._answer_s = answer_s
        self._agents: OrderedDict[str, RoomAgent] = OrderedDict()
        self._asked: Counter[str] = Counter()

    async def __call__(self, text: str, language: str | None, conversation: str | None) -> tuple[str, str]:
        """See ``Answer``. Raises ``GloveError``: ``ERR_WYOMING_SLOW``, and as ``Glove.process_request``."""
        # Names are the client's own: they find an agent here, never a record of another room.
        name = (conversation or new_conversation_id())[:100]
        agent = self._agents.pop(name, None) or RoomAgent(self._mind, idle_s=self._idle_s)
        self._agents[name] = agent
        self._asked[name] += 1
        try:
            await self._end_oldest()
            async with asyncio.timeout(self._answer_s):
                reply = await agent.process_request(text, language=language)
        except TimeoutError:
            raise GloveError("ERR_WYOMING_SLOW", "The answer took too long.", "Ask again.") from None
        finally:
            self._asked[name] -= 1
        return reply.text, name

    async def _end_oldest(self) -> None:
        """End what is too much, except where an answer is still awaited."""
        self._asked = +self._asked
        idle = [name for name in self._agents if not self._asked[name]]
        for name in idle[: max(0, len(self._agents) - MOST_CONVERSATIONS)]:
            await self._agents.pop(name).close()

    async def close(self) -> None:
        """End all conversations; idempotent."""
        while self._agents:
            _, agent = self._agents.popitem()
            await agent.close()
