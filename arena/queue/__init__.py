"""Queues and ladders in Redis: one atomic script per transition.

`MatchQueue` holds the matches of one ruleset that wait or are being played, `Ladder` their results
and the ratings, `Queues` all rulesets, `Leadership` the active scheduler.
"""
