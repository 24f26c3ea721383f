import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from arena.config import Settings


def deployed_commands(deploy: Path) -> list[str]:
    """The commands of `arena` that the deployment files start."""
    services = yaml.safe_load((deploy / "compose.yaml").read_text())["services"]
    composed = [
        service["command"][0] for service in services.values() if service["image"] == "bot-arena"
    ]
    unit = (deploy / "systemd" / "arena.service").read_text()
    return [*composed, *re.findall(r"^ExecStart=\S+/arena (\S+)", unit, re.MULTILINE)]


def test_the_deployed_commands_exist(deploy: Path) -> None:
    """Nothing is deployed that the command line does not know."""
    commands = deployed_commands(deploy)
    assert len(commands) >= 3
    for command in set(commands):
        answer = subprocess.run(
            [Path(sys.executable).parent / "arena", command, "--help"],
            check=False,
            capture_output=True,
            text=True,
        )
        assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("name", ["compose.yaml", "Dockerfile", "systemd/arena.service"])
def test_the_deployed_settings_exist(deploy: Path, name: str) -> None:
    """Every variable that a deployment file sets is a setting of the service."""
    text = (deploy / name).read_text()
    settings = {variable.lower() for variable in re.findall(r"\bARENA_([A-Z_]+)[=:]", text)}
    assert settings
    assert settings <= Settings.model_fields.keys()


def test_the_unit_is_valid(
    deploy: Path, systemd_analyze: Callable[..., str], tmp_path: Path
) -> None:
    """Systemd takes the unit without a word; the arena's own path is put where it is here."""
    text = (deploy / "systemd" / "arena.service").read_text()
    installed = str(Path(sys.executable).parent / "arena")
    unit = tmp_path / "arena.service"
    unit.write_text(text.replace("/opt/arena/bin/arena", installed))
    assert systemd_analyze("verify", "--man=no", unit) == ""


def test_the_unit_is_hardened(deploy: Path, systemd_analyze: Callable[..., str]) -> None:
    """Systemd's own measure of exposure stays below 3 of 10."""
    unit = deploy / "systemd" / "arena.service"
    systemd_analyze("security", "--offline=true", "--no-pager", "--threshold=30", unit)


@pytest.fixture
def dockerfile(deploy: Path) -> str:
    """The recipe of the image, continued lines joined."""
    return (deploy / "Dockerfile").read_text().replace("\\\n", " ")


def test_the_image_holds_what_the_wheel_is_made_of(deploy: Path, dockerfile: str) -> None:
    """Every file that is copied exists, is not ignored, and all of the wheel's folders are."""
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert [source for source in copied if not (deploy.parent / source).exists()] == []
    kept = (deploy / "Dockerfile.dockerignore").read_text().splitlines()
    ignored = [source for source in copied if f"!{source.split('/')[0]}" not in kept]
    assert ignored == []
    project = tomllib.loads((deploy.parent / "pyproject.toml").read_text())
    folders = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert set(folders) <= set(copied)


def test_the_image_does_not_run_as_root(dockerfile: str) -> None:
    """The arena runs as a user of its own, below an init that reaps what bots leave behind."""
    (user,) = re.findall(r"^USER (\d+)$", dockerfile, re.MULTILINE)
    assert int(user) >= 1000
    assert 'ENTRYPOINT ["tini", "--", "arena"]' in dockerfile
    assert "bubblewrap" in dockerfile
