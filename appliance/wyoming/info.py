"""What the Wyoming server says that it offers."""

from __future__ import annotations

from typing import Any

from wyoming.info import (
    AsrModel,
    AsrProgram,
    Attribution,
    HandleModel,
    HandleProgram,
    Info,
    TtsProgram,
    TtsVoice,
    WakeModel,
    WakeProgram,
)

from appliance.wyoming.contract import Lent

NAME = "glove"


def info_of(lent: Lent) -> Info:
    """The answer to ``describe``. The protocol has no entry for voice detection, which is served all the same."""
    common: dict[str, Any] = {
        "attribution": Attribution(name="Glove", url=""),
        "installed": True,
        "version": lent.version,
    }

    def program(what: str) -> dict[str, Any]:
        return {"name": NAME, "description": what, **common}

    info = Info()
    if lent.stt is not None:
        model = AsrModel(**program("Recogniser"), languages=list(lent.stt_languages))
        info.asr = [AsrProgram(**program("Glove speech recognition"), models=[model])]
    voice = TtsVoice(**program("Voice"), languages=list(lent.voice_languages))
    info.tts = [TtsProgram(**program("Glove speech"), voices=[voice], supports_synthesize_streaming=True)]
    if lent.wake_words:
        words = [
            WakeModel(name=name, description=spoken, phrase=spoken, languages=["en"], **common)
            for name in lent.wake_words
            for spoken in (name.replace("_", " "),)
        ]
        info.wake = [WakeProgram(**program("Glove wake words"), models=words)]
    if lent.answer is not None:
        languages = list(dict.fromkeys((*lent.voice_languages, *lent.stt_languages)))
        model = HandleModel(**program("Agent"), languages=languages)
        info.handle = [HandleProgram(**program("Glove agent"), models=[model])]
    return info
