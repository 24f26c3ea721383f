"""``arena webhook``: set, show and remove the address that receives an owner's events."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.console import EXIT_FAILED, complain
from arena.cli.options import group
from arena.cli.remote import Remote
from arena.errors import InputError
from arena.v1 import accounts_pb2


def set_(
    url: Annotated[str, typer.Argument(metavar="URL", help="An https address of yours.")],
    *,
    arena: Remote,
) -> None:
    """Set the address that receives your events.

    Verdicts, forfeits, suspensions and places are posted. The secret that signs them is printed;
    nobody can print the secret again. Setting an address anew makes a new one; the old one is
    worthless at once.
    """
    if not url:
        raise InputError("an address is needed; `arena webhook remove` ends the webhook")
    answer = arena.ask(arena.stub.SetWebhook, accounts_pb2.SetWebhookRequest(url=url))
    arena.tell(answer, answer.secret)
    if not arena.json:
        url = answer.webhook.url
        complain(f"events are posted to {url}; keep the secret, which signs them: it is shown once")


def show(*, arena: Remote) -> None:
    """Show the webhook's address; exit 1 without one."""
    answer = arena.ask(arena.stub.GetWebhook, accounts_pb2.GetWebhookRequest())
    is_set = answer.HasField("webhook")
    arena.tell(answer, *([answer.webhook.url] if is_set else []))
    if not is_set:
        if not arena.json:
            complain("there is no webhook; `arena webhook set URL` makes one")
        raise typer.Exit(EXIT_FAILED)


def remove(*, arena: Remote) -> None:
    """Remove the webhook, and drop waiting events."""
    answer = arena.ask(arena.stub.SetWebhook, accounts_pb2.SetWebhookRequest())
    arena.tell(answer, "there is no webhook any more")


webhook = group("Set, show or remove the webhook for your events.", set_, show, remove)
