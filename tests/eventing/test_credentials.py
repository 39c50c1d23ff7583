"""The credentials that a dispatcher or an announcer shows to its sink."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from eventing.dispatcher.credentials import Token, tls_context
from eventing.dispatcher.sink import FunctionSink, Processed, RetryLater
from schemas.config.http import HttpConfig, OidcConfig, check
from schemas.config.values import ConfigError
from tests.eventing.brokers import event
from tests.runtime.certificates import Authority


def test_the_token_of_the_file_is_read_again(tmp_path: Path) -> None:
    now, file = 0.0, tmp_path / "token"
    token = Token("given", file, lambda: now)
    assert token.headers == {"Authorization": "Bearer given"}
    file.write_text("first\n")
    assert token.headers == {"Authorization": "Bearer given"}
    now = 31.0
    assert token.headers == {"Authorization": "Bearer first"}
    file.write_text("second")
    now = 62.0
    assert token.headers == {"Authorization": "Bearer second"}
    file.unlink()
    now = 93.0
    assert token.headers == {"Authorization": "Bearer given"}
    assert Token(file=file).headers == {}


@asynccontextmanager
async def sink_of(status: int) -> AsyncGenerator[tuple[FunctionSink, list[str]]]:
    heard: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        heard.append(request.headers.get("Authorization", ""))
        return web.Response(status=status, text="a token is needed" if status > 400 else "")

    app = web.Application()
    app.router.add_post("/", answer)
    server = TestServer(app)
    await server.start_server()
    try:
        async with aiohttp.ClientSession() as session:
            yield (
                FunctionSink(session, str(server.make_url("/")), {}, Token("secret")),
                heard,
            )
    finally:
        await server.close()


@pytest.mark.parametrize("status", [401, 403])
async def test_an_event_waits_for_a_token_that_the_function_accepts(status: int) -> None:
    async with sink_of(status) as (sink, heard):
        outcome = await sink.post(event(1), {})
    assert outcome == RetryLater(
        f"the sink does not accept this caller: status {status}: a token is needed"
    )
    assert heard == ["Bearer secret"]


async def test_a_token_is_sent_in_each_request() -> None:
    async with sink_of(204) as (sink, heard):
        assert await sink.post(event(1), {}) == Processed([])
        assert await sink.post(event(2), {}) == Processed([])
    assert heard == ["Bearer secret"] * 2


@pytest.mark.parametrize("place", ["http.ca", "K_CA_CERTS", "bundle"])
def test_the_cas_of_knative_and_of_the_configuration_are_trusted(
    tmp_path: Path, place: str
) -> None:
    ca, bundles = Authority(tmp_path).file, tmp_path / "bundles"
    (bundles / "..data").mkdir(parents=True)
    if place == "bundle":
        (bundles / "..data" / "knative-eventing-bundle.pem").write_bytes(ca.read_bytes())
    http = HttpConfig(ca=str(ca) if place == "http.ca" else "")
    environment = {"K_CA_CERTS": ca.read_text()} if place == "K_CA_CERTS" else {}
    found = tls_context(http, environment, bundles).get_ca_certs()
    assert ((("commonName", "ca"),),) in [one["subject"] for one in found]


@pytest.mark.parametrize(
    "http",
    [HttpConfig(ca="/none"), HttpConfig(cert="/none", key="/none")],
)
def test_a_certificate_that_cannot_be_used_is_an_error(http: HttpConfig) -> None:
    with pytest.raises(ConfigError, match=r"http\.cert, http\.key, http\.ca or K_CA_CERTS cannot"):
        tls_context(http, {})
    with pytest.raises(ConfigError, match="cannot be used"):
        tls_context(HttpConfig(), {"K_CA_CERTS": "nonsense"})


@pytest.mark.parametrize(
    ("http", "sentence"),
    [
        (HttpConfig(cert="c"), "http.cert and http.key are needed together"),
        (HttpConfig(key="k"), "http.cert and http.key are needed together"),
        (
            HttpConfig(oidc=OidcConfig("i", "a", ("s",), "http://x/jwks")),
            "http.oidc.jwks is 'http://x/jwks', neither a file nor an https URL",
        ),
    ],
)
def test_settings_that_do_not_fit_are_named(http: HttpConfig, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        check(http)
