"""What the appliance counts since it started: for ``glove status``, for a file, and for Prometheus."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from agents.base.credentials import Credentials
from agents.base.errors import ConfigError
from appliance.commands.status import latency_lines
from appliance.measured.metrics import MOST_LABELS, RECENT, Metrics, metrics_secrets, spread
from appliance.web.auth import Access, new_token
from appliance.web.metrics_route import collectors, metrics_route
from audio.events import Metric
from audio.turn_record import TurnRecord, measured
from audio.turns.timing import UtteranceTimes
from tests.appliance.house import house, simulated


def turn(number: int, latency_s: float, outcome: str = "complete") -> Metric:
    """A turn whose answer began ``latency_s`` after its speech had ended."""
    record = TurnRecord(
        number=number,
        source="speech",
        outcome=outcome,  # type: ignore[arg-type]
        heard=UtteranceTimes(onset_s=9.0, vad_end_s=10.1, final_s=10.2),
        speech_end_s=10.0,
        committed_s=10.3,
        asked_s=10.3,
        first_token_s=10.4,
        first_sentence_s=10.45,
        first_sound_s=10.5,
        audible_s=10.0 + latency_s,
        ended_s=20.0,
    )
    return measured(record, 20.0)


def samples(text: str) -> dict[str, float]:
    """The samples of an exposition by name and labels."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def test_medians_are_those_of_the_last_turns() -> None:
    metrics = Metrics()
    for number in range(3 * RECENT):
        metrics.note(turn(number, 5.0 if number < 2 * RECENT else 0.6 + number % 100 / 1000))
    summary = metrics.summary()
    assert summary["turns"] == 3 * RECENT
    total = summary["stages"]["voice_to_voice"]
    assert (total["p50_ms"], total["p95_ms"], total["count"]) == (pytest.approx(649), pytest.approx(694), RECENT)
    assert summary["stages"]["recognition"]["p50_ms"] == pytest.approx(100)


def test_percentiles_are_values_that_were_measured() -> None:
    assert spread([7.0]) == {"p50_ms": 7.0, "p95_ms": 7.0, "count": 1}
    assert spread([float(value) for value in range(1, 101)]) == {"p50_ms": 50.0, "p95_ms": 95.0, "count": 100}


def test_prometheus_is_told_turns_stages_decisions_tools_and_faults() -> None:
    metrics = Metrics()
    metrics.note(turn(1, 0.65))
    metrics.note(turn(2, 0.9, "cut"))
    metrics.note(Metric(1.0, "barge_in", 420.0, {"by": "speech"}))
    metrics.note(Metric(1.0, "barge_in", None, {"by": "command"}))
    metrics.note(Metric(1.0, "barge_in_retracted", 300.0))
    metrics.note(Metric(1.0, "tool_ms", 80.0, {"status": "success"}))
    metrics.note(Metric(1.0, "speech_failure", None, {"code": "ERR_TTS_CONNECTION"}))
    metrics.note(Metric(1.0, "utterance_discarded", None, {"reason": "backchannel"}))
    metrics.note(Metric(1.0, "stt_phantom_dropped"))
    content, media_type = metrics.exposition()
    assert media_type.startswith("text/plain")
    found = samples(content.decode())
    assert found["glove_turns_total{outcome=complete,source=speech}"] == 1
    assert found["glove_turns_total{outcome=cut,source=speech}"] == 1
    assert found["glove_voice_to_voice_seconds_count{}"] == 2
    assert found["glove_voice_to_voice_seconds_bucket{le=0.7}"] == 1
    assert found["glove_turn_stage_seconds_sum{stage=hold}"] == pytest.approx(0.2)
    assert found["glove_barge_in_decision_seconds_count{outcome=cut}"] == 1
    assert found["glove_barge_in_decision_seconds_count{outcome=resumed}"] == 1
    assert found["glove_tool_seconds_sum{status=success}"] == pytest.approx(0.08)
    assert found["glove_speech_faults_total{code=ERR_TTS_CONNECTION}"] == 1
    assert found["glove_utterances_discarded_total{reason=backchannel}"] == 1
    assert found["glove_utterances_discarded_total{reason=phantom}"] == 1


def test_labels_are_bounded_whatever_comes() -> None:
    metrics = Metrics()
    for number in range(10 * MOST_LABELS):
        metrics.note(Metric(1.0, "speech_failure", None, {"code": f"ERR_{number}"}))
        metrics.note(Metric(1.0, "tool_ms", 1.0, {"status": f"status {number}"}))
    found = samples(metrics.exposition()[0].decode())
    codes = {name: value for name, value in found.items() if name.startswith("glove_speech_faults_total")}
    assert len(codes) == MOST_LABELS + 1
    assert codes["glove_speech_faults_total{code=other}"] == 9 * MOST_LABELS
    assert len([name for name in found if name.startswith("glove_tool_seconds_count")]) == 1


async def test_the_daemon_counts_in_every_room_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    async with house(tmp_path, simulated(metrics={"file": str(log)})) as home:
        for name in ("device", "page"):
            await (await home.enter(name)).say("what is two plus two")
        latency = home.daemon.status()["latency"]
        assert latency["turns"] == 2
        assert latency["stages"]["voice_to_voice"]["count"] == 2
        assert 0 < latency["stages"]["voice"]["p50_ms"] <= latency["stages"]["voice_to_voice"]["p95_ms"]
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    turns = [line for line in lines if line["name"] == "turn"]
    assert [line["roomId"] for line in turns] == ["device", "page"]
    assert all(line["data"]["outcome"] == "complete" for line in turns)
    assert "two" not in log.read_text(encoding="utf-8")


def test_the_status_names_each_stage_in_order_and_nothing_before_the_first_turn() -> None:
    metrics = Metrics()
    assert latency_lines(metrics.summary()) == []
    metrics.note(turn(1, 0.65))
    lines = latency_lines(metrics.summary())
    assert lines[0] == "turns: 1"
    assert lines[1].split() == ["voice", "to", "voice", "p50", "650", "ms", "p95", "650", "ms"]
    assert [line.split()[0] for line in lines[2:]] == [
        "speech",
        "silence",
        "recognition",
        "hold",
        "agent",
        "sentence",
        "voice",
        "playout",
        "answer",
    ]


class Collector:
    """Asks for metrics at a door with a token of its own."""

    def __init__(self, **secrets: str) -> None:
        self.token = new_token()
        access = Access(self.token)
        metrics = Metrics()
        metrics.note(turn(1, 0.65))
        self.app = Starlette(routes=[metrics_route(metrics, collectors(access, Credentials((), secrets)))])

    async def get(self, token: str | None, host: str = "127.0.0.1", **headers: str) -> httpx.Response:
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.get("/metrics", headers={**bearer, **headers})


async def test_metrics_are_for_those_who_have_a_token() -> None:
    lasting = new_token()
    here = Collector(METRICS_TOKEN=lasting)
    for token in (None, "", "wrong", new_token()):
        refused = await here.get(token)
        assert refused.status_code == 401 and "glove_turns" not in refused.text
    for token in (here.token, lasting):
        assert "glove_turns_total" in (await here.get(token)).text
    assert (await here.get(lasting, host="elsewhere.example")).status_code == 403
    assert (await here.get(lasting, origin="https://elsewhere.example")).status_code == 403


async def test_without_a_lasting_token_only_that_of_the_page_counts() -> None:
    here = Collector()
    assert (await here.get("")).status_code == 401
    assert (await here.get(here.token)).status_code == 200


async def test_the_newer_format_is_told_to_those_who_ask_for_it() -> None:
    here = Collector()
    answer = await here.get(here.token, accept="application/openmetrics-text; version=1.0.0")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


@pytest.mark.parametrize("enabled", [True, False])
def test_the_token_is_named_among_the_secrets_that_are_looked_for(enabled: bool) -> None:
    assert metrics_secrets(simulated(metrics={"enabled": enabled})) == (("metrics_token",) if enabled else ())


def test_a_token_that_protects_nothing_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        collectors(Access(new_token()), Credentials((), {"METRICS_TOKEN": "short"}))
    assert refused.value.code == "ERR_METRICS_TOKEN" and "short" not in refused.value.message.split()


@pytest.mark.parametrize("accept", ["application/openmetrics-text; version=newest", ";;,=", "text/plain;escaping=zzz"])
def test_a_format_that_there_is_not_is_answered_with_one_that_there_is(accept: str) -> None:
    content, media_type = Metrics().exposition(accept)
    assert b"glove_turns" in content and media_type.startswith("text/plain")
