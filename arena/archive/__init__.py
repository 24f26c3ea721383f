"""The archive of bot folders, replays, logs and old results."""
