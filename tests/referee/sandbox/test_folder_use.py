"""How much a folder holds that a bot writes while it is looked at."""

import os
from pathlib import Path

import pytest

from referee.sandbox import folder_use


def test_a_file_that_goes_meanwhile_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bot that makes and removes files all the time is measured like any other."""
    for name in ("one", "two", "three"):
        (tmp_path / name).write_bytes(bytes(8192))
    list_entries = folder_use._entries

    def then_remove_one(path: str, most: int | None = None) -> list[os.DirEntry[str]]:
        entries = list_entries(path, most)
        Path(entries[0].path).unlink()
        return entries

    monkeypatch.setattr(folder_use, "_entries", then_remove_one)
    use = folder_use.folder_use(tmp_path, most_files=10)
    assert (use.files, use.hides) == (3, False)
    assert use.size >= 2 * 8192
