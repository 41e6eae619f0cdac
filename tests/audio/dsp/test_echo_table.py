"""Echo as it comes in practice, with the appliance's own voice and the real canceller: how much is left, whether the
voice detector takes it for somebody, and whether somebody who speaks over it is heard."""

from __future__ import annotations

import asyncio
from functools import cache

import numpy as np
import pytest

from audio.pcm import CAPTURE_RATE_HZ, Pcm, round_to_pcm, silence
from audio.resample import resample
from audio.tts.hibari import HibariVoice
from tests.support.echo import PLAY_RATE_HZ, synthesise
from tests.support.echo_lab import SINK_RATE_HZ, EchoLab, Heard, as_loud_as, recall
from tests.support.self_voice import SENTENCES
from tests.support.speech import spoken


@cache
def voice() -> Pcm:
    """About 16 s of the appliance's own voice, 48 kHz."""

    async def say() -> list[Pcm]:
        return [await synthesise(lambda _: HibariVoice(), sentence) for sentence in SENTENCES]

    return resample(np.concatenate(asyncio.run(say())), PLAY_RATE_HZ, SINK_RATE_HZ)


def far(seconds: float) -> Pcm:
    return np.resize(voice(), round(seconds * SINK_RATE_HZ))


def hears_itself(heard: Heard) -> bool:
    return bool(heard.starts) or heard.voiced() > 0


def test_without_cancellation_the_appliance_would_take_its_voice_for_somebody() -> None:
    heard = EchoLab(mode="off").run(far(10))
    assert heard.voiced() > 0.6 and heard.starts


def test_linear_echo_is_weakened_by_more_than_30_db() -> None:
    heard = EchoLab(mode="aec").run(far(20))
    assert heard.erle_db(3) >= 30
    assert heard.path.erle_db is not None and heard.path.erle_db >= 30, "and the appliance knows"


def test_case_b9_a_loudspeaker_that_clips() -> None:
    heard = EchoLab(distort=lambda x: 6000 * np.tanh(x / 6000)).run(far(15))
    assert heard.erle_db(3) >= 20 and not hears_itself(heard)


def test_case_b9_a_microphone_with_a_gain_control_of_its_own() -> None:
    heard = EchoLab(agc=True).run(far(15))
    assert heard.erle_db(3) >= 15 and not hears_itself(heard)


@pytest.mark.parametrize("delay_ms", [0, 30, 120, 250, 400])
def test_a_delay_of_any_usual_length_is_found(delay_ms: int) -> None:
    heard = EchoLab(delay_s=delay_ms / 1000).run(far(12))
    assert heard.erle_db(3) >= 30 and not hears_itself(heard)


@pytest.mark.parametrize("ppm", [-1000, 200, 1000, 5000])
def test_case_b9_clocks_that_differ_are_followed(ppm: int) -> None:
    lab = EchoLab(ppm=ppm, mode="aec")
    heard = lab.run(far(40))
    assert heard.erle_db(24) >= 30
    assert heard.reference.drift.excess * 1e6 == pytest.approx(ppm, abs=max(30, abs(ppm) / 50))


def test_case_b9_clocks_that_differ_are_followed_for_minutes() -> None:
    heard = EchoLab(ppm=400, mode="aec").run(far(150))
    assert min(heard.erle_db(begin, begin + 10) for begin in range(25, 145, 10)) >= 25
    assert heard.reference.slips == 0


def test_case_b9_a_twentieth_of_the_reference_lost() -> None:
    gone = np.random.default_rng(8).random(5000) < 0.05
    heard = EchoLab(lost=lambda call: bool(gone[call])).run(far(15))
    assert heard.voiced() <= 0.07 and len(heard.starts) <= 4, "no sink does that, and it does not talk to itself"


def test_case_b9_a_reference_that_comes_in_bursts_of_100_ms() -> None:
    heard = EchoLab(delay_s=0.12, late=lambda call: 0.01 * (9 - call % 10)).run(far(15))
    assert not hears_itself(heard)


def test_a_sink_that_is_called_late_now_and_then_costs_nothing() -> None:
    rng = np.random.default_rng(2)
    stalls = {int(at): float(rng.uniform(0.06, 0.1)) for at in range(150, 2000, 70)}

    def late(call: int) -> float:
        return max((stalls.get(call - back, 0.0) - 0.01 * back for back in range(10)), default=0.0)

    heard = EchoLab(late=late, mode="aec").run(far(18))
    assert heard.reference.late > 20 and heard.reference.slips == 0
    assert min(heard.erle_db(begin, begin + 1) for begin in range(3, 17)) >= 20


SLIPS = ((200, 1), (330, 2), (500, 1), (620, 3), (900, 1), (1100, 4), (1300, 2))


@pytest.mark.parametrize("gain_db", [-20, -6, 0])
def test_slips_do_not_let_the_appliance_hear_itself(gain_db: int) -> None:
    heard = EchoLab(slips=SLIPS, gain_db=gain_db).run(far(16))
    assert heard.reference.slips >= len(SLIPS)
    assert not heard.starts


def test_after_silences_it_does_not_hear_itself_either() -> None:
    sound = np.concatenate([far(5), silence(6 * SINK_RATE_HZ), far(5), silence(7 * SINK_RATE_HZ), far(3)])
    assert not EchoLab().run(sound).starts


def double_talk(echo_db: float, lab: EchoLab | None = None) -> tuple[Heard, Pcm]:
    """Somebody speaks for three seconds after the appliance has spoken for six; the echo is ``echo_db`` louder."""
    played, said = far(10), spoken(4.5)[CAPTURE_RATE_HZ:]
    near = np.concatenate((silence(6 * CAPTURE_RATE_HZ), as_loud_as(said, voice(), echo_db)))
    return (lab or EchoLab()).run(played, near), near


def test_somebody_6_db_louder_than_the_echo_is_heard_as_if_there_were_none() -> None:
    heard, near = double_talk(-6)
    assert recall(heard, near).heard >= 0.9


@pytest.mark.parametrize(("echo_db", "least"), [(0, 0.8), (6, 0.3)])
def test_somebody_who_is_not_louder_is_heard_in_part_and_interrupts(echo_db: float, least: float) -> None:
    heard, near = double_talk(echo_db)
    assert recall(heard, near).heard >= least
    began = np.flatnonzero(np.abs(near) > 500)[0] / CAPTURE_RATE_HZ
    assert began <= heard.starts[0] <= began + 0.5


def test_judging_by_evidence_costs_nobody_a_word() -> None:
    judged, near = double_talk(-6)
    cancelled, _ = double_talk(-6, EchoLab(mode="aec"))
    assert recall(judged, near).heard >= recall(cancelled, near).heard - 0.03
    assert recall(judged, near).clear >= recall(cancelled, near).clear - 0.03


def test_somebody_is_heard_soon_after_a_slip() -> None:
    heard, near = double_talk(-6, EchoLab(slips=((590, 2),)))
    began = np.flatnonzero(np.abs(near) > 500)[0] / CAPTURE_RATE_HZ
    assert began <= heard.starts[0] <= began + 0.5


def test_a_quiet_room_is_not_changed() -> None:
    near = round_to_pcm(spoken(3.0) * 0.2)
    heard = EchoLab().run(silence(4 * SINK_RATE_HZ), near)
    assert heard.clean.tolist() == heard.microphone[: heard.clean.size].tolist()
