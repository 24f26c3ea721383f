"""Define the errors of the referee package.

A bot's fault is a value (`referee.outcome.Forfeit`), never an exception. An `InputError` is the
caller's fault and tells the fix; a `VoidMatchError` is our own and voids the match.
"""

from __future__ import annotations


class RefereeError(Exception):
    """Base class of the referee's errors."""


class InputError(RefereeError, ValueError):
    """The caller's input is invalid; the message says what is possible."""


class InvalidRulesetError(InputError):
    """A ruleset text names an unknown game, option or value."""


class InvalidBoardError(InputError):
    """A board text is not a sequence of whole decks of the game."""


class InvalidActionError(InputError):
    """A text cannot be parsed as an action of the game."""


class IllegalActionError(InputError):
    """An action of the game is not legal in this state."""


class InvalidTimeControlError(InputError):
    """A time control text cannot be parsed."""


class InvalidReplayError(InputError):
    """A replay cannot be parsed, or its re-execution differs from its content.

    Attributes:
        where: the place in the replay, for example ``game 3, ply 17``; empty when unknown.
    """

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class InvalidBotError(InputError):
    """A bot's folder cannot be run: no ``bot.toml``, a missing key, a wrong value."""


class SandboxUnavailableError(InputError):
    """This machine cannot isolate bots."""


class VoidMatchError(RefereeError):
    """The referee failed: the match is unrated and played again.

    Attributes:
        reason: one of a closed set, used as a metric label.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
