from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from agents.base.clock import now, run_virtual
from agents.base.credentials import Secret
from audio.pcm import Pcm
from avatars.conformance import speech
from avatars.contract import (
    AvatarError,
    AvatarEvent,
    AvatarFault,
    Disconnected,
    RoomView,
    UtteranceCut,
    UtteranceDone,
    ViewReady,
)
from avatars.tavus.api import TavusFace
from avatars.tavus.echo import TavusEchoAdapter
from tests.avatars.bench import Page, tavus_echo
from tests.avatars.tavus_service import NewPal, TavusService


class Scene:
    """A face, its service and the page that shows it."""

    def __init__(self, **face: Any) -> None:
        self.service, self.page = TavusService(), Page()
        self.avatar = tavus_echo(self.service, self.page, **face)
        self.told: list[AvatarEvent] = []
        self.avatar.events.on(AvatarEvent, self.told.append)

    def echoes(self, conversation: str = "c001") -> list[Any]:
        return [
            one["properties"]
            for one in self.page.messages
            if one["event_type"] == "conversation.echo" and one["conversation_id"] == conversation
        ]

    def sound(self, conversation: str = "c001") -> Pcm:
        return np.frombuffer(b"".join(base64.b64decode(one["audio"]) for one in self.echoes(conversation)), "<i2")


def play(scene: Callable[[Scene], Awaitable[None]], **face: Any) -> Scene:
    async def main() -> Scene:
        stage = Scene(**face)
        await stage.avatar.connect()
        await scene(stage)
        await stage.avatar.disconnect()
        return stage

    return run_virtual(main())


async def _nothing(stage: Scene) -> None:
    pass


async def settle() -> None:
    await asyncio.sleep(0.01)


def test_a_conversation_has_the_face_and_no_greeting_and_its_room_is_the_view() -> None:
    stage = play(_nothing, pal_id="p900", conversation_name="kitchen")
    assert stage.service.bodies == [
        {"pal_id": "p900", "face_id": "face-1", "custom_greeting": "", "conversation_name": "kitchen"}
    ]
    assert stage.service.pals == {}
    view = next(one.view for one in stage.told if isinstance(one, ViewReady))
    assert view == RoomView("https://tavus.daily.co/c001", "tavus")
    assert view.to_json() == {"kind": "webrtc-room", "url": "https://tavus.daily.co/c001", "provider": "tavus"}


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_echoing_pal_is_made_once_and_found_again(wrapped: bool) -> None:
    async def main() -> TavusService:
        first = Scene()
        first.service.wrapped_list = wrapped
        await first.avatar.connect()
        await first.avatar.disconnect()
        again = tavus_echo(first.service, Page())
        await again.connect()
        await again.disconnect()
        return first.service

    service = run_virtual(main())
    assert service.pals == {
        "p001": NewPal(pal_name="glove-echo-pal", default_face_id="face-1", pipeline_mode="echo", layers=None)
    }
    assert [one["pal_id"] for one in service.bodies] == ["p001", "p001"]


def test_sound_goes_in_chunks_of_24_khz_under_one_id_and_the_last_says_so() -> None:
    said = speech(1.0)

    async def scene(stage: Scene) -> None:
        for at in range(0, said.size, 2400):
            stage.avatar.send_audio(said[at : at + 2400], 24_000)
        stage.avatar.end_utterance()
        await settle()

    stage = play(scene)
    echoes = stage.echoes()
    assert [(one["modality"], one["sample_rate"], one["inference_id"], one["done"]) for one in echoes] == [
        ("audio", 24_000, "inf-1", False),
        ("audio", 24_000, "inf-1", False),
        ("audio", 24_000, "inf-1", True),
    ]
    assert np.array_equal(stage.sound(), said)
    assert [type(one) for one in stage.told[2:]] == [UtteranceDone, Disconnected]


def test_an_utterance_that_fills_its_chunks_still_ends() -> None:
    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(speech(0.4), 24_000)
        stage.avatar.end_utterance()
        await settle()

    assert [(len(one["audio"]) > 0, one["done"]) for one in play(scene).echoes()] == [(True, False), (False, True)]


def test_sound_of_another_rate_is_resampled_as_a_whole() -> None:
    async def scene(stage: Scene) -> None:
        for _ in range(20):
            stage.avatar.send_audio(speech(0.05, 16_000), 16_000)
        stage.avatar.end_utterance()
        await settle()

    assert abs(play(scene).sound().size - 24_000) <= 10


def test_an_interruption_drops_the_rest_and_is_a_bare_message() -> None:
    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(speech(0.5), 24_000)
        await settle()
        stage.avatar.interrupt()
        stage.avatar.end_utterance()
        stage.avatar.send_audio(speech(0.1), 24_000)
        stage.avatar.end_utterance()
        await settle()

    stage = play(scene)
    assert [one["event_type"].partition(".")[2] for one in stage.page.messages] == ["echo", "interrupt", "echo"]
    assert stage.page.messages[1] == {
        "message_type": "conversation",
        "event_type": "conversation.interrupt",
        "conversation_id": "c001",
    }
    assert [(one["inference_id"], one["done"]) for one in stage.echoes()] == [("inf-1", False), ("inf-2", True)]
    assert stage.told[2:4] == [UtteranceCut(1), UtteranceDone(2)]


def test_chunks_that_have_not_left_are_dropped_by_an_interruption() -> None:
    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(speech(10.0), 24_000)
        stage.avatar.interrupt()
        await settle()

    assert [one["event_type"] for one in play(scene).page.messages] == ["conversation.interrupt"]


def test_the_conversation_is_ended_so_that_its_costs_end_even_if_tavus_refuses() -> None:
    assert play(_nothing).service.ended == ["c001"]

    async def refused(stage: Scene) -> None:
        stage.service.refusals = [500]

    stage = play(refused)
    assert stage.told[-1] == Disconnected()
    assert not stage.avatar.is_connected


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (402, "ERR_AVATAR_LIMIT"),
        (429, "ERR_AVATAR_LIMIT"),
        (400, "ERR_AVATAR_REQUEST"),
        (503, "ERR_AVATAR_CONNECTION"),
        (403, "ERR_AVATAR_AUTH"),
    ],
)
def test_a_refusal_says_what_to_do_and_no_secret(status: int, code: str) -> None:
    async def main() -> None:
        stage = Scene()
        stage.service.refusals = [status]
        with pytest.raises(AvatarError) as caught:
            await stage.avatar.connect()
        assert caught.value.code == code
        assert caught.value.remedy
        assert "tavus-key" not in str(caught.value) + repr(caught.value.cause)
        assert stage.told == []
        assert stage.avatar.view is None
        await stage.avatar.connect()
        assert stage.avatar.is_connected
        await stage.avatar.disconnect()

    run_virtual(main())


def test_a_wrong_key_and_an_unreachable_service_are_told_apart() -> None:
    async def main() -> None:
        stage = Scene()
        wrong = TavusEchoAdapter(
            Secret("another-key-987654"),
            TavusFace("face-1"),
            stage.page.courier,
            transport=stage.avatar._api._service._transport,
        )
        with pytest.raises(AvatarError) as caught:
            await wrong.connect()
        assert (caught.value.code, caught.value.lasting) == ("ERR_AVATAR_AUTH", True)

    run_virtual(main())

    async def nobody() -> None:
        far = TavusEchoAdapter(
            Secret("another-key-987654"), TavusFace("f", base_url="http://127.0.0.1:9"), Page().courier
        )
        with pytest.raises(AvatarError) as caught:
            await far.connect()
        assert (caught.value.code, caught.value.lasting) == ("ERR_AVATAR_CONNECTION", False)

    asyncio.run(nobody())


def test_a_page_that_has_gone_is_told_once() -> None:
    async def scene(stage: Scene) -> None:
        stage.page.broken = True
        stage.avatar.send_audio(speech(4.0), 24_000)
        await settle()
        stage.page.broken = False
        stage.avatar.send_audio(speech(0.4), 24_000)
        await settle()

    stage = play(scene)
    faults = [one.error.code for one in stage.told if isinstance(one, AvatarFault)]
    assert faults == ["ERR_AVATAR_DELIVERY"]
    assert len(stage.echoes()) == 1


def test_a_session_that_ends_in_mid_sentence_is_replaced_and_the_sentence_goes_on() -> None:
    said = speech(6.0)

    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(said[:96_000], 24_000)  # four seconds, in a burst
        await asyncio.sleep(2.0)  # of which two are played
        renewal = asyncio.create_task(stage.avatar.renew())
        await asyncio.sleep(0)
        stage.avatar.send_audio(said[96_000:], 24_000)
        stage.avatar.end_utterance()
        await renewal
        await settle()

    stage = play(scene)
    assert stage.service.ended == ["c001", "c002"]
    views = [one.view.url for one in stage.told if isinstance(one, ViewReady) and isinstance(one.view, RoomView)]
    assert views == ["https://tavus.daily.co/c001", "https://tavus.daily.co/c002"]
    rest = stage.sound("c002")
    assert np.array_equal(rest, said[-rest.size :])
    assert 4.0 <= rest.size / 24_000 <= 4.6  # half a syllable is heard twice, nothing is lost
    assert {one["inference_id"] for one in stage.echoes("c002")} == {"inf-1"}
    assert [one["done"] for one in stage.echoes("c002")][-1]
    assert sum(isinstance(one, UtteranceDone) for one in stage.told) == 1
    assert not any(isinstance(one, Disconnected) for one in stage.told[:-1])


def test_what_was_played_before_a_renewal_is_not_said_again() -> None:
    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(speech(1.0), 24_000)
        stage.avatar.end_utterance()
        await asyncio.sleep(5.0)
        await stage.avatar.renew()
        await settle()

    assert play(scene).echoes("c002") == []


def test_an_interruption_during_a_renewal_silences_the_next_session_as_well() -> None:
    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(speech(4.0), 24_000)
        await settle()
        renewal = asyncio.create_task(stage.avatar.renew())
        await asyncio.sleep(0)
        stage.avatar.interrupt()
        await renewal
        await settle()

    stage = play(scene)
    assert stage.echoes("c002") == []
    assert [one for one in stage.told if isinstance(one, UtteranceCut)] == [UtteranceCut(1)]


def test_renewals_keep_ten_seconds_apart_and_are_not_piled_up() -> None:
    async def scene(stage: Scene) -> None:
        began = now()
        await asyncio.gather(*(stage.avatar.renew() for _ in range(3)))
        assert len(stage.service.conversations) == 2
        assert now() - began < 1.0
        await stage.avatar.renew()
        assert len(stage.service.conversations) == 3
        assert 10.0 <= now() - began < 11.0

    play(scene)


def test_a_renewal_does_not_outlive_disconnecting() -> None:
    async def scene(stage: Scene) -> None:
        await stage.avatar.renew()
        waiting = asyncio.create_task(stage.avatar.renew())
        await asyncio.sleep(1.0)
        await stage.avatar.disconnect()
        await waiting
        await asyncio.sleep(60.0)
        assert len(stage.service.conversations) == 2
        await stage.avatar.renew()
        assert not stage.avatar.is_connected

    play(scene)


def test_a_service_that_is_down_is_asked_again_and_then_given_up() -> None:
    async def down_for_a_while(stage: Scene) -> None:
        stage.service.refusals = [503, 503, 503]  # ending the old one, and two attempts
        await stage.avatar.renew()
        assert stage.avatar.is_connected

    stage = play(down_for_a_while)
    assert [one.error.code for one in stage.told if isinstance(one, AvatarFault)] == ["ERR_AVATAR_CONNECTION"] * 2

    async def down_for_good(stage: Scene) -> None:
        stage.service.refusals = [503] * 100
        with pytest.raises(AvatarError):
            await stage.avatar.renew()
        assert stage.avatar.view is None

    stage = play(down_for_good)
    last = stage.told[-1]
    assert isinstance(last, Disconnected) and last.fault is not None
    assert last.fault.code == "ERR_AVATAR_CONNECTION"
    assert len(stage.service.refusals) > 90


def test_a_key_that_was_withdrawn_ends_the_face_at_once() -> None:
    async def scene(stage: Scene) -> None:
        stage.service.refusals = [401, 401]
        with pytest.raises(AvatarError):
            await stage.avatar.renew()

    last = play(scene).told[-1]
    assert isinstance(last, Disconnected) and last.fault is not None
    assert last.fault.code == "ERR_AVATAR_AUTH"


def test_sessions_that_are_ended_every_three_minutes_are_renewed_all_day() -> None:
    async def scene(stage: Scene) -> None:
        for _ in range(200):
            await asyncio.sleep(180.0)
            await stage.avatar.renew()

    assert len(play(scene).service.conversations) == 201


def test_a_courier_is_required() -> None:
    with pytest.raises(TypeError):
        TavusEchoAdapter(Secret("tavus-key-0123456789"), TavusFace("face-1"))  # type: ignore[call-arg]


def test_a_service_that_ends_every_session_at_once_is_given_up() -> None:
    async def scene(stage: Scene) -> None:
        with pytest.raises(AvatarError) as caught:
            for _ in range(20):
                await stage.avatar.renew()
        assert caught.value.code == "ERR_AVATAR_LIMIT"

    stage = play(scene)
    assert 6 <= len(stage.service.conversations) <= 8
    assert not stage.avatar.is_connected
