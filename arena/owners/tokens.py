"""Issues, authenticates and revokes owners' tokens, in Redis.

A token's secret is 256 random bits. Only its SHA-256 is stored, and is the key it is looked up by,
so that neither the store nor the time of a look-up tells anything about a secret.
"""

import base64
import hashlib
import re
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter
from redis.asyncio import Redis

from arena.bots.registry import OWNER_NAME
from arena.db.keys import arena_key, item_key
from arena.db.scripts import Scripts
from arena.errors import InputError, LimitError, NotFoundError, UnauthenticatedError
from arena.files import ADMIN_FILE, write_private

ADMIN: Final = "admin"
"""The owner of the token that ``arena up`` makes."""

MOST_TOKENS: Final = 50
"""Tokens of one owner that have not been revoked."""

_MARK: Final = "arena_"
_PREFIX: Final = len(_MARK) + 6
_SECRET: Final = re.compile(_MARK + r"[A-Za-z0-9_-]{43}")
_ID: Final = re.compile(r"tok-[0-9a-f]{16}")
_KEPT: Final = timedelta(days=30)
_LONGEST: Final = timedelta(days=3650)
_TOKENS, _IDS, _OWNERS = map(arena_key, ("tokens", "token-ids", "owners"))


class Scope(StrEnum):
    """A permission of a token; no scope includes another."""

    AUTHOR = "author"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token; of its secret it has the first characters alone, ``prefix``. Times are UTC."""

    id: str
    owner: str
    name: str
    scopes: frozenset[Scope]
    prefix: str
    created_time: datetime
    expire_time: datetime | None = None
    revoke_time: datetime | None = None

    def is_usable(self, now: datetime) -> bool:
        """Return whether the token is accepted at a time."""
        return all(now < end for end in (self.revoke_time, self.expire_time) if end is not None)


_TOKEN: Final = TypeAdapter(Token)


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A new token and its secret, which is not stored."""

    token: Token
    secret: str


class TokenStore:
    """The tokens of all owners."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def authenticate(self, secret: str) -> Token:
        """Return the token of a secret, or raise `UnauthenticatedError`."""
        text = None
        if _SECRET.fullmatch(secret):
            text = await self._redis.hget(_TOKENS, _digest(secret))
        if text is None:
            raise UnauthenticatedError(
                "this token is not known here; get one from an operator, then `arena login`",
                reason="TOKEN_UNKNOWN",
            )
        token = _TOKEN.validate_json(text)
        if token.revoke_time is not None:
            raise UnauthenticatedError(
                f"the token {token.prefix}... was revoked; get another one", reason="TOKEN_REVOKED"
            )
        if not token.is_usable(datetime.now(UTC)):
            raise UnauthenticatedError(
                f"the token {token.prefix}... expired on {token.expire_time:%Y-%m-%d %H:%M} UTC; "
                "get another one",
                reason="TOKEN_EXPIRED",
            )
        return token

    async def create(
        self,
        owner: str,
        *,
        scopes: frozenset[Scope],
        name: str = "",
        lifetime: timedelta | None = None,
    ) -> CreatedToken:
        """Create a token, with a lifetime of None for ever; forget the owner's old ended ones.

        Raises:
            InputError: no scope, a long name, or a lifetime that is not possible.
            NotFoundError: no such owner.
            LimitError: the owner has `MOST_TOKENS` already.
        """
        _check(scopes, name, lifetime)
        await self._forget_old(owner)
        secret = _MARK + base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
        now = datetime.now(UTC)
        token = Token(
            id=f"tok-{secrets.token_hex(8)}",
            owner=owner,
            name=name,
            scopes=scopes,
            prefix=secret[:_PREFIX],
            created_time=now,
            expire_time=None if lifetime is None else now + lifetime,
        )
        scripts = Scripts(self._redis, "owners", partial(item_key, owner))
        answer: Any = await scripts.run(
            "add_token", _digest(secret), token.id, owner, _TOKEN.dump_json(token), MOST_TOKENS
        )
        if answer == b"no_owner":
            raise NotFoundError(f"there is no owner {owner}; an admin registers owners")
        if answer == b"full":
            raise LimitError(
                f"{owner} has {MOST_TOKENS} tokens; revoke one, `arena token list` names them",
                reason="TOO_MANY_TOKENS",
            )
        return CreatedToken(token, secret)

    async def tokens(self, owner: str) -> list[Token]:
        """Return the tokens of an owner, the oldest first."""
        found = [token for _, token in await self._read(await self._redis.smembers(_own(owner)))]
        return sorted(found, key=lambda token: (token.created_time, token.id))

    async def token(self, token_id: str) -> Token:
        """Return a token, or raise `NotFoundError`."""
        return (await self._find(token_id))[1]

    async def revoke(self, token_id: str) -> Token:
        """Revoke a token at once; idempotent; raises as `token`."""
        digest, token = await self._find(token_id)
        if token.revoke_time is None:
            token = replace(token, revoke_time=datetime.now(UTC).replace(microsecond=0))
            await self._redis.hset(_TOKENS, digest, _TOKEN.dump_json(token))
        return token

    async def _find(self, token_id: str) -> tuple[str, Token]:
        found = await self._read([token_id]) if _ID.fullmatch(token_id) else []
        if not found:
            raise NotFoundError(f"there is no token {token_id}; `arena token list` names yours")
        return found[0]

    async def _read(self, token_ids: Any) -> list[tuple[str, Token]]:
        """Return digests and tokens of those ids that exist."""
        digests: Any = await self._redis.hmget(_IDS, list(token_ids)) if token_ids else []
        known = [digest for digest in digests if digest is not None]
        texts: Any = await self._redis.hmget(_TOKENS, known) if known else []
        return [
            (digest.decode(), _TOKEN.validate_json(text))
            for digest, text in zip(known, texts, strict=True)
            if text is not None
        ]

    async def _forget_old(self, owner: str) -> None:
        """Forget tokens that ended long ago, and more than `MOST_TOKENS` revoked ones."""
        limit = datetime.now(UTC) - _KEPT
        found = await self._read(await self._redis.smembers(_own(owner)))
        revoked = sorted(
            (token.revoke_time, token.id) for _, token in found if token.revoke_time is not None
        )
        beyond = {token_id for _, token_id in revoked[:-MOST_TOKENS]}
        for digest, token in found:
            if token.id in beyond or not token.is_usable(limit):
                pipe = self._redis.pipeline(transaction=True)
                pipe.hdel(_TOKENS, digest)
                pipe.hdel(_IDS, token.id)
                pipe.srem(_own(owner), token.id)
                await pipe.execute()


async def ensure_admin_token(redis: Redis, data_dir: Path) -> Path:
    """Return the file of a token with every scope, created with mode 0600 unless it is valid."""
    accounts, path = TokenStore(redis), data_dir / ADMIN_FILE
    with suppress(OSError, UnicodeDecodeError, UnauthenticatedError):
        await accounts.authenticate(path.read_text(encoding="ascii").strip())
        path.chmod(0o600)
        return path
    await redis.hsetnx(_OWNERS, ADMIN, datetime.now(UTC).isoformat())
    place = f"{socket.gethostname()}:{path.absolute()}"
    name = f"file {ADMIN_FILE} {hashlib.sha256(place.encode()).hexdigest()[:16]}"
    for old in await accounts.tokens(ADMIN):
        if old.name == name:
            # Its only copy was in this place, and is lost.
            await accounts.revoke(old.id)
    created = await accounts.create(ADMIN, scopes=frozenset(Scope), name=name)
    try:
        write_private(path, f"{created.secret}\n")
    except InputError:
        await accounts.revoke(created.token.id)
        raise
    return path


def _check(scopes: frozenset[Scope], name: str, lifetime: timedelta | None) -> None:
    if not scopes:
        raise InputError(f"a token needs a scope; possible: {', '.join(Scope)}")
    if len(name) > 80 or not name.isprintable():
        raise InputError("a token's name is at most 80 printable characters")
    if lifetime is not None and not timedelta(0) < lifetime <= _LONGEST:
        raise InputError("a token lives from a moment up to ten years; without a limit for ever")


def _own(owner: str) -> str:
    if not OWNER_NAME.fullmatch(owner):
        raise InputError(f"{owner!r} is no owner's name; possible: {OWNER_NAME.pattern}")
    return item_key(owner, "tokens-of")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
