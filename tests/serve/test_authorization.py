"""Who may do what: one row for every endpoint, and a missing row fails."""

import pytest

from serve.served import Served
from winnow.serve.api import ENDPOINTS

ORDER = {"order": {"kind": "select", "column": "colour", "epsilon": 0.001}}

# For each endpoint: a path, a body, and the status for
# nobody, an owner, an analyst with the dataset, one with the scope read, an owner with audit,
# an analyst without the dataset.
NOBODY, OLGA, ANN, READER, AUDITOR, BOB = (None, "olga", "ann", "reader", "auditor", "bob")
WHO = (NOBODY, OLGA, ANN, READER, AUDITOR, BOB)
MATRIX = {
    "whoAmI": ("/v1/me", None, (401, 200, 200, 200, 403, 200)),
    "listDatasets": ("/v1/datasets", None, (401, 200, 200, 200, 403, 200)),
    "getSchema": ("/v1/datasets/log/schema", None, (401, 200, 200, 404, 403, 404)),
    "getBudget": ("/v1/datasets/log/budget", None, (401, 200, 200, 404, 403, 404)),
    "plan": ("/v1/datasets/log/plans", {"order": {"kind": "top-k", "k": 2, "epsilon": 0.1,
             "delta": 1e-7}}, (401, 200, 200, 404, 403, 404)),
    "release": ("/v1/datasets/log/releases", {"order": {"kind": "top-k", "k": 2, "epsilon": 0.1,
                "delta": 1e-7}}, (401, 403, 202, 403, 403, 404)),
    "ask": ("/v1/datasets/people/questions", {"questions": [{"colour": "red"}]},
            (401, 403, 200, 403, 403, 200)),
    "listAnswers": ("/v1/answers", None, (401, 200, 200, 200, 403, 200)),
    "listJobs": ("/v1/jobs", None, (401, 200, 200, 200, 403, 200)),
    "getJob": ("/v1/jobs/{of_ann}", None, (401, 200, 200, 404, 403, 404)),
    "getRelease": ("/v1/releases/{of_ann}", None, (401, 200, 200, 404, 403, 404)),
    "getReceipt": ("/v1/releases/{of_ann}/receipt", None, (401, 200, 200, 404, 403, 404)),
    "download": ("/v1/releases/{of_ann}/table.csv", None, (401, 200, 200, 404, 403, 404)),
    "listShares": ("/v1/datasets/people/shares", None, (401, 200, 403, 403, 403, 403)),
    "setShare": ("/v1/datasets/log/shares/bob", {"part": 0.5}, (401, 200, 403, 403, 403, 403)),
    "grant": ("/v1/datasets/baskets/grants/reader", None, (401, 200, 403, 403, 403, 403)),
    "endGrant": ("/v1/datasets/baskets/grants/reader", None, (401, 200, 403, 403, 403, 403)),
    "getSpending": ("/v1/datasets/people/spending", None, (401, 200, 403, 403, 200, 403)),
    "listTokens": ("/v1/tokens", None, (401, 200, 403, 403, 403, 403)),
    "newToken": ("/v1/tokens", {"name": "carl"}, (401, 201, 403, 403, 403, 403)),
    "revokeToken": ("/v1/tokens/{spare}", None, (401, 200, 403, 403, 403, 403)),
    "exportLedger": ("/v1/ledger/export", None, (401, 200, 403, 403, 200, 403)),
    "verifyLedger": ("/v1/ledger/verify", None, (401, 200, 403, 403, 200, 403)),
    "getAuditLog": ("/v1/audit", None, (401, 200, 403, 403, 200, 403)),
}  # fmt: skip


@pytest.fixture(scope="session")
def places(served: Served) -> dict[str, str]:
    """What addresses name: a release of ann that is there, and a token nobody needs."""
    job = served.released(
        "ann", "people", "matrix", kind="tabulate", by=[{"table": ["colour"]}], epsilon=0.1
    )
    assert job["state"] == "done", job
    real = served.service.requests.now
    served.service.requests.now = lambda: real() + 60.0  # it has appeared
    spare, _ = served.service.accounts.new_token("spare", "analyst", by="test")
    return {"of_ann": job["id"], "spare": spare}


def test_every_endpoint_has_its_row() -> None:
    assert set(MATRIX) == {endpoint.name for endpoint in ENDPOINTS}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.name)
def test_each_role_may_do_what_its_row_says(
    endpoint: object, served: Served, places: dict[str, str]
) -> None:
    path, body, expected = MATRIX[endpoint.name]  # type: ignore[attr-defined]
    found = []
    for who in WHO:
        answer = served.call(
            who,
            endpoint.method,  # type: ignore[attr-defined]
            path.format(**places),
            key=f"{endpoint.name} {who}",  # type: ignore[attr-defined]
            **({} if body is None else {"json": body}),
        )
        found.append(answer.status_code)
        assert len(answer.content) % 512 == 0 or answer.headers["content-type"].startswith("text")
    assert tuple(found) == expected


def test_what_one_may_not_see_is_told_like_what_is_not_there(served: Served) -> None:
    hidden = served.call("ann", "GET", "/v1/datasets/hidden/schema")
    absent = served.call("ann", "GET", "/v1/datasets/absent/schema")
    assert (hidden.status_code, hidden.content) == (absent.status_code, absent.content)
    assert hidden.status_code == 404


def test_a_token_ends_when_it_is_revoked_and_when_it_expires(served: Served) -> None:
    accounts = served.service.accounts
    identity, secret = accounts.new_token("dora", "analyst", by="test")
    _, short = accounts.new_token("dora", "analyst", days=0.1, by="test")
    assert accounts.principal(secret) is not None and accounts.principal(short) is not None
    assert accounts.revoke(identity, by="test")
    assert accounts.principal(secret) is None
    real = served.service.store.clock
    served.service.store.clock = lambda: real() + 86_400.0
    try:
        assert accounts.principal(short) is None
    finally:
        served.service.store.clock = real
    assert accounts.principal("wnw_" + "x" * 43) is None


def test_tokens_are_stored_as_hashes_in_a_file_for_the_owner_alone(served: Served) -> None:
    file = served.service.config.path("winnow-serve.db")
    stored = file.read_bytes()
    assert all(secret.encode() not in stored for secret in served.tokens.values())
    keys = list(file.parent.glob("*.key"))
    assert len(keys) == 2  # the server's, and the ledger's
    for path in (file, *keys):
        assert path.stat().st_mode & 0o077 == 0


def test_an_audit_log_that_was_edited_moved_or_cut_is_found(tmp_path) -> None:
    from winnow.serve.store import ServerStore
    from winnow.serve.vault import Vault

    vault = Vault.open(tmp_path / "key", create=True)
    damage = {
        "": "",
        "UPDATE audit SET who = 'nobody' WHERE sequence = 2": "line 2",
        "UPDATE audit SET detail = '{}' WHERE sequence = 3": "line 3",
        "DELETE FROM audit WHERE sequence = 2": "line 2",
        "DELETE FROM audit WHERE sequence = 5": "at the end",
        "DELETE FROM audit WHERE sequence > 0": "at the end",
    }
    for number, (statement, said) in enumerate(damage.items()):
        store = ServerStore.open(str(tmp_path / f"{number}.db"), vault, create=True)
        assert store.verify_audit_log() == ""
        for each in range(5):
            store.note("olga", "share set", part=each)
        if statement:
            store.change(lambda view, text=statement: view.do(text))
        found = store.verify_audit_log()
        assert said in found and bool(said) == bool(found)
