"""Tournaments and leagues in Redis: their records, their runner, their standings.

What names a competition that is not there raises `NotFoundError`; what a state forbids,
`PreconditionError`; rules that cannot be played, `InputError`.
"""
