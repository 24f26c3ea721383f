"""Define the errors of the referee package.

A bot's fault is a value (`referee.outcome.Forfeit`), never an exception. What is raised is the
caller's fault, and then carries the fix, or our own, and then voids the match.
"""

from __future__ import annotations


class RefereeError(Exception):
    """The base of every error that the referee raises."""


class InputError(RefereeError, ValueError):
    """The caller's fault: the message says what is wrong and what is possible."""


class InvalidRulesetError(InputError):
    """A ruleset text that names no game, no option or no possible value."""


class InvalidBoardError(InputError):
    """A board text that is not a sequence of whole decks of the game."""


class InvalidActionError(InputError):
    """A text that is no action of the game at all."""


class IllegalActionError(InputError):
    """An action of the game that is not legal in this state."""


class InvalidTimeControlError(InputError):
    """A time control text that cannot be read."""


class InvalidReplayError(InputError):
    """A replay that cannot be read, or whose re-execution differs from what it stores.

    Attributes:
        where: the place in the replay, for example ``game 3, ply 17``; empty when unknown.
    """

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class InvalidBotError(InputError):
    """A bot folder that cannot be run: no ``bot.toml``, a missing key, a wrong value."""


class SandboxUnavailableError(InputError):
    """This machine cannot isolate bots, and nobody allowed to run them without isolation."""


class VoidMatchError(RefereeError):
    """Our own failure: the match is unrated and played again.

    Attributes:
        reason: one of a closed set, used as a metric label.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
