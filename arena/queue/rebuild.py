"""Replays the log: proves that the live ratings follow from it, and annuls matches.

The rule: the live ratings, counts and bank are what replaying all log entries in their sequence
gives, with the results of annulled matches left out.
"""
