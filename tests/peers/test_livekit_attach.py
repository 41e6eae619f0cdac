"""A realtime agent in a LiveKit room: it hears callers, is heard by them, and falls silent when it is interrupted."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import numpy as np
import pytest

from agents.base import clock
from realtime.agent import RealtimeAgent
from realtime.agent_events import AgentHeard
from realtime.livekit.attach import attach_realtime, carry
from realtime.livekit.tokens import LiveKitAccess, mint_participant_token
from realtime.livekit.transport import LiveKitTransport
from realtime.s2s.openai.adapter import OpenAIRealtime
from realtime.s2s.openai.messages import OpenAISettings
from realtime.testing import OpenAIDialect, Say, ScriptedPeer, UntilGone, openai
from tests.peers.livekit_peer import LiveKitPeer, tone, until
from tests.realtime.agent.stage import glove

pytestmark = pytest.mark.realtime


def transport_for(access: LiveKitAccess, room: str) -> LiveKitTransport:
    return LiveKitTransport(
        access.socket_url, mint_participant_token(access, room=room, identity="agent", kind="agent")
    )


@pytest.mark.parametrize("own_player", [True, False])
async def test_a_realtime_agent_hears_and_is_heard_and_falls_silent(livekit: LiveKitAccess, own_player: bool) -> None:
    name = f"s2s-{secrets.token_hex(4)}"
    script = [
        *openai.accept(),
        Say(openai.user_turn("Tell me a story.")),
        Say(openai.answer("It was a dark night.", tone(6.0, rate_hz=24_000))),
        UntilGone(),
    ]
    provider = ScriptedPeer(
        OpenAIDialect(), script, ignoring=("input_audio_buffer.append", "conversation.item.truncate", "response.cancel")
    )
    transport = transport_for(livekit, name)
    peer = await LiveKitPeer(livekit, name, "alice").join()
    await peer.open_microphone()
    await transport.connect()
    async with provider.in_memory() as dialler:
        adapter = OpenAIRealtime("key", OpenAISettings(), dialler=dialler)
        agent = RealtimeAgent(glove(), adapter, player=transport.player if own_player else None)
        sent: list[int] = []
        send = agent.send_audio
        agent.send_audio = lambda pcm: (sent.append(int(np.abs(pcm.astype(np.int32)).max())), send(pcm))[1]  # type: ignore[method-assign]
        heard: list[Any] = []
        agent.events.on(AgentHeard, heard.append)
        detach = attach_realtime(agent, transport)
        await until(lambda: "agent" in peer.heard)
        speaking = asyncio.ensure_future(peer.speak(tone(1.0)))
        await agent.start()
        await until(lambda: peer.loud_since(0.0) is not None)
        await until(lambda: max(sent, default=0) > 5_000)
        await speaking
        agent.interrupt()
        cut = clock.now()
        await until(lambda: heard)
        await asyncio.sleep(1.5)
        assert peer.last_loud() - cut < 1.0
        # without a player nobody counts: speech is taken for heard as it comes
        assert heard[0].complete is not own_player
        detach()
        detach()
        count = len(sent)
        await asyncio.sleep(0.3)
        assert len(sent) == count
        await agent.stop()
    await transport.close()
    await peer.leave()


async def test_the_wire_of_a_face_follows_the_agent_into_its_room(livekit: LiveKitAccess) -> None:
    class Wire:
        told: list[str]

        def joined(self, room: Any) -> None:
            self.told.append(room.name)

        def left(self) -> None:
            self.told.append("")

    name = f"s2s-{secrets.token_hex(4)}"
    wire, transport = Wire(), transport_for(livekit, name)
    wire.told = []
    off = carry(wire, transport)
    await transport.connect()
    assert wire.told[-1] == name
    await transport.close()
    assert wire.told[-1] == ""
    off()
