"""Live pipes: 16 kHz s16le from a file descriptor, 24 kHz s16le to another."""

from __future__ import annotations

import os
import threading
from collections import deque

import structlog

from agents.base.errors import GloveError
from audio.pcm import FRAME_SAMPLES, ByteJoiner, FrameCutter, Pcm, silence, wire_bytes

log = structlog.get_logger(__name__)

READ_BYTES = 4096
AHEAD_FRAMES = 200
"""How far a reader may run ahead of real time (2 s) before the writer at the other end has to wait."""

LATE_TICKS = 10
"""A microphone that is this many ticks (100 ms) late has a gap, which is heard as silence."""


class PipeSource:
    """PCM from a file descriptor, read by a thread of its own; gaps become silence, the end of the pipe the end.

    Args:
        fd: readable descriptor with 16 kHz, mono, signed 16-bit little-endian samples.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._frames: deque[Pcm] = deque()
        self._space = threading.Condition()
        self._ended = False
        self._closed = False
        self._missing = 0
        self.gaps = 0
        self._thread = threading.Thread(target=self._read, name="pipe-source", daemon=True)
        self._thread.start()

    def frame(self) -> Pcm | None:
        """See ``audio.io.pump.Source``. A frame that is merely late is made up for by the next calls."""
        with self._space:
            if self._frames:
                self._space.notify()
                self._missing = 0
                return self._frames.popleft()
            if self._ended:
                return None
        self._missing += 1
        if self._missing == LATE_TICKS:
            self.gaps += 1
        return silence(FRAME_SAMPLES)

    def close(self) -> None:
        """See ``audio.io.pump.Source``. The descriptor belongs to the caller."""
        with self._space:
            self._closed = True
            self._space.notify()

    def _read(self) -> None:
        joiner, cutter = ByteJoiner(), FrameCutter()
        while True:
            try:
                data = os.read(self._fd, READ_BYTES)
            except OSError as fault:
                log.warning("the input pipe failed", error=str(fault))
                data = b""
            frames = cutter.push(joiner.push(data)) if data else []
            rest = None if data else cutter.flush()
            with self._space:
                self._frames.extend(frames if rest is None else [rest])
                if not data:
                    self._ended = True
                    return
                while len(self._frames) > AHEAD_FRAMES and not self._closed:
                    self._space.wait()
                if self._closed:
                    return


class PipeSink:
    """The agent's sound to a file descriptor as signed 16-bit little-endian samples, written as it is played.

    Args:
        fd: writable descriptor.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting: deque[bytes] = deque(maxlen=500)
        self._ready = threading.Condition()
        self._closed = False
        self._fault: OSError | None = None
        self.dropped = 0
        self._thread = threading.Thread(target=self._write, name="pipe-sink", daemon=True)
        self._thread.start()

    def write(self, played: Pcm, user: Pcm | None) -> None:
        """See ``audio.io.pump.Sink``. A reader more than five seconds late loses the oldest sound, which is counted.

        Raises:
            GloveError: ``ERR_PIPE_CLOSED`` when the reader has gone.
        """
        with self._ready:
            if self._fault is not None:
                raise GloveError("ERR_PIPE_CLOSED", "The reader of the sound has gone.", cause=self._fault)
            self.dropped += len(self._waiting) == self._waiting.maxlen
            self._waiting.append(wire_bytes(played))
            self._ready.notify()

    def close(self) -> None:
        """See ``audio.io.pump.Sink``. Waits at most a second for the reader."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._thread.join(timeout=1.0)

    def _write(self) -> None:
        while True:
            with self._ready:
                while not self._waiting and not self._closed:
                    self._ready.wait()
                if not self._waiting:
                    return
                data = self._waiting.popleft()
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(self._fd, view) :]
            except OSError as fault:
                with self._ready:
                    self._fault = fault
                    self._waiting.clear()
                return
