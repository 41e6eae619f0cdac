"""Which Whisper this machine can afford: decided once by measuring, remembered until the machine changes."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import structlog

from agents.base.weights import WeightsStore

log = structlog.get_logger(__name__)

WhisperId: TypeAlias = Literal["whisper-tiny.en", "whisper-base"]
"""Ids of the weights of the two models."""

TINY: WhisperId = "whisper-tiny.en"
BASE: WhisperId = "whisper-base"

LONGEST_BASE_MS = 800.0
"""Longest predicted time of the base model on a 3 s utterance.

Recognition begins 200 ms into a silence of which at least 700 ms are waited for anyway, so up to 500 ms cost nothing; a
few hundred more are a fair price for every language but English.
"""

LEAST_CORES = 2
LEAST_MEMORY_MB = 1_700
"""Boards sold as 2 GB report a little less; with 1 GB the base model would push out the rest."""

_BASE_PER_TINY = 2.2
"""Time of base over time of tiny.en for the same work: two to two and a half times on the processors measured."""

_MEASUREMENTS = 3
_FILE = "speech-profile.json"
_VERSION = 2


@dataclass(frozen=True)
class Machine:
    """What a measurement depends on.

    Attributes:
        cpu: name of the processor or board.
        cores: usable by this process.
        memory_mb: of the whole machine.
    """

    cpu: str
    cores: int
    memory_mb: int


@dataclass(frozen=True)
class SttProfile:
    """The chosen model and why.

    Attributes:
        model_id: id of its weights.
        reason: one phrase for people.
        base_ms: predicted milliseconds of the base model for a 3 s utterance; None when nothing was measured.
    """

    model_id: WhisperId
    reason: str
    base_ms: float | None = None


def choose_profile(
    store: WeightsStore,
    *,
    machine: Machine | None = None,
    measure: Callable[[WeightsStore], float] | None = None,
) -> SttProfile:
    """The Whisper model for this machine. Blocking: the first call on a machine loads tiny.en and takes a second.

    The decision is kept beside the weights and made anew when processor, cores or memory differ.

    Args:
        store: where the weights are; tiny.en is fetched if it has to be measured.
        machine: the machine to decide for; this one when None.
        measure: returns seconds of one tiny.en call on a 3 s utterance; really measured when None.

    Raises:
        GloveError: from the store, when tiny.en is needed and cannot be had.
    """
    machine = machine or this_machine()
    file = store.root / _FILE
    if (known := _read(file, machine)) is not None:
        return known
    profile = _decide(store, machine, measure or _time_tiny)
    _write(file, machine, profile)
    return profile


def this_machine() -> Machine:
    """The machine this process runs on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000
    return Machine(_cpu_name(), cores, memory_mb)


def _decide(store: WeightsStore, machine: Machine, measure: Callable[[WeightsStore], float]) -> SttProfile:
    if machine.cores < LEAST_CORES:
        return SttProfile(TINY, f"{machine.cores} core")
    if machine.memory_mb < LEAST_MEMORY_MB:
        return SttProfile(TINY, f"{machine.memory_mb} MB of memory")
    return _judge(round(measure(store) * 1000 * _BASE_PER_TINY, 1))


def _judge(base_ms: float) -> SttProfile:
    return SttProfile(BASE if base_ms <= LONGEST_BASE_MS else TINY, f"base would take {base_ms:.0f} ms", base_ms)


def _time_tiny(store: WeightsStore) -> float:
    """Seconds of tiny.en on one core for a 3 s utterance; the best of a few, because other load only ever adds."""
    from audio.stt.whisper import WhisperStt

    stt = WhisperStt.load(store, TINY, threads=1)
    try:
        stt.time_once()
        return min(stt.time_once() for _ in range(_MEASUREMENTS))
    finally:
        stt.close()


def _cpu_name() -> str:
    """The processor's name; on boards, which have none, the board's."""
    for path, key in ((Path("/proc/cpuinfo"), "model name"), (Path("/proc/cpuinfo"), "model")):
        for line in _lines(path):
            name, _, value = line.partition(":")
            if name.strip().lower() == key and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _read(file: Path, machine: Machine) -> SttProfile | None:
    """The decision by what was measured on ``machine``, if that is remembered. The limits in force judge it anew."""
    try:
        kept = json.loads(file.read_text("utf-8"))
        if kept["version"] != _VERSION or kept["machine"] != asdict(machine):
            return None
        profile = SttProfile(**kept["profile"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if isinstance(profile.base_ms, float | int):
        return _judge(profile.base_ms)
    return None


def _write(file: Path, machine: Machine, profile: SttProfile) -> None:
    kept = {"version": _VERSION, "machine": asdict(machine), "profile": asdict(profile)}
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_name(f"{file.name}.{os.getpid()}")
        scratch.write_text(json.dumps(kept, indent=1), "utf-8")
        scratch.replace(file)
    except OSError as error:
        # Without a place to remember it the decision is made again next time; it is no reason not to start.
        log.warning("the speech profile could not be kept", error=str(error))
