"""``arena serve``: run the gRPC API."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.api.server import ApiServer, Endpoint
from arena.backend.backend import Backend
from arena.cli.service import ServiceOptions, part, run_part
from arena.db.presence import Announcement, announced
from arena.files import ADDRESS_FILE, write_private
from arena.owners.tokens import ensure_admin_token
from arena.processes.lifecycle import process_name
from referee.sandbox.scratch import sweep

if TYPE_CHECKING:
    from arena.config import Settings


def serve(  # noqa: PLR0913 -- a command's options
    *,
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on; 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Of the API; 7400.")
    ] = None,
    tls_certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="PEM file; with --tls-key.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="PEM file.")] = None,
    insecure: Annotated[
        bool | None,
        typer.Option("--insecure", help="Listen on a public address without TLS."),
    ] = None,
    admin_token: Annotated[
        bool,
        typer.Option(
            "--admin-token",
            help="Keep a token for everything, and the address, in the data folder.",
        ),
    ] = False,
    options: ServiceOptions,
) -> None:
    """Run the gRPC API of the arena; several may run."""
    settings = options.settings(
        host=host,
        api_port=port,
        tls_certificate=tls_certificate,
        tls_key=tls_key,
        insecure=insecure,
    )
    endpoint = Endpoint.of(settings)
    run_part(settings, partial(_serve, endpoint=endpoint, keeps_token=admin_token))


async def _serve(
    settings: Settings, stopping: asyncio.Event, *, endpoint: Endpoint, keeps_token: bool
) -> None:
    await asyncio.to_thread(sweep)
    async with part(settings, stopping) as (arena, metrics, metrics_port):
        if keeps_token:
            await ensure_admin_token(arena.redis, settings.data_dir)
        server = ApiServer(Backend.of(arena), metrics=metrics, endpoint=endpoint)
        port = await server.start()
        announcement = Announcement(
            name=process_name("api"),
            kind="api",
            slots=0,
            metrics_port=metrics_port,
            address=f"{endpoint.host}:{port}",
        )
        if keeps_token:
            _write_address(settings, endpoint, port)
        try:
            async with announced(arena.redis, announcement):
                await server.run(stopping, grace=settings.grace)
        finally:
            if keeps_token:
                (settings.data_dir / ADDRESS_FILE).unlink(missing_ok=True)


def _write_address(settings: Settings, endpoint: Endpoint, port: int) -> None:
    """Write the address to the data folder, where commands on this machine find it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(endpoint.host, endpoint.host)  # noqa: S104 -- is replaced
    scheme = "http" if endpoint.certificate is None else "https"
    certificate = "" if endpoint.certificate is None else endpoint.certificate.resolve()
    write_private(settings.data_dir / ADDRESS_FILE, f"{scheme}://{host}:{port}\n{certificate}\n")
