"""The version of this package, for a bot that shall not search for its own metadata."""

from typing import Final

VERSION: Final = "0.1.0"
