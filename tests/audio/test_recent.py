from agents.base.emitter import Emitter
from audio.events import AgentSpeechStopped, UserTurn
from audio.recent import RecentTalk


def test_the_last_turns_are_kept_as_far_as_they_were_heard() -> None:
    events = Emitter()
    recent = RecentTalk(events)
    assert recent.turns() == ()
    for number in range(3):
        events.emit(UserTurn(0.0, f"Question {number}?"))
        events.emit(AgentSpeechStopped(0.0, f"Answer {number}" if number != 1 else ""))
    assert recent.turns() == (
        ("assistant", "Answer 0"),
        ("user", "Question 1?"),
        ("user", "Question 2?"),
        ("assistant", "Answer 2"),
    )
