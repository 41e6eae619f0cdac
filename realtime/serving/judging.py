"""Whether a pause of the user is the end of what they say, judged by their words and voice."""

from __future__ import annotations

from audio.pcm import CAPTURE_RATE_HZ
from audio.stt.base import Transcript
from audio.turns.hold import TurnDetector, Utterance
from realtime.s2s.turn_detection import SemanticVad
from realtime.serving.conversation import Conversation
from realtime.serving.listening import Paused

JUDGED_SAMPLES = 8 * CAPTURE_RATE_HZ
CONTEXT_ITEMS = 4
PATIENCE = {"low": 2.0, "medium": 1.0, "auto": 1.0, "high": 0.5}
"""How much longer a pause may be than the judge says, by eagerness."""


async def hold_ms(
    detector: TurnDetector, detection: SemanticVad, words: Transcript, paused: Paused, conversation: Conversation
) -> int:
    """How much longer to wait for the user to speak on."""
    if not words.text:
        return 0
    said = [item for item in conversation if item.role in ("user", "assistant") and item.text][-CONTEXT_ITEMS:]
    context = tuple((item.role or "user", item.text) for item in said)
    hold = await detector.judge(Utterance(words.text, words.language, paused.sound[-JUDGED_SAMPLES:], context))
    return round(hold.ms * PATIENCE[detection.eagerness])
