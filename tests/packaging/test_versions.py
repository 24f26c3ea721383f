import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version


def lower_bound(repository: Path, name: str) -> Version:
    """The oldest version of a base dependency that pyproject.toml accepts."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    requirements = [Requirement(text) for text in project["dependencies"]]
    (specifier,) = (item.specifier for item in requirements if item.name == name)
    (bound,) = (Version(part.version) for part in specifier if part.operator == ">=")
    return bound


def generated(repository: Path, pattern: str) -> list[str]:
    """The texts of the generated files that match."""
    return [
        path.read_text()
        for top in ("referee", "arena")
        for path in repository.glob(f"{top}/v1/{pattern}")
    ]


def test_grpcio_is_as_new_as_the_generated_code_demands(repository: Path) -> None:
    """The oldest accepted grpcio can import the generated stubs."""
    for text in generated(repository, "*_pb2_grpc.py"):
        match = re.search(r"GRPC_GENERATED_VERSION = '([^']+)'", text)
        assert match
        assert lower_bound(repository, "grpcio") >= Version(match[1])


def test_protobuf_is_as_new_as_the_generated_code_demands(repository: Path) -> None:
    """The oldest accepted protobuf can import the generated messages."""
    for text in generated(repository, "*_pb2.py"):
        match = re.search(r"Protobuf Python Version: (\S+)", text)
        assert match
        assert lower_bound(repository, "protobuf") >= Version(match[1])


@pytest.mark.parametrize("package", ["arena", "referee"])
def test_every_package_of_ours_carries_its_init(repository: Path, package: str) -> None:
    """No folder with Python code is a namespace package by accident."""
    folders = {path.parent for path in (repository / package).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
