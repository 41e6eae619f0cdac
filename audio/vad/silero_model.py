"""The Silero v6 network: one probability of speech per 32 ms of sound.

The network hears frames of 512 samples at 16 kHz, each preceded by the last 64 samples of the frame before, scaled to
-1…1, and carries a recurrent state from frame to frame. Leaving any of that out
does not fail, it silently detects less.

The weights (MIT) come with the package ``silero-vad``, which is never imported, or from the weights store. Of the
network's editions the one without branches is used: it answers the same in six sevenths of the time, since each of the
many small nodes costs most when it has been out of the cache for a while.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base.errors import GloveVoiceError
from audio.onnx import open_session
from audio.pcm import CAPTURE_RATE_HZ, Pcm

MODEL_FILE = "silero_vad_op18_ifless.onnx"
FRAME_SAMPLES = 512
"""Samples of one frame of the network: 32 ms."""
CONTEXT_SAMPLES = 64
_STATE_SHAPE = (2, 1, 128)
FRAME_MS = FRAME_SAMPLES * 1000 / CAPTURE_RATE_HZ

_sessions: dict[Path, Any] = {}
_sessions_lock = threading.Lock()


def find_model() -> Path:
    """Where the weights are, checked against their hash: the installed package, which is not imported, or the store.

    Raises:
        GloveError: the weights are nowhere, or damaged.
    """
    from agents.base.weights import WeightsStore

    return WeightsStore().path("silero-vad") / MODEL_FILE


def shared_session(path: Path, *, fresh: bool = False) -> Any:
    """The onnxruntime session of the weights at ``path``, made once per process; ``fresh`` makes it anew.

    One thread and no spinning: a frame costs a tenth of a millisecond, and waiting must cost nothing.

    Raises:
        GloveVoiceError: ``ERR_VAD_MODEL``, the file cannot be read as a network.
    """
    path = path.resolve()
    with _sessions_lock:
        if fresh or path not in _sessions:
            _sessions[path] = _load(path)
        return _sessions[path]


def _load(path: Path) -> Any:
    try:
        return open_session(path)
    except Exception as fault:
        raise GloveVoiceError(
            "ERR_VAD_MODEL",
            f"The speech detector's weights at {path} cannot be loaded.",
            "Fetch them again with `glove weights pull silero-vad`.",
            fault,
        ) from fault


class SileroStream:
    """The network on one stream of sound: a shared session, its own context and recurrent state.

    Inputs and outputs are bound to fixed buffers once, which saves a fifth of the time of a frame; the two buffers of
    the recurrent state take turns as input and output.
    """

    def __init__(self, session: Any) -> None:
        self._input = np.zeros((1, CONTEXT_SAMPLES + FRAME_SAMPLES), np.float32)
        self._rate = np.array(CAPTURE_RATE_HZ, np.int64)
        self._states = (np.zeros(_STATE_SHAPE, np.float32), np.zeros(_STATE_SHAPE, np.float32))
        self._output = np.zeros((1, 1), np.float32)
        self.attach(session)

    def attach(self, session: Any) -> None:
        """Go on with another session and no memory of what was heard."""
        self._session = session
        first, second = self._states
        self._bindings = (self._bind(first, second), self._bind(second, first))
        self.reset()

    def _bind(self, before: npt.NDArray[np.float32], after: npt.NDArray[np.float32]) -> Any:
        binding = self._session.io_binding()
        for name, array in (("input", self._input), ("state", before), ("sr", self._rate)):
            binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        for name, array in (("output", self._output), ("stateN", after)):
            binding.bind_output(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        return binding

    def probability(self, frame: Pcm) -> float:
        """The probability of speech, 0…1, of the next 512 samples.

        Raises:
            ArithmeticError: the network's answer is no probability; the state is unusable until ``reset``.
        """
        self._input[0, :CONTEXT_SAMPLES] = self._input[0, -CONTEXT_SAMPLES:]
        np.multiply(frame, np.float32(1 / 32768), out=self._input[0, CONTEXT_SAMPLES:])
        self._session.run_with_iobinding(self._bindings[self._turn])
        self._turn = 1 - self._turn
        probability = float(self._output[0, 0])
        if not 0.0 <= probability <= 1.0:
            raise ArithmeticError(f"the speech detector answered {probability}")
        return probability

    def reset(self) -> None:
        """Forget what was heard."""
        self._turn = 0
        self._input.fill(0.0)
        for state in self._states:
            state.fill(0.0)
