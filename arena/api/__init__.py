"""The API: `arena.v1.ArenaService` over gRPC.

`gate` lets calls in and turns errors into statuses; one module for each kind of call; `server` puts
them together.
"""
