"""The Redis server: connection, keys, scripts, retries, who is alive."""
