"""``arena submit``: upload a bot, and follow its trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from arena.cli.console import EXIT_FAILED, complain, out, progress_console
from arena.cli.remote import Remote, until_answered, word
from arena.cli.tables import show
from arena.documents import document
from arena.uploads import pack_folder
from arena.v1 import bots_pb2
from referee.bot_folder import load_bot_folder

SETTLED: Final = {
    bots_pb2.VERSION_STATE_ACCEPTED,
    bots_pb2.VERSION_STATE_REJECTED,
    bots_pb2.VERSION_STATE_SUSPENDED,
}
"""States in which nothing more happens to a version by itself."""

TRIED_ANEW: Final = {bots_pb2.REJECTION_CAUSE_ARENA, bots_pb2.REJECTION_CAUSE_QUOTA}
"""Causes of a rejection after which the same folder, submitted again, is tried anew."""

_DOING: Final = {
    bots_pb2.VERSION_STATE_UPLOADED: "waiting to be tried",
    bots_pb2.VERSION_STATE_BUILDING: "being built",
    bots_pb2.VERSION_STATE_CHECKING: "being checked",
    bots_pb2.VERSION_STATE_VALIDATING: "playing against house bots",
}


def submit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds bot.toml.")],
    *,
    watch: Annotated[
        bool, typer.Option(help="Stay until the arena has accepted or rejected it.")
    ] = True,
    arena: Remote,
) -> None:
    """Upload a bot, and follow its trial.

    It becomes the next version of its bot; exit 1 when it is rejected. The same content again is
    the same version, so that whatever was cut off may be repeated.
    """
    name = load_bot_folder(folder).name
    archive = pack_folder(folder)
    arena.identity("submitting")
    answer = until_answered(lambda: arena.client.submit(archive))
    version = answer.version
    look = f"arena bot show {version.id}"
    if not arena.json:
        known = "" if answer.is_new else ", known: the same content was submitted before"
        out.print(f"{version.id}: {len(archive) / 1024:.1f} KiB uploaded{known}")
    if watch:
        with arena.kept(f"{version.id} is uploaded", fate="the arena goes on with it", look=look):
            version = _follow(arena, version.id)
    settled = version.state in SETTLED
    arena.tell(
        {**document(answer), "version": document(version)},
        verdict_line(version) if settled else f"`{look}` tells what becomes of it",
    )
    if settled and version.state != bots_pb2.VERSION_STATE_ACCEPTED:
        if not arena.json:
            advise(folder, name, version, is_new=answer.is_new)
        raise typer.Exit(EXIT_FAILED)


def advise(folder: Path, name: str, version: bots_pb2.Version, *, is_new: bool) -> None:
    """Print what to do about a version that was not accepted."""
    if version.rejection_cause in TRIED_ANEW:
        complain(
            f"that is no fault of the bot: `arena submit {folder}` once more, as it is, and "
            f"{version.id} is tried anew"
        )
        return
    complain(f"mend it, try it with `arena check {folder}`, and submit {name} again")
    if not is_new and version.state == bots_pb2.VERSION_STATE_REJECTED:
        complain(
            "if the arena lacked something that it has now, its operator lets the same "
            f"folder be tried again: `arena bot recheck {version.id}`"
        )


def _follow(arena: Remote, version_id: str) -> bots_pb2.Version:
    """Print each step as it ends, until the version is settled; return it."""
    request = bots_pb2.WatchVersionRequest(version=version_id)
    shown = 0
    version = bots_pb2.Version(id=version_id)
    with progress_console.status("") as status:
        for answer in arena.watch(
            arena.stub.WatchVersion, request, ended=lambda answer: answer.version.state in SETTLED
        ):
            version = answer.version
            # A version is tried anew when the arena itself failed: its steps begin again.
            if len(version.steps) < shown:
                shown = 0
            for step in version.steps[shown:]:
                if not arena.json:
                    show(*step_lines(step))
            shown = len(version.steps)
            status.update(f"{version_id} is {_DOING.get(version.state, 'settled')}")
    return version


def step_lines(step: bots_pb2.Step) -> list[str]:
    """Return a step in a line, and below it what the bot printed if it failed."""
    seconds = step.elapsed.ToTimedelta().total_seconds()
    detail = f"  {step.detail}" if step.detail else ""
    line = f"  {'ok  ' if step.ok else 'FAIL'} {step.name} ({seconds:.1f} s){detail}"
    printed = [] if step.ok else step.output.splitlines()
    return [line, *(f"       | {each}" for each in printed)]


def verdict_line(version: bots_pb2.Version) -> str:
    """Return the state of a settled version, and the reason."""
    state = word(bots_pb2.VersionState, version.state)
    because = f": {version.reason}" if version.reason else ""
    plays = ""
    if version.state == bots_pb2.VERSION_STATE_ACCEPTED:
        plays = (
            f" and plays on {', '.join(version.rulesets)}"
            if version.active
            else f"; `arena bot activate {version.id}` lets it play"
        )
    elif version.rejection_cause in TRIED_ANEW:
        plays = "; submitted again as it is, it is tried anew"
    return f"{version.id} is {state}{because}{plays}"
