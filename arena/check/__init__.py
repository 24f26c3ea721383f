"""Checks a bot in numbered steps, for its author and before the arena accepts it."""
