"""From the end of the user's speech to the first audible sample of the answer, measured in recordings.

    .venv/bin/python benchmarks/voice_to_voice.py [--markdown] [--picture PNG]

Two conversations in real time, each through ``glove talk``:

* *embedded*: spoken commands (in the appliance's own voice), understood and answered on this machine;
* *simulated*: recogniser, model and voice with fixed latencies, so that what is left is the appliance's own share.

The recording gives the total; the session's metric gives the stages. Limits: p50 of the embedded conversation at most
1.2 s; own share at most 30 ms at p50.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import recording

from appliance.commands.plot import draw

REPO = Path(__file__).resolve().parent.parent
LIMIT_S = 1.2
OWN_LIMIT_MS = 30.0
REDEMPTION_MS = 450.0
COMMANDS = (
    "What time is it?",
    "What is seventeen plus twenty five?",
    "Set a timer for five minutes.",
    "How many feet are in two meters?",
    "Add milk to the shopping list.",
    "What day is it today?",
    "What is twelve times twelve?",
    "Cancel the timer.",
    "What is on the shopping list?",
    "What can you do?",
)
SIMULATED = {
    "GLOVE_SPEECH__STT": "simulated",
    "GLOVE_SPEECH__TTS": "simulated",
    "GLOVE_SPEECH__PARTIALS": "false",
    "GLOVE_MODEL__PROVIDER": "simulated",
    "GLOVE_SIMULATED__STT_MS": "150",
    "GLOVE_SIMULATED__LLM_FIRST_TOKEN_MS": "300",
    "GLOVE_SIMULATED__LLM_TOKENS_PER_S": "50",
    "GLOVE_SIMULATED__TTS_FIRST_AUDIO_MS": "120",
    "GLOVE_SIMULATED__REPLY": "There are several pleasant walks near the river.",
}


@dataclass
class Result:
    """Milliseconds per turn: total from the recording, stages from the session."""

    name: str
    total: list[float]
    stages: dict[str, list[float]]

    def p(self, percent: float, values: list[float] | None = None) -> float:
        """A percentile."""
        return float(np.percentile(self.total if values is None else values, percent))


def main() -> int:
    """Run both conversations, print the table, exit 1 where a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--picture", type=Path, help="draw the embedded conversation")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="glove-v2v-"))
    source = folder / "user.wav"
    write_user(source)
    embedded = converse("embedded", source, folder, {"GLOVE_MODEL__PROVIDER": "none"})
    simulated = converse("simulated", source, folder, SIMULATED)
    if arguments.picture:
        draw(folder / "embedded.jsonl", arguments.picture, folder / "embedded.wav", 0.0, 20.0)
    report([embedded, simulated], markdown=arguments.markdown)
    own = simulated.p(50, simulated.stages["own"])
    met = embedded.p(50) <= 1000 * LIMIT_S and own <= OWN_LIMIT_MS
    total_s = embedded.p(50) / 1000
    print(f"\nlimits: embedded p50 {total_s:.2f} s of {LIMIT_S} s (ratio {total_s / LIMIT_S:.2f})")
    print(f"own share p50 {own:.0f} ms of {OWN_LIMIT_MS:.0f} ms (ratio {own / OWN_LIMIT_MS:.2f})")
    print("met" if met else "MISSED")
    return 0 if met else 1


def write_user(path: Path) -> None:
    """Speak the commands into a 16 kHz file, each followed by time for the answer."""
    from hibari import Hibari

    from audio.pcm import float_to_pcm
    from audio.resample import resample

    voice = Hibari()
    pieces = [np.zeros(16_000, np.int16)]
    for text in COMMANDS:
        pieces += [resample(float_to_pcm(voice(text, seed=1)), 24_000, 16_000), np.zeros(16_000 * 9, np.int16)]
    noise = np.random.default_rng(1).normal(0, 8, sum(piece.size for piece in pieces)).astype(np.int16)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes((np.concatenate(pieces) + noise).astype("<i2").tobytes())


def converse(name: str, source: Path, folder: Path, settings: dict[str, str]) -> Result:
    """Run one conversation in real time in a process of its own and measure it."""
    out, log = folder / f"{name}.wav", folder / f"{name}.jsonl"
    command = [sys.executable, "-m", "appliance", "talk", "--in", source, "--out", out, "--events", log]
    subprocess.run(command, check=True, cwd=REPO, env={**os.environ, "GLOVE_STORE__PATH": "memory", **settings})
    total = [1000 * value for value in recording.voice_to_voice(recording.load(out))]
    lines = recording.events(log)
    metrics = [line["data"] for line in lines if line["type"] == "metric" and line["name"] == "voice_to_voice"]
    stages: dict[str, list[float]] = {
        "silence and hold": [REDEMPTION_MS + data["hold_ms"] for data in metrics],
        "recogniser, beyond the hold": [data["late_ms"] for data in metrics],
        "agent": [data["agent_ms"] for data in metrics],
        "first sentence": [data["sentence_ms"] for data in metrics],
        "voice": [data["voice_ms"] for data in metrics],
        "own": [
            data["wait_ms"] - REDEMPTION_MS - data["hold_ms"] - data["late_ms"] + data["playout_ms"] for data in metrics
        ],
    }
    return Result(name, total, stages)


def report(results: list[Result], *, markdown: bool) -> None:
    """Print totals and the median of each stage."""
    names = ["turns", "total p50", "total p95", *results[0].stages]
    if markdown:
        print("| ms | " + " | ".join(result.name for result in results) + " |")
        print("|---" * (len(results) + 1) + "|")
    for name in names:
        cells = [_cell(result, name) for result in results]
        print(
            f"| {name} | " + " | ".join(cells) + " |" if markdown else f"{name:28}" + "".join(f"{c:>12}" for c in cells)
        )


def _cell(result: Result, name: str) -> str:
    match name:
        case "turns":
            return str(len(result.total))
        case "total p50":
            return f"{result.p(50):.0f}"
        case "total p95":
            return f"{result.p(95):.0f}"
        case _:
            return f"{result.p(50, result.stages[name]):.0f}"


if __name__ == "__main__":
    sys.exit(main())
