"""Queues and ladders in Redis: one atomic script per transition.

`MatchQueue` holds the unfinished matches of one ruleset, `Ladder` their results and the ratings,
`Queues` all rulesets.
"""
