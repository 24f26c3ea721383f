import ast
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "fastapi",
    "fsspec",
    "numpy",
    "pydantic",
    "redis",
    "rich",
    "structlog",
    "typer",
    "uvloop",
    "zstandard",
}
ALLOWED = {"referee.sdk.", "referee.games."}
RAW = {"grpc.", "referee.v1."}
"""The faulty bot breaks the protocol on purpose, so it speaks it without the SDK."""
SAMPLE_BOTS = Path(__file__).resolve().parents[2] / "sample_bots"
BOT_FILES = [path for path in SAMPLE_BOTS.rglob("*.py") if "node_modules" not in path.parts]


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after the statement."""
    code = f"{statement}; import sys; print(*sorted(name.split('.')[0] for name in sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return set(answer.stdout.split())


def test_the_sdk_loads_nothing_heavy() -> None:
    """A bot's start-up pays for gRPC and protobuf, and for nothing else."""
    loaded = loaded_by("import referee.sdk")
    assert {"grpc", "google"} <= loaded
    assert loaded & (HEAVY | {"arena"}) == set()


def test_the_rules_load_the_standard_library_alone() -> None:
    """The rules engines run wherever Python runs."""
    loaded = loaded_by("import referee.games.registry")
    assert loaded & (HEAVY | {"arena", "grpc", "google", "asyncio"}) == set()


def imports(tree: ast.AST) -> list[str]:
    """The dotted names that a module imports from outside its own package."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


@pytest.mark.parametrize("path", BOT_FILES, ids=lambda path: str(path.relative_to(SAMPLE_BOTS)))
def test_a_sample_bot_imports_what_an_author_may(path: Path) -> None:
    """Sample bots use the SDK, the rules, the standard library and their own folder."""
    own = {sibling.stem for sibling in path.parent.glob("*.py")}
    allowed = ALLOWED | RAW if path.parent.name == "faulty" else ALLOWED
    strangers = [
        name
        for name in imports(ast.parse(path.read_text(encoding="utf-8")))
        if name.split(".")[0] not in sys.stdlib_module_names | own
        and not f"{name}.".startswith(tuple(allowed))
    ]
    assert strangers == []
