"""Lists for each group: what is counted, which mechanism draws, what it is charged, bad input."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import winnow as wn
from winnow.audit.replay.compare import ReplayRun
from winnow.audit.replay.readers import reader_replays
from winnow.cli.app import app
from winnow.core.sealed import Sealed
from winnow.privacy import Repeat
from winnow.read.groups import pair_of, pair_text
from winnow.select.audit.groups import groups_audited, groups_twins
from winnow.select.crossing.groups import EachGroup, OverPairs
from winnow.show.plots.figures import empty_figure, say_counted

COUNTRIES = ("DE", "FR", "IT~1")
LOG = pd.DataFrame(
    [
        (f"u{u}", COUNTRIES[(u + more) % 3], f"{COUNTRIES[(u + more) % 3]} page {page}")
        for u in range(240)
        for more in range(1 + (u % 5 == 0))
        for page in range(1 + u % 4)
    ],
    columns=["who", "country", "page"],
)
PAGES = [f"{country} page {page}" for country in COUNTRIES for page in range(4)]
SALT = wn.Reading(salt="s")
ASKED: dict[str, Any] = {"k": 2, "epsilon": 20.0, "seed": 1}


def counted(by: Any, **said: Any) -> wn.SealedCounts:
    reading = wn.Reading(salt="s", keep=said.pop("keep", "auto"))
    return wn.counts(LOG, item="page", person="who", by=by, reading=reading, **said)


def opened(counts: wn.SealedCounts) -> dict[tuple[str, str], int]:
    """The private counts themselves."""
    labels = counts.labels._content if isinstance(counts.labels, Sealed) else counts.labels
    pairs = [pair_of(each) if isinstance(each, str) else each for each in labels]
    values: Any = counts.values._content
    return dict(zip(pairs, values.tolist(), strict=True))


def test_exact_laws_of_neighbours_hold_and_twins_are_caught() -> None:
    found = [*groups_audited(seed=3), *groups_twins()]
    assert [each for each in found if not each.passed] == []


def test_two_neighbouring_logs_differ_in_nothing_but_the_release(tmp_path: Path) -> None:
    entry = next(each for each in reader_replays() if "a draw in each" in each.variant)
    run = ReplayRun(entry)
    run.group(entry.family.odd[1], 1, tmp_path)
    assert run.pairs and not run.found and not run.error


@pytest.mark.parametrize(
    ("by", "said", "asked", "kind"),
    [
        ("country", {}, {"delta": 1e-6}, OverPairs),
        (wn.Groups("country", most=1), {}, {"delta": 1e-6, "method": "limited-domain"}, EachGroup),
        (wn.Groups("country", most=2), {}, {"delta": 1e-6, "method": "limited-domain"}, EachGroup),
        ("country", {"max_items": 3}, {"delta": 1e-6, "with_counts": True}, OverPairs),
        ("country", {"max_items": 3}, {"delta": 1e-6, "method": "stability"}, OverPairs),
        (wn.Groups("country", names=COUNTRIES, most=1), {"items": PAGES}, {}, EachGroup),
        (wn.Groups("country", names=COUNTRIES), {"items": PAGES, "max_items": 2},
         {"method": "laplace"}, OverPairs),
    ],
)  # fmt: skip
def test_the_plan_is_what_is_charged_and_lists_the_best_of_each_group(
    by: Any, said: dict[str, Any], asked: dict[str, Any], kind: type
) -> None:
    counts = counted(by, **said)
    released = wn.top_k(counts, **ASKED, **asked)
    public = {"labels": "log"} if "items" not in said else {"candidates": len(PAGES)}
    about = wn.plan.counts(**public, by=by, max_items=said.get("max_items"))
    plan = wn.plan.top_k(about, k=2, epsilon=20.0, **asked)
    assert isinstance(plan.release.mechanism, kind) and plan.by_group
    assert plan.event == released.receipt.event and plan.guarantee.epsilon <= 20.0
    assert sorted(released.value) == sorted(COUNTRIES)
    for country, items in released.value.items():
        names = [each[0] for each in items] if asked.get("with_counts") else items
        assert names[0] == f"{country} page 0" and len(items) == 2


def test_a_person_counts_in_no_more_groups_than_are_paid_for() -> None:
    free, bounded = opened(counted("country")), opened(counted(wn.Groups("country", most=1)))
    assert sum(free.values()) > sum(bounded.values()) >= 240
    few = LOG[LOG["who"].isin([f"u{u}" for u in range(0, 60, 5)])]
    for most in (1, 2):
        by = wn.Groups("country", most=most)
        whole = opened(wn.counts(few, item="page", person="who", by=by, reading=SALT))
        for who in ("u0", "u15", "u30"):
            rest = few[few["who"] != who]
            without = opened(wn.counts(rest, item="page", person="who", by=by, reading=SALT))
            moved = {pair[0] for pair in whole if whole[pair] != without.get(pair, 0)}
            assert 1 <= len(moved) <= most


def test_a_bound_on_items_holds_over_all_groups_of_a_person() -> None:
    one = LOG[LOG["who"] == "u15"]
    found = wn.counts(one, item="page", person="who", by="country", max_items=3, reading=SALT)
    assert sum(opened(found).values()) == 3


@pytest.mark.parametrize("whole", [True, False])
def test_engines_keep_the_same_groups_of_a_person(whole: bool, tmp_path: Path) -> None:
    import duckdb

    log = LOG.assign(who=LOG["who"].str[1:].astype(int)) if whole else LOG
    log.to_parquet(tmp_path / "log.parquet")
    log.to_csv(tmp_path / "log.csv", index=False)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE log AS SELECT * FROM '{tmp_path}/log.parquet'")
    by = wn.Groups("country", names=["DE", "IT~1"], most=1)
    for bound in (None, 2):
        said = {"item": "page", "person": "who", "by": by, "reading": SALT, "max_items": bound}
        sources: list[Any] = [log, tmp_path / "log.parquet", (connection, "log")]
        first, *others = [opened(wn.counts(source, **said)) for source in sources]
        assert all(other == first for other in others)
        assert {group for group, _ in first} == {"DE", "IT~1"}


def test_counts_that_stay_in_the_engine_give_the_same_lists() -> None:
    counts = counted("country", keep="engine")
    lists = wn.top_k(counts, **ASKED, delta=1e-6).value
    assert {country: items[0] for country, items in lists.items()} == {
        country: f"{country} page 0" for country in COUNTRIES
    }
    found = wn.labels(counts, epsilon=20.0, delta=1e-6, seed=1).value
    assert ("DE", "DE page 0") in found and len(found) == 12


def test_groups_of_nobody_are_empty_where_they_are_public_and_absent_where_not() -> None:
    public = counted(wn.Groups("country", names=["DE", "XX"], most=1))
    assert wn.top_k(public, **ASKED, delta=1e-6).value["XX"] == []
    small = wn.counts(LOG.head(3), item="page", person="who", by=wn.Groups("country", most=1))
    asked = {"k": 2, "epsilon": 1.0, "delta": 1e-9, "method": "limited-domain"}
    assert dict(wn.top_k(small, **asked).value) == {}


def test_people_in_two_groups_are_charged_twice_and_substitution_twice_that() -> None:
    groups = {"items": PAGES, "relation": "substitution"}
    for said, draws in (({"items": PAGES}, 2), (groups, 4)):
        counts = counted(wn.Groups("country", names=COUNTRIES, most=2), **said)
        plan = wn.plan.top_k(counts, k=2, epsilon=1.0, method="joint")
        assert isinstance(plan.event, Repeat) and plan.event.count == draws
        assert plan.guarantee.epsilon <= 1.0


def test_more_than_one_group_costs_less_than_equal_parts_where_a_delta_allows_it() -> None:
    by = wn.Groups("country", most=9)
    plan = wn.plan.top_k(
        wn.plan.counts(labels="log", by=by), k=3, epsilon=1.0, delta=1e-6, method="limited-domain"
    )
    inner = plan.release.mechanism
    assert isinstance(inner, EachGroup)
    assert float(inner.inner.epsilon) > 1.5 / 9 and plan.guarantee.epsilon <= 1.0


def test_lists_are_columns_files_and_plain_data(tmp_path: Path) -> None:
    by = wn.Groups("country", names=COUNTRIES, most=1)
    released = wn.top_k(counted(by, max_items=2, items=PAGES), **ASKED, with_counts=True)
    frame = released.to_pandas()
    assert list(frame) == ["country", "rank", "item", "count"] and len(frame) == 6
    again = type(released.value).from_dict(released.value.to_dict())
    assert again.to_pandas().equals(frame) and dict(again) == dict(released.value)
    released.value.save(tmp_path / "lists.csv")
    released.value.plot(tmp_path / "lists.png")
    assert (tmp_path / "lists.png").stat().st_size > 5_000
    assert "DE page 0" in released._repr_html_()
    plain = wn.top_k(counted(by, items=PAGES), **ASKED)
    with pytest.raises(wn.ParameterError, match="with_counts=True"):
        plain.value.plot(tmp_path / "no.png")


def test_a_figure_says_what_was_counted_below_what_its_axis_is() -> None:
    figure = empty_figure(3.0, 2.0)
    say_counted(figure, "at most 2 pages of each who", "noisy count (whiskers)")
    assert figure.get_supxlabel().startswith("noisy count (whiskers)\ncounted: at most 2 pages")


def test_a_session_pays_for_lists_and_an_estimate_of_what_was_cut() -> None:
    counts = counted(wn.Groups("country", names=COUNTRIES, most=1), max_items=2, items=PAGES)
    with wn.Session(epsilon=2.0, relation="add-remove", seed=1) as session:
        found = session.top_k(counts, k=1, epsilon=1.5, with_cut=0.1)
        assert set(found.value) == set(COUNTRIES) and found.cut is not None
        with pytest.raises(wn.BudgetExceeded):
            session.top_k(counts, k=1, epsilon=1.0)


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: wn.Groups(3), "not the name of a column"),  # type: ignore[arg-type]
        (lambda: wn.Groups("country", most=0), "most"),
        (lambda: wn.Groups("country", names="DE"), "not a list"),
        (lambda: counted(wn.Groups("country", names=["DE", "DE"])), "appears again"),
        (lambda: counted("nowhere"), "nowhere"),
        (lambda: counted("page"), "is named for the groups"),
        (lambda: counted("country", items=PAGES), "list them, too"),
        (lambda: wn.counts(LOG, item="page", by=wn.Groups("country", most=2)), "needs person="),
        (lambda: wn.top_k(counted("country"), **ASKED, delta=1e-6, method="limited-domain"),
         "bound them"),
        (lambda: wn.top_k(counted("country"), **ASKED, delta=1e-6, method=wn.WeightedGaussian(
            peel=0.2)), "peel="),
        (lambda: wn.top_k(counted("country"), **ASKED), "delta"),
        (lambda: wn.plan.counts(3, by="country"), "public, too"),
        (lambda: wn.plan.counts(labels="private", by="country"), "know no groups"),
        (lambda: wn.tabulate(counted("country"), epsilon=1.0, delta=1e-6), "groups"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_what_to_give(made: Any, match: str) -> None:
    with pytest.raises(wn.WinnowError, match=match):
        made()


@settings(max_examples=50, deadline=None)
@given(st.text(), st.text(), st.text(), st.text())
def test_no_two_pairs_have_one_text(group: str, item: str, other: str, another: str) -> None:
    assert pair_of(pair_text(group, item)) == (group, item)
    same = pair_text(group, item) == pair_text(other, another)
    assert same == ((group, item) == (other, another))


def test_the_text_of_a_pair_is_that_of_the_engine() -> None:
    odd = ["~", "~0", "~1", "\x1f", "a\x1fb", "~~1", "é", "%"]
    log = pd.DataFrame([("u", group, "i\x1f~") for group in odd], columns=["w", "g", "i"])
    found = opened(wn.counts(log, item="i", person="w", by="g"))
    assert set(found) == {(group, "i\x1f~") for group in odd}


def test_the_command_lists_draws_and_saves(tmp_path: Path) -> None:
    LOG.to_csv(tmp_path / "log.csv", index=False)
    (tmp_path / "groups.txt").write_text("DE\nFR\nXX\n")
    (tmp_path / "pages.txt").write_text("\n".join(PAGES))
    line = ["top-k", f"{tmp_path}/log.csv", "--item", "page", "--person", "who", "--epsilon", "9"]
    line += ["--by", "country", "-k", "2", "--seed", "1"]
    out, plot = tmp_path / "top.csv", tmp_path / "top.png"
    named = ["--groups", f"{tmp_path}/groups.txt", "--items", f"{tmp_path}/pages.txt"]
    said = [*line, *named, "--max-items", "2", "--out", str(out), "--plot", str(plot)]
    done = CliRunner().invoke(app, said)
    assert done.exit_code == 0, done.output
    saved = pd.read_csv(out)
    assert list(saved)[:4] == ["country", "rank", "item", "count"] and plot.exists()
    assert set(saved["country"]) == {"DE", "FR", "XX"}
    alone = CliRunner().invoke(app, [*line, "--delta", "1e-6", "--json"])
    assert alone.exit_code == 0 and '"by": "country"' in alone.output
    for wrong in (["--items", f"{tmp_path}/pages.txt"], ["--delta", "1e-6", "--report", "r.html"]):
        assert CliRunner().invoke(app, [*line, *wrong]).exit_code == 2
    without = [*line[:8], "-k", "2", "--max-groups", "2", "--delta", "1e-6"]
    assert CliRunner().invoke(app, without).exit_code == 2
    labels = ["labels", *line[1:8], "--by", "country", "--delta", "1e-6"]
    found = CliRunner().invoke(app, [*labels, "--out", str(out)])
    assert found.exit_code == 0, found.output
    assert list(pd.read_csv(out)) == ["country", "item"]


def test_groups_are_drawn_independently() -> None:
    by = wn.Groups("country", names=COUNTRIES, most=1)
    even = pd.DataFrame(
        [(f"u{u}", COUNTRIES[u % 3], f"page {u // 3 % 2}") for u in range(60)],
        columns=["who", "country", "page"],
    )
    counts = wn.counts(even, item="page", person="who", by=by, items=["page 0", "page 1"])
    asked = {"k": 1, "epsilon": 1.0, "method": "joint"}
    first = [wn.top_k(counts, **asked, seed=seed).value for seed in range(120)]
    same = np.mean([lists["DE"] == lists["FR"] for lists in first])
    assert 0.25 < same < 0.75  # false alarm below 1e-7
