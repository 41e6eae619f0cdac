"""Invitations and the patience with strangers, on virtual time."""

from __future__ import annotations

import asyncio

import pytest

from agents.base.errors import GloveError
from appliance.lan.attempts import MOST_PEERS, Attempts
from appliance.lan.invitations import MOST_OPEN, REMEMBERED_S, VALID_S, Invitations


def code_of(invitations: Invitations, token: str) -> str:
    try:
        invitations.redeem(token)
    except GloveError as fault:
        return fault.code
    return "ok"


async def test_an_invitation_works_once_and_for_five_minutes() -> None:
    invitations = Invitations()
    first, second, third = (invitations.issue().reveal() for _ in range(3))
    assert len({first, second, third}) == 3 and len(first) >= 32
    assert [code_of(invitations, first) for _ in range(2)] == ["ok", "ERR_PAIR_USED"]
    await asyncio.sleep(VALID_S - 1)
    assert code_of(invitations, second) == "ok"
    await asyncio.sleep(1)
    assert code_of(invitations, third) == "ERR_PAIR_EXPIRED"
    assert code_of(invitations, first) == "ERR_PAIR_USED"
    await asyncio.sleep(REMEMBERED_S)
    invitations.issue()
    assert code_of(invitations, third) == "ERR_PAIR_TOKEN"


async def test_a_token_is_not_kept_and_not_printed() -> None:
    invitations = Invitations()
    token = invitations.issue()
    assert token.reveal() not in f"{token} {token!r} {invitations.__dict__}"


async def test_only_the_newest_invitations_are_open() -> None:
    invitations = Invitations()
    tokens = [invitations.issue().reveal() for _ in range(MOST_OPEN + 4)]
    assert [code_of(invitations, token) for token in tokens] == ["ERR_PAIR_TOKEN"] * 4 + ["ok"] * MOST_OPEN


@pytest.mark.parametrize("odd", ["", "\ud800", "\0", "ä" * 1000])
async def test_what_is_no_token_is_refused(odd: str) -> None:
    invitations = Invitations()
    invitations.issue()
    assert code_of(invitations, odd) == "ERR_PAIR_TOKEN"


async def test_who_is_wrong_too_often_waits_and_others_do_not() -> None:
    attempts = Attempts()
    for _ in range(10):
        assert not attempts.blocked("192.168.1.5")
        attempts.failed("192.168.1.5")
    assert attempts.blocked("192.168.1.5") and not attempts.blocked("192.168.1.6")
    await asyncio.sleep(10)
    assert not attempts.blocked("192.168.1.5")
    attempts.failed("192.168.1.5")
    assert attempts.blocked("192.168.1.5")


async def test_a_device_with_many_addresses_counts_once_and_strangers_fill_no_memory() -> None:
    attempts = Attempts()
    for number in range(10):
        attempts.failed(f"fd00::{number:x}")
    assert attempts.blocked("fd00::ffff") and not attempts.blocked("fd00:0:0:1::1")
    for number in range(5000):
        attempts.failed(f"10.0.{number // 250}.{number % 250}")
    assert len(attempts._peers) == MOST_PEERS
