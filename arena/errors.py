"""Errors of the service: one base class, and the caller's faults.

A bot's fault is never an exception (it is a forfeit, a value), and the messages here are read by
whoever made the call: each says what was wrong and what would be right.
"""


class ArenaError(Exception):
    """Base of every error that the ``arena`` package raises on purpose."""


class InputError(ArenaError, ValueError):
    """The caller's fault; the message carries the fix.

    Exit code 2 on the command line, ``INVALID_ARGUMENT`` over gRPC, 400 over HTTP.
    """


class NotFoundError(InputError):
    """There is nothing of that name; ``NOT_FOUND`` over gRPC, 404 over HTTP."""


class PreconditionError(InputError):
    """The thing is there, but its state forbids the call; ``FAILED_PRECONDITION``, 409."""
