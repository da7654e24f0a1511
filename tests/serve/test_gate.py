"""What stands around every request: limits, headers, padding, one clock, and forms."""

import asyncio
import socket
import time

import httpx
import msgspec
import pytest
from starlette.requests import Request as WebRequest

from serve.served import Served
from winnow.errors import LedgerError, ParameterError
from winnow.serve import web, wire
from winnow.serve.config import Config, check_config, checked_config
from winnow.serve.gate import MOST_BYTES, check_depth
from winnow.serve.limits import Buckets
from winnow.serve.problems import Refusal
from winnow.serve.replies import NewToken
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
    who = service.accounts.principal(served.tokens["ann"])
    assert who is not None
    web.log_in(service, response, who)
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


# What a stranger tries


def raw(served: Served, *pieces: bytes) -> bytes:
    """What comes back of bytes that no client would send; empty: the connection was cut off."""
    with socket.create_connection(served.service.config.address) as connection:
        connection.settimeout(20)
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.05)
            return connection.recv(4096)
        except ConnectionError:
            return b""


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"GET /v1/me HTTP/1.1\r\nhost: x\r\n",),
        (b"GET /v1/me HTTP/1.1\r\n", *[b"a: b\r\n"] * 12),
        (b"POST /v1/me HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n", b"abc"),
        (b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", b"GET /healthz HTTP/1.1\r\n"),
    ],
    ids=["silent", "half a head", "dripping", "half a body", "half of the second"],
)
def test_whoever_takes_too_long_to_ask_is_cut_off(
    served: Served, monkeypatch: pytest.MonkeyPatch, pieces: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(wire, "PATIENCE", 0.2)
    with socket.create_connection(served.service.config.address) as connection:
        connection.settimeout(20)
        for piece in pieces:
            try:
                connection.sendall(piece)
            except ConnectionError:
                break
            time.sleep(0.03)
        got = b"?"
        try:
            while got:
                got = connection.recv(4096)
        except ConnectionError:
            got = b""
    assert got == b""


def test_a_head_without_end_is_cut_off(served: Served) -> None:
    begun = b"GET /v1/me HTTP/1.1\r\n"
    assert raw(served, begun + b"a: " + b"b" * 200_000 + b"\r\n\r\n") == b""
    assert raw(served, begun, *[b"a: b\r\n" * 4000] * 4) == b""
    fine = begun + b"host: x\r\na: " + b"b" * 5000 + b"\r\n\r\n"
    assert raw(served, fine).startswith(b"HTTP/1.1 401")


def test_head_and_body_of_an_answer_leave_in_one_piece(served: Served) -> None:
    got = raw(served, b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200") and len(body) == 512


def test_requests_that_could_be_read_in_two_ways_are_refused(served: Served) -> None:
    twice = (
        b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"
    )
    for bytes_ in (
        b"POST /v1/me HTTP/1.1\r\nhost: x\r\n" + twice,
        b"GET /v1/me HTTP/1.1\r\nhost: x\r\nx: a\x00b\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
    ):
        assert raw(served, bytes_).startswith(b"HTTP/1.1 400")
    chunked = b"POST /v1/me HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    assert raw(served, chunked + b"fffff\r\n" + b"a" * 0xFFFFF).startswith(b"HTTP/1.1 413")


def test_addresses_lead_nowhere_else(served: Served) -> None:
    """Neither out of a folder, nor to the host that a request names."""
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/v1/releases/x/..%2fx", "//v1/me"):
        assert served.call("olga", "GET", path).status_code == 404
    for path in ("/v1/me/", "/login/", "/datasets/people/"):
        answer = served.client.get(path, headers={"host": "evil.example"})
        assert answer.status_code == 404 and "location" not in answer.headers


def test_text_with_a_nul_is_refused_before_a_database_sees_it(served: Served) -> None:
    """Postgres would fail, and the failure would be the server's."""
    for method, path in (
        ("GET", "/v1/jobs/%00"), ("GET", "/v1/releases/%00/receipt"), ("DELETE", "/v1/tokens/%00"),
        ("PUT", "/v1/datasets/people/grants/%00"), ("GET", "/v1/datasets/%00/schema"),
    ):  # fmt: skip
        assert served.call("olga", method, path).status_code in (404, 422)
    named = {"name": "x", "datasets": ["a\0"]}
    assert served.call("olga", "POST", "/v1/tokens", json=named).status_code == 422


def test_what_is_wrong_with_a_body_is_said_in_plain_words(served: Served) -> None:
    at, table = "/v1/datasets/people/plans", {"kind": "tabulate", "by": [{"marginals": 1}]}
    for order, said in (
        (table | {"epsilon": 1, "delta": 2}, "order.delta: expected a number < 1.0"),
        (table | {"epsilon": "x"}, "order.epsilon: expected a number or nothing, got a text"),
        (table | {"by": 3}, "order.by: expected a list or nothing, got a whole number"),
        (
            table | {"by": [{"marginals": 9}]},
            "order.by[0].marginals: expected a whole number <= 6",
        ),
        (table | {"epsilom": 1}, "order: object contains unknown field `epsilom`"),
    ):
        answer = served.call("ann", "POST", at, json={"order": order})
        assert answer.status_code == 422 and answer.json()["detail"] == said


def test_strangers_write_no_lines_into_the_log(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """A web socket, HTTP/2 and nonsense are answered like anything else."""
    upgrade = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: %s\r\n"
    key = b"sec-websocket-version: 13\r\nsec-websocket-key: x3JJHMbDL1EzLkh9GBhXDw==\r\n"
    assert raw(served, upgrade % b"websocket" + key + b"\r\n").startswith(b"HTTP/1.1 200")
    assert raw(served, upgrade % b"h2c" + b"\r\n").startswith(b"HTTP/1.1 200")
    assert raw(served, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")[:12] in (b"HTTP/1.1 400", b"")
    assert caplog.text == ""


NUMBERS = [b"1e400", b"-1e400", b"9" * 400, b"18446744073709551616", b"1e-400", b"-0.0", b"NaN",
           b"Infinity", b"01", b"true", b'"3"', b"[null]", b'{"from": 1e400}', b'{"from": "5"}',
           b'{"from": 5, "to": 2}', b'"\\ud800"', b'"\\u0000"']  # fmt: skip


def test_numbers_of_every_form_are_answered_or_refused(served: Served) -> None:
    at = "/v1/datasets/people/questions"
    for place, number in enumerate(NUMBERS):
        content = b'{"questions": [{"age": %s}]}' % number
        answer = served.call("ann", "POST", at, f"form {place}", content=content)
        assert answer.status_code in (400, 422), (number[:20], answer.text)
    tiny = {"kind": "tabulate", "by": [{"marginals": 2}], "epsilon": 1e-300, "delta": 1e-300}
    for order in (tiny, {**tiny, "kind": "release", "workload": tiny["by"]}):
        order = {k: v for k, v in order.items() if k != "by" or order["kind"] == "tabulate"}
        answer = served.call("ann", "POST", "/v1/datasets/people/plans", json={"order": order})
        assert answer.status_code == 422, answer.text


def test_wrong_tokens_do_not_keep_others_from_logging_in(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a proxy all have one address."""
    monkeypatch.setattr(served.server, "_buckets", Buckets(0.01, 2))
    origin = {"origin": served.service.config.origin}
    base = str(served.client.base_url)
    with httpx.Client(base_url=base, trust_env=False) as browser:
        statuses = [
            browser.post("/login", data={"token": "wnw_wrong"}, headers=origin).status_code
            for _ in range(3)
        ]
        assert statuses == [401, 401, 429]
        fine = browser.post("/login", data={"token": served.tokens["ann"]}, headers=origin)
        assert fine.status_code == 303


def test_nobody_makes_an_owners_token_that_may_do_more(served: Served) -> None:
    _, secret = served.service.accounts.new_token("keeper", "owner", scopes="manage", by="test")
    headers = {"authorization": f"Bearer {secret}"}
    for scopes, status in ([], 403), (["audit"], 403), (["manage"], 201):
        body = {"name": "keeper", "role": "owner", "scopes": scopes}
        assert served.client.post("/v1/tokens", json=body, headers=headers).status_code == status
    for name in ("newcomer", "ann"):  # they would see and spend what this token may not
        analyst = {"name": name, "role": "analyst"}
        refused = served.client.post("/v1/tokens", json=analyst, headers=headers)
        assert refused.status_code == 403 and "lacks: read" in refused.json()["detail"]
    made = served.call("olga", "POST", "/v1/tokens", json={"name": "newcomer", "role": "analyst"})
    assert made.status_code == 201
    assert made.json()["token"] not in repr(msgspec.convert(made.json(), NewToken))


def test_a_token_that_is_revoked_while_it_is_looked_up_is_not_remembered(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = served.service.accounts
    identity, secret = accounts.new_token("brief", "analyst", by="test")
    real = accounts.seen_by

    def meanwhile(who: object) -> list[str]:
        accounts.revoke(identity, by="test")
        return real(who)  # type: ignore[arg-type]

    monkeypatch.setattr(accounts, "seen_by", meanwhile)
    accounts.principal(secret)
    assert accounts.known(secret) is None


def test_who_is_known_is_looked_up_again_by_one_before_it_ends(served: Served) -> None:
    accounts = served.service.accounts
    _, secret = accounts.new_token("often", "analyst", by="test")

    def later(seconds: float) -> None:
        held = accounts._known._held
        held.update({name: (until - seconds, *rest) for name, (until, *rest) in held.items()})

    assert accounts.principal(secret) is not None
    assert accounts.known(secret) is not None and not accounts.old(secret)
    later(0.6)
    assert [accounts.old(secret) for _ in range(3)] == [True, False, False]
    accounts.principal(secret)
    assert not accounts.old(secret)
    later(1.1)
    assert accounts.known(secret) is None
