"""Compares what happened in a room with what was said there."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from whisper_normalizer.english import EnglishTextNormalizer

from agents.stores.sqlite import SqliteStore, list_conversations
from appliance.daemon.conversations import spoken_lines
from benchmarks.recording import AUDIBLE, Recording
from benchmarks.virtual_room import Event, Said

LATEST_S = 8.0
"""A turn is committed at most this long after its line ended."""

ALIKE = 0.5
"""Share of equal characters from which a turn is what was said; part of a line counts as the line."""

ECHO_S = 0.7
"""From the end of a sound in the room until it has gone through sound server and voice detector."""

GREETING = "I am listening."


@dataclass(frozen=True)
class Verdict:
    """What does not fit.

    Attributes:
        turns: how many turns of the user there were.
        invented: those that nobody said.
        differing: lines that the store has and the room had not, or the other way round.
        interruptions: how many replies were cut.
        own_pauses: how often a reply stood still although nobody made a sound.
    """

    turns: int
    invented: list[str]
    differing: list[str]
    interruptions: int
    own_pauses: int = 0

    def delays_s(self, recording: Recording, begun: float, lines: list[Said]) -> list[float]:
        """Seconds from the last audible sample of each line to the appliance's next one."""
        rate = recording.rate_hz
        user, agent = (np.abs(track.astype(np.int32)) > AUDIBLE for track in (recording.left, recording.right))
        delays: list[float] = []
        for line in lines:
            first, last = round((line.start - begun) * rate), round((line.end - begun + 0.5) * rate)
            spoken = np.flatnonzero(user[first:last])
            if not spoken.size:
                continue
            end = first + int(spoken[-1])
            answer = np.flatnonzero(agent[end:])
            if answer.size and not agent[end - rate // 10 : end].any():
                delays.append(float(answer[0]) / rate)
        return delays


async def judge(store: Path, events: list[Event], said: list[Said], *unasked: str) -> Verdict:
    """Compare.

    Args:
        store: file of the conversations.
        events: what happened, in order.
        said: what was said, in order; empty texts are noises.
        unasked: parts of what the appliance says that belongs to no conversation's record.
    """
    turns = [event for event in events if event["type"] == "user_turn"]
    heard = [event["heard"] for event in events if event["type"] == "agent_speech_stopped" and event["heard"].strip()]
    user, agent = await _stored(store)
    optional = (GREETING, *unasked)
    return Verdict(
        turns=len(turns),
        invented=_invented(turns, said),
        differing=[
            *_differing([turn["text"] for turn in turns], user, ()),
            *_differing(heard, agent, optional),
        ],
        interruptions=sum(event["type"] == "interrupted" for event in events),
        own_pauses=sum(event["type"] == "playback_paused" and _is_silent(event["at"], said) for event in events),
    )


def _is_silent(at: float, said: list[Said]) -> bool:
    """Whether nobody made a sound at ``at``, or so shortly before that it was still being heard."""
    return not any(line.start <= at <= line.end + ECHO_S for line in said)


def _invented(turns: list[Event], said: list[Said]) -> list[str]:
    """Turns that are not what was said just before; a line counts once."""
    left = [line for line in said if line.text]
    invented: list[str] = []
    for turn in turns:
        near = [line for line in left if line.start < turn["at"] < line.end + LATEST_S]
        match = next((line for line in near if _alike(turn["text"], line.text)), None)
        if match is None:
            invented.append(turn["text"])
        else:
            left.remove(match)
    return invented


def _alike(heard: str, said: str) -> bool:
    normalise = EnglishTextNormalizer()
    mine, theirs = (normalise(text.replace("Hey Jarvis.", "")).replace(" ", "") for text in (heard, said))
    blocks = difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) >= ALIKE * max(1, len(mine))


async def _stored(path: Path) -> tuple[list[str], list[str]]:
    """What the user and the appliance said, over all conversations, oldest first."""
    user: list[str] = []
    agent: list[str] = []
    for entry in sorted(await list_conversations(path), key=lambda known: known.created_at):
        store = SqliteStore(path, entry.session_id)
        try:
            for message in spoken_lines(await store.get_messages()):
                (user if message.sender == "user" else agent).append(message.text)
        finally:
            await store.close()
    return user, agent


def _differing(happened: list[str], stored: list[str], optional: tuple[str, ...]) -> list[str]:
    mine, theirs = ([" ".join(text.split()) for text in texts] for texts in (happened, stored))
    differing: list[str] = []
    for line in difflib.ndiff(mine, theirs):
        if line.startswith("- ") and not any(part in line for part in optional):
            differing.append(f"not in the store: {line[2:]}")
        elif line.startswith("+ "):
            differing.append(f"only in the store: {line[2:]}")
    return differing
