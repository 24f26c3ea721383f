"""What `arena submit` and `arena bot show` say of a verdict."""

from pathlib import Path

import pytest

from arena.cli.submit import advise, verdict_line
from arena.v1 import bots_pb2


def rejected(reason: str, cause: bots_pb2.RejectionCause.ValueType) -> bots_pb2.Version:
    """Return a version that was rejected."""
    return bots_pb2.Version(
        id="greedy@2",
        state=bots_pb2.VERSION_STATE_REJECTED,
        reason=reason,
        rejection_cause=cause,
    )


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (bots_pb2.REJECTION_CAUSE_ARENA, "the arena failed: it has no sandbox"),
        (bots_pb2.REJECTION_CAUSE_QUOTA, "its files made room for others"),
    ],
)
def test_an_author_need_not_mend_what_is_no_fault_of_the_bot(
    cause: bots_pb2.RejectionCause.ValueType, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same folder again is tried anew, and nothing tells its author to change it."""
    version = rejected(reason, cause)
    print(verdict_line(version))
    advise(Path("greedy"), "greedy", version, is_new=True)
    told = capsys.readouterr()
    assert told.out == (
        f"greedy@2 is rejected: {reason}; submitted again as it is, it is tried anew\n"
    )
    assert "`arena submit greedy` once more" in told.err
    assert "mend it" not in told.err


def test_an_author_mends_what_the_bot_failed_at(capsys: pytest.CaptureFixture[str]) -> None:
    """Only for a folder that was known does the operator's command make a difference."""
    version = rejected("start: the process ended early", bots_pb2.REJECTION_CAUSE_BOT)
    print(verdict_line(version))
    advise(Path("greedy"), "greedy", version, is_new=True)
    told = capsys.readouterr()
    assert told.out == "greedy@2 is rejected: start: the process ended early\n"
    assert told.err.startswith("arena: mend it")
    assert "recheck" not in told.err
    advise(Path("greedy"), "greedy", version, is_new=False)
    assert "`arena bot recheck greedy@2`" in capsys.readouterr().err
