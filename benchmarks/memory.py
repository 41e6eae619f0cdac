"""Resident memory of one session after a turn, in configurations that matter, each in a process of its own.

    .venv/bin/python -m benchmarks.memory [--markdown]

Limits: 450 MB with Silero, Whisper tiny.en and hibari; 220 MB when recogniser, model and voice are elsewhere.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
CASES: tuple[tuple[str, float | None, dict[str, str]], ...] = (
    (
        "Silero, Whisper tiny.en, hibari",
        450,
        {
            "GLOVE_SPEECH__STT": "whisper-tiny.en",
            "GLOVE_SPEECH__PARTIALS": "false",
            "GLOVE_MODEL__PROVIDER": "none",
        },
    ),
    ("embedded defaults of this machine", None, {"GLOVE_MODEL__PROVIDER": "none"}),
    (
        "Silero alone, the rest with providers",
        220,
        {
            "GLOVE_SPEECH__STT": "simulated",
            "GLOVE_SPEECH__TTS": "simulated",
            "GLOVE_MODEL__PROVIDER": "anthropic",
            "GLOVE_MODEL__BASE_URL": "http://127.0.0.1:9",
            "ANTHROPIC_API_KEY": "none",
        },
    ),
)


async def one_turn() -> float:
    """Run a session through one typed turn; returns megabytes."""
    from appliance.config.file import load
    from appliance.session.build import load_parts
    from audio.io.pump import NullSink, PumpRoom, SilentSource

    parts = await load_parts(load(None).config, lasting_timers=False)
    session = await parts.session(PumpRoom(SilentSource(), NullSink()))
    await session.start()
    session.voice.say_to_agent("What time is it?")
    await asyncio.sleep(6)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    await session.close()
    await parts.close()
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> int:
    """Measure every case, print the table, exit 1 where a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        print(asyncio.run(one_turn()))
        return 0
    if arguments.markdown:
        print("| configuration | MB | limit | ratio |\n|---|---|---|---|")
    met = True
    for name, limit, settings in CASES:
        command = [sys.executable, "-m", "benchmarks.memory", "--here"]
        environment = {**os.environ, "GLOVE_STORE__PATH": "memory", **settings}
        ended = subprocess.run(command, cwd=REPO, env=environment, check=True, capture_output=True, text=True)
        used = float(ended.stdout.split()[-1])
        met = met and (limit is None or used <= limit)
        cells = (
            name,
            f"{used:.0f}",
            "" if limit is None else f"{limit:.0f}",
            "" if limit is None else f"{used / limit:.2f}",
        )
        print("| " + " | ".join(cells) + " |" if arguments.markdown else "  ".join(cells))
    print("met" if met else "MISSED")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
