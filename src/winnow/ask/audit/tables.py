"""Audits of the tables that a session starts from: enumeration, fidelity, broken twins.

The counts of all pairs of three columns, on every two tables that differ in one person's row. Such
counts move by one or not at all, so exact chances are those of sums of noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from winnow.ask.audit.independent import LEVEL, moved_delta, noise_p_value
from winnow.ask.crossing import PrivateCounts
from winnow.ask.mechanism import WeightsRounds, prior_variance
from winnow.ask.warm_start import PAIRS
from winnow.audit.driver import enumeration
from winnow.audit.fidelity import fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.privacy import Compose, zcdp_cost, zcdp_delta
from winnow.read.crossing import Rows, SealedTable, group

SCHEMA = Schema.parse({"a": 2, "b": 2, "c": 2})
TABLES = 3
"""Pairs of three columns."""
EACH_ALONE = "every table of a warm start has the noise that it would need alone"


def mechanism() -> WeightsRounds:
    """What is audited: its first event, the tables."""
    return WeightsRounds(1, 1, 12, prior_multiplier=1, prior_ways=PAIRS)


def tables_enumerated() -> Iterator[AuditResult]:
    """All noisy tables together tell no more than is charged, under both relations."""
    for relation in Relation:
        yield enumerate_tables(relation)


def enumerate_tables(relation: Relation, tables: int = TABLES) -> AuditResult:
    """The noise for so many tables, where one person moves those of all pairs."""
    moved = max(_moves(relation))
    variance = float(prior_variance(1, 1, tables, relation))
    measured, reach = moved_delta(moved, variance)
    claimed = _claimed(relation)
    return enumeration(
        f"{mechanism().title}, counts of all pairs of three columns: between neighbours they are "
        f"(epsilon, delta)-close at epsilon={LEVEL:g}.",
        mechanism(),
        relation,
        claimed,
        measured,
        f"one person moves up to {moved} counts; sums of noise from {-reach} to {reach}",
    )


def _claimed(relation: Relation) -> float:
    """The delta that the charge of the tables claims at the level."""
    event = mechanism().promise(relation).event
    assert isinstance(event, Compose)
    return zcdp_delta(zcdp_cost(event.events[0]).rho, LEVEL)


@lru_cache(maxsize=2)
def _moves(relation: Relation) -> list[int]:
    """How many counts move, for every row that comes, or takes another's place."""
    cells = list(product(range(2), repeat=3))
    nobody = [()] if relation is Relation.ADD_REMOVE else [(cell,) for cell in cells]
    moves = []
    for before, after in product(nobody, cells):
        gap = _counts(*before) - _counts(after)
        assert np.abs(gap).max(initial=0) <= 1
        moves.append(int(np.abs(gap).sum()))
    return moves


def _counts(*rows: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    table = _table(*rows)
    key, _ = single_run(mechanism(), table.relation, Tape.seeded(0))
    return np.concatenate(PrivateCounts(table, key).tables(PAIRS))


def _table(*rows: tuple[int, ...]) -> SealedTable:
    """Two people in the first cell, and these."""
    codes = np.array([(0, 0, 0), (0, 0, 0), *rows], np.int32)
    grouped = group(tuple(codes.T), np.ones(len(codes), np.int64), SCHEMA.shape)
    return SealedTable(SCHEMA, Sealed(Rows(*grouped), "made-up rows"))


def tables_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Real tables have discrete Gaussian noise of the stated variance."""
    yield fidelity_of_tables(TABLES, 60 if quick else 200, seed)


def fidelity_of_tables(tables: int, draws: int, seed: int) -> AuditResult:
    """The noise of real tables against the law for so many of them."""
    relation = Relation.SUBSTITUTION
    variance = float(prior_variance(1, 1, tables, relation))
    p_value = noise_p_value(_noises(draws, seed), variance)
    return fidelity_result(
        f"{mechanism().title}: the tables that a session starts from draw the exact probabilities "
        "of their noise.",
        mechanism().name,
        mechanism().promise(relation).citation,
        p_value,
        f"{draws} sessions",
    )


@lru_cache(maxsize=4)
def _noises(draws: int, seed: int) -> tuple[int, ...]:
    table, root = _table(), Tape.seeded(seed)
    true = _counts()
    noises: list[int] = []
    for draw in range(draws):
        key, _ = single_run(mechanism(), table.relation, root.child(f"{draw}"))
        rounds = mechanism().open(table, key)
        noises += (np.concatenate(rounds.prior()) - true).tolist()
    return tuple(noises)


def tables_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Noise for one table on each of three is caught."""
    for relation in Relation:
        yield as_twin(EACH_ALONE, "Enumeration", enumerate_tables(relation, 1))
    broken = fidelity_of_tables(1, 60 if quick else 200, seed)
    yield as_twin(EACH_ALONE, "Fidelity", broken)
