"""Turns exceptions into gRPC statuses."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import grpc
import structlog
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status
from redis.exceptions import RedisError

from arena.errors import (
    DeniedError,
    InputError,
    LimitError,
    NotFoundError,
    PreconditionError,
    UnauthenticatedError,
    is_full,
)
from referee.errors import InputError as RefereeInputError

DOMAIN: Final = "bot-arena"
"""Of every ErrorInfo."""

DETAILS: Final = "grpc-status-details-bin"
"""The trailing metadata that carries a google.rpc.Status."""

_LONGEST: Final = 1500
"""Characters of a sentence; clients refuse headers of more than 8 KiB."""

_SOON: Final = timedelta(seconds=2)
_LATER: Final = timedelta(minutes=1)
_CODES: Final = (
    (NotFoundError, grpc.StatusCode.NOT_FOUND),
    (PreconditionError, grpc.StatusCode.FAILED_PRECONDITION),
    (UnauthenticatedError, grpc.StatusCode.UNAUTHENTICATED),
    (DeniedError, grpc.StatusCode.PERMISSION_DENIED),
    (LimitError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (InputError, grpc.StatusCode.INVALID_ARGUMENT),
    (RefereeInputError, grpc.StatusCode.INVALID_ARGUMENT),
    (TimeoutError, grpc.StatusCode.DEADLINE_EXCEEDED),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status: its code, its message and its trailing metadata."""

    code: grpc.StatusCode
    sentence: str
    details: tuple[tuple[str, bytes], ...]


def refusal(error: BaseException, *, method: str) -> Refusal:
    """Return the status for an error; log the errors that are our own fault."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), None)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return _refusal(code, "the call took too long")
    if code is not None:
        return _refusal(
            code,
            str(error)[:_LONGEST],
            reason=getattr(error, "reason", ""),
            facts=getattr(error, "facts", {}),
            retry_after=getattr(error, "retry_after", None),
        )
    log: Any = structlog.get_logger()
    if is_full(error):
        log.warning("disk full", method=method, detail=str(error))
        return _refusal(
            grpc.StatusCode.UNAVAILABLE,
            "the arena has no room on its disk now, and stored nothing; try again later",
            reason="NO_ROOM",
            retry_after=_LATER,
        )
    if isinstance(error, (RedisError, OSError)):
        log.warning("call not served", method=method, error=repr(error))
        return _refusal(
            grpc.StatusCode.UNAVAILABLE,
            "the arena's store does not answer now; try again",
            retry_after=_SOON,
        )
    number = secrets.token_hex(6)
    log.error("call failed", method=method, error_id=number, exc_info=error)
    return _refusal(
        grpc.StatusCode.INTERNAL,
        f"the arena failed; its operator finds the cause in the log under {number}",
        facts={"error_id": number},
    )


def _refusal(
    code: grpc.StatusCode,
    sentence: str,
    *,
    reason: str = "",
    facts: dict[str, str] | None = None,
    retry_after: timedelta | None = None,
) -> Refusal:
    info = ErrorInfo(reason=reason or code.name, domain=DOMAIN, metadata=facts)
    details = [_packed(info)]
    if retry_after is not None:
        details.append(_packed(RetryInfo(retry_delay=retry_after)))
    # The number of a code stands in its value beside its name.
    status = Status(code=code.value[0], message=sentence, details=details)
    return Refusal(code, sentence, ((DETAILS, status.SerializeToString()),))


def _packed(message: ErrorInfo | RetryInfo) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed
