"""Schedules and standings: pure functions of entrants and results.

``schedule.next_matches`` is the entry point: a competition and its results so far give the matches
to play next. ``round_robin`` and ``whist`` are the plain tables of who meets whom.
"""
