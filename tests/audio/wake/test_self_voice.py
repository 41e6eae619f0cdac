"""The appliance's own voice must neither wake it nor become a turn. ``scripts/soak`` runs ten minutes, this a tenth."""

from __future__ import annotations

from tests.support.self_voice import self_voice


async def test_case_b7_with_echo_cancellation_its_own_voice_is_no_turn_and_no_wake() -> None:
    result = await self_voice(60.0)
    assert result.spoken_s > 30
    assert result.erle_db > 15
    assert (result.turns, result.wakes, result.interruptions) == (0, 0, 0)


async def test_case_b7_without_echo_cancellation_its_own_voice_is_no_turn_and_no_wake() -> None:
    result = await self_voice(30.0, cancelled=False)
    assert result.spoken_s > 15
    assert (result.turns, result.wakes, result.interruptions) == (0, 0, 0)
