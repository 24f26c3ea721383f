"""``arena token``, ``arena owners``: create, list and revoke tokens; list owners."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

import typer

from arena.cli.console import complain
from arena.cli.options import group
from arena.cli.remote import Remote, moment, word
from arena.cli.tables import Column, table
from arena.errors import InputError
from arena.v1 import accounts_pb2

_COLUMNS = (
    Column("id"),
    Column("owner", leaves=1),
    Column("name", shortens=True),
    Column("scopes", wraps=True),
    Column("begins with", leaves=3),
    Column("created", leaves=2),
    Column("ends", wraps=True),
)
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def owners(*, arena: Remote) -> None:
    """List the owners of bots and tokens."""
    found = arena.ask_all(arena.stub.ListOwners, accounts_pb2.ListOwnersRequest())
    arena.tell(found, *(owner.name for owner in found.owners))


def create(
    owner: Annotated[
        str, typer.Argument(help="Whose; yours without it. An admin registers new owners so.")
    ] = "",
    *,
    scope: Annotated[
        list[str] | None, typer.Option(help="author, operator or admin; author. May be repeated.")
    ] = None,
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    expires: Annotated[
        str, typer.Option(help="After how long, 90d, 12h or 30m; never without it.")
    ] = "",
    arena: Remote,
) -> None:
    """Create a token, and print its secret once."""
    request = accounts_pb2.CreateTokenRequest(
        owner=owner, name=name, scopes=[_scope(text) for text in scope or ["author"]]
    )
    if expires:
        request.lifetime.FromTimedelta(_lifetime(expires))
    identity = arena.ask(arena.stub.GetIdentity, accounts_pb2.GetIdentityRequest())
    if owner not in {"", identity.token.owner}:
        arena.ask(arena.stub.CreateOwner, accounts_pb2.CreateOwnerRequest(name=owner))
    made = arena.ask(arena.stub.CreateToken, request)
    arena.tell(made, made.secret)
    if not arena.json:
        token = made.token
        complain(f"this is the token {token.id} of {token.owner}; keep it, it is shown once")


def list_(
    owner: Annotated[str, typer.Argument(help="Whose; yours without it.")] = "", *, arena: Remote
) -> None:
    """List tokens, without their secrets."""
    answer = arena.ask(arena.stub.ListTokens, accounts_pb2.ListTokensRequest(owner=owner))
    arena.tell(answer, table(_COLUMNS, map(_cells, answer.tokens)))


def _cells(token: accounts_pb2.Token) -> list[str]:
    end = moment(token.expire_time) if token.HasField("expire_time") else "never"
    if token.HasField("revoke_time"):
        end = f"revoked {moment(token.revoke_time)}"
    scopes = " ".join(word(accounts_pb2.Scope, scope) for scope in token.scopes)
    created = moment(token.create_time)
    return [token.id, token.owner, token.name, scopes, token.prefix, created, end]


def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="As `arena token list` names it.")],
    *,
    arena: Remote,
) -> None:
    """Revoke a token at once."""
    answer = arena.ask(arena.stub.RevokeToken, accounts_pb2.RevokeTokenRequest(id=token))
    arena.tell(answer, f"{token} of {answer.token.owner} is revoked")


def _scope(text: str) -> accounts_pb2.Scope.ValueType:
    known = {word(accounts_pb2.Scope, each): each for each in accounts_pb2.Scope.values() if each}
    if text not in known:
        raise InputError(f"{text!r} is no scope; possible: {', '.join(known)}")
    return known[text]


def _lifetime(text: str) -> timedelta:
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text)
    if match is None:
        raise InputError(f"{text!r} is no time; possible: 90d, 12h, 30m")
    return int(match[1]) * _UNITS[match[2]]


token = group("Create, list and revoke tokens.", create, list_, revoke)
