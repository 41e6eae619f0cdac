"""Metrics as JSON lines in a file of bounded size; older lines move to numbered files, and then go."""

from __future__ import annotations

import json
import os
from pathlib import Path

import structlog

from agents.base.clock import wall
from agents.base.errors import ConfigError
from audio.events import Metric

log = structlog.get_logger(__name__)


class MetricsLog:
    """Appends each metric of each room, without a word of what was said.

    A file that would outgrow its limit becomes ``FILE.1``, the one before ``FILE.2`` and so on; the oldest goes. A disk
    that is full loses the lines that do not fit, whole, and nothing else: writing goes on when there is room again.

    Args:
        path: the file; one that is there is gone on with. Only its owner may read a new one.
        limit_bytes: how long it may become.
        kept: how many older files are kept.

    Raises:
        ConfigError: ``ERR_METRICS_FILE``: the file cannot be written.

    Attributes:
        lost: how many lines could not be written.
    """

    def __init__(self, path: Path, limit_bytes: int, kept: int) -> None:
        self.lost = 0
        self._losing = False
        self._path = path
        self._limit_bytes = limit_bytes
        self._kept = kept
        self._file: int | None = None
        self._size = 0
        try:
            self._open()
        except OSError as fault:
            raise ConfigError(
                "ERR_METRICS_FILE", f"{path} cannot be written: {fault.strerror}.", "Change metrics.file.", fault
            ) from fault

    def write_of(self, room: str, metric: Metric) -> None:
        """Append one metric of the room named ``room``, with the time of day (``ts``, UTC)."""
        fields: dict[str, object] = {
            "ts": wall().isoformat(timespec="milliseconds"),
            "roomId": room,
            "name": metric.name,
        }
        if metric.ms is not None:
            fields["ms"] = metric.ms
        if metric.data is not None:
            fields["data"] = metric.data
        line = json.dumps(fields, ensure_ascii=False, default=str).encode(errors="backslashreplace") + b"\n"
        try:
            self._append(line)
        except OSError as fault:
            self._lose(fault)
        else:
            if self._losing:
                log.warning("metrics are written again", file=str(self._path), lost=self.lost)
            self._losing = False

    def close(self) -> None:
        """Close the file; idempotent. Lines that come later open it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, line: bytes) -> None:
        if self._file is not None and self._size and self._size + len(line) > self._limit_bytes:
            self._rotate()
        if self._file is None:
            self._open()
        assert self._file is not None
        written = os.write(self._file, line)
        if written < len(line):
            os.ftruncate(self._file, self._size)  # half a line is worse than none
            raise OSError(f"only {written} of {len(line)} bytes were written")
        self._size += written

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size
        if self._size and os.pread(self._file, 1, self._size - 1) != b"\n":
            self._size += os.write(self._file, b"\n")  # a crash ended the last line early

    def _rotate(self) -> None:
        self.close()
        if not self._kept:
            self._path.unlink(missing_ok=True)
        for number in range(self._kept, 0, -1):
            older, newer = self._numbered(number), self._numbered(number - 1)
            if newer.exists():
                newer.replace(older)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _lose(self, fault: OSError) -> None:
        self.lost += 1
        if not self._losing:
            log.warning("metrics cannot be written", file=str(self._path), error=fault.strerror or str(fault))
        self._losing = True
