"""What an operator sees of a version that was rejected, and does about it."""

import io
from pathlib import Path

import pytest

from arena.bots.registry import Registry
from arena.bots.submissions import Submissions
from arena.uploads import pack_folder
from tests.service_kit import Service, eventually, make_bot

pytestmark = pytest.mark.redis


async def submitted(service: Service, folder: Path, *, owner: str = "ann") -> str:
    """Put a folder in line as the API does; return the version."""
    async with service.queues() as queues:
        redis = queues._redis
        registry = Registry(redis, service.archive())
        await registry.add_owner(owner)
        submissions = Submissions(redis, registry, service.archive())
        upload = io.BytesIO(pack_folder(folder))
        return (await submissions.store_upload(upload, owner=owner)).version.id


def state_of(service: Service, bot: str) -> str:
    """What the list of bots says of one."""
    (found,) = [each for each in service.json("bots")["bots"] if each["name"] == bot]
    return "rejected" if found["rejected"] else str(found["state"])


async def test_a_bot_whose_versions_were_all_rejected_is_listed_so(
    service: Service, tmp_path: Path
) -> None:
    """Until one waits to be tried, a new one or an old one once more."""
    service.serve()
    folder = make_bot(tmp_path, "doomed")
    (folder / "bot.py").write_text("raise SystemExit('no model')\n")
    await submitted(service, folder)
    pipeline = service.start("pipeline", ARENA_ALLOW_UNSANDBOXED_BOTS="true")

    async def is_rejected() -> bool:
        return state_of(service, "doomed") == "rejected"

    await eventually(is_rejected)
    pipeline.terminate()
    assert pipeline.wait(60) == 0
    assert "rejected" in service.run("bots").stdout
    asked = service.run("bot", "recheck", "doomed@1")
    assert asked.stdout.startswith("doomed@1 is tried again as soon as its owner submits the same")
    unknown = service.run("bot", "recheck", "doomed@2")
    assert unknown.returncode == 2
    assert "there is no version doomed@2" in unknown.stderr
    assert await submitted(service, folder) == "doomed@1"
    assert state_of(service, "doomed") == "pending"
