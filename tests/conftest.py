"""Options and hooks of every test; the fixtures of a package stand in its own folder's conftest."""

import os
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_TESTS = Path(__file__).parent

STARTING = (
    "arena/api/test_server.py",
    "arena/check",
    "arena/cli/test_ask.py",
    "arena/cli/test_compare.py",
    "arena/cli/test_play.py",
    "arena/cli/test_sentences.py",
    "arena/cli/test_service_commands.py",
    "arena/db/test_embedded.py",
    "arena/pipeline",
    "arena/processes",
    "arena/test_documents.py",
    "chaos",
    "deploy/test_commands.py",
    "deploy/test_prometheus.py",
    "integration",
    "packaging/test_imports.py",
    "packaging/test_light_install.py",
    "packaging/test_makefile.py",
    "packaging/test_hooks.py",
    "packaging/test_wheel.py",
    "referee/match/test_first_protocol.py",
    "referee/match/test_service_times.py",
    "referee/match/test_table.py",
    "referee/match/test_voids.py",
    "referee/sandbox",
    "referee/sdk/test_jsonl.py",
    "referee/sdk/test_sdk.py",
    "sample_bots/test_faults.py",
    "sample_bots/test_matches.py",
    "sample_bots/test_node.py",
)
"""Files and folders whose tests start processes, next to those that use a fixture of `SERVERS`."""

SERVERS = {"shared_server", "embedded_server", "durable_server", "durable_valkey"}
"""Fixtures that start a server of Redis."""

PURE = {"arena/formats", "arena/ratings", "arena/uploads", "benchmarks", "referee/games"}
"""Folders whose tests wait for nothing; elsewhere a stalled machine may stop one for seconds."""

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}
"""Audit events of a process that starts."""

_LOGS = 20
_LOG_END = 3000
"""Of each log that a failure shows, in characters."""

_running: list[pytest.Item] = []

# A busy machine makes any example slow: no property test has a time limit of its own.
settings.register_profile(
    "tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("tests")


def pytest_configure() -> None:
    """Watch what the tests start; an audit hook cannot be removed, and only one is needed."""
    sys.addaudithook(_refuse_processes)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that start processes; `make quick` runs the others.

    Outside `PURE` a test may fail once; the summary names each that did.
    """
    for item in items:
        path = item.path.relative_to(_TESTS)
        starts = any(path.is_relative_to(each) for each in STARTING)
        if starts or SERVERS & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.processes)
        pure = path.parent.as_posix() in PURE
        if not pure and not item.get_closest_marker("flaky"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Notes which test runs, for `_refuse_processes`."""
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.clear()


def _may_start(item: pytest.Item) -> bool:
    return item.get_closest_marker("processes") is not None


def _refuse_processes(event: str, arguments: tuple[object, ...]) -> None:
    """Fail a test that starts a process without being marked so: `make quick` would run it."""
    if event in STARTS and _running and not _may_start(_running[0]):
        raise RuntimeError(
            f"{_running[0].nodeid} starts a process ({arguments[0] if arguments else event}), "
            "but is not marked `processes`: see STARTING in tests/conftest.py"
        )


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
