"""What is in the track's source has not been heard: the count says so, also after a cut."""

from __future__ import annotations

import numpy as np

from realtime.livekit.track_player import TrackPlayer


class Source:
    """Holds samples until they have left, or are dropped."""

    def __init__(self) -> None:
        self.held = 0
        self.player = TrackPlayer(1000, lambda: self.held, self.drop)

    def take(self, samples: int) -> None:
        self.held += self.player.pull(samples).size

    def drop(self) -> None:
        self.held = 0


def test_what_was_taken_counts_once_it_has_left() -> None:
    source = Source()
    player = source.player
    player.enqueue(np.ones(500, np.int16), 1000, player.generation)
    source.take(200)
    assert player.played == 0 and not player.idle
    source.held = 50
    assert player.played == player.played_total == 150


def test_a_cut_drops_what_the_source_holds_and_counts_it_as_cut() -> None:
    source = Source()
    player = source.player
    player.enqueue(np.ones(500, np.int16), 1000, player.generation)
    source.take(200)
    source.held = 50
    player.next_generation()
    assert source.held == 0 and player.idle
    assert (player.played_total, player.cut, player.played) == (150, 350, 0)


def test_an_old_generation_is_not_played() -> None:
    source = Source()
    player = source.player
    old = player.generation
    player.next_generation()
    assert player.enqueue(np.ones(500, np.int16), 1000, old) == 0
    assert player.idle
