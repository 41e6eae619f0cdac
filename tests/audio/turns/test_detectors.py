"""Detectors that ask a model: scorers of texts, listeners, and both together."""

import asyncio
import json

import httpx
import numpy as np
import pytest

from agents.base.errors import ConfigError
from audio.turns.combined import CombinedDetector
from audio.turns.hold import Hold, Utterance, curved
from audio.turns.remote import RemoteScorer
from audio.turns.rules import CommandDetector, RuleDetector
from audio.turns.scored import ScoredDetector
from audio.turns.sound import SoundDetector

SOUND = np.full(16_000, 900, np.int16)


class Scorer:
    def __init__(self, answer: float | Exception, delay_s: float = 0.0) -> None:
        self.answer, self.delay_s = answer, delay_s
        self.asked: list[object] = []

    async def probability(self, pcm_or_text: object, context: object = None) -> float:
        self.asked.append((pcm_or_text, context))
        await asyncio.sleep(self.delay_s)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(("probability", "ms"), [(1.0, 400), (0.0, 2800), (0.5, 1249), (7.0, 400), (-1.0, 2800)])
async def test_the_surer_the_scorer_the_shorter_the_hold(probability: float, ms: int) -> None:
    assert curved(probability, 400, 2800, 1.5) == ms
    assert (await ScoredDetector(Scorer(probability)).judge(Utterance("The sky is blue."))).ms == ms


@pytest.mark.parametrize(("probability", "expected"), [(0.2, Hold(400, "eou-q:0.20")), (0.19, Hold(2150, "eou:0.19"))])
async def test_a_question_is_answered_soonest_unless_the_scorer_objects(probability: float, expected: Hold) -> None:
    assert await ScoredDetector(Scorer(probability)).judge(Utterance("What time is it?")) == expected


async def test_dictation_is_awaited_however_sure_the_scorer_is() -> None:
    assert (await ScoredDetector(Scorer(1.0)).judge(Utterance("0-0-7."))).ms == 2000


@pytest.mark.parametrize(
    "scorer", [Scorer(float("nan")), Scorer(float("inf")), Scorer(OSError("down")), Scorer(0.9, delay_s=0.4)]
)
async def test_a_scorer_that_fails_or_is_late_leaves_the_turn_to_the_rules(scorer: Scorer) -> None:
    started = asyncio.get_running_loop().time()
    assert await ScoredDetector(scorer).judge(Utterance("Turn it off.")) == Hold(600, "fallback:statement")
    assert asyncio.get_running_loop().time() - started <= 0.351


async def test_a_remote_scorer_is_sent_text_and_context() -> None:
    seen: list[object] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, json.loads(request.content)))
        return httpx.Response(200, json={"probability": 0.75})

    scorer = RemoteScorer("http://scorer/turn", transport=httpx.MockTransport(answer))
    utterance = Utterance("My engine.", context=(("assistant", "What broke?"),))
    assert await ScoredDetector(scorer).judge(utterance) == Hold(700, "eou:0.75")
    assert seen == [
        ("POST", {"transcript": "My engine.", "context": [{"role": "assistant", "content": "What broke?"}]})
    ]
    await scorer.aclose()


@pytest.mark.parametrize(
    "response",
    [httpx.Response(500), httpx.Response(200, text="no"), httpx.Response(200, json={"probability": None})],
)
async def test_a_remote_scorer_that_answers_nonsense_leaves_the_turn_to_the_rules(response: httpx.Response) -> None:
    scorer = RemoteScorer("http://scorer/turn", transport=httpx.MockTransport(lambda _: response))
    assert (await ScoredDetector(scorer).judge(Utterance("Turn it off."))).reason == "fallback:statement"
    await scorer.aclose()


def test_a_remote_scorer_needs_an_address() -> None:
    with pytest.raises(ConfigError, match="neither http nor https"):
        RemoteScorer("scorer:80")


@pytest.mark.parametrize(
    ("text", "probability", "ms"),
    [
        ("The sky is blue.", 0.97, 45),  # both have finished
        ("The sky is blue.", 0.5, 600),  # the voice does not say
        ("The sky is blue.", 0.1, 900),  # the voice has not
        ("Is it?", 0.1, 900),
        ("Tell me about the.", 0.99, 1200),  # the words have not, whatever the voice says
        ("turn on the light", 0.99, 600),  # the words bear no mark
        ("turn on the light", 0.5, 1200),
        ("4 1 5.", 0.99, 2000),
    ],
)
async def test_words_and_voice_together_decide(text: str, probability: float, ms: int) -> None:
    detector = CombinedDetector(RuleDetector(), Scorer(probability))
    assert (await detector.judge(Utterance(text, sound=SOUND))).ms == ms


@pytest.mark.parametrize("ear", [Scorer(ValueError()), Scorer(0.99, delay_s=0.4), Scorer(float("nan"))])
async def test_without_the_voice_the_words_decide(ear: Scorer) -> None:
    assert await CombinedDetector(RuleDetector(), ear).judge(Utterance("So.", sound=SOUND)) == Hold(1200, "unfinished")
    assert (await SoundDetector(ear).judge(Utterance("The sky is blue.", sound=SOUND))).reason == "fallback:statement"


async def test_an_utterance_without_sound_is_not_listened_to() -> None:
    ear = Scorer(0.99)
    assert await CombinedDetector(RuleDetector(), ear).judge(Utterance("It is blue.")) == Hold(600, "statement")
    assert ear.asked == []


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "with commands"])
async def test_who_has_listened_already_is_not_asked_to_listen_again(wrapped: bool) -> None:
    ear = Scorer(0.97)
    combined = CombinedDetector(RuleDetector(), ear)
    detector = CommandDetector(combined, lambda text, language: False) if wrapped else combined
    voice = await detector.hear(SOUND)
    hold = await detector.judge(Utterance("The sky is blue.", sound=SOUND, voice=voice))
    assert hold == Hold(45, "statement/0.97") and len(ear.asked) == 1


async def test_a_detector_of_words_hears_nothing() -> None:
    assert await CommandDetector(RuleDetector(), lambda text, language: False).hear(SOUND) is None


async def test_text_scorer_and_voice_combine() -> None:
    detector = CombinedDetector(ScoredDetector(Scorer(0.6)), Scorer(0.97))
    hold = await detector.judge(Utterance("The sky is blue.", sound=SOUND))
    assert hold == Hold(45, "eou:0.60/0.97")


@pytest.mark.parametrize(("probability", "ms"), [(1.0, 250), (0.0, 1500)])
async def test_the_voice_alone_decides_where_that_is_wanted(probability: float, ms: int) -> None:
    detector = SoundDetector(Scorer(probability))
    assert (await detector.judge(Utterance("今日は", "ja", SOUND))).ms == ms
    assert (await detector.judge(Utterance("4 1 5.", sound=SOUND))).ms == 2000


async def test_the_listener_hears_the_very_sound() -> None:
    ear = Scorer(0.5)
    await SoundDetector(ear).judge(Utterance("It is blue.", sound=SOUND))
    (heard, _), *_ = ear.asked  # type: ignore[misc]
    assert isinstance(heard, np.ndarray) and np.array_equal(heard, SOUND)
