"""What stands around every request: limits, headers, padding, one clock, and forms."""

import asyncio
import time

import msgspec
import pytest
from starlette.requests import Request as WebRequest

from serve.served import Served
from winnow.errors import LedgerError, ParameterError
from winnow.serve import web
from winnow.serve.config import Config, check_config, checked_config
from winnow.serve.gate import MOST_BYTES, check_depth
from winnow.serve.limits import Buckets
from winnow.serve.problems import Refusal
from winnow.serve.ticker import Ticker


def test_bodies_have_a_limit_and_a_depth(served: Served) -> None:
    at = "/v1/datasets/people/plans"
    large = served.call("ann", "POST", at, content=b"[" + b" " * MOST_BYTES + b"]")
    assert large.status_code == 413
    deep = served.call("ann", "POST", at, content=b"[" * 40 + b"]" * 40)
    assert deep.status_code == 400 and "nested" in deep.json()["detail"]
    check_depth(b'{"a": "' + b"[" * 100 + b'\\"' + b"{" * 100 + b'"}')
    for content in (b"", b"{", b"\xff", b"nul", b'{"order": NaN}', b'"' + b'\\"' * 30_000):
        answer = served.call("ann", "POST", at, content=content)
        assert answer.status_code == 400, content[:20]
        assert answer.headers["content-type"] == "application/problem+json"


def test_every_answer_is_padded_and_carries_the_headers(served: Served) -> None:
    for method, path in (("GET", "/v1/me"), ("GET", "/nowhere"), ("POST", "/v1/me"),
                         ("GET", "/healthz"), ("GET", "/readyz")):  # fmt: skip
        answer = served.call("ann", method, path)
        assert len(answer.content) % 512 == 0
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_no_answer_leaves_before_its_quantum(served: Served) -> None:
    """The server's quantum is 10 ms; refusals and errors wait as long."""
    asked = ((None, "/v1/me"), ("ann", "/v1/me"), ("ann", "/nowhere"), ("bob", "/v1/tokens"))
    for who, path in asked:
        begun = time.monotonic()
        served.call(who, "GET", path)
        assert time.monotonic() - begun >= 0.010


def test_the_ticker_holds_to_the_quantum_and_doubles_for_the_late() -> None:
    ticker = Ticker(0.1)
    assert ticker.due(0.0, 0.01) == 0.1
    assert ticker.due(0.0, 0.1) == 0.1
    assert ticker.due(0.0, 0.11) == 0.2
    assert ticker.due(0.0, 0.21) == 0.4

    async def many() -> list[float]:
        paced = Ticker(0.02)
        paced.start()
        arrival = time.monotonic()
        left: list[float] = []

        async def one(busy: float) -> None:
            await asyncio.sleep(busy)
            await paced.hold(arrival)
            left.append(time.monotonic())

        await asyncio.gather(*(one(0.001 * each) for each in range(10)))
        await paced.stop()
        return [each - arrival for each in left]

    waits = asyncio.run(many())
    assert min(waits) >= 0.02
    assert len(waits) == 10


def test_a_principal_has_a_rate() -> None:
    now = [0.0]
    buckets = Buckets(2.0, 3, lambda: now[0])
    for _ in range(3):
        buckets.take("ann")
    with pytest.raises(Refusal) as caught:
        buckets.take("ann")
    assert caught.value.headers == {"retry-after": "1"}
    buckets.take("bob")
    now[0] = 0.5
    buckets.take("ann")


def test_plain_http_is_for_this_machine_alone() -> None:
    for listen in ("0.0.0.0:80", "192.168.1.5:80", "example.org:80", "[::]:80"):
        with pytest.raises(ParameterError, match="behind_tls_proxy"):
            check_config(Config(listen=listen))
    check_config(Config(listen="[::1]:80"))
    with pytest.raises(ParameterError, match="public_origin"):
        check_config(Config(listen="0.0.0.0:80", behind_tls_proxy=True))
    check_config(
        Config(listen="0.0.0.0:80", behind_tls_proxy=True, public_origin="https://example.org")
    )
    with pytest.raises(ParameterError, match="loopback"):
        check_config(Config(metrics="0.0.0.0:81"))


def test_a_configuration_says_which_setting_is_wrong(tmp_path) -> None:
    path = tmp_path / "winnow.toml"
    for given, said in (
        ({"listn": "x"}, "listn"),
        ({"quantum_ms": "soon"}, "quantum_ms"),
        ({"quantum_ms": 1}, "quantum_ms"),
        ({"datasets": {"a": {"path": "x", "epsilon": 1.0}}}, "schema"),
        ({"datasets": {"a/b": {"path": "x", "epsilon": 1.0, "schema": "s"}}}, "'/'"),
        ({"datasets": {"a": {"path": "x", "epsilon": -1.0, "schema": "s"}}}, "epsilon"),
    ):
        with pytest.raises(ParameterError, match=said):
            checked_config(given, path)


def test_a_password_in_a_configuration_that_others_can_read_is_refused(tmp_path) -> None:
    path = tmp_path / "winnow.toml"
    path.write_text("")
    path.chmod(0o644)
    given = {"store": "postgresql://me:secret@db/winnow"}
    with pytest.raises(LedgerError, match="chmod 600") as caught:
        checked_config(given, path)
    assert "secret" not in str(caught.value)
    path.chmod(0o600)
    checked_config(given, path)


def _browser(headers: dict[str, str]) -> WebRequest:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return WebRequest({"type": "http", "method": "POST", "path": "/", "headers": raw})


@pytest.mark.parametrize("tls", [True, False])
def test_forms_are_taken_from_our_own_pages_only(
    served: Served, monkeypatch: pytest.MonkeyPatch, tls: bool
) -> None:
    from starlette.responses import Response

    service, response = served.service, Response()
    if tls:
        proxied = {"behind_tls_proxy": True, "public_origin": "https://data.example"}
        monkeypatch.setattr(service, "config", msgspec.structs.replace(service.config, **proxied))
    assert web.log_in(service, response, "wnw_wrong") is None
    assert web.log_in(service, response, served.tokens["ann"]) is not None
    cookie = response.headers["set-cookie"].split(";")[0]
    flags = response.headers["set-cookie"].lower()
    assert cookie.startswith("__Host-" if tls else "winnow=") and "samesite=strict" in flags
    assert "httponly" in flags and "path=/" in flags and ("secure" in flags) is tls
    origin = service.config.origin
    ours = _browser({"cookie": cookie, "origin": origin, "sec-fetch-site": "same-origin"})
    found = web.logged_in(service, ours)
    assert found is not None and found.name == "ann"
    token = web.csrf_token(service, ours)
    web.check_form(service, ours, token)
    for headers in (
        {"cookie": cookie, "origin": "https://evil.example"},
        {"cookie": cookie, "origin": origin, "sec-fetch-site": "cross-site"},
        {"cookie": cookie, "origin": "null"},
        {"cookie": f"{web.cookie_name(service)}=another", "origin": origin},
    ):
        with pytest.raises(Refusal):
            web.check_form(service, _browser(headers), token)
    web.log_out(service, ours, Response())
    assert web.logged_in(service, ours) is None
    assert "unsafe" not in web.page_policy(web.new_nonce())
