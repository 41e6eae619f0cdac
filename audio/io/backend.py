"""What the device room needs from a sound system, small enough to be played by a script.

Callbacks come from threads of the backend's own (``on_loop`` False) or from the event loop (True, in tests on virtual
time). They must return quickly and never raise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from audio.pcm import Pcm

Direction = Literal["input", "output"]

OnInput = Callable[[Pcm, bool], None]
"""Called with captured mono samples, which may be kept, and whether samples were lost before them."""

OnOutput = Callable[[int, bool], Pcm]
"""Called with a number of samples to play, and whether the sink ran dry before; returns exactly that many."""

OnEnded = Callable[[], None]
"""Called once when a stream has ended by itself, or was closed."""


@dataclass(frozen=True)
class DeviceInfo:
    """A sound device.

    Attributes:
        id: stable across restarts: host API and name, as ``ALSA/USB Audio: - (hw:1,0)``.
        name: as the sound system calls it.
        host_api: the sound system.
        index: its place in the present list; changes when devices come and go.
        inputs, outputs: largest numbers of channels; 0 means: not in that direction.
        default_rate_hz: the rate it prefers.
        is_default_input, is_default_output: what ``default`` means.
    """

    id: str
    name: str
    host_api: str
    index: int
    inputs: int
    outputs: int
    default_rate_hz: int
    is_default_input: bool = False
    is_default_output: bool = False

    def channels(self, direction: Direction) -> int:
        """Largest number of channels in ``direction``."""
        return self.inputs if direction == "input" else self.outputs

    def is_default(self, direction: Direction) -> bool:
        """Whether it is the default of ``direction``."""
        return self.is_default_input if direction == "input" else self.is_default_output


class SoundStream(ABC):
    """An open stream. Its own word on whether it runs is what counts; nobody keeps a flag beside it."""

    rate_hz: int

    @property
    @abstractmethod
    def active(self) -> bool:
        """Whether the sound system still runs it, or would after ``resume``."""

    @abstractmethod
    def close(self) -> None:
        """End it at once, throwing queued sound away: ``stop`` would wait for a device that may be gone. May block."""

    @abstractmethod
    def suspend(self) -> None:
        """Stop calling, at once, and keep the device: a stream that has nothing to play costs nothing. May block.

        Raises:
            GloveVoiceError: ``ERR_AUDIO_DEVICE``, as ``resume`` does.
        """

    @abstractmethod
    def resume(self) -> None:
        """Call again after ``suspend``, within milliseconds. May block. Idempotent, like ``suspend``."""


class SoundBackend(ABC):
    """A sound system. All methods may block, and are called from one thread at a time.

    ``devices`` and the ``open`` methods raise ``GloveVoiceError``: ``ERR_MIC_UNAVAILABLE`` or
    ``ERR_SPEAKER_UNAVAILABLE`` when a device cannot be opened now, ``ERR_AUDIO_BACKEND`` when the sound system is not
    there at all.
    """

    on_loop: ClassVar[bool] = False

    @abstractmethod
    def devices(self) -> Sequence[DeviceInfo]:
        """The devices, as far as the sound system knows without ``reinitialise``."""

    @abstractmethod
    def open_input(
        self, device: DeviceInfo, rate_hz: int, latency_s: float, on_input: OnInput, on_ended: OnEnded
    ) -> SoundStream:
        """Start capturing mono at ``rate_hz``, or at another rate that the stream then states, in blocks of 10 ms."""

    @abstractmethod
    def open_output(
        self, device: DeviceInfo, rate_hz: int, latency_s: float, on_output: OnOutput, on_ended: OnEnded
    ) -> SoundStream:
        """Start playing mono, asked for at ``rate_hz`` whatever the device's own rate, in blocks of about 10 ms."""

    @abstractmethod
    def reinitialise(self) -> None:
        """Start the sound system anew, which alone makes it see devices that came or went; closes every stream."""

    def changed(self) -> bool:
        """Whether devices seem to have come or gone since the last ``reinitialise``, as far as one can tell cheaply."""
        return False
