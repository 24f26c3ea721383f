"""``arena token``, ``arena owners``: who may call, and with which tokens."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

import typer

from arena.cli.console import Json, complain, out, print_json
from arena.cli.remote import Server, calling, moment, pages, word
from arena.cli.tables import Column, show, table
from arena.documents import document
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


def register(app: typer.Typer) -> None:
    """Add the commands."""
    token = typer.Typer(name="token", help="Make, list and revoke tokens.", no_args_is_help=True)
    token.command(name="create")(create)
    token.command(name="list")(show_all)
    token.command(name="revoke")(revoke)
    app.add_typer(token)
    app.command(name="owners")(owners)


def owners(*, server: Server = None, json: Json = False) -> None:
    """List the owners of bots and tokens."""
    with calling(server) as client:
        request = accounts_pb2.ListOwnersRequest()
        answers = pages(client, client.stub.ListOwners, request)
        found = [owner for page in answers for owner in page.owners]
    if json:
        print_json({"owners": [document(owner) for owner in found]})
    else:
        for owner in found:
            out.print(owner.name, markup=False)


def create(  # noqa: PLR0913 -- a command's options
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
    server: Server = None,
    json: Json = False,
) -> None:
    """Make a token, and print its secret once."""
    request = accounts_pb2.CreateTokenRequest(
        owner=owner, name=name, scopes=[_scope(text) for text in scope or ["author"]]
    )
    if expires:
        request.lifetime.FromTimedelta(_lifetime(expires))
    with calling(server) as client:
        identity = client.ask(client.stub.GetIdentity, accounts_pb2.GetIdentityRequest())
        if owner not in {"", identity.token.owner}:
            client.ask(client.stub.CreateOwner, accounts_pb2.CreateOwnerRequest(name=owner))
        made = client.ask(client.stub.CreateToken, request)
    if json:
        print_json(document(made))
        return
    out.print(made.secret, markup=False)
    complain(f"this is the token {made.token.id} of {made.token.owner}; keep it, it is shown once")


def show_all(
    owner: Annotated[str, typer.Argument(help="Whose; yours without it.")] = "",
    *,
    server: Server = None,
    json: Json = False,
) -> None:
    """List tokens, without their secrets."""
    with calling(server) as client:
        answer = client.ask(client.stub.ListTokens, accounts_pb2.ListTokensRequest(owner=owner))
    if json:
        print_json(document(answer))
    else:
        show(table(_COLUMNS, map(_cells, answer.tokens)))


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
    server: Server = None,
    json: Json = False,
) -> None:
    """Make a token worthless at once."""
    with calling(server) as client:
        answer = client.ask(client.stub.RevokeToken, accounts_pb2.RevokeTokenRequest(id=token))
    if json:
        print_json(document(answer))
    else:
        out.print(f"{token} of {answer.token.owner} is revoked", markup=False)


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
