from audio.turns.evidence import Evidence, Witness


def listening(probability: float, from_s: float = 0.0, to_s: float = 2.0) -> Evidence:
    evidence = Evidence()
    for frame in range(round(from_s * 100), round(to_s * 100)):
        evidence.probability(probability, frame / 100)
    return evidence


def test_a_voice_is_fresh_for_three_seconds() -> None:
    evidence = listening(0.2)
    assert evidence.fresh(4.9) and not evidence.fresh(5.1)


def test_growing_words_vouch_for_a_voice_that_the_detector_hardly_hears() -> None:
    evidence = listening(0.08)
    assert not evidence.fresh(2.0)
    assert evidence.grew(2.0) is Witness.HEARD
    assert evidence.fresh(4.9)


def test_words_in_a_dead_room_vouch_for_nothing() -> None:
    evidence = listening(0.01)
    assert evidence.grew(2.0) is Witness.UNHEARD
    assert not evidence.fresh(2.0)


def test_words_long_after_the_last_voice_mean_a_deaf_detector_once_in_five_seconds() -> None:
    evidence = listening(0.9)
    assert evidence.grew(12.5) is Witness.DEAF
    assert evidence.grew(13.0) is Witness.UNHEARD
    assert not evidence.fresh(13.0)
    assert evidence.grew(18.0) is Witness.DEAF


def test_a_detector_that_hears_again_is_trusted_again() -> None:
    evidence = listening(0.9)
    assert evidence.grew(12.5) is Witness.DEAF
    evidence.probability(0.5, 12.8)
    assert evidence.grew(13.0) is Witness.HEARD


def test_the_first_words_after_the_start_do_not_make_a_detector_deaf() -> None:
    evidence = listening(0.06, 100.0, 101.0)
    assert evidence.grew(101.0) is Witness.HEARD
