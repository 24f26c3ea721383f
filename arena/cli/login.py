"""``arena login``: save the address of an arena and a token for the other commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from arena.cli.console import Json, complain, out, print_json
from arena.cli.remote import word
from arena.client import Client, Login
from arena.documents import document
from arena.errors import InputError
from arena.v1 import accounts_pb2


def login(
    address: Annotated[
        str,
        typer.Argument(
            help="HOST or HOST:PORT; TLS is used unless it is this machine. https:// or http:// "
            "before it says otherwise."
        ),
    ],
    *,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="Holds the token; else ARENA_TOKEN, else it is asked."),
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option("--ca", help="PEM file of whoever signed the arena's certificate."),
    ] = None,
    json: Json = False,
) -> None:
    """Save an arena's address and your token."""
    kept = Login(address=address, token=_token(token_file), ca=str(ca.resolve()) if ca else "")
    with Client(kept) as client:
        identity = client.ask(client.stub.GetIdentity, accounts_pb2.GetIdentityRequest())
    if not kept.uses_tls and address.startswith("http://"):
        complain("without TLS everybody on the way can read the token")
    file = kept.save()
    token = identity.token
    scopes = ", ".join(word(accounts_pb2.Scope, scope) for scope in token.scopes)
    if json:
        print_json({"address": address, "file": str(file), **document(identity)})
    else:
        out.print(f"You are {token.owner} at {address} ({scopes}); kept in {file}")


def _token(file: Path | None) -> str:
    if file is not None:
        try:
            text = file.read_text(encoding="ascii")
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InputError(
                f"{file} holds no token, which is plain text such as arena_...; name the file that "
                "an operator gave you"
            ) from error
    elif "ARENA_TOKEN" in os.environ:
        text = os.environ["ARENA_TOKEN"]
    elif sys.stdin.isatty():
        text = typer.prompt("Token", hide_input=True, err=True)
    else:
        text = sys.stdin.readline()
    if not text.strip():
        raise InputError("no token was given; an operator makes one with `arena token create`")
    return text.strip()
