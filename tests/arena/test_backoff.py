"""Longer and longer pauses."""

from arena.backoff import Backoff


def test_pauses_double_up_to_the_longest_until_a_success() -> None:
    """Each pause is twice the one before, never beyond the bound, and a reset begins again."""
    backoff = Backoff(0.5, 3.0)
    assert [backoff.pause() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.reset()
    assert backoff.pause() == 0.5
