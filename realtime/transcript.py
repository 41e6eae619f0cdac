"""What both sides said, written into the agent's record in the order in which it was said.

Words arrive out of order: those of the user often after the answer, those of the agent before they are heard. Each
utterance, call and reply takes its place when it happens and is written when it is known, after everything before it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from agents.base import clock
from agents.base.errors import GloveError
from agents.base.scope import Scope
from agents.core.driven import Driven
from agents.core.messages import Message, ToolCall, ToolResult, new_reply_id, new_turn_id
from realtime.s2s.contract import HistoryItem
from realtime.speech import HeardWords

log = structlog.get_logger(__name__)

WORDS_S = 6.0
"""How long the words of the user may take to come; then it is only noted that something was said."""

UNWRITTEN = "[something was said that was not written down]"


@dataclass(eq=False)
class Entry:
    """One place in the conversation.

    Attributes:
        messages: what is written there, once it is known.
        known: set when it is known; without messages the place is given up.
        item_id: of the provider, where it names it.
        by: when it is written at the latest, on the loop's clock.
        reply: whether it is a reply that is heard, or not, later.
    """

    messages: list[Message] = field(default_factory=list[Message])
    known: asyncio.Event = field(default_factory=asyncio.Event)
    item_id: str = ""
    by: float | None = None
    reply: bool = False
    reply_id: str = ""
    written: bool = False

    def settle(self, *messages: Message) -> None:
        """It is known what is written here."""
        self.messages = list(messages)
        self.known.set()


class Transcript:
    """Writes one conversation.

    Args:
        record: gives the agent's side of the conversation in progress.
    """

    def __init__(self, record: Callable[[], Awaitable[Driven]]) -> None:
        self._record = record
        self._entries: deque[Entry] = deque()
        self._replies: dict[str, Entry] = {}
        self._reports: deque[tuple[str, HeardWords]] = deque()
        self._stir = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._scope = Scope("transcript")

    def start(self) -> None:
        """Begin to write."""
        self._scope.spawn(self._write(), "write")

    async def close(self) -> None:
        """Write what is known, and stop; idempotent."""
        if not self._scope.closed:
            for entry in self._entries:
                if not entry.known.is_set():
                    self._give_up(entry)
            await self.flush(2.0)
        await self._scope.close()

    async def flush(self, within_s: float) -> None:
        """Wait until everything is written, at most so long."""
        self._stir.set()
        try:
            async with asyncio.timeout(within_s):
                await self._quiet.wait()
        except TimeoutError:
            log.info("the record is behind", entries=len(self._entries))

    def user_speaks(self) -> None:
        """The user has said something whose words are to come."""
        self._add(Entry(by=clock.now() + WORDS_S))

    def user_said(self, text: str, item_id: str = "") -> bool:
        """The words of the oldest utterance that waits for them, else of a new one. Empty words give it up.

        Returns whether they stand at an earlier place than the end.
        """
        waiting = next((each for each in self._entries if not each.known.is_set() and each.by is not None), None)
        entry = waiting or self._add(Entry())
        if text.strip():
            entry.settle(Message(sender="user", text=text.strip(), id=new_turn_id()))
        else:
            entry.settle()
        self._stir.set()
        return waiting is not None

    def typed(self, text: str) -> None:
        """The user has written something."""
        self._add(Entry()).settle(Message(sender="user", text=text, id=new_turn_id()))
        self._stir.set()

    @property
    def awaits_words(self) -> bool:
        """Whether the words of an utterance are still to come."""
        return any(entry.by is not None and not entry.known.is_set() for entry in self._entries)

    def forget_utterances(self) -> None:
        """Utterances whose words have not come will be heard again by another session."""
        for entry in self._entries:
            if entry.by is not None and not entry.known.is_set():
                entry.settle()
        self._stir.set()

    def called(self, call: ToolCall) -> Callable[[ToolResult], None]:
        """A tool is called. Returns what is to be called with its result."""
        entry = self._add(Entry())

        def done(result: ToolResult) -> None:
            entry.settle(
                Message(sender="agent", tool_calls=[call], id=new_reply_id()),
                Message(sender="user", text="tool results", tool_results=[result]),
            )
            self._stir.set()

        return done

    def told(self, *messages: Message) -> None:
        """Messages of the framework that the model was told."""
        self._add(Entry()).settle(*messages)
        self._stir.set()

    def reply_began(self, item_id: str) -> None:
        """A stretch of speech of the agent takes its place."""
        if item_id not in self._replies:
            self._replies[item_id] = self._add(Entry(item_id=item_id, reply=True, reply_id=new_reply_id()))

    def reply_known(self, item_id: str, text: str) -> None:
        """The provider has told all words of a reply, which is still being heard."""
        entry = self._replies.get(item_id)
        if entry is not None and not entry.known.is_set() and text.strip():
            entry.settle(Message(sender="agent", text=text.strip(), id=entry.reply_id))
            self._stir.set()

    def reply_heard(self, heard: HeardWords) -> None:
        """A reply was heard to its end, or cut: exactly the words that were heard remain."""
        entry = self._replies.pop(heard.item_id, None)
        if entry is None:
            return
        if entry.known.is_set():
            self._reports.append((entry.reply_id, heard))
            self._quiet.clear()
        elif heard.text or heard.whole:
            state = "complete" if heard.complete else "interrupted"
            entry.settle(Message(sender="agent", text=heard.text, id=entry.reply_id, heard=state))
        else:
            entry.settle()
        self._stir.set()

    def unwritten(self) -> list[HistoryItem]:
        """What is known and not in the record yet, oldest first."""
        return [
            HistoryItem("assistant" if message.sender == "agent" else "user", message.text)
            for entry in self._entries
            for message in entry.messages
            if message.text and not message.tool_results and not entry.written
        ]

    def _add(self, entry: Entry) -> Entry:
        self._entries.append(entry)
        self._quiet.clear()
        self._stir.set()
        return entry

    def _give_up(self, entry: Entry) -> None:
        """Nothing more will be known of it."""
        if entry.by is not None:
            entry.settle(Message(sender="user", text=UNWRITTEN, id=new_turn_id()))
        else:
            entry.settle()

    async def _write(self) -> None:
        while True:
            await self._advance()
            if not self._entries and not self._reports:
                self._quiet.set()
            self._stir.clear()
            by = self._entries[0].by if self._entries else None
            try:
                async with asyncio.timeout(None if by is None else max(0.0, by - clock.now())):
                    await self._stir.wait()
            except TimeoutError:
                first = self._entries[0]
                if not first.known.is_set():
                    self._give_up(first)

    async def _advance(self) -> None:
        while self._entries and self._entries[0].known.is_set():
            entry = self._entries[0]
            await self._keep(entry)
            entry.written = True
            self._entries.popleft()
        unwritten = {entry.reply_id for entry in self._entries if entry.reply}
        for report in [report for report in self._reports if report[0] not in unwritten]:
            self._reports.remove(report)
            await self._report(*report)

    async def _keep(self, entry: Entry) -> None:
        if not entry.messages:
            return
        try:
            record = await self._record()
            if entry.reply:
                await record.keep_reply(entry.messages[0], reported=entry.messages[0].heard is None)
            else:
                await record.keep(entry.messages)
        except GloveError as fault:
            # What the store refuses must not stop the conversation; the rest of it is tried all the same.
            log.error("a part of a conversation could not be kept", code=fault.code, error=fault.message)

    async def _report(self, reply_id: str, heard: HeardWords) -> None:
        try:
            await (await self._record()).report_heard(reply_id, heard.text, heard.complete)
        except GloveError as fault:
            log.error("what was heard could not be kept", code=fault.code, error=fault.message)
