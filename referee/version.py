"""Store the version of this package, so that a bot need not search for its metadata."""

from typing import Final

VERSION: Final = "0.1.0"
