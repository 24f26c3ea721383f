"""The steps of a check and their results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import timedelta

OUTPUT_LIMIT = 4096
"""Characters of what a bot printed that a step keeps."""


class StepState(StrEnum):
    """The result of a step."""

    OK = "ok"
    WARN = "warn"
    """The bot may play, but its author may want to know."""
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a check, numbered from 1.

    Attributes:
        name: what is judged, the same words for every bot: ``start``, ``plays quasenbo``.
        detail: one sentence about what was found.
        advice: what to do, one sentence; "" when it is ok.
        output: what the bot printed, shortened in the middle; "" when it is ok.
    """

    number: int
    name: str
    state: StepState
    detail: str
    advice: str
    output: str
    elapsed: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The steps of a check that were reached, in order.

    ``bot`` is "" when bot.toml could not be read; ``tier`` is the sandbox's.
    """

    bot: str
    tier: str
    steps: tuple[Step, ...]

    @property
    def passed(self) -> bool:
        """Whether no step failed."""
        return all(step.state is not StepState.FAIL for step in self.steps)

    @property
    def failure(self) -> Step | None:
        """The first step that failed."""
        return next((step for step in self.steps if step.state is StepState.FAIL), None)

    def document(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        steps = [asdict(step) for step in self.steps]
        for step in steps:
            step["seconds"] = round(step.pop("elapsed").total_seconds(), 3)
        return {"bot": self.bot, "sandbox": self.tier, "passed": self.passed, "steps": steps}


def shorten(text: str, limit: int = OUTPUT_LIMIT) -> str:
    """Cut out the middle of a text longer than about ``limit`` characters."""
    if len(text) <= limit:
        return text
    head, tail = limit // 4, limit - limit // 4
    return f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[-tail:]}"
