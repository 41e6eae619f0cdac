"""What can be wrong on a machine: one check each, which finds out and says what to do."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agents.base.clock import wall
from agents.base.errors import GloveError

if TYPE_CHECKING:
    from appliance.config.schema import GloveConfig

State = Literal["ok", "warning", "fault"]

SCARCE_BYTES = 200_000_000
"""Less free disk space than this is worth a warning; less than a tenth of it is a fault."""

REACHED_S = 10.0
"""A provider that takes no session within this is not reached."""

BUILT = datetime(2026, 1, 1, tzinfo=UTC)
"""No clock of a machine that runs this program can rightly be before this day."""


@dataclass(frozen=True)
class Finding:
    """What a check found: ``message`` says it in one sentence, ``remedy`` what to do about it (None when ok)."""

    name: str
    state: State
    message: str
    remedy: str | None = None


Check = Callable[["GloveConfig"], Finding]


def sound(config: GloveConfig) -> Finding:
    """Whether the configured microphone and speaker are there."""
    from audio.io.inventory import choose_device, list_devices

    if not config.device.enabled:
        return Finding("sound", "ok", "Switched off (device.enabled); the page alone is used.")
    try:
        found = list_devices()
    except GloveError as fault:
        return Finding("sound", "fault", fault.message, fault.remedy)
    missing = [
        what
        for what, chosen in (
            ("microphone", choose_device(found, config.device.input, "input")),
            ("speaker", choose_device(found, config.device.output, "output")),
        )
        if chosen is None
    ]
    if missing:
        remedy = "Connect one, or name it (device.input, device.output); it is used as soon as it appears."
        return Finding("sound", "warning", f"There is no {' and no '.join(missing)}.", remedy)
    return Finding("sound", "ok", f"{len(found)} sound devices.")


def weights(config: GloveConfig) -> Finding:
    """Whether the model weights are here."""
    from appliance.session.stock import needed_weights, weights_store

    store = weights_store(config)
    missing = [entry for entry in needed_weights(config) if store.status(entry).state != "present"]
    if missing:
        return Finding("weights", "fault", f"Weights are missing: {', '.join(missing)}.", "glove weights pull")
    return Finding("weights", "ok", f"All weights are in {store.root}.")


def store(config: GloveConfig) -> Finding:
    """Whether conversations can be kept."""
    from appliance.session.mind import store_path

    path = store_path(config)
    if path is None:
        return Finding("store", "ok", "In memory: nothing outlives the process.")
    try:
        if path.exists():
            with closing(sqlite3.connect(path, isolation_level=None, timeout=5.0)) as trial:
                trial.execute("BEGIN IMMEDIATE")
                trial.execute("ROLLBACK")
        else:
            with tempfile.TemporaryFile(dir=_existing(path.parent)):
                pass
    except (OSError, sqlite3.Error) as fault:
        remedy = "Check the owner and the permissions of the file and its folder."
        return Finding("store", "fault", f"{path} cannot be written: {fault}.", remedy)
    return Finding("store", "ok", f"Conversations are kept in {path}.")


def disk(config: GloveConfig) -> Finding:
    """Whether there is room for conversations."""
    from appliance.session.mind import store_path

    path = store_path(config)
    if path is None:
        return Finding("disk", "ok", "Not needed.")
    free = shutil.disk_usage(_existing(path.parent)).free
    message = f"{free / 1e6:,.0f} MB free where conversations are kept."
    if free < SCARCE_BYTES:
        state: State = "fault" if free < SCARCE_BYTES / 10 else "warning"
        return Finding("disk", state, message, "Free some disk space.")
    return Finding("disk", "ok", message)


def port(config: GloveConfig) -> Finding:
    """Whether the page's port can be had."""
    from appliance.daemon.instance import running_pid, runtime_folder

    page = config.page
    if not page.enabled:
        return Finding("port", "ok", "The page is switched off (page.enabled).")
    pid = running_pid(runtime_folder())
    try:
        family, _, _, _, address = socket.getaddrinfo(page.host, page.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as fault:
        if pid is not None:
            return Finding("port", "ok", f"Port {page.port} is in use while the appliance runs (process {pid}).")
        reason = fault.strerror or str(fault)
        return Finding(
            "port", "fault", f"{page.host}:{page.port} cannot be had: {reason}.", "Set page.port to another."
        )
    return Finding("port", "ok", f"{page.host}:{page.port} is free.")


def model(config: GloveConfig) -> Finding:
    """Whether questions beyond the built-in abilities can be answered."""
    from appliance.session.mind import build_model, provider_in_force
    from appliance.session.offers import offers

    provider = provider_in_force(config)
    if provider == "none":
        remedy = " ".join(asyncio.run(offers(config))) or "Optional: set ANTHROPIC_API_KEY, or [model] in glove.toml."
        return Finding("model", "ok", "No language model: the built-in abilities answer.", remedy)
    try:
        build_model(config, provider)
    except GloveError as fault:
        return Finding("model", "fault", fault.message, fault.remedy)
    return Finding("model", "ok", f"Provider {provider}.")


def speech(config: GloveConfig) -> Finding:
    """Whether the services that hear and speak can be asked; nobody is asked yet."""
    from appliance.session.services import segment_recogniser, service_voices, stream_recogniser
    from audio.tts.espeak import EspeakVoice

    try:
        if config.stt.provider != "local" and stream_recogniser(config, None) is None:
            segment_recogniser(config, None)
        service_voices(config, EspeakVoice)
    except GloveError as fault:
        return Finding("speech", "fault", fault.message, fault.remedy)
    hears, speaks = config.stt.provider, config.tts.provider
    if hears == speaks == "local":
        return Finding("speech", "ok", "Recognised and spoken on this machine.")
    names = [f"by {name}" if name != "local" else "on this machine" for name in (hears, speaks)]
    return Finding("speech", "ok", f"Recognised {names[0]}, spoken {names[1]}.")


def engine(config: GloveConfig) -> Finding:
    """Whether the realtime model takes a session; nothing is said in it."""
    kind = config.engine.kind
    if kind == "cascade":
        return Finding("engine", "ok", "Hears, thinks and speaks in steps.")
    from appliance.session.realtime_engine import open_once
    from realtime.s2s.contract import S2SError

    try:
        asyncio.run(open_once(config, REACHED_S))
    except S2SError as fault:
        state: State = "fault" if fault.lasting else "warning"
        return Finding("engine", state, f"{fault.message} Until it does, the cascade answers.", fault.remedy)
    except GloveError as fault:
        return Finding("engine", "fault", fault.message, fault.remedy)
    return Finding("engine", "ok", f"{config.s2s.url or kind} takes a session.")


def runtime(config: GloveConfig) -> Finding:
    """Whether commands can reach a running daemon."""
    from appliance.daemon.instance import ready_folder, running_pid, runtime_folder

    try:
        folder = ready_folder(runtime_folder())
    except GloveError as fault:
        return Finding("runtime", "fault", fault.message, fault.remedy)
    pid = running_pid(folder)
    return Finding(
        "runtime", "ok", f"{folder}: " + (f"runs as process {pid}." if pid else "the appliance is not running.")
    )


def clock(config: GloveConfig) -> Finding:
    """Whether the date is plausible."""
    if wall() < BUILT:
        remedy = "Set the clock, or enable time synchronisation (timedatectl set-ntp true)."
        return Finding("clock", "warning", f"The clock says {wall():%Y-%m-%d}, which is in the past.", remedy)
    return Finding("clock", "ok", f"The clock says {wall():%Y-%m-%d %H:%M} UTC.")


CHECKS: tuple[Check, ...] = (sound, weights, store, disk, port, model, speech, engine, runtime, clock)


def examine(config: GloveConfig, checks: tuple[Check, ...] = CHECKS) -> list[Finding]:
    """Run every check; one that fails itself is a finding too."""
    findings: list[Finding] = []
    for check in checks:
        try:
            findings.append(check(config))
        except Exception as fault:  # noqa: BLE001 - a doctor that falls ill says so and goes on
            findings.append(Finding(check.__name__, "fault", f"The check failed: {fault!r}.", None))
    return findings


def _existing(folder: Path) -> Path:
    """``folder`` or its nearest parent that exists."""
    return next(place for place in (folder, *folder.parents) if place.exists())
