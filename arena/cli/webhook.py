"""``arena webhook``: where an owner hears of what happened."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.console import EXIT_FAILED, Json, complain, out, print_json
from arena.cli.remote import Server, calling
from arena.documents import document
from arena.errors import InputError
from arena.v1 import accounts_pb2


def register(app: typer.Typer) -> None:
    """Add the commands."""
    webhook = typer.Typer(
        name="webhook",
        help="Have events posted to an address of yours.",
        no_args_is_help=True,
    )
    webhook.command(name="set")(set_up)
    webhook.command(name="show")(show)
    webhook.command(name="remove")(remove)
    app.add_typer(webhook)


def set_up(
    url: Annotated[str, typer.Argument(metavar="URL", help="An https address of yours.")],
    *,
    server: Server = None,
    json: Json = False,
) -> None:
    """Post your events to an address.

    Verdicts, forfeits, suspensions and places are posted. The secret that signs them is printed;
    nobody can print the secret again. Setting an address anew makes a new one; the old one is
    worthless at once.
    """
    if not url:
        raise InputError("an address is needed; `arena webhook remove` ends the webhook")
    with calling(server) as client:
        answer = client.ask(client.stub.SetWebhook, accounts_pb2.SetWebhookRequest(url=url))
    if json:
        print_json(document(answer))
        return
    out.print(answer.secret, markup=False, soft_wrap=True)
    complain(
        f"events are posted to {answer.webhook.url}; keep the secret, which signs them: "
        "it is shown once"
    )


def show(*, server: Server = None, json: Json = False) -> None:
    """Show the address; exit 1 when there is none."""
    with calling(server) as client:
        answer = client.ask(client.stub.GetWebhook, accounts_pb2.GetWebhookRequest())
    is_set = answer.HasField("webhook")
    if json:
        print_json(document(answer))
    elif is_set:
        out.print(answer.webhook.url, markup=False, soft_wrap=True)
    else:
        complain("there is no webhook; `arena webhook set URL` makes one")
    if not is_set:
        raise typer.Exit(EXIT_FAILED)


def remove(*, server: Server = None, json: Json = False) -> None:
    """Post nothing any more; what still waits is dropped."""
    with calling(server) as client:
        answer = client.ask(client.stub.SetWebhook, accounts_pb2.SetWebhookRequest())
    if json:
        print_json(document(answer))
    else:
        out.print("there is no webhook any more", markup=False)
