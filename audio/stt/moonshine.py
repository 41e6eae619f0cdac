"""Moonshine on onnxruntime: the recogniser of text that appears while somebody is still speaking.

English only, and meant for partials: finals come from Whisper. Its cost grows with the length of the audio, there being
no fixed window, which makes it the cheapest way to look at an unfinished utterance several times (Jeffries et al. 2024,
"Moonshine: Speech Recognition for Live Transcription and Voice Commands"). Decoding is greedy over a decoder that keeps
its attention state between tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base.errors import GloveVoiceError
from agents.base.weights import WeightsStore
from audio.onnx import open_session
from audio.pcm import CAPTURE_RATE_HZ, Floats, Pcm, pcm_to_float
from audio.stt.base import SegmentStt, Transcript
from audio.stt.pieces import join_texts, split_at_quiet

_BEGIN, _END = 1, 2
_FIRST_TEXT_TOKEN = 3
_TOKENS_PER_S = 6.5
"""The authors' bound on speech; a decoder that goes in circles is stopped by it."""

_LEAST_TOKENS = 8
_SHORTEST_S = 0.1
_LEAST_INPUT_S = 1.0
"""Shorter sound is followed by silence up to this; the model was trained on nothing shorter."""

_SPACE = "\u2581"
_UNLIKELY = -1.0
_HALLUCINATION = "You"
"""What the model answers, and with confidence, to a breath or a click. Nothing is lost: it only makes partials."""


class MoonshineStt(SegmentStt):
    """Recognises English with Moonshine tiny. Safe to call from several threads.

    Args:
        folder: ``encoder_model.ort``, ``decoder_model_merged.ort``, ``tokenizer.bin``.
        threads: of one call.

    Raises:
        GloveVoiceError: ``ERR_STT_LOAD`` when the folder holds no usable model.
    """

    cost_s = 0.06
    max_seconds = 30.0

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self._model: _Model | None = _load(folder, threads)

    @classmethod
    def load(cls, store: WeightsStore, *, threads: int = 1) -> MoonshineStt:
        """Load ``moonshine-tiny-en`` from ``store``, fetching it if need be.

        Raises:
            GloveError: from the store (``ERR_WEIGHTS_…``).
            GloveVoiceError: ``ERR_STT_LOAD``.
        """
        return cls(store.ensure("moonshine-tiny-en"), threads=threads)

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """Transcribe 16 kHz PCM of any length; ``language`` is ignored, it is always English.

        Raises:
            GloveVoiceError: ``ERR_STT_CLOSED``, ``ERR_STT_FAILED``.
        """
        model = self._model
        if model is None:
            raise GloveVoiceError("ERR_STT_CLOSED", "The recogniser is closed.")
        if pcm.size < _SHORTEST_S * CAPTURE_RATE_HZ or not pcm.any():
            return Transcript("")
        try:
            heard = [
                model.transcribe(pcm_to_float(piece))
                for piece in split_at_quiet(pcm, round(self.max_seconds * CAPTURE_RATE_HZ))
            ]
        except Exception as error:
            raise GloveVoiceError("ERR_STT_FAILED", f"Moonshine failed: {error}", cause=error) from error
        tokens = sum(count for _, _, count in heard)
        score = sum(total for _, total, _ in heard) / max(1, tokens)
        text = join_texts([text for text, _, _ in heard], "en")
        is_nothing = score < _UNLIKELY or text.strip(".!?") == _HALLUCINATION
        return Transcript("" if is_nothing else text, "en", score)

    def close(self) -> None:
        """Release the model; calls under way finish. Idempotent."""
        self._model = None


class _Model:
    """Encoder, decoder and vocabulary; no state between calls."""

    def __init__(self, encoder: Any, decoder: Any, vocabulary: list[bytes]) -> None:
        self._encoder = encoder
        self._decoder = decoder
        self._vocabulary = vocabulary
        inputs = decoder.get_inputs()
        self._past_names = [node.name for node in inputs if node.name.startswith("past_key_values")]
        self._wants_mask = any(node.name == "encoder_attention_mask" for node in inputs)
        self._present_names = [node.name.replace("present", "past_key_values") for node in decoder.get_outputs()[1:]]
        shape = next(node.shape for node in inputs if node.name == self._past_names[0])
        self._empty_past = np.zeros((1, shape[1], 0, shape[3]), np.float32)

    def transcribe(self, x: Floats) -> tuple[str, float, int]:
        """Text of samples in -1…1, the sum of its tokens' log probabilities, and their number."""
        limit = max(_LEAST_TOKENS, int(x.size / CAPTURE_RATE_HZ * _TOKENS_PER_S))
        x = np.pad(x, (0, max(0, round(_LEAST_INPUT_S * CAPTURE_RATE_HZ) - x.size)))[None]
        mask = np.ones(x.shape, np.int64)
        hidden = self._encoder.run(None, {"input_values": x, "attention_mask": mask})[0]
        fixed = {"encoder_hidden_states": hidden}
        if self._wants_mask:
            fixed["encoder_attention_mask"] = mask
        tokens, log_probability = self._decode(fixed, limit)
        return self._to_text(tokens), log_probability, len(tokens)

    def _decode(self, fixed: dict[str, Any], limit: int) -> tuple[list[int], float]:
        """Greedy search for at most ``limit`` tokens. The attention over the encoder is computed in the first step."""
        past: dict[str, Any] = dict.fromkeys(self._past_names, self._empty_past)
        tokens: list[int] = []
        total = 0.0
        token = _BEGIN
        while token != _END and len(tokens) < limit:
            first = not tokens
            outputs = self._decoder.run(
                None,
                past | fixed | {"input_ids": np.array([[token]], np.int64), "use_cache_branch": np.array([not first])},
            )
            present = zip(self._present_names, outputs[1:], strict=True)
            past |= {name: value for name, value in present if first or ".decoder." in name}
            token, log_probability = _likeliest(outputs[0][0, -1])
            tokens.append(token)
            total += log_probability
        return tokens, total

    def _to_text(self, tokens: list[int]) -> str:
        raw = b"".join(self._vocabulary[token] for token in tokens if token >= _FIRST_TEXT_TOKEN)
        return raw.decode("utf-8", "ignore").replace(_SPACE, " ").strip()


def _likeliest(logits: npt.NDArray[np.float32]) -> tuple[int, float]:
    """The best token and its log probability."""
    token = int(logits.argmax())
    return token, -float(np.log(np.exp(logits - logits[token]).sum()))


def _load(folder: Path, threads: int) -> _Model:
    try:
        encoder, decoder = (
            open_session(folder / name, threads=threads, shapes_vary=True)
            for name in ("encoder_model.ort", "decoder_model_merged.ort")
        )
        vocabulary = _read_vocabulary((folder / "tokenizer.bin").read_bytes())
        return _Model(encoder, decoder, vocabulary)
    except Exception as error:
        raise GloveVoiceError(
            "ERR_STT_LOAD",
            f"The Moonshine model in {folder} cannot be loaded: {error}",
            "Run 'glove weights verify' and 'glove weights pull'.",
            error,
        ) from error


def _read_vocabulary(data: bytes) -> list[bytes]:
    """The tokens of ``tokenizer.bin``: a length (two bytes, low bits first, if the top bit is set), then bytes."""
    tokens: list[bytes] = []
    at = 0
    while at < len(data):
        length = data[at]
        at += 1
        if length >= 128:
            length = (length & 127) + (data[at] << 7)
            at += 1
        tokens.append(data[at : at + length])
        at += length
    return tokens
