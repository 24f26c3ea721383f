"""Checks a bot in numbered steps, for its author and before the arena accepts it."""

from arena.check.report import CheckReport, Step, StepState
from arena.check.run import CheckOptions, check_folder, check_upload, run_build

__all__ = [
    "CheckOptions",
    "CheckReport",
    "Step",
    "StepState",
    "check_folder",
    "check_upload",
    "run_build",
]
