"""Fixtures of the tests of the pipeline."""

from tests.arena.pipeline.line import line

__all__ = ["line"]
