"""Sound that is played somewhere else: sent a little ahead, counted when it is heard."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.pcm import Pcm
from realtime.browser.lead_player import LEAD_S, PATIENCE_S, START_S, LeadPlayer, Order

RATE = 16_000
TICK = 160
LEAD = round(LEAD_S * RATE)
START = round(START_S * RATE)


class Ear:
    """A player, what it sent, and what it ordered."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.player = LeadPlayer(RATE, self.orders.append)
        self.player.attach()
        self.signs: list[str] = []
        self.player.on_started = lambda: self.signs.append("started")
        self.player.on_drained = lambda: self.signs.append("drained")
        self.sent: list[Pcm] = []

    def ticks(self, count: int) -> int:
        """Let ``count`` times 10 ms pass; returns the samples that were sent."""
        sent = [self.player.pull(TICK) for _ in range(count)]
        self.sent += sent
        return sum(pcm.size for pcm in sent)

    def say(self, seconds: float) -> Pcm:
        pcm = (np.arange(round(seconds * RATE)) % 3000 + 1).astype(np.int16)
        self.player.enqueue(pcm, RATE, self.player.generation)
        return pcm


def test_the_lead_is_sent_at_once_and_the_rest_in_real_time() -> None:
    ear = Ear()
    ear.say(1.0)
    assert ear.ticks(1) == LEAD
    assert ear.player.played == 0
    ear.ticks(round(START_S * 100))
    assert ear.ticks(20) == pytest.approx(20 * TICK, abs=320)
    assert ear.player.in_flight <= LEAD


def test_everything_is_sent_once_in_order_and_played_when_its_time_has_passed() -> None:
    ear = Ear()
    said = ear.say(0.5)
    ear.player.finish(ear.player.generation)
    ear.ticks(40)
    assert ear.orders == [Order.END]
    assert not ear.player.idle and ear.signs == ["started"]
    ear.ticks(20)
    assert np.array_equal(np.concatenate(ear.sent), said)
    assert ear.player.played == said.size and ear.player.idle
    assert ear.signs == ["started", "drained"]


def test_a_sound_shorter_than_a_piece_is_sent_when_it_is_the_last() -> None:
    ear = Ear()
    ear.player.enqueue(np.ones(100, np.int16), RATE, 0)
    assert ear.ticks(5) == 0
    ear.player.finish(0)
    assert ear.ticks(1) == 100


def test_a_listener_that_is_behind_makes_the_playhead_wait() -> None:
    ear = Ear()
    ear.say(1.0)
    ear.ticks(24)
    played = ear.player.played
    ear.player.report(ear.player.epoch, played - 800)
    ear.ticks(5)
    assert ear.player.played == played
    ear.ticks(5)
    assert ear.player.played == played + 5 * TICK


def test_a_listener_that_is_ahead_moves_the_playhead_but_never_past_what_was_sent() -> None:
    ear = Ear()
    ear.say(1.0)
    ear.ticks(1)
    ear.player.report(ear.player.epoch, 1600)
    assert ear.player.played == 1600
    ear.player.report(ear.player.epoch, 10**9)
    assert ear.player.played == LEAD


def test_a_listener_that_never_moves_is_not_waited_for_for_ever() -> None:
    ear = Ear()
    ear.say(0.3)
    ear.player.finish(0)
    ticks = 0
    while not ear.player.idle:
        ear.ticks(1)
        ear.player.report(ear.player.epoch, 0)
        ticks += 1
        assert ticks < 1000
    assert ticks / 100 < 3 * PATIENCE_S


def test_a_cut_tells_the_listener_to_forget_and_old_reports_count_no_more() -> None:
    ear = Ear()
    ear.say(1.0)
    ear.ticks(10)
    epoch, played, flying = ear.player.epoch, ear.player.played, ear.player.in_flight
    ear.player.next_generation()
    assert ear.orders == [Order.CLEAR]
    assert ear.player.epoch == epoch + 1
    assert ear.player.played_total == played
    assert ear.player.cut == RATE - played and flying > 0
    ear.say(1.0)
    ear.ticks(1)
    ear.player.report(epoch, LEAD)
    assert ear.player.played == 0


def test_a_cut_of_nothing_orders_nothing() -> None:
    ear = Ear()
    ear.player.next_generation()
    assert ear.orders == []


def test_a_pause_stands_still_and_a_cut_while_paused_frees_the_listener() -> None:
    ear = Ear()
    ear.say(1.0)
    ear.ticks(10)
    played = ear.player.played
    assert ear.player.pause() and not ear.player.pause()
    assert ear.ticks(50) == 0 and ear.player.played == played
    ear.player.resume()
    ear.player.resume()
    ear.ticks(1)
    assert ear.player.played == played + TICK
    ear.player.pause()
    ear.player.next_generation()
    assert ear.orders == [Order.PAUSE, Order.RESUME, Order.PAUSE, Order.CLEAR]
    assert not ear.player.paused


def test_nothing_moves_while_nobody_listens() -> None:
    ear = Ear()
    ear.say(1.0)
    ear.ticks(10)
    played = ear.player.played
    ear.player.detach()
    assert ear.ticks(100) == 0
    assert ear.player.played == played and not ear.player.idle


def test_the_end_reported_by_the_listener_is_the_end() -> None:
    ear = Ear()
    ear.say(0.1)
    ear.player.finish(0)
    ear.ticks(1)
    ear.player.heard_all(99)
    assert not ear.player.idle
    ear.player.heard_all(0)
    assert ear.player.idle
    ear.ticks(1)
    assert ear.signs == ["started", "drained"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("say"), st.integers(1, 9000)),
            st.tuples(st.just("ticks"), st.integers(1, 60)),
            st.tuples(st.just("report"), st.integers(0, 20_000)),
            st.tuples(st.sampled_from(["cut", "pause", "resume", "finish", "attach", "detach"]), st.just(0)),
        ),
        max_size=40,
    )
)
def test_every_sample_is_played_cut_or_still_there(steps: list[tuple[str, int]]) -> None:
    ear = Ear()
    player, added = ear.player, 0
    for what, number in steps:
        if what == "say":
            added += player.enqueue(np.ones(number, np.int16), RATE, player.generation)
        elif what == "ticks":
            ear.ticks(number)
        elif what == "report":
            player.report(player.epoch, number)
        elif what == "cut":
            player.next_generation()
        elif what == "finish":
            player.finish(player.generation)
        else:
            getattr(player, what)()
        assert added == player.played_total + player.cut + round(player.queued_s * RATE)
        assert 0 <= player.in_flight <= LEAD
    assert ear.signs.count("started") - ear.signs.count("drained") in range(len(ear.signs) + 1)
