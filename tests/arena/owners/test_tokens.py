"""Tokens: made, used, refused."""

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from redis.asyncio import Redis

from arena.errors import InputError, LimitError, NotFoundError, UnauthenticatedError
from arena.owners.tokens import ADMIN, MOST_TOKENS, Scope, TokenStore, ensure_admin_token
from arena.v1 import accounts_pb2, ladders_pb2, matches_pb2, operations_pb2
from tests.arena.api.calling import Arena, refused

AUTHOR = frozenset({Scope.AUTHOR})
WHO = accounts_pb2.GetIdentityRequest()


async def test_a_token_tells_whose_it_is(arena: Arena) -> None:
    """Owner, scopes and quotas come back, and the secret never."""
    calls = await arena.login("ada", Scope.AUTHOR, Scope.OPERATOR)
    answer = await calls.GetIdentity(WHO)
    assert answer.token.owner == "ada"
    assert list(answer.token.scopes) == [accounts_pb2.SCOPE_AUTHOR, accounts_pb2.SCOPE_OPERATOR]
    assert (answer.quotas.uploads.limit, answer.quotas.uploads.used) == (60, 0)
    assert not answer.token.HasField("expire_time")


async def test_only_the_hash_of_a_secret_is_stored(redis: Redis, arena: Arena) -> None:
    """The record that the hash leads to holds no more than the secret's beginning."""
    await arena.backend.registry.add_owner("ada")
    created = await arena.backend.accounts.create("ada", scopes=AUTHOR)
    stored: Any = await redis.hgetall("{arena}:tokens")
    assert list(stored) == [hashlib.sha256(created.secret.encode()).hexdigest().encode()]
    kept = created.secret[len(created.token.prefix) :].encode()
    assert all(kept not in text for text in stored.values())


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "TOKEN_MISSING"),
        ("arena_" + "A" * 43, "TOKEN_UNKNOWN"),
        ("nonsense", "TOKEN_UNKNOWN"),
        ("two words", "TOKEN_MALFORMED"),
    ],
)
async def test_a_call_without_a_good_token_is_unauthenticated(
    arena: Arena, token: str, reason: str
) -> None:
    """The reason tells a missing token from a wrong one."""
    code, error = await refused(arena.stranger(token).GetIdentity(WHO))
    assert (code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, reason)
    assert isinstance(error, UnauthenticatedError)


async def test_another_scheme_than_bearer_is_refused(arena: Arena) -> None:
    """Basic credentials are no token, and neither are two of them."""
    stub = arena.stranger()._stub
    for metadata in (
        (("authorization", "Basic YWRh"),),
        (("authorization", "Bearer a"), ("authorization", "Bearer b")),
    ):
        code, error = await refused(stub.GetIdentity(WHO, metadata=metadata))
        assert (code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_MALFORMED")


async def test_a_revoked_token_is_worthless_at_once(arena: Arena) -> None:
    """Its owner revokes it with itself; the next call is refused and says why."""
    calls = await arena.login("ada")
    token = (await calls.GetIdentity(WHO)).token
    answer = await calls.RevokeToken(accounts_pb2.RevokeTokenRequest(id=token.id))
    assert answer.token.HasField("revoke_time")
    code, error = await refused(calls.GetIdentity(WHO))
    assert (code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REVOKED")


async def test_an_expired_token_is_refused(arena: Arena) -> None:
    """It is told apart from an unknown one."""
    await arena.backend.registry.add_owner("ada")
    created = await arena.backend.accounts.create(
        "ada", scopes=AUTHOR, lifetime=timedelta(microseconds=1)
    )
    code, error = await refused(arena.stranger(created.secret).GetIdentity(WHO))
    assert (code, error.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_EXPIRED")


async def test_a_bad_token_is_refused_where_none_is_needed(arena: Arena) -> None:
    """Who sends a token wants to know that it is worth nothing."""
    request = ladders_pb2.ListLaddersRequest()
    assert list((await arena.stranger().ListLadders(request)).ladders) == []
    code, _ = await refused(arena.stranger("nonsense").ListLadders(request))
    assert code is grpc.StatusCode.UNAUTHENTICATED


async def test_a_scope_does_not_include_another(arena: Arena) -> None:
    """An operator submits nothing, an author sees no queue, neither registers owners."""
    operator = await arena.login("olga", Scope.OPERATOR)
    author = await arena.login("ada")
    for answer, scope in (
        (operator.RequestMatch(matches_pb2.RequestMatchRequest()), "author"),
        (author.GetQueue(operations_pb2.GetQueueRequest()), "operator"),
        (author.CreateOwner(accounts_pb2.CreateOwnerRequest(name="eve")), "admin"),
        (operator.ListOwners(accounts_pb2.ListOwnersRequest()), "admin"),
    ):
        code, error = await refused(answer)
        assert (code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
        assert error.facts == {"scope": scope}


async def test_an_author_makes_tokens_for_itself(arena: Arena) -> None:
    """The new token works, is listed, and gives nothing that the first one lacks."""
    calls = await arena.login("ada")
    request = accounts_pb2.CreateTokenRequest(name="laptop", scopes=[accounts_pb2.SCOPE_AUTHOR])
    request.lifetime.FromTimedelta(timedelta(days=1))
    made = await calls.CreateToken(request)
    assert made.secret.startswith(made.token.prefix)
    assert (await arena.stranger(made.secret).GetIdentity(WHO)).token.owner == "ada"
    listed = (await calls.ListTokens(accounts_pb2.ListTokensRequest())).tokens
    assert [token.name for token in listed] == ["", "laptop"]
    request.scopes.append(accounts_pb2.SCOPE_ADMIN)
    code, error = await refused(calls.CreateToken(request))
    assert (code, error.facts) == (grpc.StatusCode.PERMISSION_DENIED, {"scope": "admin"})


async def test_a_token_makes_none_that_outlives_it(arena: Arena) -> None:
    """Otherwise a token that expires would never."""
    await arena.backend.registry.add_owner("ada")
    short = await arena.backend.accounts.create("ada", scopes=AUTHOR, lifetime=timedelta(hours=1))
    calls = arena.stranger(short.secret)
    request = accounts_pb2.CreateTokenRequest(scopes=[accounts_pb2.SCOPE_AUTHOR])
    made = await calls.CreateToken(request)
    assert short.token.expire_time is not None
    assert made.token.expire_time.seconds <= short.token.expire_time.timestamp()
    request.lifetime.FromTimedelta(timedelta(hours=2))
    code, error = await refused(calls.CreateToken(request))
    assert (code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "LIFETIME_TOO_LONG")


async def test_another_owners_tokens_cannot_be_reached(arena: Arena) -> None:
    """Not listed, not made, and not even known to exist; an admin reaches all."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    admin = await arena.login("root", Scope.ADMIN)
    token = (await bob.GetIdentity(WHO)).token
    code, _ = await refused(ada.ListTokens(accounts_pb2.ListTokensRequest(owner="bob")))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    code, _ = await refused(ada.RevokeToken(accounts_pb2.RevokeTokenRequest(id=token.id)))
    assert code is grpc.StatusCode.NOT_FOUND
    listed = await admin.ListTokens(accounts_pb2.ListTokensRequest(owner="bob"))
    assert [each.id for each in listed.tokens] == [token.id]
    await admin.RevokeToken(accounts_pb2.RevokeTokenRequest(id=token.id))
    code, _ = await refused(bob.GetIdentity(WHO))
    assert code is grpc.StatusCode.UNAUTHENTICATED


async def test_an_admin_registers_owners(arena: Arena) -> None:
    """The second time changes nothing; the list comes in pages."""
    admin = await arena.login("root", Scope.ADMIN)
    for name, is_new in (("eve", True), ("eve", False), ("zoe", True)):
        answer = await admin.CreateOwner(accounts_pb2.CreateOwnerRequest(name=name))
        assert answer.is_new is is_new
    code, _ = await refused(admin.CreateOwner(accounts_pb2.CreateOwnerRequest(name="A b")))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    first = await admin.ListOwners(accounts_pb2.ListOwnersRequest(page_size=2))
    assert [owner.name for owner in first.owners] == ["eve", "root"]
    request = accounts_pb2.ListOwnersRequest(page_size=2, page_token=first.next_page_token)
    second = await admin.ListOwners(request)
    assert [owner.name for owner in second.owners] == ["zoe"]
    assert second.next_page_token == ""


async def test_the_number_of_tokens_has_a_bound(arena: Arena) -> None:
    """One more is refused until one is revoked."""
    accounts = arena.backend.accounts
    await arena.backend.registry.add_owner("ada")
    made = [await accounts.create("ada", scopes=AUTHOR) for _ in range(MOST_TOKENS)]
    with pytest.raises(LimitError, match="revoke one"):
        await accounts.create("ada", scopes=AUTHOR)
    await accounts.revoke(made[0].token.id)
    await accounts.create("ada", scopes=AUTHOR)


async def test_the_number_of_revoked_tokens_has_a_bound(arena: Arena) -> None:
    """Who makes tokens and revokes them fills nothing; the latest are still known as revoked."""
    await arena.backend.registry.add_owner("ada")
    accounts = arena.backend.accounts
    kept = await accounts.create("ada", scopes=AUTHOR)
    secrets = []
    for _ in range(MOST_TOKENS + 5):
        created = await accounts.create("ada", scopes=AUTHOR)
        await accounts.revoke(created.token.id)
        secrets.append(created.secret)
    assert len(await accounts.tokens("ada")) <= MOST_TOKENS + 2
    assert (await accounts.authenticate(kept.secret)).id == kept.token.id
    with pytest.raises(UnauthenticatedError, match="was revoked"):
        await accounts.authenticate(secrets[-1])


async def test_what_no_token_can_be_is_refused(arena: Arena) -> None:
    """Scopes, names, lifetimes, and owners that nobody registered."""
    accounts = arena.backend.accounts
    await arena.backend.registry.add_owner("ada")
    possible: dict[str, Any] = {"scopes": AUTHOR}
    wrong: dict[str, Any]
    for wrong in (
        {"scopes": frozenset()},
        {"name": "x" * 81},
        {"name": "\n"},
        {"lifetime": timedelta(0)},
    ):
        with pytest.raises(InputError):
            await accounts.create("ada", **(possible | wrong))
    with pytest.raises(NotFoundError, match="no owner"):
        await accounts.create("nobody", scopes=AUTHOR)
    with pytest.raises(NotFoundError, match="no token"):
        await accounts.revoke("tok-0000000000000000")


async def test_the_admin_token_lies_in_a_private_file(redis: Redis, tmp_path: Path) -> None:
    """Made once, with every scope; made anew when the file is lost, and the lost one revoked."""
    accounts = TokenStore(redis)
    path = await ensure_admin_token(redis, tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_text().strip()
    token = await accounts.authenticate(secret)
    assert (token.owner, token.scopes) == (ADMIN, frozenset(Scope))
    assert await ensure_admin_token(redis, tmp_path) == path
    assert path.read_text().strip() == secret
    path.unlink()
    await ensure_admin_token(redis, tmp_path)
    assert path.read_text().strip() != secret
    with pytest.raises(UnauthenticatedError, match="revoked"):
        await accounts.authenticate(secret)


async def test_an_owner_has_one_webhook(arena: Arena) -> None:
    """Set with a new secret each time, shown without it, ended by an empty address."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    url = "https://bots.example.org/hook"
    first = await ada.SetWebhook(accounts_pb2.SetWebhookRequest(url=url))
    second = await ada.SetWebhook(accounts_pb2.SetWebhookRequest(url=url))
    assert first.secret != second.secret
    got = await ada.GetWebhook(accounts_pb2.GetWebhookRequest())
    assert got.webhook.url == url
    assert not (await bob.GetWebhook(accounts_pb2.GetWebhookRequest())).HasField("webhook")
    code, _ = await refused(ada.SetWebhook(accounts_pb2.SetWebhookRequest(url="ftp://x")))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    ended = await ada.SetWebhook(accounts_pb2.SetWebhookRequest())
    assert (ended.secret, ended.HasField("webhook")) == ("", False)
    assert not (await ada.GetWebhook(accounts_pb2.GetWebhookRequest())).HasField("webhook")
