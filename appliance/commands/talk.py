"""``glove talk``: a conversation whose microphone and speaker are files or standard streams."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agents.base.errors import ConfigError, InputError
from appliance.commands.options import ConfigOption
from appliance.streams import STREAM

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig

Pace = Literal["realtime", "fast"]
Engine = Literal["cascade", "openai", "gemini"]


@dataclass(frozen=True)
class TalkOptions:
    """What one conversation hears and where it leaves its records; checked by ``validated``.

    Attributes:
        source: WAV file with the user's side, ``STREAM`` (16 kHz s16le mono), or None if lines are only typed.
        out: stereo WAV (left: user, right: what was played) or ``STREAM`` (24 kHz s16le mono).
        events: JSON lines file, or None for standard error with a live pipe and nowhere otherwise.
        pace: ``realtime``, or ``fast`` on the virtual clock.
        say: typed lines, answered before anything is heard.
        engine: instead of the configured one.
        url: of the engine's provider, instead of the configured one.
    """

    source: Path | None
    out: Path
    events: Path | None = None
    pace: Pace = "realtime"
    say: tuple[str, ...] = ()
    engine: Engine | None = None
    url: str = ""

    @property
    def live(self) -> bool:
        """Whether the user's side comes through a pipe."""
        return self.source == STREAM


def app() -> typer.Typer:
    """The command."""
    command = typer.Typer(add_completion=False)
    command.command()(talk)
    return command


def talk(
    ctx: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="WAV|-", help="Recording of both sides, or - for a pipe.")],
    source: Annotated[
        Path | None,
        typer.Option("--in", metavar="WAV|-", help="What the user says, or - for a live pipe; without it only --say."),
    ] = None,
    events: Annotated[
        Path | None, typer.Option("--events", metavar="JSONL", help="File for one JSON object per event.")
    ] = None,
    pace: Annotated[Pace, typer.Option(help="realtime, or fast on the virtual clock.")] = "realtime",
    say: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A typed line; may be repeated.")] = None,
    engine: Annotated[
        Engine | None, typer.Option(help="What hears, thinks and speaks, instead of engine.kind.")
    ] = None,
    url: Annotated[str, typer.Option(metavar="URL", help="Address of its service, instead of s2s.url.")] = "",
    config: ConfigOption = None,
) -> int:
    """Hold a conversation with a recording or a live pipe.

    The recording is stereo at 24 kHz, aligned to the sample: left what the
    user said, right what was played. A live pipe is 16 kHz s16le mono in and
    24 kHz s16le mono out, with the events on standard error.
    """
    from appliance.commands.options import settings

    options = validated(TalkOptions(source, out, events, pace, tuple(say or ()), engine, url))
    chosen = with_engine(settings(ctx, config).config, options)

    from appliance.commands.conversation import run_talk

    return run_talk(options, rehearsed(chosen) if options.pace == "fast" else chosen)


def with_engine(config: GloveConfig, options: TalkOptions) -> GloveConfig:
    """``config`` with the engine that the options name. Raises ``ConfigError`` if the address is none."""
    from pydantic import ValidationError

    from appliance.config.speech import EngineConfig, S2sConfig

    update: dict[str, object] = {}
    if options.engine is not None:
        update["engine"] = EngineConfig(kind=options.engine)
    if options.url:
        try:
            update["s2s"] = S2sConfig.model_validate({**config.s2s.model_dump(), "url": options.url})
        except ValidationError as fault:
            told = "Name one such as wss://localhost:8000/v1."
            raise ConfigError("ERR_S2S_ADDRESS", "--url is no address.", told, fault) from fault
    return config.model_copy(update=update)


def rehearsed(config: GloveConfig) -> GloveConfig:
    """``config`` for a conversation on the virtual clock: unless a store is named, the user's own stays untouched.

    Raises ``ConfigError`` (``ERR_STT_PACE``) where the recogniser is a running session on a server, which has its own
    pace.
    """
    from appliance.session.services import is_streaming

    if config.engine.kind != "cascade":
        raise ConfigError("ERR_S2S_PACE", "A realtime model has its own pace.", "Leave --pace fast away.")
    if is_streaming(config):
        raise ConfigError("ERR_STT_PACE", f"{config.stt.provider} hears in real time only.", "Leave --pace fast away.")
    if config.store.path != "auto":
        return config
    return config.model_copy(update={"store": config.store.model_copy(update={"path": "memory"})})


def validated(options: TalkOptions) -> TalkOptions:
    """Return ``options`` unchanged if they make sense together and their files can be used.

    Raises:
        InputError: the first problem, naming the option.
    """
    if options.source is None and not options.say:
        raise InputError("ERR_USAGE", "Nothing to hear.", "Name a recording with --in, or type a line with --say.")
    if options.live and options.pace == "fast":
        raise InputError("ERR_USAGE", "A live pipe (--in -) has its own pace.", "Leave --pace fast away.")
    if any(not line.strip() for line in options.say):
        raise InputError("ERR_USAGE", "A line given with --say is empty.")
    if options.events == STREAM:
        raise InputError("ERR_USAGE", "--events needs a file.", "With a live pipe events go to standard error.")
    if options.source is not None and not options.live:
        _check_readable(options.source)
    for name, path in (("--out", options.out), ("--events", options.events)):
        if path is not None and path != STREAM:
            _check_writable(name, path)
    _check_distinct(options)
    return options


def _check_readable(path: Path) -> None:
    if not path.exists():
        raise InputError("ERR_WAV_MISSING", f"There is no recording {path}.")
    if path.is_dir():
        raise InputError("ERR_WAV_MISSING", f"{path} is a folder, not a recording.")
    if not os.access(path, os.R_OK):
        raise InputError("ERR_WAV_MISSING", f"{path} may not be read.", f"Check its permissions: ls -l {path}")


def _check_writable(option: str, path: Path) -> None:
    folder = path.parent
    if path.is_dir():
        raise InputError("ERR_OUTPUT", f"{option}: {path} is a folder.")
    if not folder.is_dir():
        raise InputError("ERR_OUTPUT", f"{option}: the folder {folder} does not exist.", f"mkdir -p {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError("ERR_OUTPUT", f"{option}: {path} may not be written.")


def _check_distinct(options: TalkOptions) -> None:
    """No file may serve twice: writing the recording over the input would lose it."""
    used: dict[Path, str] = {}
    for name, path in (("--in", options.source), ("--out", options.out), ("--events", options.events)):
        if path is None or path == STREAM:
            continue
        other = used.setdefault(path.resolve(), name)
        if other != name:
            raise InputError("ERR_OUTPUT", f"{other} and {name} name the same file {path}.")
