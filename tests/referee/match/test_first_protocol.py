"""A bot built on the first protocol version plays on."""

import shutil
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

from referee.bot_folder import load_bot_folder
from referee.v1 import referee_pb2 as pb
from tests.referee.real_bots import FIRST, forfeits, make_plan, play, write_bot

FROZEN = Path(__file__).parent / "first_protocol"


@pytest.mark.parametrize(("ruleset", "entrants"), [("quasenbo", 2), ("pese-katesh:floors=1", 4)])
async def test_a_bot_of_protocol_1_0_plays_as_one_of_today(
    tmp_path: Path, ruleset: str, entrants: int
) -> None:
    """It splits every set with the same bot on the SDK of today, and forfeits nothing."""
    shutil.copytree(FROZEN, tmp_path / "old")
    (tmp_path / "old" / "bot.toml").write_text(
        f'name = "old"\nrulesets = ["{ruleset}"]\ncommand = ["python", "bot.py"]\n'
    )
    bots = [load_bot_folder(tmp_path / "old"), *[write_bot(tmp_path / "new", FIRST)] * entrants]
    result = await play(make_plan(ruleset, *bots[:entrants], boards=3))
    games = result.replay.games
    assert forfeits(result) == [[]] * len(games)
    for board in range(3):
        assert len({game.actions for game in games if game.board == board}) == 1


def test_todays_protocol_has_every_field_of_the_first() -> None:
    """Nothing that a bot of 1.0 reads or writes has lost its number, type or name."""
    first = descriptor_pb2.FileDescriptorSet.FromString(
        (FROZEN / "protocol-1.0.binpb").read_bytes()
    )
    today = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(today)
    now = {message.name: message for message in today.message_type}
    for message in first.file[0].message_type:
        fields = {field.name: field for field in now[message.name].field}
        for field in message.field:
            new = fields[field.name]
            assert (new.number, new.type, new.label) == (field.number, field.type, field.label)
