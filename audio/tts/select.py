"""Which voice speaks which language."""

from __future__ import annotations

import structlog

from agents.base.errors import GloveVoiceError
from audio.tts.base import TtsAdapter, TtsEvent
from audio.tts.espeak import EspeakVoice
from audio.tts.hibari import HibariVoice

log = structlog.get_logger(__name__)


class VoiceSelector:
    """The voices of the device as a ``TtsFactory``: English by hibari, everything else by espeak-ng.

    Nothing is loaded before the first voice opens or ``warm`` is called. If hibari cannot be loaded, espeak-ng speaks
    English too; ``failures`` then says why.
    """

    def __init__(self) -> None:
        self.failures: dict[str, GloveVoiceError] = {}

    def __call__(self, language: str) -> TtsAdapter:
        """A fresh voice for ``language`` (BCP-47). Raises ``ConfigError`` (``ERR_TTS_VOICE``) if it is no tag."""
        if language.split("-")[0].lower() != "en" or "hibari" in self.failures:
            return EspeakVoice(language)
        return _EnglishVoice(self, language)

    async def warm(self, language: str = "en") -> None:
        """Load what ``language`` needs and say one word to nobody, so that the first reply does not wait.

        Raises ``GloveVoiceError`` (``ERR_TTS_CONNECTION``, ``ERR_TTS_SYNTHESIS``) if the language cannot be spoken.
        """
        voice = self(language)
        try:
            await voice.open()
            if isinstance(voice, _EnglishVoice):
                await voice.warm()
        finally:
            await voice.destroy()

    def record_failure(self, engine: str, fault: GloveVoiceError) -> None:
        """Remember that ``engine`` cannot be used."""
        log.error("voice not usable", engine=engine, code=fault.code, error=fault.message, remedy=fault.remedy)
        self.failures[engine] = fault


class _EnglishVoice(TtsAdapter):
    """Hibari, or espeak-ng if hibari cannot be loaded; which of them is known once it is open."""

    def __init__(self, selector: VoiceSelector, language: str) -> None:
        super().__init__()
        self._selector = selector
        self._language = language
        self._destroyed = False
        self._waiting: list[str] = []
        self._flushed = False
        self._voice: HibariVoice | EspeakVoice = HibariVoice()
        self._voice.events.on(TtsEvent, self.events.emit)

    @property
    def sample_rate_hz(self) -> int:
        """Rate of the voice that speaks; hibari's until ``open`` has finished."""
        return self._voice.sample_rate_hz

    @property
    def is_ready(self) -> bool:
        """Whether ``open`` has finished and the voice is not destroyed."""
        return self._voice.is_ready

    async def open(self) -> None:
        """Open hibari, else espeak-ng. Raises the failure of espeak-ng if neither can be opened."""
        try:
            await self._voice.open()
        except GloveVoiceError as fault:
            self._selector.record_failure("hibari", fault)
            self._voice = EspeakVoice(self._language)
            self._voice.events.on(TtsEvent, self.events.emit)
            await self._voice.open()
        if self._destroyed:
            await self._voice.destroy()
            return
        for text in self._waiting:
            self._voice.send_text(text)
        self._waiting.clear()
        if self._flushed:
            self._voice.flush()

    async def warm(self) -> None:
        """Synthesise one word and drop it."""
        await self._voice.render("Ready.")

    def send_text(self, text: str, *, flush: bool = False) -> None:
        """See ``SentenceTts.send_text``."""
        if self._destroyed:
            return
        if self._voice.is_ready:
            self._voice.send_text(text, flush=flush)
        elif self._flushed:
            raise RuntimeError("text was sent to a voice after its flush")
        else:
            self._waiting.append(text)

    def flush(self) -> None:
        """No more text will come."""
        self._flushed = True
        if self._voice.is_ready:
            self._voice.flush()

    async def destroy(self) -> None:
        """Drop everything now; idempotent."""
        self._destroyed = True
        self._waiting.clear()
        await self._voice.destroy()
