"""Write deploy/SETTINGS.md from the settings object; ``--check`` only compares."""

import inspect
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from arena.config import LadderSettings, Settings

FILE = Path(__file__).with_name("SETTINGS.md")
HEAD = """\
# Settings

Written by `deploy/settings.py` from `arena/config.py`. A setting is read from the command's option,
where it has one; else from its environment variable, `ARENA_` and the name in capitals; else from
`arena.toml` in the working folder, or the file of `--config`. Times are seconds, sizes bytes.

| setting | default | what it is |
|---|---|---|
"""
LADDERS = """
Under `[ladders."RULESET"]` of `arena.toml`, or as JSON in `ARENA_LADDERS`, a ladder has its own
{names}.
"""
_ATTRIBUTE = re.compile(r"^    (\w+): (.+?)(?=^    \w+: |\Z)", re.DOTALL | re.MULTILINE)


def reference() -> str:
    """Return the whole file."""
    text = inspect.getdoc(Settings) or ""
    described = dict(_ATTRIBUTE.findall(text.partition("Attributes:\n")[2]))
    rows = [
        f"| `{name}` | {_shown(field.get_default(call_default_factory=True))} "
        f"| {' '.join(described[name].replace('``', '`').split())} |"
        for name, field in Settings.model_fields.items()
    ]
    names = ", ".join(f"`{name}`" for name in LadderSettings.model_fields)
    return HEAD + "\n".join(rows) + "\n" + LADDERS.format(names=names)


def _shown(value: Any) -> str:
    if value in (None, "", {}):
        return ""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}"
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value}`" if isinstance(value, str | Path) else f"{value}"


if __name__ == "__main__":
    if "--check" not in sys.argv:
        FILE.write_text(reference(), encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != reference():
        sys.exit("deploy/SETTINGS.md is not what arena/config.py says; run `make settings`")
