"""Fetches the bots of a match from the archive and stores its replay and logs; blocking."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.matches.process_log import ProcessLog
from arena.matches.replay_file import pack
from referee.bot_folder import BotFolder, load_bot_folder
from referee.games.replay import without_details

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.archive.archive import Archive
    from arena.queue.models import MatchSpec
    from referee.match.connection import ProcessRecord
    from referee.match.runner import MatchResult


def folders(archive: Archive, digests: Iterable[str]) -> tuple[BotFolder, ...]:
    """Return the folders of the entrants, unpacked on this machine.

    Raises:
        ArenaError: the archive does not answer, or lacks one.
    """
    return tuple(load_bot_folder(archive.unpack_bot(digest)) for digest in digests)


def store(
    archive: Archive, spec: MatchSpec, played: MatchResult, *, digests: Sequence[str]
) -> bytes:
    """Store the replay and the logs; return the replay's SHA-256, by which all of it is found.

    Everybody may read the replay. What a forfeit's sentence quotes of a bot or of its process
    is its owner's, and stands in the process's log instead, with the bots' names for the
    ``digests`` of their folders. A process has a log when it printed, forfeited or did not end by
    itself. Raises `ArenaError` when the archive does not answer or is full.
    """
    data = pack(without_details(played.replay))
    digest = archive.put_replay(spec.ruleset, spec.id, data)
    for process in played.processes:
        log = _log_of(process, played, digest=digests[process.entrant])
        ended_badly = process.report.stopped or process.report.code
        if log.stdout or log.stderr or log.forfeits or ended_badly:
            text = log.text().encode()
            archive.put_log(spec.ruleset, spec.id, log_name(process), text, digest=digest)
    return digest


def _log_of(process: ProcessRecord, played: MatchResult, *, digest: str) -> ProcessLog:
    log = ProcessLog.of(process, played.replay)
    name = played.replay.entrants[process.entrant]
    said = {game: sentence.replace(digest, name) for game, sentence in log.forfeits.items()}
    return replace(log, forfeits=said)


def remove(
    archive: Archive, spec: MatchSpec, digest: bytes, processes: Iterable[ProcessRecord]
) -> None:
    """Remove what `store` left of a play that does not count.

    What cannot be removed stays until it is the oldest; nobody finds it without its digest.
    """
    names = map(log_name, processes)
    with suppress(ArenaError):
        archive.remove_match(spec.ruleset, spec.id, digest=digest, logs=names)


def log_name(process: ProcessRecord) -> str:
    """Return the name of a process's log in the archive: table, entrant, and hand in a team."""
    hand = f"-h{process.member}" if process.member else ""
    return f"t{process.table}-e{process.entrant}{hand}"
