import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from arena.metrics import Metrics
from tests.metric_names import METRICS

PROMETHEUS_LABELS = {"instance", "job", "le", "service"}


def panels(deploy: Path) -> list[dict[str, Any]]:
    """The panels of the dashboard, from top left to bottom right."""
    dashboard = json.loads((deploy / "grafana" / "arena.json").read_text())
    return sorted(
        dashboard["panels"], key=lambda panel: (panel["gridPos"]["y"], panel["gridPos"]["x"])
    )


def dashboard_expressions(deploy: Path) -> list[str]:
    """The expressions of the dashboard, Grafana's variables filled in."""
    return [
        target["expr"].replace("$__rate_interval", "5m").replace("$ruleset", ".*")
        for panel in panels(deploy)
        for target in panel["targets"]
    ]


def alert_rules(deploy: Path) -> list[dict[str, Any]]:
    """The alerts."""
    document = yaml.safe_load((deploy / "prometheus" / "arena.rules.yml").read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("name", ["prometheus.yml", "compose.yml"])
def test_prometheus_accepts_its_configuration(
    deploy: Path, promtool: Callable[..., str], name: str
) -> None:
    """Prometheus would start with the file, and find the alerts."""
    assert "1 rule files found" in promtool("check", "config", deploy / "prometheus" / name)


def test_alerts_fire_when_they_should(deploy: Path, promtool: Callable[..., str]) -> None:
    """Every alert stays silent and fires as its scenarios say."""
    promtool("test", "rules", deploy / "prometheus" / "arena.rules.test.yml")


def test_every_alert_has_a_scenario(deploy: Path) -> None:
    """No alert goes untried, and each tells the operator what to do."""
    scenarios = yaml.safe_load((deploy / "prometheus" / "arena.rules.test.yml").read_text())
    tried = {
        case["alertname"]
        for scenario in scenarios["tests"]
        for case in scenario["alert_rule_test"]
        if case.get("exp_alerts")
    }
    rules = alert_rules(deploy)
    assert tried == {rule["alert"] for rule in rules}
    assert all(rule["annotations"].keys() == {"summary", "action"} for rule in rules)


def test_prometheus_can_read_the_dashboard(
    deploy: Path, promtool: Callable[..., str], tmp_path: Path
) -> None:
    """Every panel's expression is one that Prometheus parses."""
    rules = [
        {"record": f"panel:{index}", "expr": expression}
        for index, expression in enumerate(dashboard_expressions(deploy))
    ]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", file)


def test_every_process_serves_these_metrics() -> None:
    """The names that operators build on are the names that are served."""
    served = re.findall(
        r"^# TYPE (arena_\w+) ", generate_latest(Metrics().registry).decode(), re.MULTILINE
    )
    assert set(served) == METRICS.keys()


def test_only_metrics_that_exist_are_asked_for(deploy: Path) -> None:
    """What alerts and panels ask for is what the processes serve, name and label."""
    expressions = dashboard_expressions(deploy) + [rule["expr"] for rule in alert_rules(deploy)]
    for expression in expressions:
        found = re.findall(r"arena_[a-z_]+", expression)
        names = {re.sub(r"_(bucket|sum|count)$", "", name) for name in found}
        assert names <= METRICS.keys(), expression
        grouped = re.findall(r"\b(?:by|ignoring|on) \(([^)]*)\)", expression)
        selected = re.findall(r"(\w+)=?[=~]", expression)
        labels = {label.strip() for text in grouped for label in text.split(",")} | set(selected)
        known = set().union(*(METRICS[name] for name in names)) | PROMETHEUS_LABELS
        assert labels <= known, expression


def test_every_metric_is_on_the_dashboard(deploy: Path) -> None:
    """Nothing that is measured is hidden from the operator."""
    text = " ".join(dashboard_expressions(deploy))
    assert [name for name in METRICS if name not in text] == []


def test_throughput_and_time_outs_come_first(deploy: Path) -> None:
    """The first row of the dashboard shows throughput and time-outs, side by side."""
    first = [panel for panel in panels(deploy) if panel["gridPos"]["y"] == 0]
    assert [panel["title"] for panel in first] == [
        "Turns per second",
        "Games per minute",
        "Time-outs per 1000 games",
    ]
    assert sum(panel["gridPos"]["w"] for panel in first) == 24


def test_panels_do_not_overlap(deploy: Path) -> None:
    """Each panel has its own place on the grid of 24 columns."""
    cells = [
        (column, row)
        for grid in (panel["gridPos"] for panel in panels(deploy))
        for column in range(grid["x"], grid["x"] + grid["w"])
        for row in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(column for column, _ in cells) == 23
