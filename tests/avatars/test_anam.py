from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable

import numpy as np

from agents.base.clock import run_virtual
from avatars.conformance import speech
from avatars.contract import AvatarEvent, SdkView, UtteranceCut, UtteranceDone, ViewReady
from tests.avatars.anam_service import AnamService
from tests.avatars.bench import Page, anam_passthrough


class Scene:
    def __init__(self) -> None:
        self.service, self.page = AnamService(), Page()
        self.avatar = anam_passthrough(self.service, self.page)
        self.told: list[AvatarEvent] = []
        self.avatar.events.on(AvatarEvent, self.told.append)

    @property
    def kinds(self) -> list[str]:
        return [one["type"] for one in self.page.messages]

    @property
    def samples(self) -> int:
        return sum(
            len(base64.b64decode(one["audio"])) // 2 for one in self.page.messages if one["type"] == "audio_chunk"
        )


def play(scene: Callable[[Scene], Awaitable[None]]) -> Scene:
    async def main() -> Scene:
        stage = Scene()
        await stage.avatar.connect()
        await scene(stage)
        await asyncio.sleep(0.01)
        await stage.avatar.disconnect()
        return stage

    return run_virtual(main())


async def _nothing(stage: Scene) -> None:
    pass


def test_the_token_is_for_sound_that_is_passed_through_and_for_long_silences() -> None:
    stage = play(_nothing)
    assert stage.service.bodies == [
        {
            "personaConfig": {
                "name": "glove-avatar",
                "avatarId": "avatar-1",
                "avatarModel": "cara-4",
                "enableAudioPassthrough": True,
                "maxSessionLengthSeconds": 3600,
                "voiceDetectionOptions": {"silenceBeforeSessionEndSeconds": 7200},
            }
        }
    ]
    view = next(one.view for one in stage.told if isinstance(one, ViewReady))
    assert view == SdkView("session-token-001", "anam")
    assert view.to_json() == {"kind": "sdk-session", "sessionToken": "session-token-001", "provider": "anam"}
    assert "session-token" not in repr(view)
    assert stage.avatar.view is None


def test_sound_goes_in_chunks_of_16_khz_and_the_sequence_is_ended() -> None:
    said = speech(0.5, 16_000)

    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(said, 16_000)
        stage.avatar.end_utterance()
        stage.avatar.end_utterance()

    stage = play(scene)
    assert stage.kinds == ["audio_chunk", "audio_chunk", "end_sequence"]
    sound = b"".join(base64.b64decode(one["audio"]) for one in stage.page.messages[:2])
    assert np.array_equal(np.frombuffer(sound, "<i2"), said)
    assert UtteranceDone(1) in stage.told


def test_sound_of_24_khz_is_resampled() -> None:
    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(speech(1.0), 24_000)
        stage.avatar.end_utterance()

    assert abs(play(scene).samples - 16_000) <= 10


def test_an_interruption_drops_the_rest() -> None:
    async def scene(stage: Scene) -> None:
        stage.avatar.send_audio(speech(0.3, 16_000), 16_000)
        stage.avatar.interrupt()
        stage.avatar.end_utterance()

    stage = play(scene)
    assert stage.kinds == ["interrupt"]
    assert UtteranceCut(1) in stage.told


def test_the_cap_of_a_plan_in_mid_sentence_gives_a_new_token_and_the_sentence_goes_on() -> None:
    said = speech(8.0, 16_000)

    async def scene(stage: Scene) -> None:
        await asyncio.sleep(180.0)
        stage.avatar.send_audio(said, 16_000)
        stage.avatar.end_utterance()
        await asyncio.sleep(3.0)
        stage.page.messages.clear()  # the page says that Anam has closed its connection
        await stage.avatar.renew()

    stage = play(scene)
    views = [one.view for one in stage.told if isinstance(one, ViewReady)]
    assert views == [SdkView("session-token-001", "anam"), SdkView("session-token-002", "anam")]
    assert 5.0 <= stage.samples / 16_000 <= 5.6
    assert stage.kinds[-1] == "end_sequence"
    assert [one for one in stage.told if isinstance(one, UtteranceDone)] == [UtteranceDone(1)]
