"""What was really heard of each reply, and how it finds its way into history.

A reply is *open* while it is being produced. Reports about it may come before its message is stored, while it is being
stored, or long after. Whoever speaks replies aloud sends one report per reply that has text; the next turn waits
briefly for those that are due, so that the model never continues from words nobody heard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog

from agents.base.abort import AbortToken
from agents.core.messages import Message
from agents.core.store import StoreAdapter

log = structlog.get_logger(__name__)

REPORT_LIMIT_S = 0.2
"""Longest time a turn waits for reports about earlier replies, in seconds."""


@dataclass(frozen=True)
class Report:
    """What was heard of one reply; ``complete`` if it was all of it."""

    text: str
    complete: bool

    def apply(self, message: Message) -> None:
        """Make ``message`` say what was heard."""
        message.text = self.text
        message.heard = "complete" if self.complete else "interrupted"


class HeardLedger:
    """Matches replies with the reports about them.

    Args:
        store: where replies are amended. One without ``amend`` gets interruption notices instead.
    """

    def __init__(self, store: StoreAdapter) -> None:
        self._store = store
        self._open: set[str] = set()
        self._held: dict[str, Report] = {}
        self._due: dict[str, asyncio.Event] = {}
        self._notices: list[Report] = []

    @property
    def due(self) -> tuple[str, ...]:
        """Ids of stored replies that a report is still expected for."""
        return tuple(self._due)

    def open(self, reply_id: str) -> None:
        """A reply is about to be produced; hold reports about it until it is stored."""
        self._open.add(reply_id)

    async def keep(self, message: Message, write: Callable[[], Awaitable[Any]], *, expect_report: bool) -> None:
        """Store an open reply by calling ``write`` and let no report slip past it.

        A report that came before is in the message when it is written; one that comes meanwhile is applied afterwards.
        """
        reply_id = message.id or ""
        if expect_report and message.text:
            message.spoken = True
        early = self._held.pop(reply_id, None)
        if early is not None:
            early.apply(message)
        try:
            await write()
        finally:
            self._open.discard(reply_id)
            meanwhile = self._held.pop(reply_id, None)
        if meanwhile is not None:
            await self._amend(reply_id, meanwhile)
        elif early is None and expect_report and message.text:
            self._due[reply_id] = asyncio.Event()

    def discard(self, reply_id: str) -> None:
        """An open reply ended without anything to store."""
        self._open.discard(reply_id)
        self._held.pop(reply_id, None)

    async def report(self, reply_id: str, text: str, complete: bool) -> bool:
        """Take a report. False if no such reply is known to the agent or its store."""
        report = Report(text, complete)
        if reply_id in self._open:
            self._held[reply_id] = report
            return True
        try:
            return await self._amend(reply_id, report)
        finally:
            arrived = self._due.pop(reply_id, None)
            if arrived is not None:
                arrived.set()

    async def settle(self, abort: AbortToken) -> None:
        """Wait until all due reports have arrived and are stored, at most ``REPORT_LIMIT_S``; then stop expecting them.

        A report that comes later is still stored.
        """
        due = list(self._due.values())
        if not due:
            return
        try:
            async with asyncio.timeout(REPORT_LIMIT_S):
                await abort.race(asyncio.gather(*(arrived.wait() for arrived in due)))
        except TimeoutError:
            log.warning("reports of what was heard are missing", replies=list(self._due))
            self._due.clear()

    def take_notices(self) -> list[Message]:
        """Messages that tell the model about interruptions its store could not record; each is given out once."""
        notices, self._notices = self._notices, []
        return [Message(sender="user", text=_notice(report), framework_context="notice") for report in notices]

    async def _amend(self, reply_id: str, report: Report) -> bool:
        if "amend" not in self._store.supports:
            if not report.complete:
                self._notices.append(report)
            return True
        heard = "complete" if report.complete else "interrupted"
        known = await self._store.amend_message(reply_id, text=report.text, heard=heard)
        if not known:
            log.warning("report about an unknown reply", reply_id=reply_id)
        return known


def _notice(report: Report) -> str:
    heard = (
        f"They heard only this much of it: {report.text.strip()!r}" if report.text.strip() else "They heard none of it"
    )
    return f"[Notice: the user interrupted your last reply. {heard}. Do not assume that they know the rest.]"
