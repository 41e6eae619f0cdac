from __future__ import annotations

import random

import pytest

from agents.base.backoff import Backoff


def test_pauses_double_up_to_the_cap() -> None:
    backoff = Backoff(first_s=1, cap_s=15)
    assert [backoff.next_delay() for _ in range(6)] == [1, 2, 4, 8, 15, 15]


def test_a_thousand_attempts_do_not_overflow() -> None:
    backoff = Backoff()
    assert all(backoff.next_delay() <= 15 for _ in range(2000))
    assert not backoff.exhausted


def test_the_budget_ends_the_attempts() -> None:
    backoff = Backoff(budget=2)
    backoff.next_delay()
    assert not backoff.exhausted
    backoff.next_delay()
    assert backoff.exhausted
    backoff.reset()
    assert not backoff.exhausted


def test_jitter_only_shortens() -> None:
    backoff = Backoff(first_s=10, cap_s=10, jitter=0.5, rng=random.Random(1))
    delays = [backoff.next_delay() for _ in range(200)]
    assert all(5 <= delay <= 10 for delay in delays)
    assert len(set(delays)) > 100


def test_health_pays_attempts_back() -> None:
    backoff = Backoff(budget=3, recover_s=60)
    for _ in range(3):
        backoff.next_delay()
    backoff.healthy(59)
    assert backoff.exhausted
    backoff.healthy(61)
    assert backoff.attempts == 1


def test_short_stretches_of_health_add_up() -> None:
    backoff = Backoff(budget=4, recover_s=60)
    for _ in range(100):
        backoff.next_delay()
        backoff.healthy(45)
        backoff.healthy(45)
        assert not backoff.exhausted


def test_health_is_not_saved_up_for_worse_days() -> None:
    backoff = Backoff(budget=3, recover_s=60)
    backoff.healthy(100_000)
    for _ in range(3):
        backoff.next_delay()
    assert backoff.attempts == 3
    backoff.healthy(59)
    assert backoff.attempts == pytest.approx(3)
