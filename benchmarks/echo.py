"""Echo cancellation with the appliance's own voice in a simulated room, case by case, against limits.

    .venv/bin/python -m benchmarks.echo

ERLE is that of the canceller itself (what is judged to be echo is not heard at all); *own voice* is the number of times
the voice detector took what the appliance heard for somebody in 15 s, and *frames* the share of its frames above 0.5.
For double talk: of the moments at which somebody alone is a voice, the share within a segment of speech over the echo,
and the share at which the detector is as sure as without echo. The echo of a loudspeaker louder than the user is no
fault of software; the limit holds for an echo 6 dB softer than the user. Exit 1 where a limit is missed.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

import numpy as np

from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.resample import resample
from audio.tts.hibari import HibariVoice
from tests.support.echo import PLAY_RATE_HZ, synthesise
from tests.support.echo_lab import SINK_RATE_HZ, EchoLab, as_loud_as, recall
from tests.support.self_voice import SENTENCES
from tests.support.speech import spoken

LINEAR_DB = 30.0
RECALL = 0.9
GONE = np.random.default_rng(8).random(8000) < 0.05

CASES: dict[str, EchoLab] = {
    "linear": EchoLab(),
    "clipped loudspeaker": EchoLab(distort=lambda x: 6000 * np.tanh(x / 6000)),
    "microphone with gain control": EchoLab(agc=True),
    "delay 0 ms": EchoLab(delay_s=0.0),
    "delay 400 ms": EchoLab(delay_s=0.4),
    "clocks 200 ppm apart": EchoLab(ppm=200),
    "clocks 1000 ppm apart": EchoLab(ppm=1000),
    "clocks 5000 ppm apart": EchoLab(ppm=5000),
    "5 % of the reference lost": EchoLab(lost=lambda call: bool(GONE[call])),
    "reference in bursts of 100 ms": EchoLab(delay_s=0.12, late=lambda call: 0.01 * (9 - call % 10)),
}


def far(voice: Pcm, seconds: float) -> Pcm:
    """So many seconds of ``voice``, over and over."""
    return np.resize(voice, round(seconds * SINK_RATE_HZ))


def report(voice: Pcm) -> bool:
    """Print both tables; whether the limits are kept."""
    print("| case | ERLE 0-3 s | after 3 s | after 20 s | limit | own voice | frames |")
    print("|---|---|---|---|---|---|---|")
    met = True
    for name, lab in CASES.items():
        cancelled = replace(lab, mode="aec").run(far(voice, 40))
        heard = lab.run(far(voice, 15))
        erle = cancelled.erle_db(0, 3), cancelled.erle_db(3), cancelled.erle_db(20)
        limit = f"{LINEAR_DB:.0f} dB" if name == "linear" else ""
        met = met and (not limit or erle[1] >= LINEAR_DB)
        figures = " | ".join(f"{value:.1f}" for value in erle)
        print(f"| {name} | {figures} | {limit} | {len(heard.starts)} | {heard.voiced():.2f} |")
    print("\n| echo over the user | heard | limit | as sure as alone | cancellation alone |\n|---|---|---|---|---|")
    for echo_db in (-6, 0, 6):
        ours, theirs = over(voice, echo_db, EchoLab()), over(voice, echo_db, EchoLab(mode="aec"))
        met = met and (echo_db > -6 or ours[0] >= RECALL)
        limit = f"{RECALL}" if echo_db == -6 else ""
        print(f"| {echo_db:+d} dB | {ours[0]:.2f} | {limit} | {ours[1]:.2f} | {theirs[0]:.2f} / {theirs[1]:.2f} |")
    print("met" if met else "MISSED")
    return met


def over(voice: Pcm, echo_db: float, lab: EchoLab) -> tuple[float, float]:
    """Double talk at three moments of the appliance's speech: the two shares, on average."""
    said, found = spoken(4.5)[CAPTURE_RATE_HZ:], list[tuple[float, float]]()
    for begin_s in (4, 6, 8):
        near = np.concatenate((silence(begin_s * CAPTURE_RATE_HZ), as_loud_as(said, voice, echo_db)))
        share = recall(lab.run(far(voice, begin_s + 4), near), near)
        found.append((share.heard, share.clear))
    heard, clear = np.mean(found, axis=0)
    return float(heard), float(clear)


async def own_voice() -> Pcm:
    """What the appliance says, at the sink's rate."""
    parts = [await synthesise(lambda _: HibariVoice(), sentence) for sentence in SENTENCES]
    return resample(np.concatenate(parts), PLAY_RATE_HZ, SINK_RATE_HZ)


def main() -> int:
    """Measure, print, judge."""
    return 0 if report(asyncio.run(own_voice())) else 1


if __name__ == "__main__":
    sys.exit(main())
