"""Errors of the service: one base class, and the caller's faults.

A bot's fault is never an exception (it is a forfeit, a value). Each message says what was wrong
and what would be right.
"""

import errno
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a write fails with on a full disk, or beyond a quota or a limit of its process."""


class ArenaError(Exception):
    """Base of every error that the ``arena`` package raises on purpose.

    Attributes:
        reason: for programs, ``DIGEST_MISMATCH``; empty where the kind of the error says enough.
    """

    def __init__(
        self, message: str = "", *, reason: str = "", facts: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.facts = dict(facts or {})


class DiskFullError(ArenaError):
    """A disk is full, and nothing was changed; ``UNAVAILABLE`` over gRPC, 503 over HTTP."""


class InputError(ArenaError, ValueError):
    """The caller's fault; the message carries the fix.

    Exit code 2 on the command line, ``INVALID_ARGUMENT`` over gRPC, 400 over HTTP.
    """


class NotFoundError(InputError):
    """There is nothing of that name; ``NOT_FOUND`` over gRPC, 404 over HTTP."""


class PreconditionError(InputError):
    """The thing is there, but its state forbids the call; ``FAILED_PRECONDITION``, 409."""


class UnauthenticatedError(InputError):
    """No token, or one that is not valid; ``UNAUTHENTICATED``, 401."""


class DeniedError(InputError):
    """The token has no scope for it; ``PERMISSION_DENIED``, 403."""


class LimitError(InputError):
    """A limit was reached; ``RESOURCE_EXHAUSTED``, 429.

    ``retry_after`` is None when something has to be done before a retry.
    """

    def __init__(
        self,
        message: str = "",
        *,
        retry_after: timedelta | None = None,
        reason: str = "",
        facts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, reason=reason, facts=facts)
        self.retry_after = retry_after


def is_full(error: BaseException) -> bool:
    """Return whether an error means a full disk."""
    full = isinstance(error, OSError) and error.errno in DISK_FULL
    return full or isinstance(error, DiskFullError)
