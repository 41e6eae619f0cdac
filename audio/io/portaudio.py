"""PortAudio, through sounddevice: the sound system of real devices.

What it does when devices misbehave was found by trying: a stream whose device has gone may end with a callback, or just
fall silent, or stop calling; ``stop`` may hang for ever where ``abort`` returns at once; and devices that come later
are seen only after the library has been started anew, which ends every stream of the process.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import structlog

from agents.base.errors import GloveVoiceError
from audio.io.backend import DeviceInfo, Direction, OnEnded, OnInput, OnOutput, SoundBackend, SoundStream
from audio.io.priority import prefer_this_thread
from audio.io.pulse import Origin, Source, SourceWatch
from audio.pcm import FRAME_MS, Pcm
from audio.resample import StreamResampler

log = structlog.get_logger(__name__)

_library = threading.RLock()
"""PortAudio is one per process, and not to be called from two threads at once."""

ALSA_STATE = (Path("/proc/asound/cards"), Path("/dev/snd"))


class PortAudioBackend(SoundBackend):
    """Sound devices through PortAudio (on Linux: ALSA, and what stands behind its ``default`` and ``pulse``)."""

    def __init__(self) -> None:
        self._seen = _fingerprint()
        self._open_streams: WeakSet[_PortAudioStream] = WeakSet()

    def devices(self) -> Sequence[DeviceInfo]:
        """See ``SoundBackend``."""
        sd = _sounddevice()
        with _library:
            apis: Sequence[Any] = sd.query_hostapis()
            return [_describe(device, apis) for device in sd.query_devices()]

    def open_input(
        self, device: DeviceInfo, rate_hz: int, latency_s: float, on_input: OnInput, on_ended: OnEnded
    ) -> SoundStream:
        """See ``SoundBackend``. Falls back to two channels, of which the louder counts, and to the device's rate."""
        return self._open(_InputStream, device, "input", rate_hz, latency_s, on_input, on_ended)

    def open_output(
        self, device: DeviceInfo, rate_hz: int, latency_s: float, on_output: OnOutput, on_ended: OnEnded
    ) -> SoundStream:
        """See ``SoundBackend``. A device that refuses ``rate_hz`` is played at its own rate, resampled here."""
        return self._open(_OutputStream, device, "output", rate_hz, latency_s, on_output, on_ended)

    def reinitialise(self) -> None:
        """See ``SoundBackend``. There is no public way; these two calls are what the module does at import and exit."""
        sd = _sounddevice()
        self._seen = _fingerprint()
        with _library:
            for stream in list(self._open_streams):
                stream.close()
            sd._terminate()
            sd._initialize()

    def changed(self) -> bool:
        """See ``SoundBackend``: cards and device nodes of ALSA, and the socket of a PulseAudio server."""
        return _fingerprint() != self._seen

    def _open(
        self,
        make: Callable[..., _PortAudioStream],
        device: DeviceInfo,
        direction: Direction,
        rate_hz: int,
        latency_s: float,
        callback: Any,
        on_ended: OnEnded,
    ) -> SoundStream:
        sd = _sounddevice()
        fault: Exception | None = None
        with _library:
            for rate, channels in _formats(device, direction, rate_hz):
                try:
                    stream = make(sd, device.index, rate, channels, latency_s, callback, on_ended, rate_hz)
                except (sd.PortAudioError, ValueError) as refused:
                    fault = refused
                    continue
                self._open_streams.add(stream)
                return stream
        what, code, key = ("microphone", "ERR_MIC_UNAVAILABLE", "input")
        if direction == "output":
            what, code, key = ("speaker", "ERR_SPEAKER_UNAVAILABLE", "output")
        # What PortAudio says of it is its number and its own function, which helps nobody but us.
        log.info("PortAudio refuses a device", direction=direction, device=device.name, fault=str(fault))
        remedy = (
            "See whether it is plugged in and whether another program holds it, or choose another one: `glove devices` "
            f"lists them, `{key}` under `[device]` in glove.toml names one. It is tried again all the time."
        )
        raise GloveVoiceError(
            code,
            f"The {what} {device.name!r} cannot be opened.",
            remedy,
            fault,
        )


class _PortAudioStream(SoundStream):
    """What both directions share. Subclasses set ``_stream`` and start it."""

    _stream: Any
    _closed = False
    _suspended = False

    @property
    def active(self) -> bool:
        # Never asked after the end, nor while the library works: it would look at memory that it has given back.
        if self._suspended or not _library.acquire(blocking=False):
            return not self._closed
        try:
            return not self._closed and bool(self._stream.active)
        finally:
            _library.release()

    def close(self) -> None:
        with _library:
            if self._closed:
                return
            self._closed = True
            self._stream.abort(ignore_errors=True)
            self._stream.close(ignore_errors=True)

    def suspend(self) -> None:
        with _library:
            if not self._closed and not self._suspended:
                self._suspended = True
                self._change(self._stream.abort)

    def resume(self) -> None:
        with _library:
            if not self._closed and self._suspended:
                self._change(self._stream.start)
                self._suspended = False

    def _change(self, change: Callable[[], None]) -> None:
        try:
            change()
        except _sounddevice().PortAudioError as fault:
            raise GloveVoiceError(
                "ERR_AUDIO_DEVICE", f"A sound stream does not stop or start: {fault}.", cause=fault
            ) from fault

    def _told_end(self, on_ended: OnEnded) -> OnEnded:
        """``on_ended``, but not for an end that was asked for only for a while."""
        return lambda: None if self._suspended else on_ended()

    def _start(self) -> None:
        try:
            self._stream.start()
        except BaseException:
            self._stream.close(ignore_errors=True)
            raise


class _InputStream(_PortAudioStream):
    """Microphone, 10 ms at a time. It has ended when the sound server takes the sound from somewhere else."""

    def __init__(
        self,
        sd: Any,
        index: int,
        rate_hz: int,
        channels: int,
        latency_s: float,
        on_input: OnInput,
        on_ended: OnEnded,
        _wanted_hz: int,
    ) -> None:
        self.rate_hz = rate_hz
        self._moved = False
        self._origin = Origin(sd.query_devices(index)["name"])

        first = _First("microphone")

        def call(data: Any, _frames: int, _time: Any, status: Any) -> None:
            first.passes()
            pcm = np.frombuffer(data, np.int16)
            on_input(_louder(pcm, channels), bool(status.input_overflow))

        self._stream = sd.RawInputStream(
            samplerate=rate_hz,
            blocksize=rate_hz * FRAME_MS // 1000,
            device=index,
            channels=channels,
            dtype="int16",
            latency=latency_s,
            callback=call,
            finished_callback=self._told_end(on_ended),
        )
        self._start()

        def recorded(source: Source) -> None:
            if not self._moved and not self._origin.allows(source):
                self._moved = True
                log.warning("the sound server took the microphone from elsewhere", source=source.name)
                on_ended()

        self._watch = SourceWatch(recorded) if any(socket.exists() for socket in _pulse_sockets()) else None
        if self._watch is not None:
            self._watch.start()

    @property
    def active(self) -> bool:
        return not self._moved and super().active

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        super().close()


class _OutputStream(_PortAudioStream):
    """Speaker, 10 ms at a time; mono on every channel."""

    def __init__(
        self,
        sd: Any,
        index: int,
        rate_hz: int,
        channels: int,
        latency_s: float,
        on_output: OnOutput,
        on_ended: OnEnded,
        wanted_hz: int,
    ) -> None:
        self.rate_hz = rate_hz
        fill = on_output if rate_hz == wanted_hz else _Converted(on_output, wanted_hz, rate_hz).fill

        first = _First("speaker")

        def call(data: Any, frames: int, _time: Any, status: Any) -> None:
            first.passes()
            pcm = fill(frames, bool(status.output_underflow))
            data[:] = (pcm if channels == 1 else np.repeat(pcm, channels)).tobytes()

        self._stream = sd.RawOutputStream(
            samplerate=rate_hz,
            blocksize=rate_hz * FRAME_MS // 1000,
            device=index,
            channels=channels,
            dtype="int16",
            latency=latency_s,
            callback=call,
            finished_callback=self._told_end(on_ended),
        )
        self._start()


class _First:
    """Gives the thread of a stream, a new one after each resumption, its name and priority at its first call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread = 0

    def passes(self) -> None:
        if self._thread != threading.get_ident():
            self._thread = threading.get_ident()
            prefer_this_thread(self._name)


class _Converted:
    """Fills blocks of a device's rate from a source of another rate, 10 ms at a time."""

    def __init__(self, source: OnOutput, source_hz: int, device_hz: int) -> None:
        self._source = source
        self._step = source_hz * FRAME_MS // 1000
        self._resampler = StreamResampler(source_hz, device_hz)
        self._ready: Pcm = np.zeros(0, np.int16)

    def fill(self, samples: int, dry: bool) -> Pcm:
        while self._ready.size < samples:
            more = self._resampler.push(self._source(self._step, dry))
            dry = False
            self._ready = np.concatenate((self._ready, more))
        out, self._ready = self._ready[:samples], self._ready[samples:]
        return out


def _louder(pcm: Pcm, channels: int) -> Pcm:
    """Mono: the only channel, or of several the one that is louder in this block (often one of two is dead)."""
    if channels == 1:
        return pcm.copy()
    table = pcm.reshape(-1, channels)
    return table[:, int(np.abs(table.astype(np.int32)).sum(axis=0).argmax())].copy()


def _formats(device: DeviceInfo, direction: Direction, rate_hz: int) -> Iterator[tuple[int, int]]:
    """Rates and channels to try, the simplest first."""
    for rate in dict.fromkeys((rate_hz, 48_000, device.default_rate_hz, 44_100)):
        for channels in (1, 2):
            if rate > 0 and channels <= device.channels(direction):
                yield rate, channels


def _describe(device: Any, apis: Sequence[Any]) -> DeviceInfo:
    api, index = apis[device["hostapi"]], int(device["index"])
    first = apis[0]["default_input_device"], apis[0]["default_output_device"]
    return DeviceInfo(
        id=f"{api['name']}/{device['name']}",
        name=str(device["name"]),
        host_api=str(api["name"]),
        index=index,
        inputs=int(device["max_input_channels"]),
        outputs=int(device["max_output_channels"]),
        default_rate_hz=int(device["default_samplerate"]),
        is_default_input=index == first[0],
        is_default_output=index == first[1],
    )


def _fingerprint() -> tuple[object, ...]:
    """What tells cheaply whether sound devices have come or gone."""
    seen: list[object] = []
    for path in ALSA_STATE:
        try:
            seen.append(tuple(sorted(node.name for node in path.iterdir())) if path.is_dir() else path.read_text())
        except OSError:
            seen.append(None)
    for socket in _pulse_sockets():
        try:
            seen.append(socket.stat().st_ino)
        except OSError:
            seen.append(None)
    return tuple(seen)


def _pulse_sockets() -> Iterator[Path]:
    server = os.environ.get("PULSE_SERVER", "")
    if server.startswith("unix:"):
        yield Path(server.removeprefix("unix:"))
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        yield Path(runtime, "pulse", "native")


@cache
def _sounddevice() -> Any:
    """The module, whose import starts PortAudio; with ALSA's messages in the log instead of on the terminal."""
    _quieten_alsa()
    try:
        with _library:
            import sounddevice
    except OSError as fault:
        raise GloveVoiceError(
            "ERR_AUDIO_BACKEND",
            "PortAudio is not installed, so there are no sound devices.",
            "Install it: run scripts/setup, or `apt-get install libportaudio2`.",
            fault,
        ) from fault
    return sounddevice


_keep: list[object] = []
"""C callbacks that must live as long as the process."""


def _quieten_alsa() -> None:
    """ALSA writes to the terminal whenever a device is looked for in vain, which a device that polls does all day."""
    try:
        alsa = ctypes.CDLL("libasound.so.2")
    except OSError:
        return
    kind = ctypes.CFUNCTYPE(
        None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p
    )  # and more arguments, which a handler that does not read them may leave out

    def ignore(file: bytes, line: int, _function: bytes, _error: int, text: bytes) -> None:
        log.debug("alsa", where=f"{file!r}:{line}", text=text.decode("utf-8", "replace") if text else "")

    handler = kind(ignore)
    _keep.append(handler)
    alsa.snd_lib_error_set_handler(handler)
