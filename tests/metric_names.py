"""The metrics that the arena promises."""

METRICS: dict[str, set[str]] = {
    "arena_matches_total": {"ruleset", "result"},
    "arena_games_total": {"ruleset", "termination"},
    "arena_turns_total": {"ruleset"},
    "arena_turn_seconds": {"ruleset", "part"},
    "arena_forfeits_total": {"ruleset", "reason"},
    "arena_queue_matches": {"ruleset", "state"},
    "arena_queue_oldest_seconds": {"ruleset"},
    "arena_lease_expirations_total": set(),
    "arena_commits_total": {"answer"},
    "arena_match_seconds": {"ruleset"},
    "arena_worker_slots": {"state"},
    "arena_referee_lag_seconds": set(),
    "arena_voids_total": {"reason"},
    "arena_bot_start_seconds": set(),
}
"""Their names, all of them, with their labels."""
