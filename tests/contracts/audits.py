"""Which mechanisms the audits enumerate, and of which of them they catch a broken twin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reference.audited import all_cases
from winnow.ask.audit import claims as sessions
from winnow.ask.audit import independent
from winnow.audit.twins import enumerated_twins, twins
from winnow.core.relation import Relation
from winnow.itemsets.audit import weighted
from winnow.itemsets.audit.claims import cases as basket_cases
from winnow.itemsets.audit.model import broken_on_baskets
from winnow.learn.audit import additive as learning
from winnow.learn.audit import balanced, binned, boosted, calibrated, either
from winnow.lp import audit as programs
from winnow.numbers.audit import halving
from winnow.numbers.audit import joint as lists
from winnow.numbers.bounds import audit as ends
from winnow.numbers.histogram import audit as histograms
from winnow.numbers.moments import audit as sums
from winnow.numbers.moments.bounded import BoundedSums
from winnow.numbers.moments.measured import first
from winnow.numbers.regress import audit as products
from winnow.release.graphical.audit import claims as marginals
from winnow.release.matrices import audit as linear
from winnow.release.matrices.mechanism import MeasureLinear
from winnow.release.rounds.audit import rounds
from winnow.release.rounds.audit import warm_start as started
from winnow.release.tables import audit as tables
from winnow.select.audit import cut_away, looked, people_look
from winnow.select.audit import labels as found_labels

OTHERS = {
    "release": (rounds.GAUSSIAN, rounds.rounds_enumerated, rounds.rounds_twins),
    "started": (started.GAUSSIAN, started.start_enumerated, started.start_twins),
    "wide": (
        marginals.SELECTING,
        marginals.marginal_rounds_enumerated,
        marginals.marginal_rounds_twins,
    ),
    "ask": (
        sessions.mechanism_at(1, 2, 0.5),
        sessions.ask_enumerated,
        sessions.ask_twins,
    ),
    "independent": (
        independent.mechanism(),
        independent.independent_enumerated,
        independent.independent_twins,
    ),
    **{
        made.title: (made, weighted.weighted_enumerated, weighted.weighted_twins)
        for made in (weighted.weighted(), weighted.or_selected(), weighted.or_canonical())
    },
    **{
        made.title: (made, people_look.look_enumerated, people_look.look_twins)
        for made in (people_look.made(), people_look.chosen())
    },
    "cut": (cut_away.made(), cut_away.cut_enumerated, cut_away.cut_twins),
    **{
        made.title: (made, found_labels.labels_enumerated, found_labels.labels_twins)
        for made in (found_labels.weighted(), found_labels.rule())
    },
    "looked": (looked.made(), looked.looked_enumerated, looked.looked_twins),
    "tables": (tables.residual_tables(), tables.tables_enumerated, tables.tables_twins),
    "linear": (
        MeasureLinear(linear.strategies()["queries"][0], 6),
        linear.linear_enumerated,
        linear.linear_twins,
    ),
    "additive": (learning.model(), learning.additive_enumerated, learning.additive_twins),
    "balanced": (balanced.made(), balanced.balanced_enumerated, balanced.balanced_twins),
    "boosted": (boosted.made(), boosted.boosted_enumerated, boosted.boosted_twins),
    "either": (either.made(), either.either_enumerated, either.either_twins),
    "binned": (binned.made(), binned.binned_enumerated, binned.binned_twins),
    "calibrated": (
        calibrated.made(),
        calibrated.calibrated_enumerated,
        calibrated.calibrated_twins,
    ),
    "quantiles": (halving.made((5,)), halving.quantiles_enumerated, halving.quantiles_twins),
    "joint quantiles": (lists.made((5,)), lists.joint_enumerated, lists.joint_twins),
    "histogram": (
        histograms.histogram(Relation.ADD_REMOVE),
        histograms.histogram_enumerated,
        histograms.histogram_twins,
    ),
    "regression": (
        products.made(products.number("x", 0)),
        products.regression_enumerated,
        products.regression_twins,
    ),
    "bounds": (ends.made(), ends.bounds_enumerated, ends.bounds_twins),
    "bounded": (
        BoundedSums(1, ends.made(), sums.made((first(sums.column("x")),))),
        sums.moments_enumerated,  # the sums; the ends are enumerated by themselves
        sums.moments_twins,
    ),
    "moments": (
        sums.made((first(sums.column("a")),)),
        sums.moments_enumerated,
        sums.moments_twins,
    ),
    "scalar": (programs.SCALAR, programs.lp_enumerated, programs.lp_twins),
    "constraint": (programs.OWNED, programs.lp_enumerated, programs.lp_twins),
}
"""Audits that are written for one mechanism: what they enumerate, and who runs them."""


def _classes(mechanisms: Iterable[Any]) -> set[type]:
    """The classes of mechanisms, of what they are derived from, and of what is inside them."""
    found: set[type] = set()
    for mechanism in mechanisms:
        found |= {made for made in type(mechanism).__mro__ if hasattr(made, "promise")}
        for part in ("inner", "selection"):
            if hasattr(mechanism, part):
                found |= _classes([getattr(mechanism, part)])
    return found


def enumerated() -> set[type]:
    """Those whose neighbours are enumerated."""
    audited = [case.mechanism for case in (*all_cases(), *basket_cases())]
    return _classes([*audited, *(mechanism for mechanism, _, _ in OTHERS.values())])


def with_a_twin() -> set[type]:
    """Those with a broken twin that enumeration has to catch."""
    known = (*twins(), *enumerated_twins(), *broken_on_baskets())
    honest = [twin.honest for twin in known]
    return _classes([*honest, *(mechanism for mechanism, _, _ in OTHERS.values())])
