"""The appliance as a column of the peer benchmark: the same simulated conversation that other frameworks hold.

    PYTHONPATH=PEERBENCH_DIR .venv/bin/python benchmarks/peerbench_sut.py --scenario S.json --out R.json --record R.wav

Only the recogniser, the model and the voice are the benchmark's fakes; room, voice detector, turn engine, agent and
reply are the real ones. ``matched`` uses the benchmark's voice detector settings and no hold, ``default`` the
appliance's own.
"""

from __future__ import annotations

import sys
import time
from typing import Any


def import_framework() -> None:
    """Import what a session needs."""
    import agents.core.glove  # noqa: F401
    import audio.vad.silero
    import audio.voice  # noqa: F401


if __name__ == "__main__" and "--import-only" in sys.argv:
    started = time.perf_counter()
    import_framework()
    print(time.perf_counter() - started)
    sys.exit()

import asyncio
from concurrent.futures import Executor
from importlib.metadata import version

import common  # type: ignore[import-not-found]  # the benchmark's harness, found through PYTHONPATH
import numpy as np

from agents.base.abort import AbortToken
from agents.core.events import ModelResponseComplete, TextDelta
from agents.core.glove import Glove
from agents.core.messages import Message, ModelResult
from agents.core.model import Notify, PromptRequest
from audio.events import AgentSpeechStopped, Interrupted, UserTurn
from audio.io.base import AudioIO, OnFrame
from audio.io.player import Player
from audio.pcm import FRAME_SAMPLES, FrameCutter, Pcm
from audio.stt.base import SegmentStt, Transcript
from audio.tts.base import AudioChunk, PieceDone, TtsAdapter, TtsDone, WordTiming
from audio.turns.hold import HoldTimes
from audio.turns.rules import RuleDetector
from audio.vad.segment import SegmentSettings
from audio.vad.silero import SileroVad
from audio.voice import GloveVoice

NO_FINAL_S = 0.5
"""The benchmark's recogniser stays silent for sounds without words."""


class PeerRoom(AudioIO):
    """The benchmark's microphone and loudspeaker: 20 ms frames in, at most one period ahead out."""

    def __init__(self, session: Any) -> None:
        self.player = Player(24_000)
        self._session = session
        self._cutter = FrameCutter(FRAME_SAMPLES)
        self._samples = 0

    @property
    def time_s(self) -> float:
        """Seconds on the benchmark's clock."""
        return max(0.0, self._session.now())

    async def open(self, on_frame: OnFrame) -> None:
        """Connect to the session's callbacks."""

        def hear(pcm: bytes) -> None:
            for frame in self._cutter.push(np.frombuffer(pcm, "<i2").astype(np.int16)):
                self._samples += frame.size
                on_frame(frame, self._samples)

        def play() -> None:
            if self._session.sink.queued_s < 0.02 and not (self.player.paused or self.player.idle):
                self._session.sink.write(self.player.pull(480).astype("<i2").tobytes())
            elif self.player.idle:
                self.player.pull(480)

        self._session.on_frame, self._session.on_tick = hear, play

    async def close(self) -> None:
        """Let go of the callbacks."""
        self._session.on_frame = self._session.on_tick = None


class PeerPartials(SegmentStt):
    """Partials of the benchmark's recogniser, which begin with the first call of an utterance."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.text = ""
        self.listening = False

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """What has been understood so far."""
        return Transcript(self.text)

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        """See ``SegmentStt``."""
        if not self.listening:
            self.listening, self.text = True, ""
            self.session.stt_vad_start(self._heard)
        return self.transcribe(pcm)

    def _heard(self, text: str) -> None:
        self.text = text


class PeerStt(SegmentStt):
    """Finals of the benchmark's recogniser."""

    def __init__(self, session: Any, partials: PeerPartials) -> None:
        self.session = session
        self.partials = partials

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """Not used: the benchmark's recogniser is asynchronous."""
        raise NotImplementedError

    async def recognise(self, pcm: Pcm, language: str | None = None, executor: Executor | None = None) -> Transcript:
        """See ``SegmentStt``."""
        self.partials.listening = False
        final: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.session.stt_vad_stop(lambda text: final.done() or final.set_result(text))
        try:
            async with asyncio.timeout(NO_FINAL_S):
                return Transcript(f"{await final}.")
        except TimeoutError:
            return Transcript("")


class PeerModel:
    """The benchmark's model: fixed text at a fixed pace."""

    name = "peerbench"

    def __init__(self, session: Any) -> None:
        self.session = session

    async def prompt(self, request: PromptRequest, notify: Notify, abort: AbortToken) -> ModelResult:
        """See ``ModelAdapter``."""
        return await abort.race(self._answer(request, notify))

    async def _answer(self, request: PromptRequest, notify: Notify) -> ModelResult:
        text = ""
        async for token in self.session.llm_tokens():
            text += token
            await notify(TextDelta(token, request.reply_id))
        await notify(ModelResponseComplete(text, request.reply_id))
        return ModelResult(messages=[Message(sender="agent", text=text, id=request.reply_id)])


class PeerTts(TtsAdapter):
    """The benchmark's voice: one request per sentence, with or without word times."""

    def __init__(self, session: Any, aligned: bool) -> None:
        super().__init__()
        self.session = session
        self.aligned = aligned
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    @property
    def sample_rate_hz(self) -> int:
        """24 kHz."""
        return 24_000

    @property
    def is_ready(self) -> bool:
        """Whether it was opened."""
        return self._task is not None

    async def open(self) -> None:
        """Start speaking what comes."""
        self._task = asyncio.create_task(self._speak())

    def send_text(self, text: str, *, flush: bool = False) -> None:
        """See ``TtsAdapter``."""
        self._texts.put_nowait(text)

    def flush(self) -> None:
        """See ``TtsAdapter``."""
        self._texts.put_nowait(None)

    async def destroy(self) -> None:
        """See ``TtsAdapter``."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _speak(self) -> None:
        piece = -1
        while (text := await self._texts.get()) is not None:
            piece += 1
            async for pcm, times in self.session.tts(text):
                words = None
                if times and self.aligned:
                    words = tuple(WordTiming(word, round(a * 24_000), round(b * 24_000)) for word, a, b in times)
                self.events.emit(AudioChunk(np.frombuffer(pcm, "<i2").astype(np.int16), piece, words))
            self.events.emit(PieceDone(piece))
        self.events.emit(TtsDone())


class Appliance:
    """The column."""

    name = "glove"

    def __init__(self, scenario: Any, arguments: Any) -> None:
        self.scenario = scenario
        self.arguments = arguments
        self.version = version("glove-appliance")
        self.voices: list[GloveVoice] = []
        self.watches: set[asyncio.Task[None]] = set()

    async def setup_process(self) -> None:
        """Import everything and load the voice detector."""
        import_framework()
        SileroVad().close()

    async def start_session(self, session: Any) -> None:
        """One conversation of the benchmark."""
        matched = self.arguments.config == "matched"
        vad = self.scenario.vad
        settings = SegmentSettings(redemption_ms=1000 * vad["stop_s"], min_speech_ms=1000 * vad["start_s"])
        partials = PeerPartials(session)
        glove = Glove(model=PeerModel(session), system_prompt="").build()
        voice = GloveVoice(
            glove,
            PeerRoom(session),
            stt=PeerStt(session, partials),
            partials=partials,
            tts=lambda _: PeerTts(session, self.arguments.words == "aligned"),
            vad=SileroVad(settings=settings if matched else None),
            detector=RuleDetector(HoldTimes(0, 0, 0, 0, 0) if matched else None),
        )
        voice.events.on(UserTurn, lambda event: session.user_turn(event.text))
        cut: list[bool] = []
        voice.events.on(Interrupted, lambda _: cut.append(True))
        voice.events.on(AgentSpeechStopped, lambda _: self._note(session, glove, bool(cut and cut.pop())))
        await voice.start()
        self.voices.append(voice)

    def _note(self, session: Any, glove: Glove, interrupted: bool) -> None:
        """Tell the benchmark what the store holds once the report has reached it."""

        async def read() -> None:
            await asyncio.sleep(0.05)
            spoken = [message for message in await glove.store.get_messages() if message.sender == "agent"]
            session.assistant(spoken[-1].text if spoken else "", interrupted)

        task = asyncio.get_running_loop().create_task(read())
        self.watches.add(task)
        task.add_done_callback(self.watches.discard)

    async def stop(self) -> None:
        """End all conversations."""
        for voice in self.voices:
            await voice.stop()


if __name__ == "__main__":
    common.main(Appliance)
