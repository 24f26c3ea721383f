"""What processes of one arena write to the stream that they share."""

import json
import os
import socket
import subprocess
import sys

WRITER = """
import structlog
from arena.processes.lifecycle import set_up_log
set_up_log()
for number in range(3):
    structlog.get_logger().info("counted", number=number)
"""


def test_a_line_is_written_in_one_piece() -> None:
    """Also where Python holds nothing back, as in most containers: no other line comes between."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with here, there:
        subprocess.run(
            [sys.executable, "-c", WRITER],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stderr=there.fileno(),
            check=True,
        )
        here.settimeout(10)
        pieces = [here.recv(4096) for _ in range(3)]
    assert all(piece.endswith(b"\n") for piece in pieces)
    assert [json.loads(piece)["number"] for piece in pieces] == [0, 1, 2]
