"""Pages show what the API would tell the same principal, and take forms from themselves only."""

import html
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from serve.served import CANARY, Served, config_of, declarations, serving, write_data
from winnow.privacy.ledger.spending import SHOWN_DELTA, spent_of
from winnow.privacy.refusals import ODOMETER
from winnow.serve.declarations import Declaration, Questions
from winnow.serve.screens import PAGES


class Browser:
    """A browser without scripts: cookies, the hidden fields of forms, and the origin."""

    def __init__(self, served: Served, who: str) -> None:
        self.origin = served.service.config.origin
        self.client = httpx.Client(base_url=self.origin, timeout=60, trust_env=False)
        answer = self.post("/login", {"token": served.tokens[who]}, csrf=False)
        assert answer.status_code == 303 and answer.headers["location"] == "/"

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path)

    def post(self, path: str, fields: dict[str, object], *, csrf: bool = True, **headers: str):
        token = {"csrf": hidden(self.get("/history").text, "csrf")} if csrf else {}
        sent = {"origin": self.origin} | headers
        return self.client.post(path, data=token | fields, headers=sent)


def hidden(text: str, name: str) -> str:
    found = re.search(rf'name="{name}"[^>]* value="([^"]*)"', text)
    assert found is not None, name
    return html.unescape(found[1])


@contextmanager
def visiting(served: Served, who: str) -> Iterator[Browser]:
    browser = Browser(served, who)
    try:
        yield browser
    finally:
        browser.client.close()


# For an owner, an analyst with the dataset, one with the scope read, an owner with the scope
# audit, an analyst without the dataset. POST without fields: 422 is 'allowed, but incomplete'.
WHO = ("olga", "ann", "reader", "auditor", "bob")
ROWS = {
    ("GET", "/"): (200, 200, 200, 403, 200),
    ("GET", "/history"): (200, 200, 200, 403, 200),
    ("GET", "/datasets/{dataset}"): (200, 200, 404, 403, 404),
    ("GET", "/datasets/{dataset}/compose"): (200, 200, 404, 403, 404),
    ("POST", "/datasets/{dataset}/compose"): (422, 422, 404, 403, 404),
    ("POST", "/datasets/{dataset}/releases"): (403, 400, 403, 403, 400),
    ("GET", "/datasets/{dataset}/questions"): (404, 404, 404, 403, 404),
    ("POST", "/datasets/{dataset}/questions"): (404, 404, 404, 403, 404),
    ("POST", "/datasets/{dataset}/shares"): (422, 403, 403, 403, 403),
    ("POST", "/datasets/{dataset}/grants"): (422, 403, 403, 403, 403),
    ("GET", "/releases/{release}"): (404, 404, 404, 403, 404),
    ("GET", "/releases/{release}/receipt.json"): (404, 404, 404, 403, 404),
    ("GET", "/releases/{release}/files/{file}"): (404, 404, 404, 403, 404),
    ("GET", "/tokens"): (200, 403, 403, 403, 403),
    ("POST", "/tokens"): (422, 403, 403, 403, 403),
    ("POST", "/tokens/revoke"): (404, 403, 403, 403, 403),
    ("GET", "/ledger"): (200, 403, 403, 200, 403),
    ("GET", "/ledger/export.json"): (200, 403, 403, 200, 403),
    ("GET", "/audit"): (200, 403, 403, 200, 403),
}
NAMES = {"dataset": "log", "release": "0" * 32, "file": "table.csv"}


def test_each_role_gets_the_pages_of_its_row_and_nobody_gets_any(served: Served) -> None:
    assert set(ROWS) == {(page.method, page.path) for page in PAGES}
    found: dict[tuple[str, str], list[int]] = {row: [] for row in ROWS}
    for who in WHO:
        with visiting(served, who) as browser:
            csrf = served.service.vault.mark("csrf", browser.client.cookies["winnow"].encode())
            for method, path in ROWS:
                given = {"data": {"csrf": csrf}} if method == "POST" else {}
                answer = browser.client.request(
                    method, path.format(**NAMES), headers={"origin": browser.origin}, **given
                )
                found[method, path].append(answer.status_code)
                assert CANARY not in answer.text
    assert {row: tuple(codes) for row, codes in found.items()} == ROWS
    for method, path in ROWS:
        answer = served.client.request(method, path.format(**NAMES))
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")


def test_a_page_allows_no_inline_script_and_no_other_host(served: Served) -> None:
    with visiting(served, "ann") as browser:
        answer = browser.get("/datasets/people")
        again = browser.get("/datasets/people")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    nonce = re.search(r"'nonce-([^']+)'", policy)
    assert nonce is not None and f'nonce="{nonce[1]}"' in answer.text
    assert nonce[1] not in again.text
    assert not re.search(r"<script(?![^>]* src=\"/static)", answer.text)
    assert not re.search(r"\s(style|on\w+)=", answer.text)
    assert not re.search(r"(src|href|action)=\"(https?:)?//", answer.text)
    assert len(answer.content) % 512 == 0


def test_an_address_that_is_not_there_is_a_page_for_browsers_only(served: Served) -> None:
    browser = {"accept": "text/html,*/*"}
    page = served.client.get("/nowhere", headers=browser)
    assert page.status_code == 404 and "<h1>There is no such thing" in page.text
    wrong = served.client.put("/tokens", headers=browser)
    assert wrong.status_code == 405 and "GET" in wrong.headers["allow"]
    for path, headers in (("/nowhere", {}), ("/v1/nowhere", browser)):
        told = served.client.get(path, headers=headers)
        assert told.status_code == 404 and told.json()["status"] == 404


@pytest.mark.parametrize(
    ("csrf", "headers"),
    [
        ("", {}),
        ("0" * 64, {}),
        (None, {"origin": "https://elsewhere.example"}),
        (None, {"origin": "null"}),
        (None, {"sec-fetch-site": "same-site"}),
        (None, {"sec-fetch-site": "cross-site"}),
    ],
)
def test_a_form_from_elsewhere_is_refused(
    served: Served, csrf: str | None, headers: dict[str, str]
) -> None:
    before = len(served.service.accounts.tokens())
    with visiting(served, "olga") as browser:
        fields = {"name": "mallory"} | ({} if csrf is None else {"csrf": csrf})
        answer = browser.post("/tokens", fields, csrf=csrf is None, **headers)
    assert answer.status_code == 403
    assert len(served.service.accounts.tokens()) == before


def test_the_cookie_of_a_session_ends_with_its_log_out_and_its_token(served: Served) -> None:
    with visiting(served, "ann") as browser:
        kept = {"cookie": f"winnow={browser.client.cookies['winnow']}"}
        assert "httponly" in (said := _cookie(served, "ann").lower()) and "samesite=strict" in said
        browser.post("/logout", {})
        assert served.client.get("/", headers=kept).status_code == 303
    identity, secret = served.service.accounts.new_token("tess", "analyst", by="test")
    served.tokens["tess"] = secret
    with visiting(served, "tess") as browser:
        assert browser.get("/").status_code == 200
        served.service.accounts.revoke(identity, by="test")
        assert browser.get("/").status_code == 303


def _cookie(served: Served, who: str) -> str:
    origin = {"origin": served.service.config.origin}
    answer = served.client.post("/login", data={"token": served.tokens[who]}, headers=origin)
    served.client.cookies.clear()
    return answer.headers["set-cookie"]


FURTHER = [
    ("top-k", {"column": "colour", "k": "2", "method": "oneshot"}, "method", "oneshot"),
    ("describe", {"bins": "7", "top": "3", "level": "0.9"}, "bins", 7),
    ("tabulate", {"ways": "1", "objective": "max"}, "objective", "max"),
    ("moments", {"values": "age", "bounds": "auto"}, "bounds", "auto"),
]


@pytest.mark.parametrize(("kind", "fields", "name", "value"), FURTHER)
def test_a_form_has_every_option_of_a_verb(
    served: Served, kind: str, fields: dict[str, str], name: str, value: object
) -> None:
    with visiting(served, "ann") as browser:
        form = browser.get(f"/datasets/people/compose?kind={kind}").text
        assert f'name="{name}"' in form and "More options" in form
        planned = browser.post(
            "/datasets/people/compose", {"kind": kind, "epsilon": "0.5"} | fields
        )
        assert planned.status_code == 200, planned.text
        assert json.loads(html.unescape(hidden(planned.text, "order")))["order"][name] == value


def test_a_release_is_planned_confirmed_and_read_without_scripts(served: Served) -> None:
    with visiting(served, "ann") as browser:
        fields = {"kind": "tabulate", "ways": "1", "by": "error", "error": "40", "delta": "1e-7"}
        planned = browser.post("/datasets/people/compose", fields)
        assert planned.status_code == 200 and "<svg" in planned.text
        order, key = hidden(planned.text, "order"), hidden(planned.text, "key")
        confirmed = [
            browser.post("/datasets/people/releases", {"order": order, "key": key})
            for _ in range(2)
        ]
        place = confirmed[0].headers["location"]
        assert {answer.headers["location"] for answer in confirmed} == {place}
        job = served.waited("ann", place.rpartition("/")[2])
        assert job["state"] == "done"
        real = served.service.requests.now
        served.service.requests.now = lambda: real() + 60.0
        try:
            shown = browser.get(place).text
            file = browser.get(f"{place}/files/table.csv")
            receipt = browser.get(f"{place}/receipt.json")
        finally:
            served.service.requests.now = real
        assert "<svg" in shown and "winnow.ledger#" in shown
        assert file.headers["content-disposition"] == 'attachment; filename="table.csv"'
        assert receipt.json()["ledger"] in html.unescape(shown)
    with visiting(served, "bob") as other:
        assert other.get(place).status_code == 404


def test_a_question_is_one_answer_however_often_its_form_is_sent(served: Served) -> None:
    with visiting(served, "ann") as browser:
        form = browser.get("/datasets/people/questions").text
        fields = {"key": hidden(form, "key"), "is:colour": ["0", "2"], "from:age": "3"}
        answers = [browser.post("/datasets/people/questions", fields).text for _ in range(2)]
        asked = [re.search(r'class="big">([^<]+)<', text)[1] for text in answers]  # type: ignore[index]
        assert asked[0] == asked[1] and "age in " in html.unescape(answers[0])
        assert "age in " in html.unescape(browser.get("/history").text)
        wrong = browser.post("/datasets/people/questions", {"key": "k", "is:colour": "7"})
        assert wrong.status_code == 422 and "no such value" in wrong.text
    with visiting(served, "bob") as other:
        assert "age in " not in html.unescape(other.get("/history").text)


class _Fields(HTMLParser):
    """What a browser would send of the forms of a page, as it stands."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, list[tuple[str, str]]]] = []
        self._select, self._chosen = "", False
        self._option: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "form":
            self.forms.append((given["action"] or "", []))
        elif tag == "select":
            self._select = given["name"] or ""
        elif tag == "option" and ("selected" in given or self._select not in self._sent()):
            self._option = given.get("value")
            self._chosen = True
        elif tag == "input" and (
            "checked" in given or given.get("type") not in ("checkbox", "radio")
        ):
            self.forms[-1][1].append((given["name"] or "", given.get("value") or ""))

    def _sent(self) -> dict[str, str]:
        return dict(self.forms[-1][1])

    def handle_data(self, data: str) -> None:
        if self._chosen:
            self.forms[-1][1].append((self._select, data if self._option is None else self._option))
            self._chosen = False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "kind"),
    [
        ("people", kind)
        for kind in (
            "tabulate",
            "select",
            "top-k",
            "moments",
            "quantiles",
            "histogram",
            "describe",
            "regress",
            "release",
        )
    ]
    + [("log", kind) for kind in ("select", "top-k", "tabulate")]
    + [("baskets", "itemsets")],
)
def test_every_form_as_it_stands_gives_a_plan_or_says_what_is_missing(
    served: Served, dataset: str, kind: str
) -> None:
    with visiting(served, "ann") as browser:
        page = browser.get(f"/datasets/{dataset}/compose?kind={kind}")
        action, fields = _Fields(page.text).forms[1]
        assert action == f"/datasets/{dataset}/compose"
        sent = {name: value for name, value in fields if name != "csrf"}
        if dataset == "people" and kind in ("tabulate", "release"):  # nothing is chosen yet
            assert "Choose what is to be counted" in browser.post(action, sent).text
            sent["columns"] = "colour"
            fields.append(("columns", "colour"))
        answer = browser.post(action, sent)
        private = (dataset, kind) == ("log", "select")  # its items are private
        assert answer.status_code == (422 if private else 200), answer.text[-2000:]
        assert ("Spend it and release" in answer.text) is not private
        for name, value in (("epsilon", "nan"), ("epsilon", "-1"), ("epsilon", "a"), ("k", "1.5")):
            changed = dict(fields) | {name: value}
            refused = browser.post(action, {n: v for n, v in changed.items() if n != "csrf"})
            if name in dict(fields):
                assert refused.status_code == 422 and 'role="alert"' in refused.text


@pytest.mark.parametrize(("kind", "field"), [("tabulate", "by"), ("release", "workload")])
def test_a_form_orders_what_was_chosen_and_nothing_else(
    served: Served, kind: str, field: str
) -> None:
    with visiting(served, "ann") as browser:
        page = browser.get(f"/datasets/people/compose?kind={kind}")
        action, fields = _Fields(page.text).forms[1]
        sent = {name: value for name, value in fields if name != "csrf"}
        planned = browser.post(action, sent | {"columns": "colour"}).text
        order = json.loads(dict(_Fields(planned).forms[-1][1])["order"])["order"]
        assert order[field] == [{"table": ["colour"]}]


@pytest.mark.parametrize("who", ["ann", "olga"])
def test_pages_with_what_is_used_and_left_say_why_these_need_not_sum_to_the_cap(
    served: Served, who: str
) -> None:
    with visiting(served, who) as browser:
        for address in ("/", "/datasets/people"):
            page = browser.get(address).text
            assert page.count("because privacy loss composes: several charges") == 1


def test_an_analyst_has_one_spending_on_the_page_of_a_dataset(served: Served) -> None:
    for number in range(3):  # charges that compose to less than their sum
        order = {"kind": "tabulate", "by": [{"marginals": 1}], "epsilon": 0.05, "delta": 1e-8}
        served.released("ann", "people", f"composed {number}", **order)
    with visiting(served, "olga") as browser:
        page = browser.get("/datasets/people").text
    legend = page[page.index('class="legend"') : page.index("<details>")]
    assert " ann" in legend and "number" not in legend
    used = re.findall(r"<th scope=\"row\">ann</th>.*?</tr>", page, re.DOTALL)
    assert len(used) == 1
    charges = page[page.index("<summary>All charges") : page.index('id="shares"')]
    assert '<th scope="col" class="number">used by everyone</th>' in charges  # beside her name
    assert "by how much a charge raised what everyone has used" in page and 'href="#shares"' in page
    ledger = served.service.ledger  # the words of ``winnow ledger show``
    assert spent_of(ledger.entries("people"))["people"].told(SHOWN_DELTA) in page
    assert page.count(ODOMETER) == 1 and "at delta" in page


def test_what_a_charge_takes_and_leaves_stands_beside_why_these_need_not_add_up(
    served: Served,
) -> None:
    asked = {"kind": "tabulate", "columns": "colour", "by": "epsilon", "epsilon": "0.1"}
    with visiting(served, "ann") as browser:
        planned = browser.post("/datasets/people/compose", asked).text
        empty = browser.get("/datasets/people/compose?kind=tabulate").text
    assert "Left afterwards" in planned and "Left afterwards" not in empty
    assert planned.count("because privacy loss composes: several charges") == 1
    assert "because privacy loss composes" not in empty


@pytest.mark.parametrize(
    ("dataset", "given", "scale"),
    [
        ("people", {"column": "colour", "epsilon": 0.5}, 2 / 0.5),  # one person moves two counts
        ("log", {"epsilon": 2.0, "delta": 1e-6}, 3 / 2.0),  # three items of one person
    ],
)
def test_counts_of_a_top_k_have_the_error_bars_of_their_noise(
    served: Served, dataset: str, given: dict[str, object], scale: float
) -> None:
    order = {"kind": "top-k", "k": 2, "with_counts": True} | given
    job = served.released("ann", dataset, f"top of {dataset}", **order)
    real = served.service.requests.now
    served.service.requests.now = lambda: real() + 60.0
    try:
        found = served.call("ann", "GET", f"/v1/releases/{job['id']}").json()
        with visiting(served, "ann") as browser:
            shown = browser.get(f"/releases/{job['id']}").text
    finally:
        served.service.requests.now = real
    q = math.exp(-1 / scale)
    beyond = [2 * q ** (m + 1) / (1 + q) for m in (found["margin"] - 1, found["margin"])]
    assert beyond[1] <= 0.05 < beyond[0]
    assert "whisker" in shown and f"within {found['margin']:,} of what was counted" in shown


def test_a_release_of_bounded_people_says_what_was_counted_and_left_out(served: Served) -> None:
    order = {"kind": "top-k", "k": 2, "with_counts": True, "with_cut": 0.25, "epsilon": 1.0}
    order |= {"delta": 1e-6}
    job = served.released("ann", "log", "what was left out", **order)
    real = served.service.requests.now
    served.service.requests.now = lambda: real() + 60.0
    try:
        found = served.call("ann", "GET", f"/v1/releases/{job['id']}").json()
        with visiting(served, "ann") as browser:
            shown = browser.get(f"/releases/{job['id']}").text
            files = [browser.get(f"/releases/{job['id']}/files/{f}") for f in found["downloads"]]
    finally:
        served.service.requests.now = real
    counted = "at most 3 items of each person"
    assert found["receipt"]["counted"] == counted
    assert f"Counted: {counted}; errors and intervals are about what was counted." in shown
    assert found["cut"]["bound"] == 3 and f"Left out: {found['cut']['says']}." in shown
    assert found["guarantee"]["epsilon"] <= 1.0 and "cut-away" in found["receipt"]["mechanism"]
    full = [file for file in files if file.text != "item,count,counted\n"]  # a list with rows
    assert files and all(counted in file.text for file in full)
    q = math.exp(-0.75 / 3)  # noise for three items and three quarters of epsilon
    beyond = [2 * q ** (m + 1) / (1 + q) for m in (found["margin"] - 1, found["margin"])]
    assert beyond[1] <= 0.05 < beyond[0]


def test_a_plan_says_what_is_counted_next_to_its_error(tmp_path: Path) -> None:
    write_data(tmp_path)
    rows = Declaration(
        path="log.csv", schema={"item": {"values": ["item1"], "other": True}}, person="person",
        max_per_person=3, epsilon=5.0,
    )  # fmt: skip
    order = {"kind": "tabulate", "by": [{"marginals": 1}], "epsilon": 1.0}
    with serving(config_of(tmp_path, datasets={"log": rows})) as served:
        found = served.call("ann", "POST", "/v1/datasets/log/plans", json={"order": order}).json()
        assert found["error_says"].endswith("; counted: at most 3 rows of each person")
        page = {"kind": "tabulate", "by": [{"marginals": 1}], "with_cut": 0.5, "epsilon": 2.0}
        half = served.call("ann", "POST", "/v1/datasets/log/plans", json={"order": page}).json()
        assert half["error"] == found["error"] and half["epsilon"] == 2.0
        wanted = {k: v for k, v in page.items() if k != "epsilon"} | {"error": found["error"]}
        back = served.call("ann", "POST", "/v1/datasets/log/plans", json={"order": wanted}).json()
        assert back["epsilon"] == pytest.approx(2.0, rel=0.01)


def test_the_history_of_answers_says_what_was_counted(tmp_path: Path) -> None:
    write_data(tmp_path)
    asked = Questions(epsilon=4.0, delta=1e-6, max_queries=5, rows=200)
    bounded = Declaration(
        path="log.csv", schema={"item": {"values": ["item1"], "other": True}}, person="person",
        max_per_person=2, epsilon=9.0, delta=1e-5, questions=asked,
    )  # fmt: skip
    declared = {"log": bounded, "people": declarations()["people"]}
    with serving(config_of(tmp_path, datasets=declared)) as served:
        for name, question in (("log", {"item": "item1"}), ("people", {"colour": "red"})):
            path = f"/v1/datasets/{name}/questions"
            answer = served.call("ann", "POST", path, name, json={"questions": [question]})
            assert answer.status_code == 200, answer.text
        past = served.call("ann", "GET", "/v1/answers").json()["past"]
        counted = "at most 2 rows of each person"
        assert {each["dataset"]: each["counted"] for each in past} == {"log": counted, "people": ""}
        with visiting(served, "ann") as browser:
            assert browser.get("/history").text.count(f"(counted: {counted})") == 1


def test_a_plan_refuses_an_estimate_of_no_bound(served: Served) -> None:
    unbounded = {"kind": "top-k", "k": 1, "column": "colour", "with_cut": 0.1, "epsilon": 1.0}
    refused = served.call("ann", "POST", "/v1/datasets/people/plans", json={"order": unbounded})
    assert refused.status_code == 422 and "and here is none" in refused.text
    order = {"kind": "tabulate", "epsilon": 1.0, "delta": 1e-6}
    plans = [
        served.call("ann", "POST", "/v1/datasets/log/plans", json={"order": order | more}).json()
        for more in ({}, {"with_cut": 0.25})
    ]
    assert [plan["epsilon"] for plan in plans] == [1.0, 1.0]
    assert plans[1]["charged"] != plans[0]["charged"] and plans[1]["cost"] <= 1.0


def test_counts_are_a_table_by_themselves_and_tables_are_named(served: Served) -> None:
    order = {"kind": "tabulate", "epsilon": 1.0, "delta": 1e-6}
    for dataset, more, says in (
        ("log", {"by": [{"marginals": 1}]}, "leave out by="),
        ("log", {"values": ["item"]}, "leave out by= and values="),
        ("log", {"rows": 10}, "leave out rows"),
        ("people", {}, "names no table"),
    ):
        at = f"/v1/datasets/{dataset}/plans"
        refused = served.call("ann", "POST", at, json={"order": order | more})
        assert refused.status_code == 422 and says in refused.text, refused.text


def test_sums_and_means_are_shown_where_they_are_known(served: Served) -> None:
    job = served.released(
        "ann", "people", "means", kind="tabulate", by=[{"table": ["colour"]}], epsilon=0.2,
        values=["age"],
    )  # fmt: skip
    real = served.service.requests.now
    served.service.requests.now = lambda: real() + 60.0
    try:
        with visiting(served, "ann") as browser:
            shown = browser.get(f"/releases/{job['id']}")
    finally:
        served.service.requests.now = real
    assert shown.status_code == 200 and "mean age" in shown.text


def test_an_owner_makes_a_token_that_is_shown_once_and_sets_a_share(served: Served) -> None:
    name = "<b>eve"
    with visiting(served, "olga") as browser:
        made = browser.post("/tokens", {"name": name, "datasets": ["log"], "days": "1"})
        token = re.search(r'id="new-token">(wnw_[^<]+)<', made.text)
        assert token is not None and served.service.accounts.principal(token[1]) is not None
        listed = browser.get("/tokens").text
        assert token[1] not in listed
        assert name not in listed and html.escape(name) in listed
        browser.post("/datasets/log/shares", {"analyst": name, "percent": "12.5"})
        assert "12.5 %" in browser.get("/datasets/log").text
        browser.post("/datasets/log/grants", {"analyst": name, "granted": "no"})
        assert name not in served.service.accounts.grants("log")
        verified = browser.get("/ledger?verify=yes").text
        assert "entries are as they were written" in verified
