"""Authorizes callers by the scopes of their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from arena.errors import DeniedError, UnauthenticatedError
from arena.owners.tokens import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.backend.backend import Backend
    from arena.bots.registry import Bot
    from arena.owners.tokens import Token

_Self = TypeVar("_Self")
_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the owner of a token, or a stranger without one."""

    bearer: Token | None = None

    @property
    def token(self) -> Token:
        """The token of a caller who is no stranger."""
        assert self.bearer is not None
        return self.bearer

    @property
    def owner(self) -> str:
        """The name of the owner; "" for a stranger."""
        return "" if self.bearer is None else self.bearer.owner

    def has(self, scope: Scope) -> bool:
        """Return whether the token has a scope."""
        return self.bearer is not None and scope in self.bearer.scopes

    def sees_private(self, bot: Bot) -> bool:
        """Return whether the caller may see what only a bot's owner and operators see."""
        return bot.owner == self.owner or self.has(Scope.OPERATOR)

    def require_own(self, bot: Bot, *, what: str = "only its owner may do this") -> None:
        """Refuse whoever is not a bot's owner."""
        if bot.owner != self.owner:
            raise DeniedError(
                f"the bot {bot.name} is another owner's; {what}", reason="NOT_YOUR_BOT"
            )


class Service:
    """A group of the arena's calls."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend


def authorized(
    *scopes: Scope, is_public: bool = False
) -> Callable[
    [Callable[Concatenate[_Self, Caller, _P], _R]], Callable[Concatenate[_Self, Caller, _P], _R]
]:
    """Authorize the caller before a method runs.

    Args:
        scopes: the token must have one of them; () for any token.
        is_public: whether no token is needed.

    Raises:
        UnauthenticatedError: when the method is called without a token that it needs.
        DeniedError: likewise with a token that has none of the scopes.
    """

    def guard(
        method: Callable[Concatenate[_Self, Caller, _P], _R],
    ) -> Callable[Concatenate[_Self, Caller, _P], _R]:
        @wraps(method)
        def guarded(self: _Self, caller: Caller, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
            _authorize(caller, scopes, is_public=is_public)
            return method(self, caller, *args, **kwargs)

        return guarded

    return guard


def _authorize(caller: Caller, scopes: tuple[Scope, ...], *, is_public: bool) -> None:
    token = caller.bearer
    if token is None:
        if not is_public:
            raise UnauthenticatedError(
                "this call needs a token; `arena login ADDRESS` keeps one", reason="TOKEN_MISSING"
            )
    elif scopes and not token.scopes & set(scopes):
        raise DeniedError(
            f"this call needs a token with the scope {' or '.join(scopes)}; {token.prefix}... has "
            f"{', '.join(sorted(token.scopes))}",
            reason="SCOPE_MISSING",
            facts={"scope": scopes[0].value},
        )
