"""``glove listen``: writes down what is said in WAV files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.base.errors import ConfigError, InputError
from appliance.commands.options import ConfigOption, settings

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig
    from audio.stt.base import SegmentStt


@dataclass(frozen=True)
class Passage:
    """What was said between two pauses. Times in seconds from the beginning; ``language`` is a BCP-47 primary tag."""

    start: float
    end: float
    text: str
    language: str


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(listen)
    return command


def listen(
    ctx: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="WAV...", help="Recordings.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per recording, with times.")] = False,
    config: ConfigOption = None,
) -> int:
    """Write down what is said in WAV files, one line each (silence gives an empty line).

    A recording that cannot be read is named on standard error and the others
    are still written down; the exit code is then 2.
    """
    from appliance.commands import exits
    from appliance.session.parts import build_recogniser
    from audio.io.wavfile import read_wav

    loaded = settings(ctx, config)
    stt: SegmentStt | None = None
    unusable = 0
    for file in files:
        try:
            # A file that cannot be read is reported before a model is loaded for it.
            read_wav(file).close()
            stt = stt or build_recogniser(loaded.config)
            if stt is None:
                raise ConfigError(
                    "ERR_STT_NO_SEGMENTS",
                    f"{loaded.config.stt.provider} recognises only what is said live.",
                    'Set stt.fallback = "local", or stt.provider to another.',
                )
            passages = passages_of(file, stt, loaded.config)
        except InputError as fault:
            unusable += 1
            exits.say_error(str(fault))
            continue
        print(_as_json(file, passages) if as_json else _as_line(file, passages, named=len(files) > 1))  # noqa: T201
    return exits.BAD_INPUT if unusable else exits.OK


def passages_of(file: Path, stt: SegmentStt, config: GloveConfig) -> list[Passage]:
    """Everything said in ``file``, pause by pause.

    Raises:
        InputError: the file is no usable WAV file.
        GloveVoiceError: the recogniser failed.
    """
    from appliance.commands import exits
    from appliance.commands.stretches import stretches
    from appliance.session.parts import build_vad
    from audio.io.wavfile import read_wav
    from audio.pcm import CAPTURE_RATE_HZ

    vad = build_vad(config)
    passages: list[Passage] = []
    try:
        with read_wav(file) as audio:
            for stretch in stretches(audio.blocks(CAPTURE_RATE_HZ), vad, config.turns.preroll_ms):
                heard = stt.transcribe(stretch.pcm, config.speech.fixed_language)
                if heard.text:
                    start, end = round(stretch.start_s, 2), round(stretch.end_s, 2)
                    passages.append(Passage(start, end, heard.text, heard.language))
            if audio.truncated:
                exits.say_error(f"{file} holds less than its header promises; what is there was written down.")
    finally:
        vad.close()
    return passages


def _text(passages: list[Passage]) -> str:
    return " ".join(passage.text for passage in passages)


def _as_line(file: Path, passages: list[Passage], *, named: bool) -> str:
    return f"{file}: {_text(passages)}" if named else _text(passages)


def _as_json(file: Path, passages: list[Passage]) -> str:
    segments = [vars(passage) for passage in passages]
    return json.dumps({"file": str(file), "text": _text(passages), "segments": segments}, ensure_ascii=False)
