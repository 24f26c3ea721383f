"""``arena replay``: show, verify and convert replays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.ask import ask
from arena.cli.console import EXIT_FAILED, Json, complain, print_json
from arena.cli.options import group
from arena.cli.tables import show
from arena.errors import InputError
from arena.files import write_file
from arena.matches import replay_file as replay_files
from arena.matches.report import numbered
from referee.errors import InputError as RefereeInputError
from referee.games.replay import Replay, ReplayGame, dump, states, verify

File = Annotated[Path, typer.Argument(help="A replay file.")]


def show_(
    file: File,
    game: Annotated[
        int | None, typer.Option(min=0, help="Show this game (from 0) action by action.")
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Show a match, or one of its games action by action."""
    replay = replay_files.read(file)
    if game is None:
        _show_match(replay, json=json)
    elif game < len(replay.games):
        _show_game(replay, replay.games[game], json=json)
    else:
        raise InputError(f"the replay holds games 0 to {len(replay.games) - 1}, not {game}")


def verify_(
    files: Annotated[list[Path], typer.Argument(help="Replay files.")], *, json: Json = False
) -> None:
    """Re-execute every game from the seed; exit 1 when anything differs."""
    results = [_verify_file(file) for file in files]
    if json:
        print_json({"replays": results})
    else:
        for result in results:
            if result["ok"]:
                show(f"{result['file']}: {result['games']} games verified")
            else:
                complain(f"{result['file']}: {result['error']}")
    if not all(result["ok"] for result in results):
        raise typer.Exit(EXIT_FAILED)


def export(
    file: File,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file; stdout without it.")
    ] = None,
) -> None:
    """Convert a replay to plain JSON, one game a line."""
    data = dump(replay_files.read(file))
    if output is None:
        typer.echo(data.decode(), nl=False)
    else:
        write_file(output, data)


def _verify_file(file: Path) -> dict[str, Any]:
    data = replay_files.read_bytes(file)
    try:
        replay = replay_files.unpack(data)
        verify(replay)
    except (InputError, RefereeInputError) as error:
        where = getattr(error, "where", "")
        return {"file": str(file), "ok": False, "where": where, "error": str(error)}
    return {"file": str(file), "ok": True, "games": len(replay.games), "digest": replay.digest()}


def _show_match(replay: Replay, *, json: bool) -> None:
    names = numbered(replay.entrants)
    if json:
        print_json(
            {
                "ruleset": replay.ruleset,
                "entrants": list(names),
                "time_control": replay.time_control,
                "sandbox": replay.tier,
                "seed": replay.seed.hex(),
                "digest": replay.digest(),
                "games": [_game_document(game) for game in replay.games],
            }
        )
        return
    show(f"{replay.ruleset}, {' - '.join(names)}, {replay.time_control}")
    show(f"seed {replay.seed.hex()}")
    for number, game in enumerate(replay.games):
        seats = " ".join(
            f"{names[entrant]}:{game.outcome.points[seat]}({game.outcome.places[seat]})"
            for seat, entrant in enumerate(game.seats)
        )
        ending = "" if game.termination == "finished" else f"  {game.termination}"
        counts = f"board {game.board} table {game.table}  {len(game.actions):4} actions"
        show(f"{number:4} {counts}  {seats}{ending}")
        for forfeit in game.forfeits:
            why = f"{forfeit.reason}{f': {forfeit.detail}' if forfeit.detail else ''}"
            show(f"     {names[game.seats[forfeit.seat]]} forfeits, {why}")


def _game_document(game: ReplayGame) -> dict[str, Any]:
    return {
        "board": game.board,
        "table": game.table,
        "seats": list(game.seats),
        "actions": len(game.actions),
        "termination": str(game.termination),
        "points": list(game.outcome.points),
        "places": list(game.outcome.places),
        "forfeits": [
            {"seat": f.seat, "reason": str(f.reason), "ply": f.ply, "detail": f.detail}
            for f in game.forfeits
        ],
    }


def _show_game(replay: Replay, game: ReplayGame, *, json: bool) -> None:
    names = numbered(replay.entrants)
    plies: list[dict[str, Any]] = []
    reached = states(replay, game)
    for ply, (state, action) in enumerate(zip(reached, game.actions, strict=False)):
        assert state.seat_to_act is not None
        asked = game.times[ply]
        plies.append(
            {
                "ply": ply,
                "seat": state.seat_to_act,
                "bot": names[game.seats[state.seat_to_act]],
                "hand": list(state.hand(state.seat_to_act)),
                "legal_actions": list(state.legal_actions()),
                "action": action,
                "charged_ms": None if asked is None else asked.charged / 1000,
                "events": list(reached[ply + 1].events_since(state.event_count)),
            }
        )
    if json:
        print_json({**_game_document(game), "plies": plies})
        return
    show(*(f"{'':11}{event}" for event in reached[0].events))
    for row in plies:
        charged = "   forced" if row["charged_ms"] is None else f"{row['charged_ms']:6.1f} ms"
        cards = f"of {' '.join(row['legal_actions'])}   holding {' '.join(row['hand'])}"
        played = f"{row['bot']} (seat {row['seat']}): {row['action']}"
        show(f"{row['ply']:4} {charged}  {played}   {cards}")
        show(*(f"{'':11}{event}" for event in row["events"]))
    outcome = game.outcome
    show(f"points {list(outcome.points)} places {list(outcome.places)}, {game.termination}")


replay = group("Show, verify and convert replays, or ask a bot.", show_, verify_, export, ask)
