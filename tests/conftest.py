"""Options and hooks of every test; the fixtures of a package stand in its own folder's conftest."""

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip into a failure when CI is set: there, nothing a test needs may be missing."""
    report = yield
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


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, nodeid: str) -> None:
    if os.environ.get("CI"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        report.outcome = "failed"
        report.longrepr = f"{nodeid} would be skipped, which CI forbids: {reason}"
