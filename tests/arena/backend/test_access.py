"""Who may ask what."""

import inspect
from datetime import UTC, datetime

import pytest

from arena.backend.access import Caller, authorized
from arena.backend.bots import Bots
from arena.backend.challenges import Challenges
from arena.backend.competitions import Competitions
from arena.backend.ladders import Ladders
from arena.backend.leagues import Leagues
from arena.backend.matches import Matches
from arena.backend.operations import Operations
from arena.backend.owners import Owners
from arena.backend.tournaments import Tournaments
from arena.backend.uploads import Uploads
from arena.backend.watching import Watching
from arena.errors import DeniedError, UnauthenticatedError
from arena.owners.tokens import Scope, Token


class Calls:
    """A call of each kind."""

    @authorized(is_public=True)
    def public(self, caller: Caller) -> str:
        """Anybody."""
        return caller.owner

    @authorized()
    def personal(self, caller: Caller) -> str:
        """Any token."""
        return caller.owner

    @authorized(Scope.AUTHOR, Scope.OPERATOR)
    def scoped(self, caller: Caller) -> str:
        """One of two scopes."""
        return caller.owner


def caller(*scopes: Scope) -> Caller:
    """Return a caller with a token."""
    token = Token(
        id="1",
        owner="ada",
        name="",
        scopes=frozenset(scopes),
        prefix="x",
        created_time=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return Caller(token)


def test_a_stranger_may_only_what_is_public() -> None:
    """Without a token, all else is refused before it begins."""
    assert Calls().public(Caller()) == ""
    for refused in (Calls().personal, Calls().scoped):
        with pytest.raises(UnauthenticatedError):
            refused(Caller())


def test_one_of_the_scopes_is_enough_and_an_admin_is_not_everybody() -> None:
    """A scope does not include another one."""
    assert Calls().personal(caller(Scope.ADMIN)) == "ada"
    assert Calls().scoped(caller(Scope.OPERATOR)) == "ada"
    with pytest.raises(DeniedError, match="author or operator") as denied:
        Calls().scoped(caller(Scope.ADMIN))
    assert denied.value.reason == "SCOPE_MISSING"


def test_every_call_says_who_may_ask_it() -> None:
    """No method is without a rule."""
    kinds = (
        Bots, Challenges, Competitions, Ladders, Leagues, Matches, Operations, Owners, Tournaments,
        Uploads, Watching,
    )  # fmt: skip
    open_ones = [
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and not hasattr(method, "__wrapped__")
    ]
    assert open_ones == ["Uploads.finish"]
