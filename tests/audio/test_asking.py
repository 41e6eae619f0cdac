"""Questions aloud: asked after what is being said, answered without a new turn, and never left hanging."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from agents.base import clock
from agents.core.display import DisplayManager, QuestionClosed, SlotPushed
from agents.core.tool import NoArgs, Tool, ToolContext
from agents.models.scripted import Call, Hang, Say, ScriptedModel
from agents.questions.contract import SPOKEN, NotUnderstood, Understood, Verdict
from agents.web.tools.ready_made import ready_made_tools
from audio.asking import ANSWER_S
from audio.voice_settings import VoiceSettings
from audio.wake.attention import AttentionSettings
from tests.support.session import Session

QUESTION = "May I use open door, with which: garage?"
AFTER = "That is settled then."


class Door:
    """A tool that needs permission, and what became of it."""

    def __init__(self) -> None:
        self.opened = 0

    @property
    def tool(self) -> Tool[Any]:
        return Tool("open_door", "Opens a door.", self._open, json_schema={"type": "object"}, requires_permission=True)

    async def _open(self, args: Any, ctx: ToolContext) -> str:
        self.opened += 1
        return "The door is open."


def asks_permission(*after: Any, preface: str = "") -> ScriptedModel:
    call = Call("open_door", {"which": "garage"})
    return ScriptedModel([[Say(preface), call] if preface else [call], *(after or [AFTER])])


def asks(tool: str, args: Any, *after: Any) -> ScriptedModel:
    return ScriptedModel([[Call(tool, args)], *(after or [AFTER])])


READY_MADE = tuple(ready_made_tools())
COLOURS = {"question": "Which colour?", "options": ["red", "green", "blue"]}


async def asked(session: Session) -> None:
    """Wait until a question was heard."""
    await session.until(lambda: session.voice.listens_for_answer)


def said_aloud(session: Session) -> list[str]:
    return [event.heard for event in session.of("agent_speech_stopped")]


async def results(session: Session) -> list[Any]:
    messages = await session.glove.store.get_messages()
    return [result.result for message in messages for result in message.tool_results or ()]


@pytest.mark.parametrize(
    ("language", "answer", "opened"),
    [
        ("en", "Yes, please.", 1),
        ("en", "No, thanks.", 0),
        ("en", "Stop.", 0),
        ("de", "Ja, mach das.", 1),
        ("de", "Lieber nicht.", 0),
        ("de", "Abbrechen.", 0),
        ("ja", "はい", 1),
        ("ja", "いいえ", 0),
    ],
)
async def test_permission_is_asked_aloud_and_the_next_words_decide(language: str, answer: str, opened: int) -> None:
    door = Door()
    settings = VoiceSettings(language=language, reply_language=language)
    async with Session(asks_permission(), tools=(door.tool,), settings=settings) as session:
        await session.say("Open the garage.")
        await asked(session)
        await session.say(answer, 0.6)
        await session.settle()
        assert door.opened == opened
        assert [event.text for event in session.of("user_answer")] == [answer]
        assert len(session.of("user_turn")) == 1, "an answer is no turn"
        assert said_aloud(session)[-1] == AFTER
        assert session.glove.display.stack == ()


async def test_the_question_comes_after_what_is_being_said() -> None:
    door = Door()
    async with Session(asks_permission(preface="Let me see to it."), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        assert said_aloud(session) == [f"Let me see to it. {QUESTION}"]
        assert [event.text for event in session.of("agent_says")] == [QUESTION]
        assert session.voice.current_mode == "listening"
        await session.say("Yes.", 0.5)
        await session.settle()
        assert door.opened == 1
        history = await session.history()
        assert ("agent", "Let me see to it.") in history, "what was heard before the question is stored as heard"


@pytest.mark.parametrize("answer", ["Yes, do it.", "Okay."])
async def test_an_answer_over_the_question_counts_and_the_question_falls_silent(answer: str) -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.7)
        await session.say(answer, 0.6)
        await session.settle()
        assert door.opened == 1
        assert len(session.of("user_turn")) == 1
        first = said_aloud(session)[0]
        assert QUESTION.startswith(first) and first != QUESTION
        assert said_aloud(session)[-1] == AFTER


async def test_words_over_what_comes_before_the_question_are_a_turn_of_their_own() -> None:
    door = Door()
    model = asks_permission("All right, the light.", preface="Let me see to it, one two three four five six.")
    async with Session(model, tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.3)
        await session.say("Switch on the light.")
        await session.settle()
        assert door.opened == 0
        assert [event.text for event in session.of("user_turn")] == ["Open the garage.", "Switch on the light."]
        assert said_aloud(session)[-1] == "All right, the light."
        assert session.glove.display.stack == ()


async def test_a_question_seen_on_a_screen_may_be_answered_before_it_is_heard() -> None:
    door = Door()
    model = asks_permission(preface="Let me see to it, one two three four five six.")
    async with Session(model, tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.3)
        await session.say("Yes, go ahead.")
        await session.settle()
        assert door.opened == 1
        assert len(session.of("user_turn")) == 1


async def test_what_is_not_understood_is_asked_again_in_other_words_and_then_given_up() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        await session.say("Bananas are yellow.")
        await session.until(lambda: len(said_aloud(session)) == 2)
        assert said_aloud(session)[1] == f"Please say yes or no. {QUESTION}"
        await session.say("Apples are not always green, are they?")
        await session.settle()
        assert door.opened == 0
        assert said_aloud(session)[2].startswith("Sorry, I did not understand your answer")
        [result] = await results(session)
        assert result.status == "error" and "was not understood" in result.message
        assert len(session.of("user_turn")) == 1


async def test_silence_denies_and_is_said_aloud() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        heard_at = clock.now()
        await session.until(lambda: len(said_aloud(session)) == 2)
        assert ANSWER_S <= clock.now() - heard_at < ANSWER_S + 5
        assert said_aloud(session)[1] == "I heard no answer, so I will leave that."
        await session.settle()
        assert door.opened == 0
        [result] = await results(session)
        assert "Nobody answered" in result.message


async def test_time_runs_out_only_between_words() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        await asyncio.sleep(ANSWER_S - 1.0)
        await session.say("Well, I think that yes, you can.", 4.0)
        await session.settle()
        assert door.opened == 1
        assert said_aloud(session) == [QUESTION, AFTER]


async def test_an_answer_while_it_is_given_up_is_still_an_answer() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        await session.until(lambda: len(session.of("agent_speech_started")) == 2, 40)
        await session.say("Yes, open it.")
        await session.settle()
        assert door.opened == 1


async def test_a_question_answered_on_a_screen_is_not_asked_any_more() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
        assert session.glove.display.resolve("slot_1", True)
        await session.settle()
        assert door.opened == 1
        assert QUESTION.startswith(said_aloud(session)[0]) and said_aloud(session)[0] != QUESTION
        assert said_aloud(session)[-1] == AFTER


@pytest.mark.parametrize("before_s", [0.0, 0.2, 0.5, 0.8, 1.2, 1.5])
async def test_an_answer_by_screen_and_voice_in_one_moment_is_one_answer(before_s: float) -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        session.living.speak("Yes, open it.", 0.6)
        await asyncio.sleep(before_s)
        session.glove.display.resolve("slot_1", True)
        await session.settle()
        assert door.opened == 1
        assert len(session.of("user_turn")) == 1, "the words that came too late are no turn"
        assert said_aloud(session)[-1] == AFTER


async def test_words_begun_before_the_screen_answered_are_a_turn_if_they_answer_nothing() -> None:
    door = Door()
    async with Session(asks_permission(AFTER, "Ten past four."), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        session.living.speak("What time is it now?", 1.0)
        await asyncio.sleep(0.5)
        session.glove.display.resolve("slot_1", False)
        await session.settle()
        assert [event.text for event in session.of("user_turn")][-1] == "What time is it now?"
        assert said_aloud(session)[-1] == "Ten past four."


async def test_an_abort_withdraws_the_question_and_silences_it() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.4)
        session.voice.interrupt()
        await session.settle()
        assert session.glove.display.stack == ()
        assert door.opened == 0 and not session.voice.awaits_answer()
        assert session.room.player.idle


async def test_an_abort_while_the_answer_is_waited_for_ends_the_turn() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        session.voice.interrupt()
        await session.settle(2.0)
        assert session.glove.display.stack == () and not session.voice.awaits_answer()


async def test_the_end_of_the_session_withdraws_what_was_asked() -> None:
    session = Session(ScriptedModel([]))
    async with session:
        outside = asyncio.ensure_future(session.glove.display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await asked(session)
    with pytest.raises(QuestionClosed) as closed:
        await outside
    assert closed.value.code == "ERR_SLOT_REMOVED"


async def test_two_questions_are_asked_one_after_the_other() -> None:
    door = Door()
    calls = [Call("open_door", {"which": "garage"}), Call("ask_preference", COLOURS)]
    async with Session(ScriptedModel([calls, AFTER]), tools=(door.tool, *READY_MADE)) as session:
        waiting = asyncio.ensure_future(session.glove.display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await asked(session)
        await session.say("Anna Smith")
        assert await waiting == "Anna Smith"
        await session.settle()
        await session.say("Open the garage and paint it.")
        await asked(session)
        both = [
            asyncio.ensure_future(session.glove.display.push_and_wait("text_input", {"prompt": f"Number {n}?"}))
            for n in (1, 2)
        ]
        await session.say("Yes.", 0.5)
        for said in ("Uno", "Dos", "The second one."):
            await session.until(lambda: not session.voice.listens_for_answer)
            await asked(session)
            await session.say(said, 0.6)
        await session.settle()
        assert door.opened == 1
        assert [task.result() for task in both] == ["Uno", "Dos"]
        assert (await results(session))[-1].data == {"answer": "User selected: green", "said": "The second one."}
        assert said_aloud(session)[-1] == AFTER


async def test_a_form_is_filled_in_field_by_field_and_read_back() -> None:
    form = {
        "title": "Your order",
        "fields": [
            {"name": "name", "label": "Your name"},
            {"name": "count", "label": "How many", "type": "number"},
            {"name": "note", "label": "A note", "required": False},
        ],
    }
    async with Session(asks("collect_form", form), tools=READY_MADE) as session:
        await session.say("I would like to order.")
        said = ["Anna.", "Lots.", "Twenty five.", "Skip it.", "No.", "How many.", "Twenty six.", "Yes, that is right."]
        for words in said:
            await asked(session)
            await session.say(words, 0.6)
            await session.until(lambda: not session.voice.listens_for_answer)
        await session.settle()
        [result] = await results(session)
        assert result.data["answer"] == {"name": "Anna", "count": 26, "note": None}
        assert "Twenty six." in result.data["said"]
        aloud = said_aloud(session)
        assert aloud[0] == "Your order. Your name?"
        assert aloud[2].startswith("I need a number.")
        assert aloud[4] == "I have: Your name: Anna; How many: 25; A note: nothing. Is that right?"
        assert aloud[-2] == "I have: Your name: Anna; How many: 26; A note: nothing. Is that right?"
        assert len(session.of("user_turn")) == 1


async def test_a_remark_between_two_fields_does_not_end_the_form() -> None:
    form = {"title": "You", "fields": [{"name": "first", "label": "First"}, {"name": "last", "label": "Last"}]}
    async with Session(asks("collect_form", form), tools=READY_MADE) as session:
        await session.say("Sign me up.")
        await asked(session)
        await session.say("Anna.", 0.5)
        await session.until(lambda: session.of("user_answer"))
        session.living.speak("With two N.", 0.4)
        await session.until(lambda: len(session.of("user_answer")) == 2)
        await asked(session)
        await session.say("Smith.", 0.5)
        await session.until(lambda: not session.voice.listens_for_answer)
        await asked(session)
        await session.say("Yes.", 0.5)
        await session.settle()
        [result] = await results(session)
        assert result.data["answer"] == {"first": "Anna", "last": "Smith"}


async def test_cancelling_a_question_tells_the_model_and_ends_no_turn() -> None:
    async with Session(asks("ask_preference", COLOURS), tools=READY_MADE) as session:
        await session.say("Paint it.")
        await asked(session)
        await session.say("Never mind.", 0.6)
        await session.settle()
        [result] = await results(session)
        assert result.status == "error" and result.message.startswith("The user gave no answer.")
        assert said_aloud(session)[-1] == AFTER
        assert len(session.of("user_turn")) == 1


async def test_a_typed_line_answers_as_well() -> None:
    async with Session(asks("ask_preference", COLOURS), tools=READY_MADE) as session:
        session.voice.say_to_agent("Paint it.")
        await asked(session)
        session.voice.say_to_agent("blue")
        await session.settle()
        [result] = await results(session)
        assert result.data["answer"] == "User selected: blue"
        assert len(session.of("user_turn")) == 1


async def test_the_answer_needs_no_wake_word() -> None:
    door = Door()
    attention = AttentionSettings(wake_s=2.0, follow_up_s=2.0)
    async with Session(
        ScriptedModel([[Call("open_door", {"which": "garage"})], AFTER]), tools=(door.tool,), attention=attention
    ) as session:
        asyncio.get_running_loop().create_task(session.voice.speak_up(_event_turn(session)))
        await asked(session)
        await asyncio.sleep(10.0)
        await session.say("Yes.", 0.5)
        await session.settle()
        assert door.opened == 1
        await asyncio.sleep(5.0)
        assert session.voice.attention == "asleep"


def _event_turn(session: Session) -> Any:
    async def turn(abort: Any = None, *, language: str | None = None, heard_reports: bool = False) -> object:
        return await session.glove.process_request(
            "The door bell rang.", abort, language=language, heard_reports=heard_reports
        )

    return turn


async def test_a_question_from_outside_a_turn_is_asked_too_and_attention_rests_again() -> None:
    async with Session(ScriptedModel([]), attention=AttentionSettings()) as session:
        outside = asyncio.ensure_future(session.glove.display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await asked(session)
        assert session.voice.attention == "engaged"
        await session.say("Anna")
        assert await outside == "Anna"
        await session.until(lambda: session.voice.attention == "asleep", 10)


async def test_the_talk_key_answers() -> None:
    door = Door()
    settings = VoiceSettings()
    attention = AttentionSettings(mode="ptt")
    async with Session(asks_permission(), tools=(door.tool,), settings=settings, attention=attention) as session:
        session.voice.say_to_agent("Open the garage.")
        await session.until(lambda: session.of("agent_speech_started"))
        await asyncio.sleep(0.5)
        session.voice.ptt_down()
        await session.say("Yes please.", 0.8)
        session.voice.ptt_up()
        await session.settle()
        assert door.opened == 1
        assert len(session.of("user_turn")) == 1


async def test_an_alert_rings_while_an_answer_is_waited_for_and_the_question_stays() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        await session.voice.announce("Your egg timer is ringing.", urgent=True)
        assert said_aloud(session)[-1] == "Your egg timer is ringing."
        await session.say("Yes, open it.")
        await session.settle()
        assert door.opened == 1


async def test_stop_after_an_alert_is_meant_for_the_alert() -> None:
    door = Door()
    async with Session(asks_permission("Okay."), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        await session.voice.announce("Your egg timer is ringing.", urgent=True)
        await session.say("Stop.", 0.5)
        await session.settle()
        assert [event.text for event in session.of("user_turn")] == ["Open the garage.", "Stop."]
        assert door.opened == 0 and session.glove.display.stack == ()


async def test_a_message_waits_until_the_question_is_answered() -> None:
    door = Door()
    async with Session(asks_permission(), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        message = asyncio.ensure_future(session.voice.announce("The post is here."))
        await asyncio.sleep(5.0)
        assert not message.done() and said_aloud(session) == [QUESTION]
        await session.say("Yes.", 0.5)
        await message
        assert said_aloud(session) == [QUESTION, AFTER, "The post is here."]


@dataclass(frozen=True)
class Seats:
    takes_anything = False

    def question(self, language: str) -> str:
        return "Window or aisle?"

    def again(self, language: str) -> str:
        return "Please: window or aisle?"

    def hear(self, utterance: str, language: str) -> Verdict:
        if "boom" in utterance:
            raise LookupError("a fault of somebody else's form")
        return Understood("A1") if "window" in utterance.lower() else NotUnderstood()


@pytest.mark.parametrize(("said", "outcome"), [("The window, please.", "A1"), ("boom", "ERR_SLOT_NOT_UNDERSTOOD")])
async def test_others_may_bring_a_spoken_form_and_its_faults_hang_nobody(said: str, outcome: str) -> None:
    async with Session(ScriptedModel([])) as session:
        session.glove.display.register_renderer("seat_map", {SPOKEN: lambda value: Seats()})
        outside = asyncio.ensure_future(session.glove.display.push_and_wait("seat_map", {}))
        await asked(session)
        assert said_aloud(session) == ["Window or aisle?"]
        await session.say(said)
        try:
            assert await outside == outcome
        except QuestionClosed as closed:
            assert closed.code == outcome


async def test_an_unknown_renderer_is_asked_for_words() -> None:
    async with Session(ScriptedModel([])) as session:
        outside = asyncio.ensure_future(session.glove.display.push_and_wait("seatMap", {"rows": 3}))
        await asked(session)
        assert said_aloud(session) == ["I have a question about seat map. What shall I note down?"]
        await session.say("The window seat in row 3")
        assert await outside == "The window seat in row 3"


async def test_somebody_typing_on_a_screen_is_not_timed_out() -> None:
    async with Session(ScriptedModel([])) as session:
        display: DisplayManager = session.glove.display
        outside = asyncio.ensure_future(display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await asked(session)
        for _ in range(4):
            await asyncio.sleep(ANSWER_S - 5)
            assert display.touch("slot_1")
        assert display.resolve("slot_1", "Anna") and await outside == "Anna"


async def test_a_question_is_not_asked_over_the_user() -> None:
    async with Session(ScriptedModel(["Well."])) as session:
        pushed: list[float] = []
        session.glove.display.events.on(SlotPushed, lambda _: pushed.append(clock.now()))
        session.living.speak("I am telling a long story here.", 3.0)
        await asyncio.sleep(1.0)
        outside = asyncio.ensure_future(session.glove.display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await asyncio.sleep(1.9)
        assert not session.of("agent_speech_started")
        await session.until(lambda: session.of("agent_speech_stopped"))
        assert said_aloud(session)[0] == "Well."
        await asked(session)
        await session.say("Anna")
        assert await outside == "Anna"


async def test_a_tool_that_is_told_no_is_not_called_again() -> None:
    calls = 0

    async def curious(args: NoArgs, ctx: ToolContext) -> Any:
        nonlocal calls
        calls += 1
        return await ctx.display.push_and_wait("text_input", {"prompt": "Your name?"})

    tool = Tool("curious", "Asks.", curious, NoArgs)
    async with Session(asks("curious", {}), tools=(tool,)) as session:
        await session.say("Be curious.")
        await asked(session)
        await session.say("Cancel.", 0.5)
        await session.settle()
        assert calls == 1, "a refusal is not a fault that is tried again"
        assert said_aloud(session) == ["Your name?", AFTER]


async def test_after_the_answer_the_turn_is_looked_after_again() -> None:
    door = Door()
    async with Session(asks_permission([Hang()]), tools=(door.tool,)) as session:
        await session.say("Open the garage.")
        await asked(session)
        await session.say("Yes.", 0.5)
        await session.until(lambda: session.of("user_answer"))
        answered_at = clock.now()
        await asyncio.sleep(1.0)
        assert session.voice.current_mode == "thinking"
        await session.until(lambda: len(said_aloud(session)) == 2)
        assert said_aloud(session)[1].startswith("Sorry, that is taking too long.")
        assert clock.now() - answered_at < 22.0
        await session.settle()


async def test_a_message_waits_for_the_answer_to_a_question_from_outside_a_turn() -> None:
    async with Session(ScriptedModel([])) as session:
        outside = asyncio.ensure_future(session.glove.display.push_and_wait("text_input", {"prompt": "Your name?"}))
        await asked(session)
        message = asyncio.ensure_future(session.voice.announce("The post is here."))
        await asyncio.sleep(5.0)
        assert said_aloud(session) == ["Your name?"]
        await session.say("Anna")
        await message
        assert await outside == "Anna"
        assert said_aloud(session) == ["Your name?", "The post is here."]
