"""The benchmark of the rules engines runs and reports every game."""

import runpy
from pathlib import Path

from referee.games import games


def test_every_game_is_measured_on_both_faces() -> None:
    """Rates and ratios are there and positive; how large they are is not for a test to say."""
    run = runpy.run_path(str(Path(__file__).parent / "playouts.py"))["run"]
    report = run(seconds=0.01)
    assert set(report["games"]) == {info.name for info in games()}
    for faces in report["games"].values():
        assert set(faces) == {"core", "text"}
        assert all(number > 0 for face in faces.values() for number in face.values())
