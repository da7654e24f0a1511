"""Whatever somebody writes into a form: a page that says what is wrong, and nothing breaks."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from serve.served import CANARY, Served, config_of, serving, write_data
from serve.test_pages import visiting

BAD = {
    "empty": "",
    "blank": "   ",
    "huge number": "1e300",
    "beyond numbers": "9" * 400,
    "negative": "-1",
    "zero": "0",
    "no number": "NaN",
    "endless": "-Infinity",
    "hexadecimal": "0x10",
    "underscores": "1_000",
    "Arabic digits": "١٢",
    "superscript": "²",
    "markup": "<script>alert(1)</script>",
    "template": "{{ 7777 * 7 }}",
    "quotes": "\"'><img src=x onerror=alert(1)>",
    "astral": "\U0001f600" * 3,
    "right to left": "\u202eann",
    "combining": "a" + "\u0301" * 50,
    "controls": "a\r\nSet-Cookie: x=1\t\x1b[31m",
    "NUL": "a\0b",
    "long": "x" * 20_000,
    "formula": "=cmd|' /C calc'!A0",
    "path": "../../etc/passwd",
    "sql": "'; DROP TABLE tokens; --",
}

RUN = ("<script>alert", "<img src=x", "54439", CANARY)
"""What a page must not hold: what a browser or a template would run, and private values."""

FORMS = {
    "olga": {
        "/datasets/people/shares": {"analyst": "ann", "percent": "50"},
        "/datasets/people/grants": {"analyst": "ann", "granted": "yes"},
        "/tokens": {"name": "dora", "role": "analyst", "scopes": "read", "days": "3",
                    "datasets": "people"},
        "/tokens/revoke": {"token": "none"},
        "/datasets/people/compose": {"kind": "select", "column": "colour", "epsilon": "0.1"},
    },
    "ann": {
        "/datasets/people/compose": {
            "kind": "tabulate", "by": "error", "error": "40", "epsilon": "0.1", "delta": "1e-7",
            "k": "2", "ways": "1", "columns": "colour", "prefixes": "age", "ranges": "age",
            "values": "age", "column": "colour", "size": "2", "with_counts": "yes", "rows": "300",
        },
        "/datasets/people/questions": {"is:colour": "0", "from:age": "1", "to:age": "2"},
        "/datasets/people/releases": {"order": "{}", "key": "one"},
    },
}  # fmt: skip
"""Every form, with something in every field."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("forms")
    write_data(folder)
    with serving(config_of(folder)) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("bad", BAD, ids=lambda name: name.replace(" ", "-"))
def test_what_is_written_into_a_form_is_answered_by_a_page(served: Served, bad: str) -> None:
    text = BAD[bad]
    for who, forms in FORMS.items():
        with visiting(served, who) as browser:
            csrf = served.service.vault.mark("csrf", browser.client.cookies["winnow"].encode())
            for path, fields in forms.items():
                for name in fields:
                    answer = browser.client.post(
                        path, data={"csrf": csrf} | fields | {name: text},
                        headers={"origin": browser.origin},
                    )  # fmt: skip
                    seen = (path, name, answer.status_code, answer.text[:2000])
                    assert answer.status_code < 500, seen
                    assert "<script>alert" not in answer.text and "<img src=x" not in answer.text, (
                        seen
                    )
                    assert "x=1" not in answer.headers.get("set-cookie", ""), seen
                    if answer.status_code >= 400:
                        assert 'role="alert"' in answer.text, seen
            for page in ("/ledger?verify=1&head=", "/audit?after=") if who == "olga" else ():
                answer = browser.get(page + quote(text))
                assert answer.status_code < 500, (page, answer.text[:2000])
                assert not any(each in answer.text for each in RUN)
            pages = (
                "/",
                "/history",
                "/datasets/people",
                *(["/tokens", "/audit"] * (who == "olga")),
            )
            for page in pages:
                shown = browser.get(page)
                assert shown.status_code == 200
                assert not any(each in shown.text for each in RUN)
    assert served.service.store.verify_audit_log() == ""
