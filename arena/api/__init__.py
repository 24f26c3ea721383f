"""The API: `arena.v1.ArenaService` and `CompetitionService` over gRPC.

It translates to and from `arena.backend`, and nothing else: `handlers` authenticates callers and
turns errors into statuses, one module for each kind of call, `server` puts them together.
"""
