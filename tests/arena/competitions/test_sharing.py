"""Competitions beside a ladder: fair shares, and a log that forgets."""

import hashlib
import secrets
from datetime import timedelta
from pathlib import Path

import pytest

from arena.competitions.records import CompetitionState
from arena.formats.model import Format
from arena.queue.retention import archive_old
from tests.arena.competitions.hall import Hall
from tests.arena.competitions.sharing import Rivals, share
from tests.arena.queue.making import make_spec
from tests.arena.queue.test_rebuild import FolderOfResults

pytestmark = pytest.mark.redis


RIVALS = {
    "equal": Rivals(entrants=46, weight=1),
    "heavy tournament": Rivals(entrants=55, weight=3),
    "heavy ladder": Rivals(entrants=40, weight=1, ladder_weight=2),
    "long matches": Rivals(entrants=35, weight=1, boards=4),
}


@pytest.mark.parametrize("rivals", RIVALS.values(), ids=RIVALS)
async def test_a_tournament_and_the_ladder_share_by_weight(hall: Hall, rivals: Rivals) -> None:
    """While both have matches waiting, each gets its share of the games, within 5 % and always."""
    shared = await share(hall, rivals)
    assert shared.error < 0.05
    assert shared.worst_error < 0.05
    assert len(shared.contested) > 1000
    assert len(shared.played) == len({spec.id for spec in shared.played}) == rivals.matches


async def test_results_survive_a_log_that_was_archived_before_they_were_seen(
    hall: Hall, tmp_path: Path
) -> None:
    """A scheduler that comes late finds them in the archive."""
    archive = FolderOfResults(tmp_path)
    bots = [f"bot{number}" for number in range(5)]
    await hall.add_bots(bots)
    await hall.create(bots, Format.ROUND_ROBIN)
    await hall.tick()
    played = await hall.play()
    assert played == 8
    queue = hall.queues.queue("quasenbo")
    for number in range(40):
        spec = make_spec(f"challenge-{number}", "bot0@1", "bot1@1", flow="challenge", rated=False)
        await queue.enqueue(spec, flow_weight=1, cap=100, epoch=None)
    await hall.play()
    await archive_old(hall.queues.ladder("quasenbo"), archive, keep=10, segment=10)
    hall.new_runner(archive=archive)
    await hall.lead()
    record = await hall.run()
    assert record.state is CompetitionState.ENDED
    ids = [spec.id for spec in hall.played if spec.flow == "t:cup"]
    assert len(ids) == len(set(ids)) == 10
    assert len(await hall.competitions.results("t-cup")) == 10


async def test_two_tournaments_of_one_ladder_do_not_mix(hall: Hall) -> None:
    """Each folds in its own results, and only those."""
    bots = [f"bot{number}" for number in range(4)]
    await hall.add_bots(bots)
    await hall.create(bots, Format.ROUND_ROBIN, name="a")
    await hall.create(bots, Format.SINGLE_ELIMINATION, name="b")
    await hall.run("t-a")
    await hall.run("t-b")
    for name, matches in (("a", 6), ("b", 3)):
        results = await hall.competitions.results(f"t-{name}")
        assert len(results) >= matches
        assert all(match.startswith(f"t-{name}.") for match in results)


async def test_a_commit_between_two_schedulers_is_folded_by_the_second(hall: Hall) -> None:
    """What was played while nobody scheduled counts, and is not played again."""
    bots = [f"bot{number}" for number in range(4)]
    await hall.add_bots(bots)
    await hall.create(bots, Format.ROUND_ROBIN)
    await hall.tick()
    lease = await hall.queues.lease("w", token=secrets.token_hex(16), duration=timedelta(minutes=1))
    assert lease is not None
    hall.new_runner()
    await hall.lead()
    await hall.tick()
    await hall.commit(lease)
    await hall.run()
    assert [spec.id for spec in hall.played].count(lease.match_id) == 1
    assert hashlib.sha256(lease.spec.seed).hexdigest() == lease.spec.commitment
