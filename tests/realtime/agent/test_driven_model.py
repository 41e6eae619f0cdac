"""An agent whose model is the realtime model itself, and what an agent needs to be run by one."""

from __future__ import annotations

import pytest

from agents.base.errors import ConfigError
from agents.core.glove import Glove
from realtime.agent import RealtimeAgent
from realtime.driven_model import is_s2s_driven_model, s2s_driven_model
from realtime.s2s.contract import S2SError
from realtime.testing import Refuse, UntilGone, openai
from tests.realtime.agent.stage import Stage, glove


async def test_the_adapter_is_made_from_a_model_that_says_how() -> None:
    model = s2s_driven_model("house", provider="openai", api_key="sk", model="gpt-realtime-mini")
    agent = RealtimeAgent(Glove(model=model).build())
    assert agent.adapter.provider == "openai" and agent.mode == "transport"
    assert model.name == "house" and is_s2s_driven_model(model)


async def test_without_adapter_and_such_a_model_both_ways_are_named() -> None:
    with pytest.raises(ConfigError, match="s2s_driven_model") as caught:
        RealtimeAgent(glove())
    assert caught.value.code == "ERR_S2S_ADAPTER"
    assert not is_s2s_driven_model(s2s_driven_model())


async def test_the_placeholder_answers_nothing_by_itself() -> None:
    with pytest.raises(ConfigError, match="front desk") as caught:
        await Glove(model=s2s_driven_model("front desk")).build().process_request("Hello?")
    assert caught.value.code == "ERR_S2S_DRIVEN"


async def test_a_start_that_failed_may_be_repeated() -> None:
    async with Stage([Refuse(503)], [*openai.accept(), UntilGone()], started=False) as stage:
        with pytest.raises(S2SError):
            await stage.agent.start()
        assert not stage.agent.is_connected
        await stage.agent.start()
        await stage.agent.start()
        assert stage.agent.is_connected
