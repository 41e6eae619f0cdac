"""Questions of the display stack, asked aloud and answered by voice while the turn that asks them goes on.

One question after the other. Each goes through these stages, and every one of them has an end:

===========  ==============================================  ===============================================
stage        what happens                                    how it ends
===========  ==============================================  ===============================================
waiting      something is being said, or the user speaks     there is silence
posed        the question is spoken                          it was heard, or the user speaks over it
listening    the user's next words are the answer            they come, or nothing within ``ANSWER_S``
giving up    it is said why the question is dropped          it was heard
===========  ==============================================  ===============================================

An answer that is not understood is asked for once more in other words. Whatever settles the question elsewhere (a
screen, an abort, the end of the session) ends it at once; words that the user was in the middle of then still count as
an answer to it, and not as a turn of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from agents.base import clock
from agents.base.scope import Scope
from agents.core.display import DisplayManager, QuestionClosed, Slot, SlotPushed, SlotResolved, SlotTouched, Unanswered
from agents.questions.contract import Dialogue, GoesOn, NotUnderstood, Refused, Understood, Verdict
from agents.questions.renderers import dialogue_for
from agents.questions.sentences import phrase
from audio.answering import Answering
from audio.changes import Changes
from audio.listening import Listening
from audio.turns.contract import Committed
from audio.turns.stop import says_stop

log = structlog.get_logger(__name__)

ANSWER_S = 30.0
"""How long the user may take to begin an answer after the question was heard."""

MOST_MISSES = 2
"""How many answers in a row may be not understood."""

MOST_POSED = 3
"""How often a question is spoken that noise interrupts before anything of it was heard."""

LATE_S = 15.0
"""How long words may go on that were begun while the question was still open."""

CROSSING_S = 1.0
"""How soon after a question was settled on a screen speech is still meant for it."""

_WAITING_ANSWERS = 8


@dataclass(eq=False)
class Question:
    """A question that is being asked.

    Attributes:
        slot: where it stands on the stack.
        turn: the turn of the agent in which it came up, or None.
        dialogue: the part of it that is asked now.
        language: what it is asked in.
        heard: whether anything of this part was heard.
        begun: whether anything of any part was.
        answers: what was said and is not judged yet.
        said: the words of the answers so far.
        since: when the user could begin to answer.
        rung: whether an alert sounded meanwhile: then "stop" is meant for that.
        over_at: when it was settled.
    """

    slot: Slot
    turn: object
    dialogue: Dialogue
    language: str
    heard: bool = False
    begun: bool = False
    answers: asyncio.Queue[Committed] = field(default_factory=lambda: asyncio.Queue[Committed](_WAITING_ANSWERS))
    said: list[str] = field(default_factory=list[str])
    since: float = 0.0
    rung: bool = False
    over_at: float = 0.0
    task: asyncio.Task[None] | None = None

    def verdict(self, text: str, language: str) -> Verdict:
        """What ``text`` means: in the language of the question, else in the one it was recognised in."""
        verdict: Verdict = NotUnderstood()
        for each in dict.fromkeys((self.language, language)):
            verdict = self.dialogue.hear(text, each)
            if not isinstance(verdict, NotUnderstood):
                break
        return verdict

    def answered_by(self, text: str, language: str) -> bool:
        """Whether ``text`` means anything as an answer. A form that fails at it is left to fail at the real answer."""
        try:
            return not isinstance(self.verdict(text, language), NotUnderstood)
        except Exception:
            log.exception("the spoken form of a question failed", renderer=self.slot.renderer)
            return False


class Asking:
    """Asks the questions of ``display`` aloud.

    Args:
        answering: the agent's side of the session.
        listening: the user's side.
        display: the stack. Questions that stand there already are asked, too.
        changes: of either side; told of those to questions.
        language: the language of the conversation (BCP-47 primary tag).
        discarded: called with a reason when the user's words came too late.
    """

    def __init__(
        self,
        answering: Answering,
        listening: Listening,
        display: DisplayManager,
        changes: Changes,
        *,
        language: Callable[[], str],
        discarded: Callable[[str], None],
    ) -> None:
        self._answering = answering
        self._listening = listening
        self._display = display
        self._changes = changes
        self._language = language
        self._discarded = discarded
        self._scope = Scope("asking")
        self._held: dict[str, tuple[Callable[[], None], object]] = {}
        self._question: Question | None = None
        self._late: Question | None = None
        self._off = [
            display.events.on(SlotPushed, lambda event: self._pushed(event.slot)),
            display.events.on(SlotResolved, lambda event: self._resolved(event.slot)),
            display.events.on(SlotTouched, lambda event: self._touched(event.slot)),
        ]
        for slot in display.pending:
            self._pushed(slot)

    @property
    def open(self) -> bool:
        """Whether a question waits for its answer."""
        return self._question is not None

    @property
    def slot_id(self) -> str:
        """The slot of the question in progress; empty without one."""
        return "" if self._question is None else self._question.slot.id

    @property
    def listens(self) -> bool:
        """Whether a question was asked and nobody says anything."""
        question = self._question
        if question is None or not question.heard or not question.answers.empty():
            return False
        return not self._answering.busy and not self._listening.user_speaks

    def expects(self, text: str, language: str) -> bool:
        """Whether ``text`` is an answer, although it may look like a listener's nod ("okay")."""
        question = self._question or self._lingering()
        if question is None or question.dialogue.takes_anything:
            return False
        return question.answered_by(text, language)

    @property
    def lingers(self) -> bool:
        """Whether the user speaks since before the last question was settled elsewhere."""
        return self._lingering() is not None

    def interrupted(self) -> None:
        """The user speaks over the agent: what they say is for the question to judge, and ends no turn."""
        if self._question is not None:
            self._question.heard = self._question.heard or self._answering.question_heard

    def rang(self) -> None:
        """An alert sounds."""
        if self._question is not None:
            self._question.rung = True

    def take(self, committed: Committed) -> bool:
        """Take the user's words if they are for a question. Otherwise they are a turn of their own."""
        question = self._question
        if question is None:
            return self._take_late(committed)
        if question.rung and says_stop(committed.text):
            return False
        if not question.heard and not self._answering.question_heard and not self._answers_unasked(question, committed):
            # Between two parts of a question a remark answers neither, but it is no turn that would end them.
            return question.begun
        if question.answers.full():
            question.answers.get_nowait()
        question.answers.put_nowait(committed)
        self._changes.tell()
        return True

    def speech(self) -> None:
        """The user begins to speak."""
        if self._late is not None and clock.now() - self._late.over_at >= CROSSING_S:
            self._late = None

    def utterance_over(self) -> None:
        """What was heard came to nothing."""
        self._late = None

    def detach(self) -> None:
        """Ask nothing any more; questions stay where they are. Idempotent."""
        for off in self._off:
            off()
        self._off.clear()
        if self._question is not None and self._question.task is not None:
            self._question.task.cancel()
        self._question = self._late = None
        self._changes.tell()

    async def close(self) -> None:
        """Withdraw the questions that were to be asked; idempotent."""
        self.detach()
        held, self._held = self._held, {}
        for slot_id, (release, _) in held.items():
            release()
            self._display.remove_slot(slot_id)
        await self._scope.close()

    def _pushed(self, slot: Slot) -> None:
        if slot.blocking:
            self._held[slot.id] = self._display.hold(slot.id), self._answering.turn
            self._next()

    def _touched(self, slot: Slot) -> None:
        if self._question is not None and self._question.slot.id == slot.id:
            self._question.since = clock.now()

    def _resolved(self, slot: Slot) -> None:
        held = self._held.pop(slot.id, None)
        if held is not None:
            held[0]()
        question = self._question
        if question is None or question.slot.id != slot.id:
            return
        self._question = None
        self._changes.tell()
        question.over_at = clock.now()
        if question.task is not None and question.task is not asyncio.current_task():
            question.task.cancel()
            self._late = question
        self._answering.take_floor()
        self._listening.utterance_over()
        self._next()

    def _next(self) -> None:
        if self._question is not None or not self._held:
            return
        waiting = {slot.id: slot for slot in self._display.pending}
        slot = next((waiting[slot_id] for slot_id in self._held if slot_id in waiting), None)
        if slot is not None:
            dialogue, turn = dialogue_for(self._display, slot), self._held[slot.id][1]
            self._question = question = Question(slot, turn, dialogue, self._language())
            question.task = self._scope.spawn(self._pursue(question), "question")
            self._changes.tell()

    async def _pursue(self, question: Question) -> None:
        try:
            await self._converse(question)
        except Exception:
            # A spoken form is somebody else's code; the one who asked must not wait for ever because of it.
            log.exception("a question could not be asked aloud", renderer=question.slot.renderer)
            self._refuse(question, QuestionClosed("ERR_SLOT_NOT_UNDERSTOOD", "The question could not be asked aloud."))

    async def _converse(self, question: Question) -> None:
        text, misses = question.dialogue.question(question.language), 0
        while True:
            await self._pose(question, text)
            heard = await self._answer(question)
            if heard is None:
                await self._give_up(question, "unanswered", Unanswered())
                return
            verdict = question.verdict(heard.text, heard.language)
            match verdict:
                case NotUnderstood():
                    misses += 1
                    if misses >= MOST_MISSES:
                        said = QuestionClosed("ERR_SLOT_NOT_UNDERSTOOD", "The answer was not understood.")
                        await self._give_up(question, "given_up", said)
                        return
                    text = question.dialogue.again(question.language)
                case GoesOn(dialogue):
                    question.dialogue, misses = dialogue, 0
                    question.said.append(heard.text)
                    text = dialogue.question(question.language)
                case _:
                    self._settle(question, verdict, heard.text)
                    return
            question.heard = False

    def _settle(self, question: Question, verdict: Understood | Refused, text: str) -> None:
        question.said.append(text)
        if isinstance(verdict, Understood):
            self._display.resolve(question.slot.id, verdict.value, said=" ".join(question.said))
        else:
            said = f"They said: {text!r}."
            self._refuse(question, QuestionClosed("ERR_SLOT_REJECTED", "The user will not answer.", said))

    def _refuse(self, question: Question, error: QuestionClosed) -> None:
        self._display.reject(question.slot.id, error)

    async def _pose(self, question: Question, text: str) -> None:
        """Speak ``text`` when nothing else is being said, until something of it was heard or there is an answer."""
        for _ in range(MOST_POSED):
            await self._silence(question)
            if not question.answers.empty():
                break
            self._listening.asked()
            if await self._answering.pose(text, question.language) or question.heard:
                break
        question.heard = question.begun = True
        question.since = clock.now()

    async def _silence(self, question: Question) -> None:
        """Wait until the user is silent, and the agent too, unless it is the turn that asks which speaks."""
        await self._changes.until(lambda: not self._listening.user_speaks and self._answering.may_ask(question.turn))

    async def _answer(self, question: Question) -> Committed | None:
        """The user's next words, or None when none were begun in time."""
        while True:
            deadline = question.since + ANSWER_S
            if await self._changes.until(lambda: not question.answers.empty(), deadline):
                return question.answers.get_nowait()
            await self._changes.until(lambda: not self._listening.user_speaks or not question.answers.empty())
            if question.answers.empty() and question.since + ANSWER_S <= deadline:
                return None

    async def _give_up(self, question: Question, key: str, error: QuestionClosed) -> None:
        """Say that the question is dropped, and drop it, unless a late answer makes it unnecessary."""
        await self._silence(question)
        await self._answering.pose(phrase(key, question.language), question.language)
        await self._silence(question)
        while not question.answers.empty():
            late = question.answers.get_nowait()
            verdict = question.verdict(late.text, late.language)
            if isinstance(verdict, Understood | Refused):
                self._settle(question, verdict, late.text)
                return
        self._refuse(question, error)

    @staticmethod
    def _answers_unasked(question: Question, committed: Committed) -> bool:
        """Whether the words are plainly an answer to a question that was seen but not heard yet."""
        if question.dialogue.takes_anything:
            return False
        return not says_stop(committed.text) and question.answered_by(committed.text, committed.language)

    def _lingering(self) -> Question | None:
        late = self._late
        return late if late is not None and clock.now() - late.over_at < LATE_S else None

    def _take_late(self, committed: Committed) -> bool:
        late, self._late = self._lingering(), None
        if late is None or committed.reason == "typed":
            return False
        if not late.answered_by(committed.text, committed.language):
            return False
        self._discarded("already_answered")
        return True
