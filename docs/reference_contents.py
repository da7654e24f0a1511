"""What the reference has: its pages, and which modules each of them documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """One page of the reference."""

    name: str
    title: str
    about: str
    guide: str
    """The page of the guide, without its ending."""
    modules: tuple[str, ...] = ()
    """Public names that these modules define; the longest name that fits decides."""
    names: tuple[str, ...] = ()
    """Names that belong here wherever they are defined."""
    more: tuple[str, ...] = ()
    """Names that no stub lists, such as what a public function returns."""
    commands: tuple[str, ...] = ()
    example: str = ""


PAGES = (
    Page(
        "select", "Selection", "Noisy max: the best of many candidates, or the k best.",
        "selection",
        ("winnow.select", "winnow.read.scores", "winnow.read.score_source", "winnow.read.classes"),
        more=("winnow.select.methods.SelectMethod", "winnow.select.methods.Sizes"),
        commands=("select", "plan select", "plan margin"),
        example="""
import winnow as wn

votes = wn.seal_counts({"ramen": 412, "tacos": 398, "pho": 351})
pick = wn.select(votes, epsilon=1.0)
print(pick.value, pick.guarantee)
""",
    ),
    Page(
        "top-k", "Top k", "Heavy hitters: the k most common items, with or without noisy counts.",
        "top-k",
        ("winnow.select.top_k_methods", "winnow.select.plan.top_k", "winnow.read.counts"),
        names=(
            "winnow.top_k", "winnow.plan.counts", "winnow.Groups", "winnow.Join",
            "winnow.ListsByGroup",
        ),
        more=("winnow.select.top_k_methods.TopKMethod",),
        commands=("top-k", "plan top-k"),
        example="""
import winnow as wn

visits = {"home": 9120, "search": 7004, "cart": 3350, "help": 1207}
top = wn.top_k(visits, k=2, epsilon=1.0, with_counts=True)
print(top.to_pandas())
""",
    ),
    Page(
        "labels", "Labels found in the data", "Which items many people have: partition selection.",
        "labels",
        ("winnow.select.label_methods", "winnow.select.plan.labels"),
        names=("winnow.labels",),
        more=("winnow.select.label_methods.PrivateLabelsMethod",),
        commands=("labels", "plan labels"),
        example="""
import pandas as pd
import winnow as wn

log = pd.DataFrame({"page": ["home"] * 90 + ["help"] * 60 + ["mine"], "visitor": range(151)})
counts = wn.counts(log, item="page", person="visitor", max_items=1)
print(wn.labels(counts, epsilon=1.0, delta=1e-6).value)
""",
    ),
    Page(
        "sparse-vector", "Sparse vector", "Which of many values lie above a public threshold.",
        "sparse-vector",
        names=("winnow.above", "winnow.open_above", "winnow.plan.above"),
        more=(
            "winnow.select.crossing.selection.SparseVectorStream",
            "winnow.select.mechanisms.sparse_vector.AboveAnswer",
        ),
        example="""
import winnow as wn

days = wn.seal_counts({"mon": 20, "tue": 35, "wed": 260, "thu": 10})
print(wn.above(days, threshold=100, epsilon=1.0, cutoff=1).value.above)
""",
    ),
    Page(
        "tables", "Tables",
        "Counts, histograms, marginals, sums and means by groups, with standard errors.", "tables",
        ("winnow.release.tables",),
        more=("winnow.release.tables.intervals.Means",),
        commands=("tabulate", "plan tabulate"),
        example="""
import pandas as pd
import winnow as wn

people = pd.DataFrame({"age": [20 + i % 60 for i in range(900)], "town": ["A", "B"] * 450})
schema = {"age": {"edges": [0, 40, 60, 99]}, "town": {"values": ["A", "B"]}}
tables = wn.tabulate(wn.read_table(people, schema=schema), ["age", "town"], epsilon=1.0)
print(tables.to_pandas())
""",
    ),
    Page(
        "numbers", "Numbers", "A first look; means, sums, deviations, quantiles and histograms.",
        "numbers",
        ("winnow.numbers", "winnow.describe"),
        commands=("describe", "plan describe", "bounds", "plan bounds", "moments",
                  "plan moments", "quantiles",
                  "plan quantiles", "histogram", "plan histogram", "regress",
                  "plan regress"),
        example="""
import pandas as pd
import winnow as wn

people = pd.DataFrame({"income": [20_000 + 37 * i % 9000 for i in range(900)]})
schema = {"income": {"type": "number", "low": 0, "high": 200_000, "clip": True}}
sealed = wn.read_table(people, schema=schema)
print(wn.quantiles(sealed, "income", [0.25, 0.5, 0.75], epsilon=1.0).to_pandas())
print(wn.moments(sealed, "income", ["mean", "deviation"], epsilon=1.0).to_pandas())
""",
    ),
    Page(
        "release", "Synthetic data and query release",
        "A synthetic table, and the answers to a workload of queries.", "query-release",
        ("winnow.release", "winnow.fit"),
        more=(
            "winnow.release.synthetic.MeasuredQuery", "winnow.release.query_errors.QueryErrors",
            "winnow.release.graphical.synthetic.MeasuredMarginal", "winnow.fit.tables.FitQuality",
        ),
        commands=("release", "plan release"),
        example="""
import pandas as pd
import winnow as wn

people = pd.DataFrame({"age": [i * i % 10 for i in range(900)], "town": ["A", "B"] * 450})
table = wn.read_table(people, schema={"age": 10, "town": {"values": ["A", "B"]}})
released = wn.release(table, wn.marginals(2), epsilon=1.0, delta=1e-6)
print(released.value.sample(3, frame="pandas"))
""",
    ),
    Page(
        "ask", "Questions under a budget", "Queries asked one by one, adaptively.", "interactive",
        ("winnow.ask",),
        more=(
            "winnow.ask.session.WeightsSession", "winnow.ask.independent.IndependentSession",
            "winnow.ask.open_session.Answer",
        ),
        commands=("ask", "plan ask"),
        example="""
import pandas as pd
import winnow as wn

people = pd.DataFrame({"age": [i % 90 for i in range(9000)]})
table = wn.read_table(people, schema={"age": 90})
session = wn.ask(table, epsilon=1.0, delta=1e-6, max_queries=100)
answer = session.ask(wn.where(age=(0, 30)))
print(answer.value, answer.error)
""",
    ),
    Page(
        "itemsets", "Frequent itemsets", "Items that occur together, and association rules.",
        "itemsets", ("winnow.itemsets", "winnow.read.baskets"),
        commands=("itemsets", "plan itemsets"),
        example="""
import winnow as wn

sold = [["bread", "milk"]] * 900 + [["beer", "eggs", "milk"]] * 300
baskets = wn.read_baskets(sold, unit="basket")
print(wn.itemsets(baskets, size=2, epsilon=1.0, delta=1e-6).value)
""",
    ),
    Page(
        "learn", "Learning", "Classifiers: votes of rules, single rules, additive models.",
        "learning", ("winnow.learn",), commands=("learn", "plan learn"),
        example="""
import pandas as pd
import winnow as wn

rows = pd.DataFrame({"age": [25, 61, 47, 70] * 500, "rich": ["no", "yes", "no", "yes"] * 500})
schema = {"age": {"edges": [0, 30, 50, 60, 100]}, "rich": {"values": ["no", "yes"]}}
learned = wn.learn(wn.read_table(rows, schema=schema), "rich", epsilon=1.0)
print(learned.value.predict({"age": [65, 20]}))
""",
    ),
    Page(
        "lp", "Linear programs", "Linear programs with private right-hand sides or rows.",
        "linear-programs", ("winnow.lp",), commands=("lp", "plan lp"),
        example="""
import numpy as np
import winnow as wn

shifts = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]])
needed = np.array([30_200, 42_100, 38_400])  # private
problem = wn.lp_problem(shifts, needed, np.ones(3), senses=">=", maximise=False, opt=56_000)
sides = wn.ScalarSides(sensitivity=1)
print(wn.lp(problem, method=sides, epsilon=1, delta=1e-6).value.x)
""",
    ),
    Page(
        "inner-products", "Inner products and boosting",
        "Maximum inner product search, and boosting with weak learners.", "private-mips",
        ("winnow.inner_product",), commands=("mips", "boost"),
        example="""
import numpy as np
import winnow as wn

vectors = np.eye(4)  # public candidates
query = wn.seal_query(np.array([0.1, 0.6, 0.2, 0.1]), sensitivity=0.001, relation="substitution")
print(wn.mips(vectors, query, epsilon=1.0).value)
""",
    ),
    Page(
        "data", "Reading data, schemas and workloads",
        "Tables, schemas, the privacy unit, and which queries to ask.", "tables-and-workloads",
        ("winnow.core.workloads", "winnow.core.schema", "winnow.core.column", "winnow.read"),
        commands=("schema draft", "schema check"),
        example="""
import winnow as wn

schema = wn.Schema.parse({"age": {"edges": [0, 40, 60, 99]}, "town": {"values": ["A", "B"]}})
workload = (wn.marginals(2) + wn.prefixes("age")).over(schema)
print(workload.size)
""",
    ),
    Page(
        "results", "Results, relations and guarantees",
        "What a release returns, and what its guarantee speaks about.", "tour",
        ("winnow.core",),
        more=("winnow.core.tape.Tape", "winnow.core.laws.Law"),
        example="""
import winnow as wn

pick = wn.select(wn.seal_counts({"yes": 60, "no": 40}), epsilon=1.0)
print(pick.guarantee, pick.receipt.mechanism, pick.to_json()[:20])
""",
    ),
    Page(
        "budgets", "Budgets and accounting", "Sessions, budgets, events, accountants.",
        "accounting", ("winnow.privacy", "winnow.session", "winnow.odometer"),
        example="""
import winnow as wn

with wn.Session(epsilon=1.0, delta=1e-6) as session:
    session.top_k({"a": 900, "b": 300, "c": 20}, k=2, epsilon=0.4)
print(session.budget.left)
""",
    ),
    Page(
        "ledger", "The ledger", "Budgets that outlive the process.", "ledger",
        ("winnow.privacy.ledger",),
        commands=("ledger init", "ledger show", "ledger verify", "ledger export"),
    ),
    Page(
        "server", "The server and its client", "Analysts ask over HTTP, under budgets.", "server",
        ("winnow.serve",), more=("winnow.serve.client.Client",),
        commands=("serve", "serve check", "serve token new", "serve share set"),
    ),
    Page(
        "figures", "Figures and reports", "Plots of released numbers, and reports as web pages.",
        "notebooks", ("winnow.show",),
    ),
    Page(
        "audit", "Audits", "Checks of every privacy claim, on your machine.", "audits",
        ("winnow.audit",), commands=("audit", "reproduce"),
    ),
    Page("errors", "Errors", "What can go wrong, and who may see the message.", "errors",
         ("winnow.errors",), more=("winnow.errors.LedgerError", "winnow.errors.InternalError")),
)  # fmt: skip
