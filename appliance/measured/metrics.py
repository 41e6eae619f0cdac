"""How the appliance does, counted since it started: for ``glove status`` and for Prometheus.

Labels come from sets of bounded size, never from what anybody said.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

from audio.events import Metric
from audio.turn_record import STAGES, TurnMeasured, TurnRecord

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig

RECENT = 200
"""So many of the last turns the medians are taken of."""

MOST_LABELS = 40
"""So many error codes, and reasons, are told apart; further ones are ``other``."""

BUCKETS_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
"""Upper bounds of the histograms: from a frame of sound to a turn that is given up."""

SECRET = "metrics_token"
"""The secret that collectors may know instead of the page's token."""

TOTAL = "voice_to_voice"
BARGE_IN = "barge_in_decision"


def metrics_secrets(config: GloveConfig) -> tuple[str, ...]:
    """Names of the secrets that ``config`` has a use for."""
    return (SECRET,) if config.metrics.enabled else ()


class Metrics:
    """Takes the metrics of every room.

    Attributes:
        registry: the ``prometheus_client.CollectorRegistry`` of this object alone.
    """

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

        self.registry = own = CollectorRegistry()
        self._turns = Counter("glove_turns", "Turns of users.", ["source", "outcome"], registry=own)
        self._latency = Histogram(
            "glove_voice_to_voice_seconds",
            "From the end of the user's speech to the first audible sample.",
            buckets=BUCKETS_S,
            registry=own,
        )
        self._stages = Histogram(
            "glove_turn_stage_seconds", "Length of each stage of a turn.", ["stage"], buckets=BUCKETS_S, registry=own
        )
        self._decisions = Histogram(
            "glove_barge_in_decision_seconds",
            "From the pause of an answer to the decision who has the floor.",
            ["outcome"],
            buckets=BUCKETS_S,
            registry=own,
        )
        self._tools = Histogram(
            "glove_tool_seconds", "Length of tool calls.", ["status"], buckets=BUCKETS_S, registry=own
        )
        self._faults = Counter("glove_speech_faults", "Faults of sessions.", ["code"], registry=own)
        self._discarded = Counter("glove_utterances_discarded", "Heard, and no turn.", ["reason"], registry=own)
        self._corrections = Counter("glove_turn_corrections", "Turns that were misheard at first.", registry=own)
        self._codes, self._reasons = _Labels(), _Labels()
        self._recent: dict[str, deque[float]] = {}
        self._count = 0

    def note(self, metric: Metric) -> None:
        """Count one metric; those that nothing is counted of are ignored."""
        data = metric.data or {}
        match metric.name:
            case "turn" if isinstance(metric, TurnMeasured) and metric.record is not None:
                self._turn(metric.record)
            case "barge_in" | "barge_in_retracted" if metric.ms is not None:
                outcome = "cut" if metric.name == "barge_in" else "resumed"
                self._decisions.labels(outcome).observe(metric.ms / 1000)
                self._remember(BARGE_IN, metric.ms)
            case "tool_ms" if metric.ms is not None:
                status = str(data.get("status"))
                self._tools.labels(status if status in ("success", "aborted") else "error").observe(metric.ms / 1000)
            case "speech_failure" | "vad_deaf_reset":
                self._faults.labels(self._codes.bounded(str(data.get("code", "")))).inc()
            case "utterance_discarded" | "stt_phantom_dropped" | "stt_far_field_dropped":
                reason = data.get("reason") or metric.name.removeprefix("stt_").removesuffix("_dropped")
                self._discarded.labels(self._reasons.bounded(str(reason))).inc()
            case "stt_correction":
                self._corrections.inc()
            case _:
                pass

    def _turn(self, record: TurnRecord) -> None:
        self._count += 1
        self._turns.labels(record.source, record.outcome).inc()
        for stage in record.stages():
            self._stages.labels(stage.name).observe(stage.ms / 1000)
            self._remember(stage.name, stage.ms)
        if (total := record.voice_to_voice_ms) is not None:
            self._latency.observe(max(0.0, total / 1000))
            self._remember(TOTAL, total)

    def _remember(self, name: str, ms: float) -> None:
        self._recent.setdefault(name, deque(maxlen=RECENT)).append(ms)

    def summary(self) -> dict[str, Any]:
        """How many ``turns`` there were, and the ``stages`` of the last ones: ``p50_ms``, ``p95_ms`` and ``count``."""
        known = [name for name in (TOTAL, *STAGES, BARGE_IN) if name in self._recent]
        return {"turns": self._count, "stages": {name: spread(list(self._recent[name])) for name in known}}

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Everything in the format that ``accept`` (an HTTP header) asks for, and the media type of that."""
        from prometheus_client.exposition import choose_encoder

        try:
            encode, media_type = choose_encoder(accept)
        except TypeError:
            # The library compares versions without looking whether they are numbers.
            encode, media_type = choose_encoder("")
        return encode(self.registry), media_type


class _Labels:
    """Values of one label, the first ``MOST_LABELS`` of them."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def bounded(self, value: str) -> str:
        if len(self._known) < MOST_LABELS:
            self._known.add(value)
        return value if value in self._known else "other"


def spread(values: list[float]) -> dict[str, float | int]:
    """Median, 95th percentile and number of ``values`` (at least one).

    A percentile is the smallest value that so many of them do not exceed (nearest rank).
    """
    ordered = sorted(values)
    return {
        "p50_ms": round(_rank(ordered, 0.5), 1),
        "p95_ms": round(_rank(ordered, 0.95), 1),
        "count": len(ordered),
    }


def _rank(ordered: list[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
