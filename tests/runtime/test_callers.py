"""Who may call an HTTP function: tokens of its own, and tokens of the cluster's issuer."""

import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from msgspec.structs import replace

from functions.runtime import oidc as module
from functions.runtime.callers import LONGEST, Callers
from functions.runtime.oidc import OidcVerifier, verifier_of
from functions.runtime.serve import Address, callers_of
from schemas.config.http import HttpConfig, OidcConfig
from schemas.config.reading import Secrets
from schemas.config.values import ConfigError
from tests.runtime.certificates import Issuer

OLD, NEW = "0123456789abcdef" * 2, "fedcba9876543210" * 2
ISSUER = Issuer()


@pytest.fixture
def config(tmp_path: Path) -> OidcConfig:
    jwks = tmp_path / "jwks.json"
    jwks.write_text(ISSUER.jwks)
    return OidcConfig(
        issuer="https://kubernetes.default.svc",
        audience="evcore/registration",
        subjects=("system:serviceaccount:evcore:*", "system:serviceaccount:other:exact"),
        jwks=str(jwks),
    )


async def status(callers: Callers, authorization: str) -> tuple[int, str]:
    found = await callers.refusal({"authorization": authorization} if authorization else {})
    return (200, "") if found is None else (found.status, found.text)


@pytest.mark.parametrize(
    ("authorization", "wanted"),
    [
        (f"Bearer {OLD}", 200),
        (f"bearer  {NEW} ", 200),
        (f"Bearer {OLD} {NEW}", 401),
        (f"Bearer {OLD[:-1]}", 401),
        ("Bearer ", 401),
        ("Bearer é" + OLD, 401),
        (f"Basic {OLD}", 401),
        (OLD, 401),
        ("", 401),
        ("Bearer " + "x" * (LONGEST + 1), 401),
    ],
)
async def test_each_of_its_tokens_is_accepted(authorization: str, wanted: int) -> None:
    assert (await status(Callers((OLD, NEW)), authorization))[0] == wanted


async def test_a_token_of_the_issuer_is_accepted(config: OidcConfig) -> None:
    callers = Callers((OLD,), OidcVerifier(config))
    assert await status(callers, f"Bearer {OLD}") == (200, "")
    for subject in ("system:serviceaccount:evcore:any", "system:serviceaccount:other:exact"):
        token = f"Bearer {ISSUER.token(sub=subject)}"
        assert await status(callers, token) == await status(callers, token) == (200, "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"aud": ["evcore/session"]}, "Audience doesn't match"),
        ({"aud": None}, 'missing the "aud" claim'),
        ({"iss": "https://elsewhere"}, "Invalid issuer"),
        ({"exp": 1}, "Signature has expired"),
        ({"exp": None}, 'missing the "exp" claim'),
        ({"nbf": int(time.time()) + 3600}, "not yet valid"),
        ({"sub": None}, 'missing the "sub" claim'),
    ],
)
async def test_a_wrong_token_of_the_issuer_is_refused(
    config: OidcConfig, changes: dict[str, object], reason: str
) -> None:
    callers = Callers((), OidcVerifier(config))
    found, text = await status(callers, f"Bearer {ISSUER.token(None, **changes)}")
    assert (found, reason in text) == (401, True), text


async def test_an_account_of_another_namespace_may_not_call(config: OidcConfig) -> None:
    """Who may create pods in a namespace gets tokens of its accounts for any audience."""
    callers = Callers((), OidcVerifier(config))
    token = ISSUER.token(sub="system:serviceaccount:tenant:default")
    found, text = await status(callers, f"Bearer {token}")
    assert found == 403
    assert "'system:serviceaccount:tenant:default' is not one of http.oidc.subjects" in text


async def test_what_the_issuer_has_not_signed_is_refused(config: OidcConfig) -> None:
    callers = Callers((), OidcVerifier(config))
    good = ISSUER.token()
    claims = jwt.decode(good, options={"verify_signature": False})
    public = json.loads(ISSUER.jwks)["keys"][0]["n"]
    forged = [
        Issuer().token(),
        jwt.encode(claims, "", "none", {"kid": ISSUER.kid}),
        jwt.encode(claims, public, "HS256", {"kid": ISSUER.kid}),
        good[:-4] + "AAAA",
        good.rsplit(".", 1)[0] + ".",
        "a.b.c",
        "nonsense",
        "..",
    ]
    for token in forged:
        assert (await status(callers, f"Bearer {token}"))[0] == 401, token


async def test_a_new_key_of_the_issuer_is_read_once_in_a_while(
    config: OidcConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, text_of = list[str](), module.text_of

    def counted(found: OidcConfig) -> str:
        read.append(found.jwks)
        return text_of(found)

    monkeypatch.setattr(module, "text_of", counted)
    callers, other = Callers((), OidcVerifier(config)), Issuer("key-2")
    assert (await status(callers, f"Bearer {ISSUER.token()}"))[0] == 200
    Path(config.jwks).write_text(other.jwks)
    for _ in range(20):
        found = await status(callers, f"Bearer {other.token()}")
        assert found == (401, "the issuer has no key 'key-2'")
    assert len(read) == 1
    monkeypatch.setattr(module, "KEYS_PAUSE", 0.0)
    assert (await status(callers, f"Bearer {other.token()}"))[0] == 200
    Path(config.jwks).write_text("nonsense")
    for _ in range(3):
        assert (await status(callers, f"Bearer {other.token(jti='x')}"))[0] == 200


async def test_a_token_is_verified_once_and_again_after_its_time(
    config: OidcConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded, decode = list[str](), jwt.decode

    def counted(token: str, *args: Any, **kwargs: Any) -> Any:
        decoded.append(token)
        return decode(token, *args, **kwargs)

    monkeypatch.setattr(module.jwt, "decode", counted)
    callers, token = Callers((), OidcVerifier(config)), f"Bearer {ISSUER.token()}"
    for _ in range(3):
        assert (await status(callers, token))[0] == 200
    assert len(decoded) == 1
    monkeypatch.setattr(module.time, "time", lambda: float("inf"))
    await status(callers, token)
    assert len(decoded) == 2


@pytest.mark.parametrize(
    ("http", "tokens", "sentence"),
    [
        (HttpConfig(), "", "anybody could call this function: set http_tokens"),
        (HttpConfig(cert="x", key="y"), "", "anybody could call this function"),
        (HttpConfig(), "short", "at least 32 letters and digits"),
        (HttpConfig(), f"{OLD} {NEW}!", "at least 32 letters and digits"),
    ],
)
def test_a_function_that_anybody_could_call_does_not_start(
    http: HttpConfig, tokens: str, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        callers_of(http, Secrets(http_tokens=tokens), anonymous=False)


async def test_certificates_or_a_wish_replace_tokens() -> None:
    mutual = HttpConfig(cert="c", key="k", ca="ca")
    assert (await status(callers_of(mutual, Secrets(), anonymous=False), ""))[0] == 200
    both = Secrets(http_tokens=OLD)
    assert (await status(callers_of(mutual, both, anonymous=False), ""))[0] == 401
    assert (await status(callers_of(HttpConfig(), Secrets(), anonymous=True), ""))[0] == 200


def test_a_missing_file_is_named(config: OidcConfig) -> None:
    with pytest.raises(ConfigError, match=r"http\.oidc\.ca: there is no file /none"):
        verifier_of(replace(config, ca="/none"))


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a", False)],  # noqa: S104
)
def test_loopback(host: str, *, loopback: bool) -> None:
    assert Address(host, 1).is_loopback == loopback
