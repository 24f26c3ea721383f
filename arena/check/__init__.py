"""Puts a bot through numbered steps, as its author and the arena do before it may play."""

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
