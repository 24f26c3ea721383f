"""``arena token``: make, list and revoke tokens."""

from __future__ import annotations

import re
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli.console import Json, complain, out, print_json
from arena.cli.tables import Column, show, table
from arena.client import Client, Login
from arena.errors import InputError
from arena.v1 import accounts_pb2

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

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
    json: Json = False,
) -> None:
    """Make a token and print its secret, which nobody can print again."""
    request = accounts_pb2.CreateTokenRequest(
        owner=owner, name=name, scopes=[_scope(text) for text in scope or ["author"]]
    )
    if expires:
        request.lifetime.FromTimedelta(_lifetime(expires))
    with Client(Login.load()) as client:
        identity = client.ask(client.stub.GetIdentity, accounts_pb2.GetIdentityRequest())
        if owner not in {"", identity.token.owner}:
            client.ask(client.stub.CreateOwner, accounts_pb2.CreateOwnerRequest(name=owner))
        made = client.ask(client.stub.CreateToken, request)
    if json:
        print_json({**_document(made.token), "secret": made.secret})
        return
    out.print(made.secret, markup=False)
    complain(f"this is the token {made.token.id} of {made.token.owner}; keep it, it is shown once")


def show_all(
    owner: Annotated[str, typer.Argument(help="Whose; yours without it.")] = "",
    *,
    json: Json = False,
) -> None:
    """List tokens, without their secrets."""
    with Client(Login.load()) as client:
        answer = client.ask(client.stub.ListTokens, accounts_pb2.ListTokensRequest(owner=owner))
    documents = [_document(token) for token in answer.tokens]
    if json:
        print_json({"tokens": documents})
        return
    rows = []
    for each in documents:
        end = f"revoked {each['revoked']}" if each["revoked"] else each["expires"] or "never"
        scopes = " ".join(each["scopes"])
        rows.append(
            (each["id"], each["owner"], each["name"], scopes, each["prefix"], each["created"], end)
        )
    show(table(_COLUMNS, rows))


def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="As `arena token list` names it.")],
    *,
    json: Json = False,
) -> None:
    """Make a token worthless at once."""
    with Client(Login.load()) as client:
        answer = client.ask(client.stub.RevokeToken, accounts_pb2.RevokeTokenRequest(id=token))
    if json:
        print_json(_document(answer.token))
    else:
        out.print(f"{token} of {answer.token.owner} is revoked", markup=False)


def _document(token: accounts_pb2.Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "owner": token.owner,
        "name": token.name,
        "scopes": [_scope_name(scope) for scope in token.scopes],
        "prefix": token.prefix,
        "created": _time(token.create_time),
        "expires": _time(token.expire_time) if token.HasField("expire_time") else "",
        "revoked": _time(token.revoke_time) if token.HasField("revoke_time") else "",
    }


def _time(time: Timestamp) -> str:
    return time.ToDatetime(UTC).isoformat(timespec="seconds")


def _scope_name(scope: accounts_pb2.Scope.ValueType) -> str:
    return accounts_pb2.Scope.Name(scope).removeprefix("SCOPE_").lower()


def _scope(text: str) -> accounts_pb2.Scope.ValueType:
    known = {_scope_name(number): number for number in accounts_pb2.Scope.values() if number}
    if text not in known:
        raise InputError(f"{text!r} is no scope; possible: {', '.join(known)}")
    return known[text]


def _lifetime(text: str) -> timedelta:
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text)
    if match is None:
        raise InputError(f"{text!r} is no time; possible: 90d, 12h, 30m")
    return int(match[1]) * _UNITS[match[2]]
