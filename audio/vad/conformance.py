"""What every voice activity detector must do, as checks that anybody can run against their own.

    check_vad(lambda: MyVad(), speech)

``make`` gives a fresh detector each time; ``speech`` is a recording of one to ten seconds in which somebody speaks, at
16 kHz. Each failure is an ``AssertionError`` that names the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from agents.base.conformance import same, true
from audio.pcm import CAPTURE_RATE_HZ, Pcm, silence
from audio.vad.base import SpeechEnd, SpeechProb, SpeechRealStart, SpeechStart, VadAdapter, VadEvent, VadMisfire

Make = Callable[[], VadAdapter]
Check = Callable[[Make, Pcm], None]

_AFTER: dict[type[VadEvent] | None, tuple[type[VadEvent], ...]] = {
    None: (SpeechStart,),
    SpeechStart: (SpeechRealStart, SpeechEnd, VadMisfire),
    SpeechRealStart: (SpeechEnd,),
    SpeechEnd: (SpeechStart,),
    VadMisfire: (SpeechStart,),
}
"""What may follow what."""

SILENCE_S = 3.0
FRAME = 1536
"""No detector decides on more than this many samples at a time."""


def check_vad(make: Make, speech: Pcm) -> list[str]:
    """Run all checks. Returns the names of those that ran."""
    for check in CHECKS:
        check(make, speech)
    return [check.__name__ for check in CHECKS]


def hears_nothing_in_silence(make: Make, speech: Pcm) -> None:
    """Silence, and no sound at all, are no speech."""
    vad = make()
    true(not vad.is_speaking, "nobody speaks before there was any sound")
    same(_turns(vad.process(silence(0))), [], "no sound makes no event")
    same(_turns(_fed(vad, silence(5 * CAPTURE_RATE_HZ))), [], "silence is no speech")
    true(not vad.is_speaking, "nobody speaks in silence")
    vad.close()


def tells_a_segment_in_order(make: Make, speech: Pcm) -> None:
    """Speech begins, may be confirmed, and ends; each event is stamped with a place in the sound fed so far."""
    vad = make()
    sound = _framed(speech)
    true(bool(_turns(_checked_feed(vad, sound))), "speech is noticed")
    true(not vad.is_speaking, "a segment ends in silence")
    vad.close()


def does_not_depend_on_the_size_of_chunks(make: Make, speech: Pcm) -> None:
    """The same sound in other pieces is the same speech."""
    sound = _framed(speech)
    told: list[list[tuple[str, int]]] = []
    for size in (160, 333, 512, 4000):
        vad = make()
        events = _fed(vad, sound, size)
        told.append([(event.type, event.sample) for event in _turns(events)])
        vad.close()
    for other in told[1:]:
        same([kind for kind, _ in other], [kind for kind, _ in told[0]], "chunks of another size make the same events")
        far = [abs(a - b) for (_, a), (_, b) in zip(told[0], other, strict=True)]
        true(max(far, default=0) <= FRAME, "chunks of another size move no event by more than a frame")


def forgets_on_reset(make: Make, speech: Pcm) -> None:
    """After ``reset`` nobody speaks, the next speech is noticed anew, and samples go on being counted."""
    vad = make()
    before = _until_speaking(vad, _framed(speech))
    vad.reset()
    true(not vad.is_speaking, "nobody speaks after reset")
    events = _turns(_fed(vad, _framed(speech)))
    true(bool(events) and isinstance(events[0], SpeechStart), "after reset the next speech begins anew")
    true(events[0].sample > before, "samples are counted from creation, not from reset")
    vad.close()


def can_be_rebuilt(make: Make, speech: Pcm) -> None:
    """``rebuild`` gives a detector that works, whatever state it was in."""
    vad = make()
    _until_speaking(vad, _framed(speech))
    vad.rebuild()
    true(not vad.is_speaking, "nobody speaks after rebuild")
    true(any(isinstance(event, SpeechStart) for event in _fed(vad, _framed(speech))), "it works after rebuild")
    vad.close()


def takes_hints(make: Make, speech: Pcm) -> None:
    """The hints of the session may be given at any time, as often as one likes, and taken back."""
    vad = make()
    for on in (True, True, False, False):
        vad.set_ducked(on)
        vad.set_resting(on)
    true(any(isinstance(event, SpeechStart) for event in _fed(vad, _framed(speech))), "hints taken back change nothing")
    vad.close()
    vad.close()


def leaves_its_input_alone(make: Make, speech: Pcm) -> None:
    """The sound handed in belongs to the caller: it may be read-only, and is not changed."""
    vad = make()
    sound = _framed(speech)
    copy = sound.copy()
    sound.setflags(write=False)
    _fed(vad, sound)
    true(np.array_equal(sound, copy), "the sound is not changed")
    vad.close()


CHECKS: tuple[Check, ...] = (
    hears_nothing_in_silence,
    tells_a_segment_in_order,
    does_not_depend_on_the_size_of_chunks,
    forgets_on_reset,
    can_be_rebuilt,
    takes_hints,
    leaves_its_input_alone,
)


def _framed(speech: Pcm) -> Pcm:
    """``speech`` with silence before and behind it."""
    return np.concatenate((silence(CAPTURE_RATE_HZ), speech, silence(round(SILENCE_S * CAPTURE_RATE_HZ))))


def _fed(vad: VadAdapter, pcm: Pcm, size: int = 160) -> list[VadEvent]:
    return [event for start in range(0, pcm.size, size) for event in vad.process(pcm[start : start + size])]


def _checked_feed(vad: VadAdapter, pcm: Pcm) -> list[VadEvent]:
    """Feed ``pcm`` to a new detector, with every event checked when it comes."""
    told: list[VadEvent] = []
    last: type[VadEvent] | None = None
    at = 0
    for start in range(0, pcm.size, 160):
        fed = min(pcm.size, start + 160)
        for event in vad.process(pcm[start:fed]):
            true(at <= event.sample <= fed, f"{event.type} is stamped in order, within the sound that was fed")
            at = event.sample
            if isinstance(event, SpeechProb):
                true(0.0 <= event.probability <= 1.0, "a probability is one")
                continue
            true(type(event) in _AFTER[last], f"{event.type} may not follow {last and last.type}")
            if isinstance(event, SpeechRealStart | VadMisfire):
                true(vad.supports_real_start, f"{event.type} is for detectors that confirm speech")
            if isinstance(event, SpeechEnd):
                true(event.last_speech <= event.sample, "speech was last heard before its end")
                true(not vad.supports_real_start or last is SpeechRealStart, "only confirmed speech ends")
            last = type(event)
            told.append(event)
    return told


def _until_speaking(vad: VadAdapter, pcm: Pcm) -> int:
    """Feed ``pcm`` until somebody speaks; returns how many samples that took."""
    for start in range(0, pcm.size, 160):
        vad.process(pcm[start : start + 160])
        if vad.is_speaking:
            return start + 160
    raise AssertionError("speech is noticed while it lasts")


def _turns(events: Sequence[VadEvent]) -> list[VadEvent]:
    return [event for event in events if not isinstance(event, SpeechProb)]
