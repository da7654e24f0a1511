"""The exponential mechanism over an index: lazy Gumbel sampling with a certified tail.

[FastMWEM, Alg 2, 4, 5, 6, with the errata]. An index proposes a head S of about sqrt(m)
candidates; only these and a few of the others are looked at. ``lazy_gumbel`` draws
exactly, without the printed binomial; here is what decides how far the tail may be trusted.

No guarantee rests on the index. Theorem 3.3 of the paper (delta + 1/m for an index that
fails with probability 1/m) is not used: no HNSW, IVF or LSH index certifies such a
probability, and for private vectors the index is not independent of the data. Instead the
scores outside the head are bounded by what is certain (``prepared``: box, ball, an exact
index; or upper bounds that the caller certifies).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.unit import PERSON, Unit
from winnow.core.utility import Utility
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded
from winnow.inner_product.index.prepared import PreparedVectors
from winnow.inner_product.kernels.lazy_gumbel import lazy_gumbel
from winnow.inner_product.problem import InnerProductGrid, InnerProductProblem, LazyProblem
from winnow.inner_product.vectors import (
    AUTO,
    EXACT,
    SealedQuery,
    SealedVectors,
    seal_vectors,
)
from winnow.privacy import Guarantee, Promise, guarantee_of, promise
from winnow.select.crossing.selection import check_scale


@dataclass(frozen=True)
class SealedExamples:
    """Predictions of public weak learners on private examples, and the private labels."""

    predictions: SealedVectors
    labels: Sealed[NDArray[np.int8]]
    relation: Relation = Relation.ADD_REMOVE
    unit: Unit = PERSON

    @staticmethod
    def utility(relation: Relation) -> Utility:
        """How far one example moves sum_j w_j y_j h(x_j), with weights in [0, 1].

        Its own term lies in [-1, 1] and no other term depends on it: added or removed it moves
        the sum by at most 1, replaced by at most 2.
        """
        return Utility.declare((1, 1), relation=relation)

    def weighed(self, chosen: Sequence[int], weights: NDArray[np.float64]) -> SealedQuery:
        """The query w_j y_j, where w_j depends on the votes for example j only.

        `weights` has 2 T + 1 entries in [0, 1] for T chosen learners: entry T + a is the weight
        of an example about which a more learners were right than wrong. Looked up, so that
        equal examples have equal weights to the last bit, wherever they stand.
        """
        if len(weights) != 2 * len(chosen) + 1 or weights.min() < 0 or weights.max() > 1:
            raise ValueError("weights must lie in [0, 1], one for each possible vote")

        def weighed(private: tuple[NDArray[np.int8], PreparedVectors]) -> NDArray[np.float64]:
            labels, predictions = private
            votes = np.zeros(len(labels), np.int64)
            for learner in chosen:
                votes += labels * predictions.vectors[learner].astype(np.int64)
            return np.asarray(weights[votes + len(chosen)] * labels, np.float64)

        values = self.labels.beside(self.predictions.content).map(weighed, "a query vector")
        return SealedQuery(values, self.predictions.dimension, self.utility(self.relation))


@guarded
def seal_examples(
    predictions: Any,
    labels: Any,
    *,
    names: Any = None,
    index: str = AUTO,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> SealedExamples:
    """Seal what weak learners say about private examples, and the examples' labels.

    ``predictions`` is a matrix of -1, 0 and 1: a row for each weak learner of a public list, a
    column for each private example; ``labels`` are -1 and 1. One example is one person, and
    ``relation`` says which datasets are neighbours. ``names`` are public names of the learners,
    by default their positions; ``index`` is that of ``seal_vectors``.
    """
    kind = Relation.parse(relation)
    truth = np.asarray(labels)
    if truth.ndim != 1 or not np.isin(truth, (-1, 1)).all():
        raise DataError("labels must be a list of -1 and 1, one for each example")
    table = np.asarray(predictions)
    if table.ndim != 2 or not np.isin(table, (-1, 0, 1)).all():
        raise DataError(
            "predictions must be a matrix of -1, 0 and 1 with a row for each learner and a "
            "column for each example"
        )
    if table.shape[1] != len(truth):
        raise DataError(
            "the predictions do not have one column for each label; give one column for each "
            "example"
        )
    vectors = seal_vectors(table.astype(np.int8), index=index, labels=names, copy=False)
    return SealedExamples(vectors, Sealed(truth.astype(np.int8), "labels of examples"), kind)


def _check_bounds(vectors: SealedVectors, query: SealedQuery) -> None:
    if query.upper_bounds is None:
        return
    if len(query.upper_bounds) != vectors.size:
        raise DataError(
            f"there are {len(query.upper_bounds)} upper_bounds for {vectors.size} candidates; "
            "give one for each"
        )
    if vectors.index == EXACT:
        raise DataError(
            "upper_bounds are for an index, and here all candidates are scanned; leave them out, "
            "or choose method=wn.Indexed(index=...)"
        )


Integers = NDArray[np.int64]

SCAN_FROM = Border(
    8,
    "candidates met by an index",
    decides="how far the head of an index stands above the rest",
    ways="a scan of all candidates; a lazy draw from the head and a few of the others",
    same="law",
    because="either way is the law that the docstrings of both mechanisms prove, for every head",
)
"""When more than one candidate in so many would be met, a scan of all is cheaper."""


@dataclass(frozen=True)
class IndexedSelection(ABC):
    """What the exact and the approximate variant have in common.

    `epsilon` is the total for k winners; `head` is the number of candidates asked of the
    index, sqrt(m) by default. With `signed`, every candidate also stands with its negative.

    Inner products beyond about 2^52 times the sensitivity are clipped, which moves no two of them
    further apart: to refuse them would tell something about private vectors.
    """

    epsilon: Real
    k: int = 1
    head: int | None = None
    signed: bool = False
    title: ClassVar[str]

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")
        if self.head is not None:
            set_counts(self, head="head")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self.title if self.k == 1 else f"{self.title}, k={self.k}"

    @abstractmethod
    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""

    @abstractmethod
    def _per_draw(self) -> Fraction:
        """The epsilon in the exponent of one draw."""

    @abstractmethod
    def _trusted(self, scores: Integers, bound: int, scale: Fraction) -> tuple[int, int] | None:
        """The least score that may stand in the head, and the tail's level; None: scan."""

    def scale(self, in_steps: Utility) -> Fraction:
        """The factor of the scores, in steps of the grid, before Gumbel noise of scale 1."""
        return self._per_draw() / (2 * in_steps.half_width)

    def check(self, vectors: SealedVectors, query: SealedQuery) -> None:
        """Refuse what cannot be released, by public numbers, before anything is charged."""
        if vectors.dimension != query.dimension:
            raise DataError(
                f"candidates have {vectors.dimension} columns and the query has "
                f"{query.dimension} entries; give them one length"
            )
        candidates = vectors.size * (2 if self.signed else 1)
        if self.k > candidates:
            raise ParameterError(f"k={self.k} exceeds {candidates} candidates; lower k")
        _check_bounds(vectors, query)
        grid = InnerProductGrid.of(query.utility, signed=self.signed)
        check_scale(self.scale(grid.utility))

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event)

    def labels(self, vectors: SealedVectors, query: SealedQuery, key: Key) -> list[Any]:
        """The labels of k draws, with signs where those are asked for."""
        chosen = self.drawn(vectors, query, key, key.tape)
        value: list[Any] = [vectors.label(position % vectors.size) for position in chosen]
        if self.signed:
            signs = [1 if position < vectors.size else -1 for position in chosen]
            value = list(zip(value, signs, strict=True))
        return value

    def drawn(
        self,
        vectors: SealedVectors,
        query: SealedQuery,
        key: Key,
        tape: Tape,
    ) -> list[int]:
        """The winners' positions, for one draw out of several that the key pays for.

        The query's `upper_bounds` certify <v_i, q> (with `signed`, its absolute value) for every
        candidate; a wrong one breaks the guarantee.
        """
        with np.errstate(all="ignore"):  # a warning about a rounded product would be a leak
            grid = InnerProductGrid.of(query.utility, signed=self.signed)
            problem = InnerProductProblem(
                key.open(vectors.content),
                key.open(query.values),
                grid.power,
                signed=self.signed,
                upper_bounds=query.upper_bounds,
            )
            return self.draw(problem, self.scale(grid.utility), tape)

    def draw(self, problem: LazyProblem, scale: Fraction, tape: Tape) -> list[int]:
        """The winners, first one first: each drawn from those that are left."""
        taken: list[int] = []
        for turn in range(self.k):
            used = np.array(taken, np.int64)
            taken.append(self._winner(problem, scale, tape.child(f"turn-{turn}"), used))
        return taken

    def _winner(self, problem: LazyProblem, scale: Fraction, tape: Tape, taken: Integers) -> int:
        wanted = self.head or math.isqrt(problem.size - 1) + 1
        head, bound = problem.propose(wanted, taken)
        if len(head) and bound is not None:
            scores = problem.scores(head)
            trusted = self._trusted(scores, bound, scale)
            least, level = trusted or (bound, bound)
            head, scores = head[scores >= least], scores[scores >= least]
            if trusted is not None and self._few(problem.size, scores, level, scale):
                return lazy_gumbel(
                    problem.size, head, scores, level, problem.scores, scale, tape, taken
                )
        left = np.setdiff1d(np.arange(problem.size), taken) if len(taken) else None
        scores = problem.all_scores()
        if left is None:
            return noisy_top(scores, tape.child("scan"), Law.GUMBEL, scale)[0]
        return int(left[noisy_top(scores[left], tape.child("scan"), Law.GUMBEL, scale)[0]])

    def _few(self, size: int, scores: Integers, level: int, scale: Fraction) -> bool:
        """Whether few tail candidates are to be expected: m e^(x_t)/(sum of e^x over the head).

        It is decided from the scores before any noise is drawn, so either way has its own law.
        """
        lifted = float(scale) * (scores - level).astype(np.float64)
        return float(np.logaddexp.reduce(lifted)) > math.log(SCAN_FROM.at)


@dataclass(frozen=True)
class IndexedExponential(IndexedSelection):
    """The exponential mechanism's own law, whatever the index answers.

    The tail's level is the certified bound t on every score outside the head: a candidate that
    is left out has x_i + G_i <= t + B = M, so it cannot win [FastMWEM, Alg 6 and Thm G.10; with
    c = t - min over S, which is private here and only costs time: about e^c sqrt(m) further
    candidates]. With an exact index t is the least score of the head, c = 0, and this is
    Algorithm 4 (Algorithm 2's LazyEM). When so many candidates would be met that a scan is
    cheaper, all are scanned: the same law.

    Formal guarantees
        Candidates are drawn with probability proportional to exp(epsilon x/(2 k Delta)), each
        from those that are left: k rounds of (epsilon/k)-bounded range under the relation of
        the utility, so epsilon-DP. Delta is the utility's `half_width` in steps of the grid.
        [FastMWEM, Thm G.10; McSherry-Talwar 2007; Durfee-Rogers 2019]
    """

    title: ClassVar[str] = "indexed exponential"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise("gumbel", "indexed", relation, epsilon=self.epsilon, kappa=self.k)

    def _per_draw(self) -> Fraction:
        return exact("epsilon", self.epsilon) / self.k

    def _trusted(self, scores: Integers, bound: int, scale: Fraction) -> tuple[int, int] | None:
        return int(scores.min()), bound


@dataclass(frozen=True)
class SlackExponential(IndexedSelection):
    """Lazy sampling that trusts a head up to a public slack c, and pays for it.

    The tail's level is L, the least score of the head, although scores outside may be up to c
    nats larger [FastMWEM, Alg 5]. `slack` is c, in nats: epsilon_0/(2 Delta) times the raw gap,
    fixed before the data is seen. Of what the index proposes, the head keeps the candidates at
    most c below the certified bound on all that it did not propose; the others join the tail.
    When none is left, all candidates are scanned: no error, no other charge, no note; those
    would leak.

    Formal guarantees
        Each draw runs at epsilon_0 = epsilon/k - 2c and has (epsilon_0 + 2c)-bounded range, so
        the release is k rounds of (epsilon/k)-bounded range and epsilon-DP.
        [FastMWEM, Thm 3.5 and G.2: (epsilon_0 + 2c)-DP]

        Proof of the range. Let w_i = e^{x_i}, Z their sum, A that of the head S, and
        v_i = e^{min(x_i, L)} for i outside S. With clocks of rate w (the smallest wins) the
        head's clock has rate A, and i outside S counts only when its clock is below v_i/w_i
        times the head's. Integrating, with D(u) = A + sum_{j not in S} w_j min(u, v_j/w_j)::

            Pr[i in S] = w_i/D(1),     Pr[i not in S] = w_i A * integral_0^{v_i/w_i} du/D(u)^2.

        D is concave and increasing with D(0) = A, so D(u) >= u D(1) + (1 - u) A, and the
        integral is at most b/(A (A + b (D(1) - A))) with b = v_i/w_i <= 1, which is at most
        1/(A D(1)): no ratio r_i = Pr[i]/(w_i/Z) exceeds Z/D(1). For the other side D(u) <=
        A + u (Z - A), so the integral is at least b/(A (A + b (Z - A))) with b >= e^-c, hence
        r_i >= Z/(e^c A + Z - A). The ratio of the two ends is (e^c A + Z - A)/D(1), at most
        e^c because D(1) >= A + e^-c (Z - A). So the law lies within an interval of length c of
        the exponential mechanism's, for x and for a neighbour: epsilon_0 + 2c together. It
        holds for every S of any size, and for mixtures over S. (Claim G.5 of the paper
        overlooks candidates outside S and outside the true top k that lie above L; its Lemma
        G.4 is true nevertheless, and alone would give a range of epsilon_0 + 4c.)
    """

    slack: Real = Fraction(1, 100)
    title: ClassVar[str] = "indexed exponential with slack"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(slack=self.slack)
        if self._per_draw() <= 0:
            raise ParameterError(
                f"slack={self.slack} uses up epsilon={self.epsilon}: each of k={self.k} draws "
                "pays 2 slack of its epsilon/k; lower slack or raise epsilon"
            )

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise("gumbel", "indexed-slack", relation, epsilon=self.epsilon, kappa=self.k)

    def _per_draw(self) -> Fraction:
        return exact("epsilon", self.epsilon) / self.k - 2 * exact("slack", self.slack)

    def _trusted(self, scores: Integers, bound: int, scale: Fraction) -> tuple[int, int] | None:
        reach = bound - exact("slack", self.slack) // scale
        near = scores[scores >= max(reach, -(2**63))]
        if len(near) == 0:
            return None
        least = int(near.min())
        return least, min(least, bound)
