"""What a caller who comes back is told again: the conversation's own messages, in their order."""

from __future__ import annotations

from collections import deque

from realtime.browser.wire import Message, encode

MOST_CHARACTERS = 200_000
"""How much is kept; the oldest messages go first."""


class Replay:
    """Keeps messages; pieces of the same reply that follow each other become one."""

    def __init__(self, most_characters: int = MOST_CHARACTERS) -> None:
        self._most_characters = most_characters
        self._messages: deque[tuple[Message, int]] = deque()
        self._characters = 0

    @property
    def messages(self) -> list[Message]:
        """Oldest first."""
        return [message for message, _ in self._messages]

    def add(self, message: Message) -> None:
        """Keep ``message``, which is not changed afterwards."""
        size = len(encode(message))
        if self._messages and _continues(self._messages[-1][0], message):
            last, before = self._messages.pop()
            self._characters -= before
            size = before + len(message["text"])
            message = {**last, "text": last["text"] + message["text"]}
        self._messages.append((message, size))
        self._characters += size
        while self._characters > self._most_characters:
            self._characters -= self._messages.popleft()[1]


def _continues(last: Message, message: Message) -> bool:
    if last["t"] != "speech" or message["t"] != "speech":
        return False
    return last["turnId"] == message["turnId"] and not last.get("announcement") and not message.get("announcement")
