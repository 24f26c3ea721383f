"""What is too large for Redis: bot folders, replays, logs and old results."""
