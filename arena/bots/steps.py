"""Encodes the steps of a trial as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

STEPS_KEPT: Final = 5
"""The latest versions of a bot whose steps are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStep:
    """One step of a trial; ``output`` is what the bot printed, shortened in the middle."""

    name: str
    ok: bool
    detail: str
    output: str = ""
    elapsed: timedelta = timedelta(0)


def encode_steps(steps: Sequence[VersionStep]) -> str:
    """Encode steps as JSON."""
    rows = [{**asdict(step), "elapsed": step.elapsed.total_seconds()} for step in steps]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def decode_steps(text: str | bytes) -> tuple[VersionStep, ...]:
    """Decode what `encode_steps` wrote."""
    return tuple(
        VersionStep(**{**row, "elapsed": timedelta(seconds=row["elapsed"])})
        for row in json.loads(text)
    )
