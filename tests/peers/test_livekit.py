"""The LiveKit transport against a real server, with LiveKit's own SDK at the other end."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from livekit import api, rtc

from agents.base import clock
from agents.base.credentials import Secret
from agents.base.errors import GloveError
from audio.pcm import Pcm
from realtime.livekit.events import (
    ChatReceived,
    DataReceived,
    MicrophoneMuted,
    ParticipantConnected,
    ParticipantDisconnected,
    TransportConnected,
    TransportDisconnected,
    TransportEvent,
    TransportInterrupted,
)
from realtime.livekit.room import LiveKitRoom
from realtime.livekit.tokens import LiveKitAccess, mint_participant_token
from realtime.livekit.transport import LiveKitTransport, TransportSettings
from realtime.livekit.transport_state import TransportState
from tests.peers.livekit_peer import LiveKitPeer, strength, tone, until
from tests.peers.livekit_server import livekit_server

pytestmark = pytest.mark.realtime

RATE_HZ = 24_000


class Place:
    """A room on a server, with the agent in it."""

    def __init__(self, access: LiveKitAccess, settings: TransportSettings | None = None) -> None:
        self.access = access
        self.name = f"test-{secrets.token_hex(4)}"
        self.peers: list[LiveKitPeer] = []
        self.told: list[TransportEvent] = []
        self.transport = self.agent(settings)
        self.transport.events.on(TransportEvent, self.told.append)

    def agent(self, settings: TransportSettings | None = None) -> LiveKitTransport:
        mint = lambda: mint_participant_token(self.access, room=self.name, identity="agent", kind="agent")  # noqa: E731
        return LiveKitTransport(self.access.socket_url, mint, settings)

    async def peer(self, identity: str, **options: Any) -> LiveKitPeer:
        peer = await LiveKitPeer(self.access, self.name, identity, **options).join()
        self.peers.append(peer)
        return peer

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]

    def say(self, pcm: Pcm) -> None:
        self.transport.send_audio(pcm, RATE_HZ)
        self.transport.end_audio()

    async def heard(self, frames: list[Pcm], seconds: float) -> Pcm:
        """What the agent hears from now on."""
        start = len(frames)
        await until(lambda: len(frames) >= start + round(100 * seconds))
        return np.concatenate(frames[start:])


@asynccontextmanager
async def place(access: LiveKitAccess, settings: TransportSettings | None = None) -> AsyncIterator[Place]:
    there = Place(access, settings)
    try:
        yield there
    finally:
        for peer in there.peers:
            await peer.leave()
        await there.transport.close()


async def test_what_the_agent_says_is_heard_as_long_as_it_lasts(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        peer = await here.peer("alice")
        await here.transport.connect()
        await until(lambda: "agent" in peer.heard)
        here.say(tone(1.0, rate_hz=RATE_HZ))
        await until(lambda: here.transport.player.idle)
        await asyncio.sleep(0.4)
        sound = peer.sound("agent")
        loud = np.flatnonzero(np.abs(sound.astype(np.int32)) > 800)
        assert 0.9 <= (loud[-1] - loud[0]) / 16_000 <= 1.3
        assert strength(sound[loud[0] : loud[-1]], 440.0) > 8_000
        assert here.transport.player.played == RATE_HZ


async def test_the_agent_is_seen_as_an_agent(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        peer = await here.peer("alice")
        await here.transport.connect()
        await until(lambda: "agent" in peer.room.remote_participants)
        assert peer.room.remote_participants["agent"].kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT


async def test_clear_silences_what_waits_and_counts_only_what_was_played(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        peer = await here.peer("alice")
        await here.transport.connect()
        await until(lambda: "agent" in peer.heard)
        here.say(tone(20.0, rate_hz=RATE_HZ))
        await until(lambda: peer.loud_since(0.0) is not None)
        await asyncio.sleep(1.0)
        player = here.transport.player
        before = player.played
        here.transport.clear()
        cleared = clock.now()
        await asyncio.sleep(1.5)
        assert peer.last_loud() - cleared < 1.0  # of the 19 s that waited; benchmarks/livekit_rooms.py measures it
        assert player.idle and player.played == 0
        assert 0 <= player.played_total - before < RATE_HZ // 50
        assert player.played_total + player.cut == 20 * RATE_HZ
        assert 0.8 * RATE_HZ < before < 3 * RATE_HZ
        here.say(tone(0.3, rate_hz=RATE_HZ))
        again = clock.now()
        await until(lambda: peer.loud_since(again) is not None)


async def test_a_pause_stands_still_and_goes_on_at_the_same_sample(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        peer = await here.peer("alice")
        await here.transport.connect()
        await until(lambda: "agent" in peer.heard)
        here.say(tone(1.5, rate_hz=RATE_HZ))
        await until(lambda: peer.loud_since(0.0) is not None)
        here.transport.player.pause()
        await asyncio.sleep(0.6)
        held = here.transport.player.played
        quiet = clock.now()
        await asyncio.sleep(0.4)
        assert peer.loud_since(quiet) is None and here.transport.player.played == held < RATE_HZ
        here.transport.player.resume()
        await until(lambda: here.transport.player.idle)
        assert here.transport.player.played == 1.5 * RATE_HZ


@pytest.mark.parametrize(("rate_hz", "channels"), [(48_000, 1), (44_100, 1), (48_000, 2), (44_100, 2)])
async def test_microphones_of_any_rate_and_width_come_as_mono_at_16_khz(
    livekit: LiveKitAccess, rate_hz: int, channels: int
) -> None:
    async with place(livekit) as here:
        room, frames = LiveKitRoom(here.transport), []
        await room.open(lambda pcm, _: frames.append(pcm))
        peer = await here.peer("alice")
        await peer.open_microphone(rate_hz, channels)
        await until(lambda: here.transport.mix.speakers)
        await asyncio.gather(
            peer.speak(tone(1.2, 500.0, rate_hz, channels)), heard := asyncio.ensure_future(here.heard(frames, 1.5))
        )
        sound = heard.result()
        loud = np.flatnonzero(np.abs(sound.astype(np.int32)) > 2_000)
        assert 0.9 < (loud[-1] - loud[0]) / 16_000 < 1.5
        assert strength(sound[loud[0] + 1600 : loud[-1] - 1600], 500.0) > 9_000
        await room.close()


async def test_case_f32_two_speakers_are_both_heard_once_and_nothing_piles_up(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        room, frames = LiveKitRoom(here.transport), []
        await room.open(lambda pcm, _: frames.append(pcm))
        alice, bob = await here.peer("alice"), await here.peer("bob")
        await alice.open_microphone()
        await bob.open_microphone()
        await until(lambda: len(here.transport.mix.speakers) == 2)
        speaking = asyncio.gather(alice.speak(tone(2.5, 500.0)), bob.speak(tone(2.5, 1300.0)))
        await asyncio.sleep(0.5)
        began, count = clock.now(), len(frames)
        sound = await here.heard(frames, 1.2)
        pace = (len(frames) - count) / (clock.now() - began)
        assert 75 < pace < 135  # one room's worth of frames, not two
        assert strength(sound[:16_000], 500.0) > 8_000 and strength(sound[:16_000], 1300.0) > 8_000
        assert here.transport.mix.waiting < 20
        await speaking
        await room.close()


async def test_only_the_chosen_participant_is_heard(livekit: LiveKitAccess) -> None:
    async with place(livekit, TransportSettings(speakers="identity", listen_to="bob")) as here:
        room, frames = LiveKitRoom(here.transport), []
        await room.open(lambda pcm, _: frames.append(pcm))
        alice, bob = await here.peer("alice"), await here.peer("bob")
        await alice.open_microphone()
        await bob.open_microphone()
        await until(lambda: len(here.transport.mix.speakers) == 1)
        speaking = asyncio.gather(alice.speak(tone(2.0, 500.0)), bob.speak(tone(2.0, 1300.0)))
        await asyncio.sleep(0.5)
        sound = await here.heard(frames, 1.0)
        assert strength(sound, 1300.0) > 8_000 and strength(sound, 500.0) < 300
        await speaking
        await room.close()


async def test_a_face_that_speaks_for_the_agent_is_never_heard(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        face = await here.peer("face", on_behalf_of="agent")
        await face.open_microphone()
        room, frames = LiveKitRoom(here.transport), []
        await room.open(lambda pcm, _: frames.append(pcm))
        alice = await here.peer("alice")
        await alice.open_microphone()
        await until(lambda: here.transport.mix.speakers)
        speaking = asyncio.ensure_future(face.speak(tone(1.0)))
        sound = await here.heard(frames, 1.0)
        await speaking
        assert not np.abs(sound.astype(np.int32)).max() > 200
        assert [each.identity for each in here.transport.mix.speakers] == ["alice"]
        assert [each.identity for each in here.transport.people.callers] == ["alice"]
        await room.close()


async def test_who_was_there_before_the_agent_is_told_once_and_so_is_who_leaves(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        alice = await here.peer("alice")
        await alice.open_microphone()
        await here.transport.connect()
        await here.peer("bob")
        await until(lambda: len(here.of(ParticipantConnected)) == 2)
        await until(lambda: here.transport.mix.speakers)
        assert [(each.identity, each.kind) for each in here.of(ParticipantConnected)] == [
            ("alice", "standard"),
            ("bob", "standard"),
        ]
        await here.peers.pop(0).leave()
        await until(lambda: here.of(ParticipantDisconnected))
        assert here.of(ParticipantDisconnected)[0].identity == "alice"
        await until(lambda: not here.transport.mix.speakers)
        again = await here.peer("alice")
        await again.open_microphone()
        await until(lambda: here.transport.mix.speakers)
        assert [each.identity for each in here.of(ParticipantConnected)] == ["alice", "bob", "alice"]


async def test_a_muted_microphone_is_told_and_silent(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        await here.transport.connect()
        peer = await here.peer("alice")
        await peer.open_microphone()
        await until(lambda: here.transport.mix.speakers)
        peer.track.mute()
        await until(lambda: here.of(MicrophoneMuted) == [MicrophoneMuted("alice", True)])
        peer.track.unmute()
        await until(lambda: here.of(MicrophoneMuted)[1:] == [MicrophoneMuted("alice", False)])


async def test_messages_go_both_ways_and_what_is_no_json_is_left_alone(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        await here.transport.connect()
        peer = await here.peer("alice")
        await until(lambda: "alice" in here.transport.people)
        await peer.room.local_participant.publish_data(b"\xff\x00 nothing", topic="x")
        await peer.room.local_participant.publish_data(b"[1, 2]")
        await peer.room.local_participant.publish_data('{"t": "say", "text": "hi"}', topic="glove")
        await peer.room.local_participant.send_text("a typed line", topic="lk.chat")
        await until(lambda: here.of(DataReceived) and here.of(ChatReceived))
        assert here.of(DataReceived) == [DataReceived({"t": "say", "text": "hi"}, "alice", "glove")]
        assert here.of(ChatReceived) == [ChatReceived("a typed line", "alice")]
        here.transport.send_data({"t": "ready"})
        here.transport.send_data({"t": "state", "n": 2}, to=["alice"])
        here.transport.send_chat("an answer")
        here.transport.transcribe("It is", "s1", final=False)
        here.transport.transcribe("It is noon.", "s1", final=True)
        here.transport.transcribe("what time is it", "s2", final=True, identity="alice")
        await until(lambda: len(peer.data) == 2 and peer.chat and len(peer.captions) == 3)
        assert peer.data == [{"t": "ready"}, {"t": "state", "n": 2}] and peer.chat == ["an answer"]
        words = dict(peer.captions)
        assert words["It is noon."]["lk.segment_id"] == "s1"
        assert words["It is noon."]["lk.transcription_final"] == "true"
        assert words["It is noon."]["lk.transcribed_track_id"].startswith("TR_")
        assert words["It is"]["lk.transcription_final"] == "false"


async def test_messages_that_are_too_long_are_refused_here(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        with pytest.raises(GloveError, match="15000 bytes"):
            here.transport.send_data({"t": "x" * 20_000})


async def test_without_a_voice_nothing_is_published_and_clear_still_works(livekit: LiveKitAccess) -> None:
    async with place(livekit, TransportSettings(publish_agent_audio=False)) as here:
        peer = await here.peer("alice")
        await here.transport.connect()
        await until(lambda: "agent" in peer.room.remote_participants)
        here.say(tone(0.5, rate_hz=RATE_HZ))
        here.transport.clear()
        await asyncio.sleep(0.3)
        assert not peer.room.remote_participants["agent"].track_publications
        assert here.transport.player.played_total == 0


async def test_joining_twice_at_once_is_joining_once(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        peer = await here.peer("alice")
        await asyncio.gather(here.transport.connect(), here.transport.connect())
        await here.transport.connect()
        await until(lambda: "agent" in peer.present)
        assert peer.present == ["agent"] and not peer.gone
        assert here.of(TransportConnected) == [TransportConnected(False)]


async def test_whoever_joins_as_the_agent_takes_its_place_for_good(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        await here.transport.connect()
        second = here.agent()
        await second.connect()
        await until(lambda: here.of(TransportDisconnected))
        event = here.of(TransportDisconnected)[0]
        assert event.reason == "DUPLICATE_IDENTITY" and event.fault.code == "ERR_LIVEKIT_REPLACED"
        await asyncio.sleep(1.0)
        assert here.transport.state is TransportState.ENDED and second.is_connected
        await second.close()


@pytest.mark.parametrize("how", ["deleted", "removed"])
async def test_a_room_that_is_taken_away_ends_the_stay_with_a_reason(livekit: LiveKitAccess, how: str) -> None:
    async with place(livekit) as here:
        await here.transport.connect()
        async with api.LiveKitAPI(livekit.http_url, livekit.key, livekit.secret.reveal()) as server:
            if how == "deleted":
                await server.room.delete_room(api.DeleteRoomRequest(room=here.name))
            else:
                who = api.RoomParticipantIdentity(room=here.name, identity="agent")
                await server.room.remove_participant(who)
        await until(lambda: here.of(TransportDisconnected))
        code = here.of(TransportDisconnected)[0].fault.code
        assert code == ("ERR_LIVEKIT_ROOM_ENDED" if how == "deleted" else "ERR_LIVEKIT_REMOVED")
        assert here.transport.over and not here.transport.people.present


def _token(access: LiveKitAccess, *, secret: str = "", age: timedelta = timedelta(), **grants: Any) -> Secret:
    token = api.AccessToken(access.key, secret or access.secret.reveal()).with_identity("agent")
    token = token.with_grants(api.VideoGrants(room_join=True, room="x", **grants)).with_ttl(timedelta(hours=1) - age)
    return Secret(token.to_jwt())


async def test_tokens_that_are_wrong_old_or_too_wide_are_refused_with_what_to_do(livekit: LiveKitAccess) -> None:
    cases = {
        "ERR_LIVEKIT_TOKEN": Secret("no token at all"),
        "ERR_LIVEKIT_TOKEN_WIDE": _token(livekit, room_admin=True),
        "ERR_LIVEKIT_AUTH": _token(livekit, secret="another-secret-another-secret-another"),
        "expired": _token(livekit, age=timedelta(hours=3)),
    }
    for code, token in cases.items():
        transport = LiveKitTransport(livekit.socket_url, token)
        with pytest.raises(GloveError) as refused:
            await transport.connect()
        assert refused.value.code == ("ERR_LIVEKIT_AUTH" if code == "expired" else code)
        assert refused.value.remedy and token.reveal() not in str(refused.value)
        assert transport.state is TransportState.IDLE
        await transport.close()


async def test_a_server_that_is_not_there_is_told_and_may_be_tried_again(livekit: LiveKitAccess) -> None:
    token = mint_participant_token(livekit, room="x", identity="agent")
    transport = LiveKitTransport("ws://127.0.0.1:9", token)
    for _ in range(2):
        with pytest.raises(GloveError) as refused:
            await transport.connect()
        assert refused.value.code == "ERR_LIVEKIT_CONNECTION"
    await transport.close()


@pytest.mark.parametrize("scenario", ["SIMULATE_SIGNAL_RECONNECT", "SIMULATE_FULL_RECONNECT"])
async def test_case_f33_after_a_reconnection_the_agent_is_heard_again(livekit: LiveKitAccess, scenario: str) -> None:
    async with place(livekit) as here:
        peer = await here.peer("alice")
        await peer.open_microphone()
        await here.transport.connect()
        await until(lambda: "agent" in peer.heard and here.transport.mix.speakers)
        room = here.transport._room
        assert room is not None
        await room.simulate_scenario(getattr(rtc.SimulateScenarioKind, scenario))
        await until(lambda: here.of(TransportInterrupted))
        here.say(tone(0.5, rate_hz=RATE_HZ))  # waits until it can be heard
        await until(lambda: TransportConnected(True) in here.told, 30.0)
        said = clock.now()
        await until(lambda: peer.loud_since(said - 1.0) is not None)
        await until(lambda: here.transport.player.played == RATE_HZ // 2)
        await until(lambda: here.transport.mix.speakers)
        # nobody has left as far as people can tell
        assert [each.identity for each in here.transport.people.present] == ["alice"]


async def test_case_f33_a_source_that_takes_nothing_any_more_is_replaced(livekit: LiveKitAccess) -> None:
    async with place(livekit) as here:
        peer = await here.peer("alice")
        await here.transport.connect()
        await until(lambda: "agent" in peer.heard)
        source = here.transport._track._source
        assert source is not None

        async def never(frame: rtc.AudioFrame) -> None:
            await asyncio.Event().wait()

        source.capture_frame = never  # type: ignore[method-assign]
        here.say(tone(1.0, rate_hz=RATE_HZ))
        await until(lambda: here.transport.republished == 1, 20.0)
        await until(lambda: here.transport.player.idle)
        here.say(tone(1.0, rate_hz=RATE_HZ))
        again = clock.now()
        await until(lambda: peer.loud_since(again) is not None)


async def test_a_server_that_is_killed_and_comes_back_finds_the_agent_in_its_room() -> None:
    with livekit_server() as server:
        async with place(server.access) as here:
            await here.transport.connect()
            server.kill()
            await until(lambda: here.of(TransportInterrupted), 30.0)
            here.say(tone(0.5, rate_hz=RATE_HZ))
            await asyncio.sleep(2.0)
            assert here.transport.player.played == 0  # nobody could hear it
            server.start()
            await until(lambda: here.transport.is_connected, 60.0)
            peer = await here.peer("alice")
            await peer.open_microphone()
            await until(lambda: here.transport.mix.speakers)
            here.say(tone(1.0, rate_hz=RATE_HZ))
            await until(lambda: peer.loud_since(0.0) is not None)


async def test_leaving_leaves_nothing_behind(livekit: LiveKitAccess) -> None:
    before = asyncio.all_tasks()
    async with place(livekit) as here:
        peer = await here.peer("alice")
        await peer.open_microphone()
        await here.transport.connect()
        await until(lambda: here.transport.mix.speakers and "agent" in peer.heard)
        here.say(tone(5.0, rate_hz=RATE_HZ))
        await asyncio.sleep(0.3)
        await here.transport.close()
        await here.transport.close()
        await until(lambda: "agent" in peer.gone)
        assert here.of(TransportDisconnected) == [TransportDisconnected()]
        assert here.transport.state is TransportState.CLOSED
    await until(lambda: asyncio.all_tasks() <= before)
