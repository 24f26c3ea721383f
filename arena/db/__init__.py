"""The Redis server: connection, keys, scripts, retries, presence."""
