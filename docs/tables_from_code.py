"""A Sphinx extension: tables that are written from the code and the benchmarks at build time.

They land in docs/_generated, and the pages of the reference in docs/reference; neither is under
version control.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import benchmark_tables
import choice_tables
import decision_tables
import ledger_tables
import notebook_page
import numpy as np
import proof_tables
import reference_pages
import reproduce_tables
import scale_tables
import timing_tables
from sphinx.application import Sphinx
from table_text import table

from winnow import GuaranteeError, calibrate
from winnow.audit.borders import BORDERS, CHOICES
from winnow.privacy import (
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    calibrate_rounds,
    largest_squared_ratio,
    paper_round_epsilon,
    pure_cost,
    rows,
    zcdp_cost,
    zcdp_rho,
)
from winnow.select.mechanisms.margin_search import THRESHOLDS, stopping_margin

HERE = Path(__file__).parent


def guarantees() -> str:
    """The guarantee table of winnow.privacy, one part for each reduction and what it releases."""
    parts: dict[tuple[str, str, str], list[list[str]]] = {}
    for row in rows():
        holds = " and ".join(row.relations)
        part = parts.setdefault((row.reduction, row.released, holds), [])
        part.append([row.law, f"`{row.charge}`", row.citation])
    return "\n".join(
        f"**{reduction}** releases {released}. Holds under {holds}.\n\n"
        + table(["noise", "charged", "why"], lines)
        for (reduction, released, holds), lines in parts.items()
    )


def borders() -> str:
    """Where something private chooses between two ways, and why both are one."""
    lines = []
    for module, declared in BORDERS.items():
        for each in declared:
            up_to, beyond = each.ways.split("; ", 1)
            lines.append([f"{each.name}: {each.number:,.15g}", each.decides,
                          f"up to it: {up_to}; beyond: {beyond}", each.same, each.because,
                          f"`{module}`"])  # fmt: skip
    head = ["border", "what decides", "ways", "same", "because", "where"]
    return table(head, lines)


def choices() -> str:
    """The same, where no number of ours decides."""
    head = ["what decides", "ways", "same", "because", "where"]
    lines = [[c.decides, c.ways, c.same, c.because, f"`{c.where}`"] for c in CHOICES]
    return table(head, lines)


def events() -> str:
    """What one event of each kind costs, computed by the accountants."""
    relation = "add-remove"
    pure = PureDP(1, relation)
    examples: list[tuple[str, Event]] = [
        ("PureDP(1)", pure),
        ("BoundedRange(1)", BoundedRange(1, relation)),
        ("ApproxDP(1, 1e-6)", ApproxDP(1, 1e-6, relation)),
        ("DiscreteLaplace(1)", DiscreteLaplace(1, relation)),
        ("Gaussian(1)", Gaussian(1, relation)),
        ("DiscreteGaussian(1/4, 4)", DiscreteGaussian(Fraction(1, 4), 4, relation)),
        ("CappedRounds(10, 0.03, 56)", CappedRounds(10, 0.03, 56, relation)),
        ("Repeat(BoundedRange(1), 10)", Repeat(BoundedRange(1, relation), 10)),
        (
            "Compose((PureDP(1), BoundedRange(1)))",
            Compose((pure, BoundedRange(1, relation))),
        ),
        ("Truncated(BoundedRange(1), 1e-6)", Truncated(BoundedRange(1, relation), 1e-6)),
    ]
    lines = []
    for name, event in examples:
        try:
            epsilon = f"{float(pure_cost(event).epsilon):.4g}"
        except GuaranteeError:
            epsilon = "refused"
        cost = zcdp_cost(event)
        lines.append([f"`{name}`", epsilon, f"{float(cost.rho):.4g}", f"{float(cost.delta):.4g}"])
    return table(["event", "epsilon (pure)", "rho (zcdp)", "delta"], lines, right=3)


def rounds() -> str:
    """What T rounds of selection and measurement get at (1, 1e-6), by three ways to size them."""
    lines = []
    for count in (10, 100, 1000):
        half = paper_round_epsilon(1, 1e-6, count) / 2
        deviation = math.sqrt(2) / half  # of the Laplace noise that the paper adds
        lines.append([str(count), "FastMWEM, Alg. 1", f"{half:.4f}", f"{deviation:.1f}"])
        for accountant in ("zcdp", "tight"):
            plan = calibrate_rounds(
                count, epsilon=1, delta=1e-6, relation="substitution", accountant=accountant
            )
            noise, selection = plan.noise_multiplier, plan.selection_epsilon
            lines.append([str(count), f"`{accountant}`", f"{selection:.4f}", f"{noise:.1f}"])
    return table(["rounds", "sized by", "selection epsilon", "noise / sensitivity"], lines, right=2)


def gaussian_noise() -> str:
    """Noise over sensitivity for (epsilon, 1e-6), by accountant; and with the 2 of before."""
    lines = []
    for epsilon in (0.5, 1, 2, 4, 8):
        normal = 1 / largest_squared_ratio(epsilon, 1e-6, least_variance=10**12)
        cells = [f"{1 / math.sqrt(2 * zcdp_rho(epsilon, 1e-6)):.4f}"]
        for answers in (1, 10):
            found = calibrate(
                lambda x, answers=answers: DiscreteGaussian(
                    x**2, Fraction(answers) / Fraction(x) ** 2, "add-remove"
                ),
                epsilon=epsilon,
                delta=1e-6,
            )
            cells.append(f"{1 / found.parameter:.4f}")
        lines.append([f"{epsilon:g}", f"{math.sqrt(normal + 2):.4f}", *cells, f"{normal**0.5:.4f}"])
    heads = ["ε", "tight, with 2", "zcdp", "best, one integer", "best, ten", "continuous noise"]
    return table(heads, lines, right=5)


def margin_thresholds() -> str:
    """The noisy margin at which the large margin mechanism stops, by rank."""
    ranks = np.array([1, 2, 5, 10, 100])
    lines = [
        [kind, *(f"{margin:.1f}" for margin in stopping_margin(ranks, 1.0, 1e-6, kind))]
        for kind in THRESHOLDS
    ]
    return table(["rank", *map(str, ranks)], lines, right=len(ranks))


TABLES = (
    guarantees,
    events,
    rounds,
    gaussian_noise,
    margin_thresholds,
    borders,
    choices,
    *benchmark_tables.TABLES,
    *ledger_tables.TABLES,
    *choice_tables.TABLES,
    *decision_tables.TABLES,
    *proof_tables.TABLES,
    *reference_pages.TABLES,
    *reproduce_tables.TABLES,
    *scale_tables.TABLES,
    *timing_tables.TABLES,
    *notebook_page.TABLES,
)


def write(_: Sphinx) -> None:
    """Write every table whose text has changed."""
    folder = HERE / "_generated"
    folder.mkdir(exist_ok=True)
    for make in TABLES:
        path, text = folder / f"{make.__name__}.md", make()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    reference_pages.write_pages()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the tables to the build."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
