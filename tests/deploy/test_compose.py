import re
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def compose(deploy: Path) -> dict[str, Any]:
    """The composition, with its shared blocks merged in."""
    document: dict[str, Any] = yaml.safe_load((deploy / "compose.yaml").read_text())
    return document


@pytest.fixture
def services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The services by name."""
    found: dict[str, dict[str, Any]] = compose["services"]
    return found


def test_results_outlive_a_power_cut(services: dict[str, dict[str, Any]]) -> None:
    """Redis writes every commit to disk before it answers, on a volume, and evicts nothing."""
    command = services["redis"]["command"]
    for option in ("--appendonly yes", "--appendfsync always", "--maxmemory-policy noeviction"):
        assert option in command
    assert "redis-data:/data" in services["redis"]["volumes"]
    assert re.fullmatch(r"redis:7\.\d.*", services["redis"]["image"])


def test_nothing_is_published_to_the_world(services: dict[str, dict[str, Any]]) -> None:
    """Every published port is bound to this machine's own address."""
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_no_service_has_more_rights_than_it_needs(services: dict[str, dict[str, Any]]) -> None:
    """All services drop every capability, gain none, and cannot write to their image."""
    for service in services.values():
        assert service["cap_drop"] == ["ALL"]
        assert "cap_add" not in service
        assert "no-new-privileges:true" in service["security_opt"]
        assert service["read_only"] is True


def test_the_arena_waits_for_its_database(services: dict[str, dict[str, Any]]) -> None:
    """Every part of the arena starts when Redis answers, and comes back when it ends."""
    for name in ("scheduler", "serve", "pipeline", "worker"):
        assert services[name]["depends_on"] == {"redis": {"condition": "service_healthy"}}
        assert services[name]["restart"] == "unless-stopped"
    assert services["redis"]["healthcheck"]["test"] == ["CMD", "redis-cli", "ping"]


def test_every_volume_is_declared_and_used(compose: dict[str, Any]) -> None:
    """Data lives on named volumes, and nothing is mounted that is not there."""
    mounts = [
        mount for service in compose["services"].values() for mount in service.get("volumes", [])
    ]
    sources = {mount.split(":")[0] for mount in mounts}
    assert {source for source in sources if not source.startswith(".")} == compose["volumes"].keys()


def test_mounted_files_exist(compose: dict[str, Any], deploy: Path) -> None:
    """Every file and folder that the composition takes from the repository is there."""
    for service in compose["services"].values():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            assert not source.startswith(".") or (deploy / source).exists()
        if "build" in service:
            context = deploy / service["build"]["context"]
            assert (context / service["build"]["dockerfile"]).exists()


def test_prometheus_looks_where_the_metrics_are(
    deploy: Path, services: dict[str, dict[str, Any]]
) -> None:
    """Every service of the arena serves its metrics on the port that Prometheus asks."""
    document = yaml.safe_load((deploy / "prometheus" / "compose.yml").read_text())
    (discovery,) = document["scrape_configs"][0]["dns_sd_configs"]
    ours = {name for name, service in services.items() if service["image"] == "bot-arena"}
    assert set(discovery["names"]) == ours
    for name in ours:
        assert services[name]["environment"]["ARENA_METRICS_PORT"] == str(discovery["port"])
