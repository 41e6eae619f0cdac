"""Lives with the appliance for ten minutes: questions, a timer, interruptions, an unplugged microphone, noise, silence.

    .venv/bin/python -m benchmarks.ten_minutes [--minutes N] [--out DIR] [--picture PNG]

``glove run`` listens and speaks on a virtual microphone that hears the virtual speaker. Somebody in the room speaks
with the appliance's own voice, a tenth lower and slower. Afterwards the record is compared with what was said: every
question was answered, nobody was heard who did not speak, and the store holds what was heard. A question that is not
answered is asked once more, as people do; the table counts that. Takes real time; exits 1 when a check fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import numpy as np

from agents.base.clock import blocking_sleep, perf_counter, wall
from appliance.commands.plot import draw
from audio.pcm import Pcm
from audio.tts.hibari import RATE_HZ, HibariVoice
from benchmarks.judging import Verdict, judge
from benchmarks.recording import load
from benchmarks.virtual_room import Event, VirtualRoom

PERSON_RATE_HZ = RATE_HZ * 9 // 10
"""The voice is played at this rate: lower and slower than the appliance's."""

CALL = "Hey Jarvis. "
PROMPT_S = 1.2
"""From the end of a question to the first sound of its answer, in the median."""

PATIENCE_S = 15.0
"""Without an answer for this long, the question is asked again."""

DUE = "is ringing"
MESSAGE = "The washing is done."


@dataclass(frozen=True)
class Question:
    """What is asked, and a pattern that is found in the right answer."""

    text: str
    answer: str


QUESTIONS = (
    Question("What time is it?", r"\d"),
    Question("What is on the shopping list?", "milk.*butter"),
    Question("What is one hundred divided by four?", "25"),
    Question("Remember that the key is under the mat.", "remember"),
    Question("What day is it today?", "day"),
    Question("How many kilometers are ten miles?", "16"),
    Question("What is fifteen percent of eighty?", "12"),
    Question("What do you know about the key?", "mat"),
    Question("What is twenty minus three?", "17"),
    Question("What is six times seven?", "42"),
)


@dataclass
class Asked:
    """A question and what became of it.

    Attributes:
        question: what was asked.
        first: index in ``VirtualRoom.said`` of its first saying.
        tries: how often it was said.
        answered: whether the right answer was heard.
        called: whether the wake word preceded it.
    """

    question: Question
    first: int
    called: bool
    tries: int = 0
    answered: bool = False


@dataclass
class Scene:
    """Somebody in the room, who does one thing after the other.

    Attributes:
        room: where.
        voices: each line as sound.
        asked: the questions so far.
        missed: what else should have happened and did not.
        marks: (from, to, name) of what the picture shows beside the events, in seconds since the epoch.
    """

    room: VirtualRoom
    voices: dict[str, Pcm]
    asked: list[Asked] = field(default_factory=list[Asked])
    missed: list[str] = field(default_factory=list[str])
    marks: list[tuple[float, float, str]] = field(default_factory=list[tuple[float, float, str]])
    _timer_from: int = 0

    def ask(self, question: Question, *, called: bool = True) -> None:
        """Ask, wait for the answer, ask again if there is none."""
        asked = Asked(question, len(self.room.said), called)
        self.asked.append(asked)
        while asked.tries < 2 and not asked.answered:
            called = asked.called or asked.tries > 0
            asked.tries += 1
            before = len(self.room.events())
            self._say((CALL if called else "") + question.text)
            asked.answered = self._hears(question.answer, before)

    def silence(self, seconds: float) -> None:
        """Say nothing."""
        blocking_sleep(seconds)

    def interrupt(self) -> None:
        """Ask for something long and talk into the answer."""
        before = len(self.room.events())
        self._say(CALL + "What can you do?")
        self._expect(lambda: self._happened("agent_speech_started", before), "a long answer began")
        blocking_sleep(2.5)
        self.ask(Question("What is twelve times twelve?", "144"), called=False)
        if not self._happened("interrupted", before):
            self.missed.append("the long answer was cut")

    def set_timer(self) -> None:
        """Half a minute from now."""
        self._timer_from = len(self.room.events())
        self.ask(Question("Set a timer for thirty seconds.", "30 seconds|half a minute"))

    def stop_timer(self) -> None:
        """Wait until it rings and say stop, without a wake word."""
        before = len(self.room.events())
        self._expect(lambda: self._heard(DUE, self._timer_from), "the timer rang", 60.0)
        blocking_sleep(0.8)
        for _ in range(2):
            if self._said_and_heard("Stop.", "Okay", before):
                break
        else:
            self.missed.append("the timer was stopped")
        self._expect(lambda: self.room.status().get("ringing") == 0, "nothing rings any more")

    def notify(self) -> None:
        """Something outside has a message."""
        before = len(self.room.events())
        self.room.ask(do="notify", text=MESSAGE)
        self._expect(lambda: self._heard(re.escape(MESSAGE), before), "the message was spoken", 30.0)

    def unplug(self) -> None:
        """Lose the microphone in the middle of a sentence, find it again, ask again."""
        sentence = CALL + "What is nine times nine, and what is ten times ten?"
        self.room.play(sentence, self.voices[sentence], PERSON_RATE_HZ, wait=False)
        blocking_sleep(2.0)
        gone = wall().timestamp()
        self.room.unplug()
        self._expect(lambda: self.room.health() == "degraded", "it noticed that the microphone is gone")
        blocking_sleep(6.0)
        self.room.plug_in()
        self.marks.append((gone, wall().timestamp(), "no microphone"))
        self._expect(lambda: self.room.health() == "ok", "it found the microphone again", 30.0)
        blocking_sleep(2.0)
        self.ask(Question("What is nine times nine?", "81"))

    def noises(self) -> None:
        """Cough twice, knock, let something hiss."""
        for sound in (cough(1), cough(2), knock(), hiss(4.0)):
            self.room.play("", sound, RATE_HZ)
            blocking_sleep(1.5)

    def _say(self, text: str) -> None:
        self.room.play(text, self.voices[text], PERSON_RATE_HZ)

    def _said_and_heard(self, text: str, answer: str, before: int) -> bool:
        self._say(text)
        return self._hears(answer, before, 6.0)

    def _hears(self, answer: str, before: int, limit_s: float = PATIENCE_S) -> bool:
        return self.room.until(lambda: self._heard(answer, before), limit_s)

    def _heard(self, answer: str, before: int) -> bool:
        return any(
            event["type"] == "agent_speech_stopped" and re.search(answer, event["heard"], re.IGNORECASE)
            for event in self.room.events()[before:]
        )

    def _happened(self, kind: str, before: int) -> bool:
        return any(event["type"] == kind for event in self.room.events()[before:])

    def _expect(self, condition: Callable[[], bool], what: str, limit_s: float = PATIENCE_S) -> None:
        if not self.room.until(condition, limit_s):
            self.missed.append(what)


def play(scene: Scene, seconds: float) -> None:
    """The script: its eventful part once or more, questions and silences between, for about ``seconds``."""
    end = perf_counter() + seconds
    questions = cycle(QUESTIONS)
    _opening(scene)
    for silence_s in cycle((12.0, 25.0, 8.0, 40.0)):
        eventful(scene)
        for _ in range(4):
            if perf_counter() > end - 35.0:
                return
            scene.silence(silence_s)
            scene.ask(next(questions))
            scene.ask(next(questions), called=False)
            scene.noises()
        if perf_counter() > end - 120.0:
            break
    while perf_counter() < end - 35.0:
        scene.silence(15.0)
        scene.ask(next(questions))
        scene.ask(next(questions), called=False)


def _opening(scene: Scene) -> None:
    scene.silence(4.0)
    scene.ask(Question("What is seven times eight?", "56"))
    scene.ask(Question("What is five plus six?", "11"), called=False)
    scene.ask(Question("Add milk, bread and butter to the shopping list.", "milk"), called=False)
    scene.notify()
    scene.silence(8.0)


def eventful(scene: Scene) -> None:
    """A minute with a timer, an interruption, a ring, and a microphone that goes away."""
    scene.set_timer()
    scene.silence(1.0)
    scene.interrupt()
    scene.stop_timer()
    scene.silence(8.0)
    scene.unplug()


def lines() -> Iterator[str]:
    """Everything that somebody may say."""
    known = [question.text for question in QUESTIONS]
    known += [
        "What is seven times eight?",
        "What is five plus six?",
        "Add milk, bread and butter to the shopping list.",
    ]
    known += ["Set a timer for thirty seconds.", "What can you do?", "What is twelve times twelve?", "Stop."]
    known += ["What is nine times nine?", "What is nine times nine, and what is ten times ten?"]
    for line in known:
        yield line
        yield CALL + line


async def speak(texts: Iterator[str]) -> dict[str, Pcm]:
    """Each line as sound."""
    voice = HibariVoice()
    await voice.open()
    spoken = {text: (await voice.render(text)).pcm for text in texts}
    await voice.destroy()
    return spoken


def cough(seed: int) -> Pcm:
    """A burst of noise with a sharp beginning, as a throat makes it; 0.3 s."""
    t = np.arange(RATE_HZ * 3 // 10) / RATE_HZ
    noise = np.random.default_rng(seed).standard_normal(t.size)
    throaty = np.convolve(noise, np.ones(12) / 12, mode="same") * (1 + 0.6 * np.sin(2 * np.pi * 90 * t))
    return (12_000 * throaty / np.abs(throaty).max() * np.exp(-t / 0.08)).astype(np.int16)


def knock() -> Pcm:
    """Three knocks on wood."""
    t = np.arange(RATE_HZ // 4) / RATE_HZ
    return np.tile((14_000 * np.sin(2 * np.pi * 180 * t) * np.exp(-t / 0.02)).astype(np.int16), 3)


def hiss(seconds: float) -> Pcm:
    """A tap that runs."""
    noise = np.random.default_rng(3).standard_normal(round(seconds * RATE_HZ))
    return (700 * noise).clip(-3000, 3000).astype(np.int16)


def picture(scene: Scene, events: list[Event], sound: Path, begun: float, out: Path) -> None:
    """Draw the first eventful minute: from the interruption to the answer after the microphone came back."""
    own = sound.with_suffix(".jsonl")
    with own.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({**event, "t": event["at"] - begun}) + "\n" for event in events)
    if not scene.marks:
        return
    first = next(said.start for said in scene.room.said if said.text.endswith("What can you do?"))
    away = scene.marks[0]
    spans = [(start - begun, end - begun, name) for start, end, name in scene.marks]
    draw(own, out, sound, first - begun - 1.0, away[1] - begun + 31.0, spans)


def report(scene: Scene, verdict: Verdict, seconds: float, delays_s: list[float], cost: tuple[float, float]) -> bool:
    """Print the table; True when every check held."""
    asked = scene.asked
    quick = sorted(delays_s)
    median = statistics.median(quick) if quick else float("inf")
    rows: list[tuple[str, str, bool | None]] = [
        ("length", f"{seconds / 60:.1f} min", None),
        ("questions answered", f"{sum(a.answered for a in asked)} of {len(asked)}", all(a.answered for a in asked)),
        ("  of these without the wake word", f"{sum(not a.called for a in asked)}", None),
        ("  asked twice", f"{sum(a.tries > 1 for a in asked)}", None),
        ("turns of the user", f"{verdict.turns}", None),
        ("  that nobody said", f"{len(verdict.invented)}", not verdict.invented),
        ("lines in the store that differ", f"{len(verdict.differing)}", not verdict.differing),
        ("other things that did not happen", f"{len(scene.missed)}", not scene.missed),
        ("pauses caused by its own voice", f"{verdict.own_pauses}", verdict.own_pauses == 0),
        ("end of question to first sound, median", f"{median:.2f} s" if quick else "-", median <= PROMPT_S),
        ("  nine of ten within", f"{quick[int(0.9 * (len(quick) - 1))]:.2f} s" if quick else "-", None),
        ("interruptions", f"{verdict.interruptions}", None),
        ("processor", f"{100 * cost[0] / seconds:.0f} % of a core", None),
        ("memory, at most", f"{cost[1]:.0f} MB", None),
    ]
    for name, value, held in rows:
        print(f"{name:42}{value:>14}  {'' if held is None else 'ok' if held else 'FAILED'}")
    for line in [*(f"not answered: {a.question.text}" for a in asked if not a.answered), *scene.missed]:
        print("missed:", line)
    for line in [*(f"nobody said: {text}" for text in verdict.invented), *verdict.differing]:
        print(line)
    return all(held is not False for _, _, held in rows)


def main() -> int:
    """Run it; exit 1 when a check failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--out", type=Path, help="an empty folder for the recording, the events and the store")
    parser.add_argument("--picture", type=Path, help="PNG of one eventful minute")
    options = parser.parse_args()
    folder = options.out or Path(tempfile.mkdtemp(prefix="glove-ten-minutes-"))
    folder.mkdir(parents=True, exist_ok=True)
    room = VirtualRoom(folder.resolve())
    scene = Scene(room, asyncio.run(speak(lines())))
    begun = perf_counter()
    try:
        room.open()
        play(scene, 60 * options.minutes)
        scene.silence(3.0)
        cost = room.cost()
        seconds = perf_counter() - begun
        started = room.save(folder / "both.wav")
    finally:
        room.close()
    events = list(room.events())
    verdict = asyncio.run(judge(room.store, events, room.said, DUE))
    picture(scene, events, folder / "both.wav", started, options.picture or folder / "both.png")
    answered = [room.said[asked.first] for asked in scene.asked if asked.answered and asked.tries == 1]
    held = report(scene, verdict, seconds, verdict.delays_s(load(folder / "both.wav"), started, answered), cost)
    print("kept in", folder)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
