"""Whisper on CTranslate2: the recogniser of finished utterances.

Two things make it fast enough for a conversation on a small processor. The encoder sees the utterance with a few
seconds of silence behind it instead of Whisper's fixed 30 s (its cost grows with the length), and the search is greedy.
A context of less than 10 s, or less than 5 s of silence, makes the model repeat itself; hence
``max(10 s, length + 5 s)``. When a text still repeats itself or is very unlikely, it is recognised once more with twice
the context: 20 s cure what 30 s cure, at a third of the time. The thresholds are those of Whisper's own decoding
(Radford et al. 2022, section 4.5).
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.base.clock import process_cpu_seconds
from agents.base.errors import GloveVoiceError
from agents.base.weights import WeightsStore
from audio.pcm import CAPTURE_RATE_HZ, Floats, Pcm, pcm_to_float
from audio.stt.base import SegmentStt, Transcript
from audio.stt.pieces import join_texts, split_at_quiet

_FULL_CONTEXT_S = 30.0
_LEAST_CONTEXT_S = 10.0
_TAIL_CONTEXT_S = 5.0
_FRAME_SAMPLES = 160
_FRAMES_PER_S = CAPTURE_RATE_HZ // _FRAME_SAMPLES

_SHORTEST_S = 0.1
_LONGEST_PIECE_S = 28.0
_SHORT_FOR_LANGUAGE_S = 1.0
_SURE_OF_LANGUAGE = 0.7

_REPEATS = 2.4
_UNLIKELY = -1.0
_NO_SPEECH = 0.6

_MOST_TOKENS = 448
_BASE_TOKENS = 16
_TOKENS_PER_S = 12
_TIMED_TOKENS = 16


class WhisperStt(SegmentStt):
    """Recognises whole utterances with a Whisper model; English only or multilingual, as the model is.

    Safe to call from several threads; CTranslate2 runs the calls one after another.

    Args:
        folder: a CTranslate2 Whisper model: ``model.bin``, ``config.json``, ``tokenizer.json``, ``vocabulary.txt``.
        threads: of one call; 1 or 2 is best on small machines.
        primary: language assumed unless another is certain (probability of 0.7 or more in at least 1 s of audio).
        languages: the languages that may be found by themselves; all when None.
        language: fix the language for all calls; None lets each call find it.
        pad_s: silence put behind each utterance, so that a cut right at the last sound costs no word.
        cost_s: declared duration of a call on the virtual clock.

    Raises:
        GloveVoiceError: ``ERR_STT_LOAD`` when the folder holds no usable model.
    """

    max_seconds = _FULL_CONTEXT_S

    def __init__(
        self,
        folder: Path,
        *,
        threads: int | None = None,
        primary: str = "en",
        languages: Sequence[str] | None = None,
        language: str | None = None,
        pad_s: float = 0.5,
        cost_s: float = 0.25,
    ) -> None:
        self.cost_s = cost_s
        self.pad_s = pad_s
        self.threads = threads or min(2, os.cpu_count() or 1)
        self._model: Any = _load_model(folder, self.threads)
        self._text = _WhisperText(folder, bool(self._model.is_multilingual))
        self._features = _Features(int(self._model.n_mels))
        self._primary = self._text.checked_language(primary)
        self._fixed = None if language is None else self._text.checked_language(language)
        self._languages = None if languages is None else {self._text.checked_language(tag) for tag in languages}

    @classmethod
    def load(
        cls,
        store: WeightsStore,
        model_id: str = "whisper-base",
        *,
        threads: int | None = None,
        primary: str = "en",
        languages: Sequence[str] | None = None,
        language: str | None = None,
        pad_s: float = 0.5,
    ) -> WhisperStt:
        """Load ``whisper-base`` or ``whisper-tiny.en`` from ``store``, fetching it if need be.

        Raises:
            GloveError: from the store (``ERR_WEIGHTS_…``).
            GloveVoiceError: ``ERR_STT_LOAD``, ``ERR_STT_LANGUAGE``.
        """
        return cls(
            store.ensure(model_id),
            threads=threads,
            primary=primary,
            languages=languages,
            language=language,
            pad_s=pad_s,
            cost_s=0.12 if model_id == "whisper-tiny.en" else 0.25,
        )

    @property
    def is_multilingual(self) -> bool:
        """Whether the model knows other languages than English."""
        return self._text.is_multilingual

    def transcribe(self, pcm: Pcm, language: str | None = None) -> Transcript:
        """Transcribe 16 kHz PCM of any length.

        Args:
            pcm: anything from nothing to hours; longer than the model's window it is cut at quiet places.
            language: BCP-47 tag; None takes the fixed language, else finds it. Ignored by English-only models.

        Raises:
            GloveVoiceError: ``ERR_STT_LANGUAGE``, ``ERR_STT_CLOSED``, ``ERR_STT_FAILED``.
        """
        if self._model is None:
            raise GloveVoiceError("ERR_STT_CLOSED", "The recogniser is closed.")
        chosen = self._fixed if language is None else self._text.checked_language(language)
        if pcm.size < _SHORTEST_S * CAPTURE_RATE_HZ or not pcm.any():
            return Transcript("", chosen or self._primary, None, 1.0)
        heard: list[_Heard] = []
        for piece in split_at_quiet(pcm, round(_LONGEST_PIECE_S * CAPTURE_RATE_HZ)):
            heard.append(self._transcribe_piece(piece, chosen))
            if heard[-1].text:
                chosen = heard[-1].language
        return _joined(heard)

    def time_once(self) -> float:
        """Processor seconds of the work of a typical 3 s utterance; it is the same amount of work each time.

        With one thread this is the time it takes on an idle machine, however busy this one is at the moment.
        """
        started = process_cpu_seconds()
        encoded = self._encode(np.zeros(3 * CAPTURE_RATE_HZ, np.float32), _LEAST_CONTEXT_S)
        prompt = self._text.prompt(self._primary)
        self._model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=len(prompt) + _TIMED_TOKENS,
            suppress_blank=False,
            suppress_tokens=[self._text.end_of_text],
        )
        return process_cpu_seconds() - started

    def close(self) -> None:
        """Release the model; calls under way finish. Idempotent."""
        self._model = None

    def _transcribe_piece(self, pcm: Pcm, language: str | None) -> _Heard:
        x = pcm_to_float(pcm)
        seconds = x.size / CAPTURE_RATE_HZ
        context_s = min(_FULL_CONTEXT_S, max(_LEAST_CONTEXT_S, seconds + max(_TAIL_CONTEXT_S, self.pad_s)))
        try:
            encoded = self._encode(x, context_s)
            if language is None:
                language = self._find_language(encoded, seconds)
            heard = self._decode(encoded, language, seconds)
            if heard.is_doubtful and not heard.is_silence and context_s < _FULL_CONTEXT_S:
                wider = self._encode(x, min(_FULL_CONTEXT_S, 2 * context_s))
                again = self._decode(wider, language, seconds)
                heard = max(heard, again, key=lambda attempt: (not attempt.repeats, attempt.score))
        except RuntimeError as error:
            raise GloveVoiceError("ERR_STT_FAILED", f"Whisper failed: {error}", cause=error) from error
        return _Heard("", heard.language, heard.score, heard.no_speech) if heard.is_silence else heard

    def _encode(self, x: Floats, context_s: float) -> Any:
        """The encoder's output for ``x`` followed by silence up to ``context_s``; stays inside CTranslate2."""
        import ctranslate2

        frames = 2 * math.ceil(context_s * _FRAMES_PER_S / 2)
        return self._model.encode(ctranslate2.StorageView.from_array(self._features(x, frames)))

    def _find_language(self, encoded: Any, seconds: float) -> str:
        """The primary language, unless another allowed one is certain in audio long enough to tell."""
        if not self.is_multilingual or seconds < _SHORT_FOR_LANGUAGE_S:
            return self._primary
        ranked = [(token.strip("<|>"), probability) for token, probability in self._model.detect_language(encoded)[0]]
        for language, probability in ranked:
            if self._languages is None or language in self._languages:
                return language if probability >= _SURE_OF_LANGUAGE else self._primary
        return self._primary

    def _decode(self, encoded: Any, language: str, seconds: float) -> _Heard:
        prompt = self._text.prompt(language)
        result = self._model.generate(
            encoded,
            [prompt],
            beam_size=1,
            max_length=min(_MOST_TOKENS, len(prompt) + _BASE_TOKENS + round(seconds * _TOKENS_PER_S)),
            return_scores=True,
            return_no_speech_prob=True,
        )[0]
        text = self._text.decode(result.sequences_ids[0])
        return _Heard(text, language, float(result.scores[0]), float(result.no_speech_prob))


@dataclass(frozen=True)
class _Heard:
    """One attempt at one piece."""

    text: str
    language: str
    score: float
    no_speech: float

    @property
    def repeats(self) -> bool:
        """Whether the text compresses as only text that goes in circles does."""
        from faster_whisper.transcribe import get_compression_ratio

        return bool(self.text) and float(get_compression_ratio(self.text)) > _REPEATS

    @property
    def is_doubtful(self) -> bool:
        """Whether another attempt is worth its time."""
        return self.repeats or self.score < _UNLIKELY

    @property
    def is_silence(self) -> bool:
        """Whether the model itself believes that nobody spoke."""
        return self.no_speech > _NO_SPEECH and self.score < _UNLIKELY


def _joined(heard: list[_Heard]) -> Transcript:
    """One transcript of consecutive pieces; the score is the mean weighted by length of text."""
    spoken = [piece for piece in heard if piece.text]
    if not spoken:
        return Transcript("", heard[0].language, heard[0].score, max(piece.no_speech for piece in heard))
    language = spoken[0].language
    weight = sum(len(piece.text) for piece in spoken)
    score = sum(piece.score * len(piece.text) for piece in spoken) / weight
    text = join_texts([piece.text for piece in spoken], language)
    return Transcript(text, language, score, min(piece.no_speech for piece in spoken))


class _Features:
    """Whisper's log-mel spectrogram, by faster-whisper's extractor, of sound followed by silence.

    The extractor only sees the sound: in a spectrogram normalised to the loudest cell, silence has one known value.
    """

    _WINDOW_SAMPLES = 400
    _FLOOR = -10.0
    _RANGE = 8.0

    def __init__(self, mels: int) -> None:
        from faster_whisper.feature_extractor import FeatureExtractor

        self._extract: Any = FeatureExtractor(feature_size=mels)
        self._mels = mels

    def __call__(self, x: Floats, frames: int) -> npt.NDArray[np.float32]:
        """The spectrogram of ``x`` and silence, shape (1, mels, frames), C-contiguous."""
        sounding = min(frames, math.ceil((x.size + self._WINDOW_SAMPLES) / _FRAME_SAMPLES))
        waveform = np.zeros(sounding * _FRAME_SAMPLES, np.float32)
        waveform[: x.size] = x[: waveform.size]
        spectrum: npt.NDArray[np.float32] = self._extract(waveform, padding=0)
        loudest = float(spectrum.max()) * 4.0 - 4.0
        quiet = (max(self._FLOOR, loudest - self._RANGE) + 4.0) / 4.0
        features = np.full((1, self._mels, frames), quiet, np.float32)
        features[0, :, :sounding] = spectrum
        return features


class _WhisperText:
    """Prompts and texts of one model, by faster-whisper's tokenizer."""

    def __init__(self, folder: Path, is_multilingual: bool) -> None:
        from tokenizers import Tokenizer as TokenizerFile

        self.is_multilingual = is_multilingual
        try:
            self._file: Any = TokenizerFile.from_file(str(folder / "tokenizer.json"))
        except Exception as error:
            raise _load_error(folder, error) from error
        self._prompts: dict[str, list[int]] = {}
        self.end_of_text = int(self._tokenizer("en").eot)

    def _tokenizer(self, language: str) -> Any:
        from faster_whisper.tokenizer import Tokenizer

        return Tokenizer(self._file, self.is_multilingual, task="transcribe", language=language)

    def checked_language(self, tag: str) -> str:
        """The primary subtag of a BCP-47 tag. Raises ``GloveVoiceError`` (``ERR_STT_LANGUAGE``) if it is not known."""
        if not self.is_multilingual:
            return "en"
        primary = tag.replace("_", "-").split("-")[0].lower()
        if self._file.token_to_id(f"<|{primary}|>") is None:
            raise GloveVoiceError(
                "ERR_STT_LANGUAGE",
                f"Whisper does not know the language {tag!r}.",
                "Use a language tag such as 'en', 'de' or 'pt-BR'.",
            )
        return primary

    def prompt(self, language: str) -> list[int]:
        """The tokens that make the model transcribe ``language`` without timestamps."""
        if language not in self._prompts:
            tokenizer = self._tokenizer(language)
            self._prompts[language] = [*tokenizer.sot_sequence, tokenizer.no_timestamps]
        return self._prompts[language]

    def decode(self, tokens: list[int]) -> str:
        """Text of ``tokens`` without special ones, trimmed."""
        return str(self._file.decode([token for token in tokens if token < self.end_of_text])).strip()


def _load_model(folder: Path, threads: int) -> Any:
    import ctranslate2

    try:
        return ctranslate2.models.Whisper(
            str(folder), device="cpu", compute_type="int8", intra_threads=threads, inter_threads=1
        )
    except (RuntimeError, ValueError) as error:
        raise _load_error(folder, error) from error


def _load_error(folder: Path, error: Exception) -> GloveVoiceError:
    return GloveVoiceError(
        "ERR_STT_LOAD",
        f"The Whisper model in {folder} cannot be loaded: {error}",
        "Run 'glove weights verify' and 'glove weights pull'.",
        error,
    )
