"""Options and hooks of every test; the fixtures of a package stand in its own folder's conftest."""

import os
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

_TESTS = Path(__file__).parent

PURE = {
    *("arena/formats", "arena/ratings", "arena/uploads", "benchmarks", "referee/games"),
}
"""Folders whose tests start no process; elsewhere a stalled machine may stop one for seconds."""

_LOGS = 20
_LOG_END = 3000
"""Of each log that a failure shows, in characters."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a test of real processes fail once; the summary names each that did."""
    for item in items:
        folder = item.path.relative_to(_TESTS).parent.as_posix()
        if folder not in PURE and not item.get_closest_marker("flaky"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows what processes logged to a failed test; turns a skip into a failure when CI is set."""
    report = yield
    if report.failed:
        _add_logs(report, item)
    if report.skipped and not hasattr(report, "wasxfail"):
        _refuse_skip(report, item.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turns the skip of a whole module into a failure when CI is set."""
    report = yield
    if report.skipped:
        _refuse_skip(report, collector.nodeid)
    return report


def _add_logs(report: pytest.TestReport, item: pytest.Item) -> None:
    """Put the ends of the logs in the test's folder below its failure."""
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if folder is not None:
        for path in sorted(folder.rglob("*.log"))[:_LOGS]:
            with suppress(OSError):
                end = path.read_text(errors="replace")[-_LOG_END:]
                report.sections.append((f"end of {path.relative_to(folder)}", end))


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, nodeid: str) -> None:
    if os.environ.get("CI"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        report.outcome = "failed"
        report.longrepr = f"{nodeid} would be skipped, which CI forbids: {reason}"
