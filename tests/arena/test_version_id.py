"""The id of a version."""

import pytest

from arena.errors import InputError
from arena.version_id import VersionId, bot_of, is_version


def test_an_id_is_a_bot_and_a_number() -> None:
    """An id that is made of a bot and a number gives both back, and is its own text."""
    made = VersionId.of("greedy", 12)
    assert (made, made.bot, made.number) == ("greedy@12", "greedy", 12)
    assert VersionId.parse("greedy@12") == made


@pytest.mark.parametrize("text", ["", "greedy", "greedy@", "greedy@0", "greedy@x", "@1", "a b@1"])
def test_a_text_that_is_no_id_is_refused(text: str) -> None:
    """Only a name, an @ and a number from 1 are a version's id."""
    with pytest.raises(InputError, match="is no version"):
        VersionId.parse(text)


def test_an_entry_names_a_bot_or_a_version() -> None:
    """What enters a competition is a bot, or one of its versions."""
    assert (bot_of("greedy"), is_version("greedy")) == ("greedy", False)
    assert (bot_of("greedy@3"), is_version("greedy@3")) == ("greedy", True)
