"""What the reason of a rejection begins with that is no fault of the bot.

Whoever reads a verdict tells by it, arena and author alike, that the same folder may come again.
"""

from typing import Final

OURS: Final = "the arena failed:"
"""The arena could not try the version; submitted again, it is tried anew."""

REMOVED: Final = "its files made room for others:"
"""The version plays no more; submitted again, it is tried anew."""
