from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
import pytest

from agents.base.clock import now, run_virtual
from audio.pcm import Pcm, wire_bytes
from avatars.conformance import speech
from avatars.contract import (
    AvatarError,
    AvatarEvent,
    AvatarFault,
    Disconnected,
    RoomView,
    UtteranceCut,
    UtteranceDone,
    UtteranceStarted,
    ViewReady,
)
from avatars.livekit.wire import Presence
from tests.avatars.anam_service import AnamService
from tests.avatars.bench import LIVEKIT_URL, anam_livekit, tavus_livekit
from tests.avatars.scripted_face import ScriptedFace
from tests.avatars.tavus_service import TavusService


class Scene:
    """A face of Tavus in a room in memory."""

    def __init__(self, *, here: bool = True, **options: Any) -> None:
        self.service, self.face = TavusService(), ScriptedFace(here=here)
        self.avatar = tavus_livekit(self.service, self.face, **options)
        self.told: list[AvatarEvent] = []
        self.avatar.events.on(AvatarEvent, self.told.append)

    def say(self, pcm: Pcm) -> None:
        self.avatar.send_audio(pcm, 24_000)
        self.avatar.end_utterance()

    @property
    def ends(self) -> list[UtteranceDone | UtteranceCut]:
        return [one for one in self.told if isinstance(one, UtteranceDone | UtteranceCut)]

    @property
    def faults(self) -> list[str]:
        return [one.error.code for one in self.told if isinstance(one, AvatarFault)]


def play(scene: Callable[[Scene], Awaitable[None]], **options: Any) -> Scene:
    async def main() -> Scene:
        stage = Scene(**options)
        await stage.avatar.connect()
        await scene(stage)
        await stage.avatar.disconnect()
        await stage.face.close()
        return stage

    return run_virtual(main())


async def _nothing(stage: Scene) -> None:
    pass


def sound(stage: Scene, first: int = 0) -> Pcm:
    return np.frombuffer(b"".join(bytes(one.data) for one in stage.face.streams[first:]), "<i2")


def approx(ends: Sequence[UtteranceDone | UtteranceCut]) -> list[tuple[str, int, float | None]]:
    return [(one.type, one.utterance, None if one.played_s is None else round(one.played_s, 1)) for one in ends]


def test_tavus_is_pointed_at_our_room_and_its_conversation_is_ended() -> None:
    stage = play(_nothing)
    assert stage.service.bodies == [
        {
            "pal_id": "p001",
            "face_id": "face-1",
            "custom_greeting": "",
            "properties": {"livekit_ws_url": LIVEKIT_URL, "livekit_room_token": "token-1"},
        }
    ]
    assert stage.service.pals["p001"].layers is not None
    assert stage.service.ended == ["c001"]
    assert [one.view for one in stage.told if isinstance(one, ViewReady)] == [RoomView(LIVEKIT_URL, "tavus-livekit")]
    assert not stage.face.listening


def test_anam_is_sent_into_our_room_with_the_token_of_its_session() -> None:
    async def main() -> AnamService:
        service, face = AnamService(), ScriptedFace()
        avatar = anam_livekit(service, face)
        await avatar.connect()
        assert avatar.view == RoomView(LIVEKIT_URL, "anam-livekit")
        await avatar.disconnect()
        await face.close()
        return service

    service = run_virtual(main())
    assert service.bodies == [
        {
            "personaConfig": {
                "name": "glove-avatar",
                "avatarId": "avatar-1",
                "llmId": "CUSTOMER_CLIENT_V1",
                "maxSessionLengthSeconds": 3600,
                "voiceDetectionOptions": {"silenceBeforeSessionEndSeconds": 7200},
            },
            "environment": {"livekitUrl": LIVEKIT_URL, "livekitToken": "token-1"},
        }
    ]
    assert service.engines == [service.tokens["session-token-001"]]


def test_each_utterance_is_one_stream_even_if_two_are_pushed_at_once() -> None:
    said = speech(1.0)

    async def scene(stage: Scene) -> None:
        stage.face.write_s = 0.02
        stage.avatar.send_audio(said[:4800], 24_000)
        stage.avatar.send_audio(said[4800:], 24_000)
        stage.avatar.end_utterance()
        stage.say(speech(0.5))
        await asyncio.sleep(10.0)

    stage = play(scene)
    assert [one.topic for one in stage.face.streams] == ["lk.audio_stream"] * 2
    assert [dict(one.attributes) for one in stage.face.streams] == [{"sample_rate": "24000", "num_channels": "1"}] * 2
    assert bytes(stage.face.streams[0].data) == wire_bytes(said)
    assert len(stage.face.streams[1].data) == 24_000
    assert stage.face.log == ["open", *["write"] * 4, "close", "open", *["write"] * 2, "close"]
    assert approx(stage.ends) == [("utterance_done", 1, 1.0), ("utterance_done", 2, 0.5)]
    assert [one.utterance for one in stage.told if isinstance(one, UtteranceStarted)] == [1, 2]


def test_an_interruption_closes_the_stream_then_clears_and_tells_what_was_heard() -> None:
    async def scene(stage: Scene) -> None:
        stage.say(speech(5.0))
        await asyncio.sleep(1.5)
        stage.avatar.interrupt()
        stage.say(speech(1.0))
        await asyncio.sleep(10.0)

    stage = play(scene)
    after = stage.face.log[stage.face.log.index("lk.clear_buffer") - 1 :]
    assert after == ["close", "lk.clear_buffer", "open", *["write"] * 4, "close"]
    assert approx(stage.ends) == [("utterance_cut", 1, 1.5), ("utterance_done", 2, 1.0)]
    assert stage.avatar._playback.ignored == 1  # the end of what was cut, reported once more


def test_sound_on_its_way_does_not_delay_an_interruption() -> None:
    async def scene(stage: Scene) -> None:
        stage.face.write_s = 0.1
        stage.avatar.send_audio(speech(60.0), 24_000)
        await asyncio.sleep(1.05)
        before = now()
        stage.avatar.interrupt()
        while "lk.clear_buffer" not in stage.face.log:
            await asyncio.sleep(0.01)
        assert now() - before <= 0.25

    assert len(sound(play(scene))) < 60 * 24_000


def test_sound_before_the_face_is_there_waits_for_it_and_an_early_interruption_forgets_it() -> None:
    said = speech(2.0)

    async def scene(stage: Scene) -> None:
        stage.say(speech(1.0))
        stage.avatar.interrupt()
        stage.say(said)
        await asyncio.sleep(8.0)
        assert stage.face.streams == []
        assert stage.avatar.unplayed_s == pytest.approx(2.0)
        stage.face.move(Presence.HERE)
        await asyncio.sleep(8.0)

    stage = play(scene, here=False)
    assert np.array_equal(sound(stage), said)
    assert approx(stage.ends) == [("utterance_cut", 1, None), ("utterance_done", 2, 2.0)]


def test_what_waits_for_the_face_is_bounded_and_the_newest_is_kept() -> None:
    async def scene(stage: Scene) -> None:
        for _ in range(100):
            stage.avatar.send_audio(speech(1.0), 24_000)
        stage.face.move(Presence.HERE)
        await asyncio.sleep(0.1)

    assert sound(play(scene, here=False)).size == 60 * 24_000


def test_a_face_that_never_comes_is_given_up_and_its_conversation_ended() -> None:
    async def scene(stage: Scene) -> None:
        stage.say(speech(1.0))
        await asyncio.sleep(31.0)
        assert not stage.avatar.is_connected

    stage = play(scene, here=False)
    assert stage.faults == ["ERR_AVATAR_ABSENT"]
    assert stage.service.ended == ["c001"]
    assert approx(stage.ends) == [("utterance_cut", 1, None)]
    assert [one.fault.code for one in stage.told if isinstance(one, Disconnected) and one.fault] == [
        "ERR_AVATAR_ABSENT"
    ]


def test_a_face_that_never_reports_is_waited_for_five_seconds_beyond_the_end() -> None:
    async def scene(stage: Scene) -> None:
        stage.face.reports, stage.face.says_started = 0, False
        stage.say(speech(2.0))
        stage.say(speech(1.0))
        await asyncio.sleep(6.9)
        assert stage.ends == []
        await asyncio.sleep(0.2)
        assert approx(stage.ends) == [("utterance_done", 1, None)]
        await asyncio.sleep(20.0)

    assert approx(play(scene).ends) == [("utterance_done", 1, None), ("utterance_done", 2, None)]


@pytest.mark.parametrize("late_s", [0.5, 3.0, 4.5])
def test_a_late_report_counts_once(late_s: float) -> None:
    async def scene(stage: Scene) -> None:
        stage.face.report_after_s = late_s
        stage.say(speech(2.0))
        await asyncio.sleep(20.0)

    assert approx(play(scene).ends) == [("utterance_done", 1, 2.0)]


def test_a_report_that_comes_long_before_the_end_is_not_believed() -> None:
    async def scene(stage: Scene) -> None:
        stage.face.reports = 0
        stage.say(speech(4.0))
        await asyncio.sleep(1.0)
        stage.face.finished(1.0)
        stage.face.finished(4.0)
        assert stage.ends == []
        await asyncio.sleep(3.1)
        stage.face.finished(4.0)

    assert approx(play(scene).ends) == [("utterance_done", 1, 4.0)]


def test_a_report_while_more_sound_is_to_come_is_not_believed() -> None:
    async def scene(stage: Scene) -> None:
        stage.face.reports = 0
        stage.avatar.send_audio(speech(1.0), 24_000)
        await asyncio.sleep(3.0)
        stage.face.finished(1.0)
        assert stage.ends == []
        stage.say(speech(1.0))
        await asyncio.sleep(1.2)
        stage.face.finished(2.0)

    assert approx(play(scene).ends) == [("utterance_done", 1, 2.0)]


@pytest.mark.parametrize("gap_s", [0.0, 0.2, 0.9, 2.0])
@pytest.mark.parametrize("reports", [2, 3])
def test_reports_that_come_twice_do_not_end_the_next_utterance(gap_s: float, reports: int) -> None:
    ended: list[float] = []

    async def scene(stage: Scene) -> None:
        stage.face.reports = reports
        stage.avatar.events.on(UtteranceDone, lambda _: ended.append(now()))
        stage.say(speech(2.0))
        await asyncio.sleep(gap_s)
        stage.say(speech(2.0))
        await asyncio.sleep(20.0)

    assert approx(play(scene).ends) == [("utterance_done", 1, 2.0), ("utterance_done", 2, 2.0)]
    assert ended[1] - ended[0] >= 1.5


def test_a_report_of_somebody_else_is_rejected() -> None:
    async def scene(stage: Scene) -> None:
        stage.face.reports = 0
        stage.say(speech(1.0))
        await asyncio.sleep(1.2)
        assert stage.face.say("lk.playback_finished", {"playback_position": 1.0}, "stranger") == "reject"
        assert stage.face.say("lk.playback_started", "", "stranger") == "reject"
        assert stage.ends == []
        assert stage.face.finished(1.0) == "ok"

    assert approx(play(scene).ends) == [("utterance_done", 1, 1.0)]


@pytest.mark.parametrize("payload", ["", "nonsense", "[]", '{"playback_position": "far"}', '{"playback_position": -1}'])
def test_a_report_that_cannot_be_read_ends_the_utterance_without_a_position(payload: str) -> None:
    async def scene(stage: Scene) -> None:
        stage.face.reports = 0
        stage.say(speech(1.0))
        await asyncio.sleep(1.2)
        stage.face.say("lk.playback_finished", payload)

    assert approx(play(scene).ends) == [("utterance_done", 1, None)]


def test_a_face_that_stops_by_itself_has_cut_the_utterance() -> None:
    async def scene(stage: Scene) -> None:
        stage.face.reports = 0
        stage.say(speech(3.0))
        await asyncio.sleep(1.0)
        stage.face.finished(0.9, interrupted=True)

    assert approx(play(scene).ends) == [("utterance_cut", 1, 0.9)]


@pytest.mark.parametrize("answer", ["refused", "reject"])
def test_a_face_that_refuses_to_fall_silent_is_a_fault_and_the_cut_is_told_at_once(answer: str) -> None:
    async def scene(stage: Scene) -> None:
        stage.face.refuses = answer == "refused"
        stage.face.answer = answer
        stage.face.reports = 0
        stage.say(speech(5.0))
        await asyncio.sleep(1.0)
        stage.avatar.interrupt()
        await asyncio.sleep(0.1)
        assert approx(stage.ends) == [("utterance_cut", 1, None)]

    assert play(scene).faults == ["ERR_AVATAR_DELIVERY"]


def test_a_cut_that_is_never_reported_is_told_after_two_seconds_and_its_late_report_cuts_nothing_else() -> None:
    async def scene(stage: Scene) -> None:
        stage.face.report_after_s = 2.5
        stage.say(speech(5.0))
        await asyncio.sleep(1.0)
        stage.avatar.interrupt()
        await asyncio.sleep(1.9)
        assert stage.ends == []
        stage.say(speech(3.0))
        await asyncio.sleep(0.2)
        assert approx(stage.ends) == [("utterance_cut", 1, None)]
        await asyncio.sleep(12.0)

    assert approx(play(scene).ends) == [("utterance_cut", 1, None), ("utterance_done", 2, 3.0)]


def test_a_worker_that_leaves_in_mid_sentence_is_replaced_and_the_sentence_goes_on() -> None:
    said = speech(6.0)

    async def scene(stage: Scene) -> None:
        stage.say(said)
        await asyncio.sleep(2.0)
        stage.face.move(Presence.AWAY)
        await asyncio.sleep(3.0)
        assert len(stage.service.conversations) == 2
        stage.face.move(Presence.HERE)
        await asyncio.sleep(12.0)

    stage = play(scene)
    rest = sound(stage, first=1)
    assert np.array_equal(rest, said[-rest.size :])
    assert 4.0 <= rest.size / 24_000 <= 4.5
    assert [one["properties"]["livekit_room_token"] for one in stage.service.bodies] == ["token-1", "token-2"]
    assert stage.service.ended == ["c001", "c002"]
    assert [(one.type, one.utterance) for one in stage.ends] == [("utterance_done", 1)]


def test_a_worker_that_leaves_again_at_once_is_not_renewed_within_ten_seconds() -> None:
    async def scene(stage: Scene) -> None:
        stage.face.move(Presence.AWAY)
        await asyncio.sleep(1.0)
        stage.face.move(Presence.HERE)
        await asyncio.sleep(1.0)
        stage.face.move(Presence.AWAY)
        await asyncio.sleep(7.0)
        assert len(stage.service.conversations) == 2
        await asyncio.sleep(2.0)
        assert len(stage.service.conversations) == 3

    play(scene)


def test_a_room_that_is_lost_for_a_while_needs_no_new_session() -> None:
    said = speech(3.0)

    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(said[:24_000], 24_000)
        await asyncio.sleep(0.5)
        stage.face.move(Presence.UNKNOWN)
        stage.avatar.send_audio(said[24_000:], 24_000)
        stage.avatar.end_utterance()
        await asyncio.sleep(4.0)
        assert sound(stage).size == 24_000
        stage.face.move(Presence.HERE)
        await asyncio.sleep(10.0)

    stage = play(scene)
    assert np.array_equal(sound(stage), said)
    assert len(stage.service.conversations) == 1
    assert stage.faults == []


def test_a_refused_session_leaves_no_ear_in_the_room() -> None:
    async def main() -> None:
        stage = Scene()
        stage.service.refusals = [402]
        with pytest.raises(AvatarError) as caught:
            await stage.avatar.connect()
        assert caught.value.code == "ERR_AVATAR_LIMIT"
        assert not stage.face.listening

    run_virtual(main())
