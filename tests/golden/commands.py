"""Every command at fixed seeds: exit codes, JSON, tables on a terminal of 100 columns, help."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from golden.cases import Case, plain, rounded
from golden.command import in_turn, winnow
from golden.data import people, write_csv, write_people

HELP = (
    "", "demo", "describe", "select", "top-k", "itemsets", "learn", "tabulate", "bounds", "moments",
    "quantiles", "histogram", "regress", "release", "ask", "lp",
    "mips", "boost", "plan",
    "plan select", "plan top-k", "plan margin", "plan itemsets", "plan learn",
    "plan tabulate", "plan bounds", "plan moments", "plan quantiles", "plan histogram",
    "plan describe", "plan regress", "plan release", "plan lp",
    "plan ask", "schema", "schema draft", "schema check",
    "ledger", "ledger init", "ledger show", "ledger verify", "ledger export",
    "ledger share",
    "ledger share set", "ledger share list", "audit", "reproduce",
)  # fmt: skip
SHIFTS = """\
NAME shifts
ROWS
 N cost
 G mon
 G tue
 L cap
COLUMNS
 early cost 1 mon 1
 early cap 1
 late cost 2 tue 1
 late cap 1
RHS
 rhs mon 300 tue 420
 rhs cap 900
BOUNDS
 LO bnd early 10
 UP bnd late 700
ENDATA
"""
MANY = 20_000
"""Rows enough for a session that learns."""
SEED = "--seed 7"
TOPK = f"top-k log.csv --item page --person visitor -k 3 --epsilon 2 {SEED}"
COUNTS = f"top-k votes.csv --item dish --count n --labels public -k 3 --epsilon 1 {SEED}"
ITEMS = f"itemsets baskets.csv --one-basket-per-person --size 2 --epsilon 2 {SEED}"
TABLE = "people.csv --schema schema.json --one-row-per-person"
RELEASE = f"release {TABLE} --epsilon 2 --delta 1e-6 --method mwem --rounds 2 --workload"
LEARN = f"learn {TABLE} --target sex --epsilon 1 {SEED} --method"
ASK = (
    "ask many.csv --one-row-per-person --schema schema.json --epsilon 1 --delta 1e-6 "
    f"--batch questions.txt {SEED}"
)
LP = "lp shifts.mps --method scalar-sides --sensitivity 1 --epsilon 2 --delta 1e-6 --rounds 9"
PLAN_TOPK = "plan top-k --zipf 1 --top 100 --candidates 8 -k 2 --draws 20"
LINES = (
    f"select votes.csv --epsilon 1 {SEED}",
    f"select votes.csv --epsilon 1 --monotone -k 2 {SEED} --json",
    f"select votes.csv --epsilon 1 --method exponential -k 3 {SEED}",
    f"select votes.csv --epsilon 1 --method large-margin --delta 1e-6 {SEED} --json",
    f"select votes.csv --epsilon 1 --method lipschitz --noise logistic {SEED} --json",
    f"select votes.csv --epsilon 1 --relation substitution --sensitivity 2 {SEED} --json",
    "select votes.csv --epsilon 0",
    "select none.csv --epsilon 1",
    "select votes.csv",
    "select votes.csv --epsilon 1 --label dish --score price",
    f"{TOPK} --delta 1e-6 --json",
    f"{TOPK} --delta 1e-6 --max-items 2 --with-counts",
    f"{TOPK} --delta 1e-6 --method stability --max-items 1 --with-counts --json",
    f"{TOPK}",
    f"{COUNTS} --json",
    f"{COUNTS} --with-counts",
    f"{COUNTS} --method canonical --gamma 0.25 --json",
    f"{COUNTS} --method laplace --max-items 1 --json",
    f"{COUNTS} --method none",
    f"{ITEMS} --delta 1e-6 --json",
    f"{ITEMS} --delta 1e-6 -k 2 --supports winners",
    f"{ITEMS} --items items.txt --method joint -k 2 --json",
    f"{ITEMS}",
    f"{LEARN} stumps --json",
    f"{LEARN} conjunctions:2 --delta 1e-6 --with-accuracy --test people.csv",
    f"{LEARN} auto",
    f"{LEARN} boosted --class-weights balanced --delta 1e-6",
    f"{LEARN} circles",
    f"{RELEASE} marginals:1 {SEED}",
    f"{RELEASE} marginals:1+prefixes:age --columns age,sex {SEED} --json",
    f"{RELEASE} queries.json --update sign --accountant zcdp {SEED}",
    f"{RELEASE} marginals:9 {SEED}",
    f"{ASK} --method independent --max-queries 20",
    f"{ASK} --method independent --max-queries 20 --json",
    f"{ASK} --method multiplicative-weights --updates 3 --max-queries 20 --json",
    "plan select --gaps 5,5,3 --epsilon 1",
    "plan select --gaps 5,5,3 --epsilon 1 --compare",
    "plan select --candidates 100 --gap 20 --chance 0.95 --monotone --json",
    f"{PLAN_TOPK} --epsilon 1",
    f"{PLAN_TOPK} --chance 0.9 --method joint --json",
    "plan margin --epsilon 1 --delta 1e-6",
    "plan margin --epsilon 1 --delta 1e-6 --json",
    "plan release --schema schema.json --workload marginals:2 -n 4000 --epsilon 1 --delta 1e-6",
    f"tabulate {TABLE} --by sex,town --by age --epsilon 1 {SEED}",
    f"tabulate {TABLE} --workload marginals:2+prefixes:age --epsilon 1 --delta 1e-6 {SEED} --json",
    f"tabulate {TABLE} --by sex --values rooms --epsilon 1 {SEED}",
    f"tabulate {TABLE} --epsilon 1 {SEED}",
    f"moments {TABLE} --values rooms --statistics mean,deviation --by sex --epsilon 2 {SEED}",
    f"moments {TABLE} --values rooms --epsilon 1 --delta 1e-6 {SEED} --json",
    f"bounds {TABLE} --column rooms --epsilon 2 {SEED}",
    f"moments {TABLE} --values rooms --bounds auto --epsilon 2 {SEED}",
    "plan bounds --schema schema.json --column rooms --epsilon 1",
    f"moments {TABLE} --values town --epsilon 1 {SEED}",
    f"regress {TABLE} --target rooms --features age,sex --epsilon 2 {SEED}",
    f"regress {TABLE} --target rooms --epsilon 1 --delta 1e-6 {SEED} --json",
    f"regress {TABLE} --target town --epsilon 1 {SEED}",
    "plan regress --schema schema.json --target rooms --rows 500 --epsilon 1",
    "plan moments --schema schema.json --values rooms --epsilon 1",
    "plan moments --schema schema.json --values rooms --rows 500 --error .1 --json",
    f"quantiles {TABLE} --column rooms --quantiles .25,.5 --by sex --level .9 --epsilon 2 {SEED}",
    f"quantiles {TABLE} --column rooms --epsilon 1 {SEED} --json",
    f"quantiles {TABLE} --column town --epsilon 1 {SEED}",
    f"describe {TABLE} --epsilon 4 {SEED}",
    f"describe {TABLE} --epsilon 4 --columns rooms,sex --bins 3 --quantiles .5 {SEED} --json",
    "plan describe --schema schema.json --epsilon 1",
    f"histogram {TABLE} --column rooms --bins 3 --epsilon 2 {SEED}",
    f"histogram {TABLE} --column rooms --bins 2 --split quantiles --epsilon 2 {SEED} --json",
    f"histogram {TABLE} --column town --epsilon 1 {SEED}",
    "plan histogram --schema schema.json --column rooms --bins 2 --split quantiles --epsilon 1",
    "plan histogram --schema schema.json --column rooms --bins 3 --error 5 --json",
    "plan quantiles --schema schema.json --column rooms --quantiles 0.1,0.5,0.9 --epsilon 1",
    "plan quantiles --schema schema.json --column rooms --error 5 --json",
    "plan tabulate --schema schema.json --workload marginals:2 --epsilon 1 --delta 1e-6",
    "plan tabulate --schema schema.json --by sex,town --error 20 --json",
    "schema draft people.csv",
    "schema check people.csv --schema schema.json",
    "plan ask --cells 96 -n 20000 --epsilon 1 --delta 1e-6 --max-queries 500",
    "plan ask --cells 96 -n 20000 --epsilon 1 --delta 1e-6 --max-queries 20 --json",
    "plan",
    "reproduce nothing",
    "reproduce joint --figure 99",
    "nothing",
    "--version",
)
LP_LINES = (
    f"{LP} {SEED} --opt 1140 --json",
    f"{LP} {SEED} --opt 1140 --measure",
    f"plan {LP} --opt 900,1400 --searches 2",
)


def prepare(line: str = ASK) -> None:
    """The files that commands read, in the working folder."""
    write_people()
    if "many.csv" in line:
        write_csv("many.csv", people(MANY))
    Path("items.txt").write_text("bread\nbutter\njam\nmilk\ntea\n")
    Path("questions.txt").write_text("sex = Female, age = 30..50\nrooms = 1\ntown = north|south\n")
    Path("shifts.mps").write_text(SHIFTS)
    queries = [{"sex": "Female"}, {"age": [30, 50], "town": ["north", "south"]}]
    Path("queries.json").write_text(json.dumps(queries))


def run(line: str) -> Any:
    prepare(line)
    return rounded(plain(winnow(*line.split())))


def help_of(command: str) -> Any:
    return winnow(*command.split(), "--help")


def typed() -> Any:
    """Standard input, and the prompt of ``winnow ask``."""
    prepare()
    asked = ASK.replace(" --batch questions.txt", " --yes --method independent --max-queries 9")
    found = {
        "select -": winnow(*f"select - --epsilon 1 {SEED}".split(), typed="a,b\nx,9\ny,40\n"),
        "ask": winnow(
            *asked.split(), typed="sex = Female\nfoo = 1\n:help\n:schema\nrooms = 0..2\n:quit\n"
        ),
    }
    return rounded(plain(found))


def recorded() -> Any:
    """A ledger from the first line to the last."""
    prepare()
    book = "--ledger book.db --dataset"
    release = RELEASE.replace("2 --delta", "0.5 --delta")
    found = in_turn(*(line.split() for line in (
        "ledger init book.db --dataset people --epsilon 2 --delta 1e-6 --relation substitution",
        "ledger init book.db --dataset votes --epsilon 1",
        "ledger init book.db --dataset votes --epsilon 3",
        f"select votes.csv --epsilon 0.5 {SEED} {book} votes --analyst Ada",
        f"select votes.csv --epsilon 0.75 {SEED} {book} votes",
        f"{release} marginals:1 {SEED} {book} people --json",
        f"select votes.csv --epsilon 0.5 {SEED} {book} others",
        f"select votes.csv --epsilon 0.5 {SEED} --dataset votes",
        "ledger share set book.db --dataset votes --analyst Ada --part 0.5",
        f"select votes.csv --epsilon 0.25 {SEED} {book} votes --analyst Ada",
        "ledger share list book.db --dataset votes",
        "ledger share list book.db --dataset votes --json",
        "ledger show book.db",
        "ledger show book.db --json",
        "ledger verify book.db",
        "ledger verify book.db --json",
        f"ledger verify book.db --head 99:{'0' * 64}",
        "ledger export book.db --out book.csv",
        "ledger show none.db",
    )))  # fmt: skip
    found["book.csv"] = Path("book.csv").read_text()
    return rounded(plain(found))


def saved() -> Any:
    """What is saved with --out, --answers and --report."""
    prepare()
    found = in_turn(*(line.split() for line in (
        f"select votes.csv --epsilon 1 {SEED} --out pick.csv",
        f"{COUNTS} --with-counts --out top.json",
        f"{COUNTS} --with-counts --out top.parquet --json",
        f"{ITEMS} --delta 1e-6 -k 2 --supports winners --out sets.csv",
        f"{LEARN} stumps --out model.json",
        f"{RELEASE} marginals:1 --columns age,sex {SEED} --out rows.csv --sample 6 "
        "--answers answers.csv --report report.html",
        f"{ASK} --method independent --max-queries 20 --out asked.csv",
        "plan select --gaps 5,5,3 --epsilon 1 --out plan.csv",
        f"select votes.csv --epsilon 1 {SEED} --out votes.csv",
        f"select votes.csv --epsilon 1 {SEED} --out pick.txt",
    )))  # fmt: skip
    for name in ("pick.csv", "top.json", "sets.csv", "model.json", "rows.csv", "answers.csv",
                 "asked.csv", "plan.csv"):  # fmt: skip
        found[name] = Path(name).read_text(encoding="utf-8")
    parquet = pq.read_table("top.parquet")
    found["top.parquet"] = [str(parquet.schema.remove_metadata()), parquet.to_pydict()]
    found["report.html"] = _page(Path("report.html").read_text(encoding="utf-8"))
    return rounded(plain(found))


def _page(page: str) -> str:
    """The text of a page, without its style and its pictures."""
    for part in ("style", "script", "svg"):
        page = re.sub(rf"<{part}\b.*?</{part}>", "", page, flags=re.DOTALL)
    page = re.sub(r"\b\d{4}-\d\d-\d\d\b", "DATE", page)
    lines = html.unescape(re.sub(r"<[^>]*>", "\n", page)).split("\n")
    return "\n".join(line.strip() for line in lines if line.strip())


def resumed() -> Any:
    """A session that is gone on with, and people with several rows."""
    prepare()
    ask = f"{ASK} --method independent --max-queries 20 --state kept"
    own = "--person id --max-rows 2 --salt golden"
    found = in_turn(*(line.split() for line in (
        ask, ask + " --json", f"{ASK} --method independent --max-queries 20 {own} --json",
        f"{ASK} --method independent --max-queries 20 --person id --state more",
    )))  # fmt: skip
    write_csv("many.csv", people(MANY // 2))
    found["other data"] = winnow(*ask.split())
    return rounded(plain(found))


def demo() -> Any:
    """The made-up data."""
    found = {"demo": winnow("demo", "--write", "tour")}
    for path in sorted(Path("tour").iterdir()):
        lines = path.read_text(encoding="utf-8").split("\n")
        found[path.name] = {"lines": len(lines), "first": "\n".join(lines[:6])}
    return found


def cases() -> dict[str, Case]:
    """All of them by name."""
    found = {line: Case(lambda own=line: run(own)) for line in LINES}
    found |= {line: Case(lambda own=line: run(own), ("highspy",)) for line in LP_LINES}
    found |= {f"{c} --help".strip(): Case(lambda own=c: help_of(own)) for c in HELP}
    found |= {
        "typed": Case(typed), "recorded": Case(recorded), "saved": Case(saved),
        "resumed": Case(resumed), "demo --write": Case(demo),
    }  # fmt: skip
    return found
