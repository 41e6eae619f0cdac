from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np
import pytest

from agents.base.clock import run_virtual
from agents.base.emitter import Emitter
from audio.events import AgentSpeechStopped as CascadeStopped
from audio.events import Interrupted as CascadeInterrupted
from audio.io.player import Player
from audio.pcm import Pcm
from avatars.attach import AttachedAvatar, attach_avatar
from avatars.cascade import VoiceSpeaker
from avatars.conformance import speech
from avatars.contract import AvatarError, UtteranceCut, UtteranceDone
from avatars.livekit.tavus import TavusLiveKitAvatar
from realtime.s2s.events import AgentAudio, AgentSpeechStopped, Interrupted
from tests.avatars.bench import Page, tavus_echo, tavus_livekit
from tests.avatars.scripted_face import ScriptedFace
from tests.avatars.tavus_service import TavusService


class Model:
    """Speaks as a speech-to-speech adapter does."""

    def __init__(self) -> None:
        self.events = Emitter()
        self.heard_ms: Callable[[str], float | None] | None = None

    def say(self, pcm: Pcm, item_id: str = "item-1") -> None:
        self.events.emit(AgentAudio(pcm, 24_000, item_id))

    def stop(self) -> None:
        self.events.emit(AgentSpeechStopped())

    def interrupt(self) -> list[float | None]:
        """As adapters do: ask what was heard, tell the interruption, then the end."""
        heard = [self.heard_ms(item) if self.heard_ms else None for item in ("item-1", "item-2")]
        self.events.emit(Interrupted())
        self.events.emit(AgentSpeechStopped())
        return heard


@dataclass
class Stage:
    model: Model
    face: ScriptedFace
    avatar: TavusLiveKitAvatar
    attached: AttachedAvatar


def play(scene: Callable[[Stage], Awaitable[None]]) -> Stage:
    async def main() -> Stage:
        model, face = Model(), ScriptedFace()
        avatar = tavus_livekit(TavusService(), face)
        stage = Stage(model, face, avatar, await attach_avatar(model, avatar))
        await scene(stage)
        await avatar.disconnect()
        await face.close()
        return stage

    return run_virtual(main())


def test_sound_ends_and_interruptions_reach_the_face_and_detaching_leaves_other_listeners() -> None:
    async def main() -> None:
        model, page, others = Model(), Page(), list[object]()
        model.events.on(AgentAudio, others.append)
        avatar = tavus_echo(TavusService(), page)
        attached = await attach_avatar(model, avatar)
        assert avatar.is_connected
        model.say(speech(0.5))
        model.stop()
        model.say(speech(0.5), "item-2")
        model.interrupt()
        await asyncio.sleep(0.01)
        kinds = [one["event_type"].partition(".")[2] for one in page.messages]
        assert kinds == ["interrupt"]  # what had not left was dropped, and the end that follows sends nothing
        attached.detach()
        attached.detach()
        before = len(page.messages)
        model.say(speech(1.0))
        model.stop()
        await asyncio.sleep(0.01)
        assert len(page.messages) == before
        assert len(others) == 3
        assert model.heard_ms is None
        assert avatar.is_connected
        await avatar.disconnect()

    run_virtual(main())


def test_a_face_that_cannot_be_connected_is_not_attached() -> None:
    async def main() -> None:
        model, service = Model(), TavusService()
        service.refusals = [429]
        with pytest.raises(AvatarError):
            await attach_avatar(model, tavus_echo(service, Page()))
        assert model.heard_ms is None
        model.say(speech(0.1))
        assert model.events.faults == 0

    run_virtual(main())


def test_an_adapter_learns_what_the_face_has_played_of_each_item() -> None:
    async def scene(stage: Stage) -> None:
        stage.model.say(speech(2.0), "item-1")
        stage.model.say(speech(3.0), "item-2")
        await asyncio.sleep(2.5)
        heard = stage.model.interrupt()
        assert heard == [pytest.approx(2000, abs=1), pytest.approx(500, abs=60)]
        assert stage.attached.heard_ms("unknown") is None

    play(scene)


def test_what_the_face_reports_of_a_cut_is_believed_more_than_the_clock() -> None:
    cuts: list[UtteranceCut] = []

    async def scene(stage: Stage) -> None:
        stage.avatar.events.on(UtteranceCut, cuts.append)
        stage.face.reports = 0
        stage.model.say(speech(2.0), "item-1")
        stage.model.say(speech(3.0), "item-2")
        await asyncio.sleep(3.0)
        stage.model.interrupt()
        assert stage.attached.heard_ms("item-2") == pytest.approx(1000, abs=60)
        await asyncio.sleep(0.1)
        stage.face.finished(2.4, interrupted=True)
        assert stage.attached.heard_ms("item-1") == pytest.approx(2000)
        assert stage.attached.heard_ms("item-2") == pytest.approx(400)

    play(scene)
    assert cuts == [UtteranceCut(1, 2.4)]


def test_what_was_said_to_its_end_was_heard() -> None:
    async def scene(stage: Stage) -> None:
        done: list[UtteranceDone] = []
        stage.avatar.events.on(UtteranceDone, done.append)
        stage.model.say(speech(1.0))
        stage.model.stop()
        assert stage.attached.heard_ms("item-1") == pytest.approx(0, abs=1)
        await asyncio.sleep(2.0)
        assert done
        assert stage.attached.heard_ms("item-1") == pytest.approx(1000)

    play(scene)


def test_a_host_that_counts_itself_is_left_alone() -> None:
    async def main() -> None:
        model = Model()
        model.heard_ms = lambda item: 42.0
        own = model.heard_ms
        attached = await attach_avatar(model, tavus_echo(TavusService(), Page()))
        assert model.heard_ms is own
        attached.detach()
        assert model.heard_ms is own

    run_virtual(main())


class Cascade:
    """A player that is pulled in real time, and the events of its session."""

    def __init__(self) -> None:
        self.events, self.player = Emitter(), Player(24_000)

    async def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 100)):
            self.player.pull(240)
            await asyncio.sleep(0.01)


def test_a_face_on_a_cascade_speaks_what_is_played_and_pauses_with_it() -> None:
    async def main() -> None:
        cascade, face = Cascade(), ScriptedFace()
        taps: list[int] = []
        cascade.player.tap = lambda block: taps.append(block.size)
        avatar = tavus_livekit(TavusService(), face)
        speaker = VoiceSpeaker(cascade.events, cascade.player)
        attached = await attach_avatar(speaker, avatar)
        said = speech(1.005)
        await cascade.run(0.5)
        cascade.player.enqueue(said, 24_000, cascade.player.generation)
        await cascade.run(0.4)
        cascade.player.pause()
        await cascade.run(1.0)
        assert sum(len(one.data) for one in face.streams) == 2 * 9600
        cascade.player.resume()
        await cascade.run(1.0)
        cascade.events.emit(CascadeStopped(0.0, "all"))
        await asyncio.sleep(1.0)
        spoken = np.frombuffer(bytes(face.streams[0].data), "<i2")
        assert np.array_equal(spoken[: said.size], said)
        assert not spoken[said.size :].any()
        assert face.streams[0].closed

        cascade.player.enqueue(said, 24_000, cascade.player.generation)
        await cascade.run(0.3)
        cascade.player.next_generation()
        cascade.events.emit(CascadeInterrupted(0.0, "some", 300))
        cascade.events.emit(CascadeStopped(0.0, "some"))
        await asyncio.sleep(0.5)
        assert face.log[-2:] == ["close", "lk.clear_buffer"]

        attached.detach()
        speaker.close()
        speaker.close()
        streams, tapped = len(face.streams), len(taps)
        cascade.player.enqueue(said, 24_000, cascade.player.generation)
        await cascade.run(0.2)
        assert len(face.streams) == streams
        assert len(taps) == tapped + 20  # whoever tapped before does so again
        await avatar.disconnect()
        await face.close()

    run_virtual(main())
