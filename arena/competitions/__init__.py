"""Tournaments and leagues in Redis: their records, their runner, their standings."""
