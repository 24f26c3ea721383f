"""What operators list fits a terminal of eighty columns."""

from pathlib import Path

import pytest

from tests.service_kit import Service, make_bot

pytestmark = pytest.mark.redis


async def test_commands_fit_eighty_columns(service: Service, tmp_path: Path) -> None:
    """The lists of an operator, with the longest names that there can be."""
    names = ["b" * 40, "c" * 40]
    for name in names:
        folder = make_bot(tmp_path, name, rulesets=("quasenbo", "pese-katesh", "quasenbo-magnus"))
        service.add_folders(folder)
    service.serve()
    for command in (("bots",), ("ladder", "quasenbo")):
        lines = service.run(*command, COLUMNS="80").stdout.splitlines()
        assert all(len(line) <= 80 for line in lines)
        assert all(any(name in line.split() for line in lines) for name in names)
        wide = service.run(*command).stdout.splitlines()
        assert all(sum(name in line for line in wide) == 1 for name in names), "one line for each"
