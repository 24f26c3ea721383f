import email
import subprocess
import zipfile
from pathlib import Path

import pytest

from referee.version import VERSION


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """The paths in the wheel."""
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize(
    ("folder", "packed"),
    [("referee", "referee"), ("arena", "arena"), ("sample_bots", "arena/_sample_bots")],
)
def test_every_tracked_file_is_packed(
    repository: Path, names: set[str], folder: str, packed: str
) -> None:
    """Code, Lua scripts, type markers, pages and sample bots all reach the user."""
    tracked = subprocess.run(
        ["git", "ls-files", folder], cwd=repository, check=True, capture_output=True, text=True
    ).stdout.split()
    present = [path for path in tracked if (repository / path).exists()]
    assert present
    assert [path for path in present if path.replace(folder, packed, 1) not in names] == []


def test_nothing_else_is_packed(names: set[str]) -> None:
    """No tests, no bytecode and no packages of a Node bot reach the user."""
    roots = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert roots == {"arena", "referee"}
    assert [name for name in names if "node_modules" in name or name.endswith(".pyc")] == []


def test_both_packages_are_typed(names: set[str]) -> None:
    """A type checker reads the annotations of the installed packages."""
    assert {"arena/py.typed", "referee/py.typed"} <= names


def test_the_metadata_point_nowhere_untrue(wheel: Path) -> None:
    """The metadata carry the README, the licence's file and no made-up address."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    assert metadata["Version"] == VERSION
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata.get_all("Project-URL") is None
    assert metadata.get_payload()
