"""Check the container profile that lets bubblewrap create namespaces, and nothing more."""

import json
from pathlib import Path

from referee.sandbox.system_calls import REFUSED

DEPLOY = Path(__file__).resolve().parents[3] / "deploy" / "sandbox"
BUILDERS = {"clone", "unshare", "mount", "umount2", "pivot_root", "sethostname"}
TOLD = {"sched_setaffinity", *BUILDERS}
"""What bots may not do, and a worker may."""


def test_a_container_allows_what_bubblewrap_needs() -> None:
    """Every other call that a bot is refused, the container is refused as well."""
    document = json.loads((DEPLOY / "seccomp.json").read_text(encoding="utf-8"))
    assert document["defaultAction"] == "SCMP_ACT_ERRNO"
    groups = document["syscalls"]
    assert {group["action"] for group in groups} == {"SCMP_ACT_ALLOW"}
    names = [name for group in groups for name in group["names"]]
    assert len(names) == len(set(names))
    assert set(names) >= BUILDERS
    assert set(REFUSED) & set(names) <= TOLD
