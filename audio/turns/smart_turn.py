"""Smart Turn: the probability that a turn is over, from the sound of the voice alone.

A Whisper encoder with a small head, trained on turns that were finished and turns that were not, in 23 languages. It
hears intonation, drawn-out words and breath, and is one witness among several: by itself it takes many a pause of
somebody who thinks for an end.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from agents.base import clock
from agents.base.errors import GloveVoiceError
from agents.base.weights import WeightsStore
from audio.onnx import open_session
from audio.pcm import CAPTURE_RATE_HZ, Pcm, pcm_to_float
from audio.turns.mel import SECONDS, log_mel

WEIGHTS = "smart-turn-v3.2"
_FILE = "smart-turn-v3.2-cpu.onnx"
_SHORTEST_S = 0.1


class SmartTurn:
    """Scores the end of an utterance. Safe to call from several threads; several sessions share one.

    Args:
        path: the ONNX file.
        threads: of one call, which takes about 50 ms with one.

    Raises:
        GloveVoiceError: ``ERR_TURN_LOAD`` when the file is no such network.
    """

    cost_s = 0.05
    """Declared duration of a call on the virtual clock."""

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        try:
            self._session: Any = open_session(path, threads=threads, exact_sums=True)
            self._input = str(self._session.get_inputs()[0].name)
        except Exception as fault:
            raise GloveVoiceError(
                "ERR_TURN_LOAD",
                f"The turn detector's weights at {path} cannot be loaded.",
                f"Run 'glove weights verify' and, if they are damaged, 'glove weights pull {WEIGHTS}'.",
                cause=fault,
            ) from fault
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="smart-turn")

    @classmethod
    def load(cls, store: WeightsStore, *, threads: int = 1) -> SmartTurn:
        """Load the weights from ``store``, fetching them if need be. Raises ``GloveError``."""
        return cls(store.ensure(WEIGHTS) / _FILE, threads=threads)

    def score(self, pcm: Pcm) -> float:
        """Probability (0…1) that the turn in ``pcm`` (16 kHz) is over.

        ``pcm``: the utterance with its pre-roll and about 0.2 s of the silence behind it; only the last 8 s are heard.
        Blocks. Too little or no sound is 0.
        """
        if pcm.size < _SHORTEST_S * CAPTURE_RATE_HZ or not pcm.any():
            return 0.0
        picture = log_mel(pcm_to_float(pcm[-SECONDS * CAPTURE_RATE_HZ :]))
        with self._lock:
            session = self._session
        if session is None:
            raise GloveVoiceError("ERR_TURN_CLOSED", "The turn detector is closed.")
        return float(np.ravel(session.run(None, {self._input: picture})[0])[0])

    async def probability(self, pcm: Pcm) -> float:
        """``score`` off the loop. Raises ``GloveVoiceError`` (``ERR_TURN_CLOSED``) and what onnxruntime raises."""
        return await clock.infer(lambda: self.score(pcm), cost_s=self.cost_s, executor=self._worker)

    def close(self) -> None:
        """Release the network; idempotent."""
        with self._lock:
            self._session = None
        self._worker.shutdown(wait=False, cancel_futures=True)
