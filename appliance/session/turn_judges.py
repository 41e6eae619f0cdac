"""What a configuration has to judge ends of turns with, loaded once for all rooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from agents.base.errors import ConfigError, GloveError
from appliance.session.stock import wants_ear, weights_store
from audio.turns.hold import HoldTimes, TurnDetector
from audio.turns.rules import CommandDetector, RuleDetector

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig
    from appliance.session.mind import Mind
    from audio.turns.remote import RemoteScorer
    from audio.turns.smart_turn import SmartTurn

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class TurnJudges:
    """Models that judge ends of turns.

    Attributes:
        ear: listens to the voice, or None.
        scorer: judges texts, or None.
        trouble: why there is no ear although one is wanted.
    """

    ear: SmartTurn | None = None
    scorer: RemoteScorer | None = None
    trouble: GloveError | None = None

    def tell_trouble(self) -> None:
        """Log what is missing, once everything else is known to work: nobody needs two complaints about one cause."""
        if self.trouble is not None:
            log.warning("turns end by their words alone", code=self.trouble.code, error=self.trouble.message)

    def detector(self, config: GloveConfig, mind: Mind) -> TurnDetector:
        """The detector of one session; complete commands are answered soonest with any of them."""
        from audio.turns.combined import CombinedDetector
        from audio.turns.scored import ScoredDetector
        from audio.turns.sound import SoundDetector

        rules = RuleDetector(_times(config))
        detector: TurnDetector = rules
        if self.scorer is not None and config.turns.detector in ("combined", "text"):
            detector = ScoredDetector(self.scorer, rules)
        if self.ear is not None:
            alone = config.turns.detector == "smart-turn"
            detector = SoundDetector(self.ear, rules) if alone else CombinedDetector(detector, self.ear)
        if mind.intents is None:
            return detector
        return CommandDetector(detector, mind.intents.complete, config.turns.command_hold_ms)

    async def close(self) -> None:
        """Let go of the models; idempotent."""
        if self.ear is not None:
            self.ear.close()
        if self.scorer is not None:
            await self.scorer.aclose()


def build_judges(config: GloveConfig) -> TurnJudges:
    """Load what ``config`` asks for. Takes a while; without a loop.

    The ear only makes things better: where its weights cannot be had, turns end by their words.

    Raises:
        ConfigError: ``ERR_TURN_SCORER``: there is no usable address of a scorer where one is needed.
    """
    scorer = _scorer(config)
    if not wants_ear(config):
        return TurnJudges(None, scorer)
    from audio.turns.smart_turn import SmartTurn

    try:
        return TurnJudges(SmartTurn.load(weights_store(config)), scorer)
    except GloveError as fault:
        return TurnJudges(None, scorer, fault)


def _scorer(config: GloveConfig) -> RemoteScorer | None:
    turns = config.turns
    if not turns.scorer_url:
        if turns.detector == "text":
            raise ConfigError(
                "ERR_TURN_SCORER",
                "turns.detector is 'text', but there is no scorer of texts.",
                "Set turns.scorer_url, or choose another detector.",
            )
        return None
    if turns.detector not in ("combined", "text"):
        return None
    from audio.turns.remote import RemoteScorer

    return RemoteScorer(turns.scorer_url)


def _times(config: GloveConfig) -> HoldTimes:
    turns = config.turns
    return HoldTimes(
        command=turns.command_hold_ms,
        question=turns.question_hold_ms,
        statement=turns.statement_hold_ms,
        unfinished=turns.unfinished_hold_ms,
        dictation=turns.dictation_hold_ms,
    )
