from __future__ import annotations

from dataclasses import dataclass

from agents.base.emitter import Emitter


@dataclass(frozen=True)
class Sound:
    n: int = 0


@dataclass(frozen=True)
class Bell(Sound):
    pass


@dataclass(frozen=True)
class Light:
    pass


def test_listeners_hear_their_kind_in_the_order_they_came() -> None:
    emitter, seen = Emitter(), []
    emitter.on(Sound, lambda event: seen.append(("first", event.n)))
    emitter.on(Bell, lambda event: seen.append(("bell", event.n)))
    emitter.on(Sound, lambda event: seen.append(("last", event.n)))
    emitter.emit(Bell(1))
    emitter.emit(Light())
    emitter.emit(Sound(2))
    assert seen == [("first", 1), ("bell", 1), ("last", 1), ("first", 2), ("last", 2)]


def test_a_failing_listener_harms_nobody_and_is_counted() -> None:
    emitter, seen = Emitter(), []

    def broken(event: Sound) -> None:
        raise RuntimeError("no")

    emitter.on(Sound, broken)
    emitter.on(Sound, lambda event: seen.append(event.n))
    emitter.emit(Sound(1))
    emitter.emit(Sound(2))
    assert seen == [1, 2]
    assert emitter.faults == 2


def test_unsubscribing_twice_does_not_unsubscribe_a_twin() -> None:
    emitter, seen = Emitter(), []
    listener = seen.append
    off = emitter.on(Sound, listener)
    emitter.on(Sound, listener)
    off()
    off()
    emitter.emit(Sound(1))
    assert seen == [Sound(1)]
    assert emitter.listener_count == 1


def test_a_listener_that_was_removed_during_an_event_is_not_called_with_it() -> None:
    emitter, seen = Emitter(), []
    emitter.on(Sound, lambda event: off())
    off = emitter.on(Sound, lambda event: seen.append(event.n))
    emitter.emit(Sound(1))
    assert seen == []


def test_a_listener_that_joins_during_an_event_waits_for_the_next() -> None:
    emitter, seen = Emitter(), []
    off = emitter.on(Sound, lambda event: (emitter.on(Sound, seen.append), off()))
    emitter.emit(Sound(1))
    emitter.emit(Sound(2))
    assert seen == [Sound(2)]


async def test_a_slow_consumer_loses_the_oldest_and_knows_how_many() -> None:
    emitter = Emitter()
    queue = emitter.queue(Sound, maxsize=2)
    for n in range(5):
        emitter.emit(Sound(n))
    assert [(await queue.get()).n for _ in range(2)] == [3, 4]
    assert queue.dropped == 3
    queue.close()
    emitter.emit(Sound(9))
    assert queue.empty()
    assert emitter.listener_count == 0
