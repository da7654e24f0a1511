"""Scalar-private linear programs: A and c are public, the right-hand sides are not.

[FastMWEM, Algorithm 3, with the errata: signed scores, and the next point from the next weights]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, count, exact, positive, set_counts
from winnow.core.laws import Law
from winnow.core.mechanism import spend
from winnow.core.noise import discrete_gaussian, discrete_laplace
from winnow.core.opening import open_sealed
from winnow.core.relation import Relation
from winnow.core.released import Receipt
from winnow.core.tape import Tape
from winnow.errors import GrantError, InputError
from winnow.inner_product.problem import Grid, fineness_for
from winnow.lp.crossing import SealedOffsets
from winnow.lp.kernels.scalar_plain import is_small, plain_rounds
from winnow.lp.kernels.scalar_program import Rows, Shapes
from winnow.lp.kernels.scalar_solver import ScalarLoop, words_for
from winnow.privacy import Compose, Event, Grant, Promise, Repeat, promise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LARGEST_STEPS = 2.0**46
_LARGEST_EXPONENT = 2.0**28


@dataclass(frozen=True)
class ScalarPrivateLp:
    """`rounds` times: select a row that the point violates much, and step away from it.

    A round draws row i with probability ~ exp(epsilon s_i/(2 Delta)), s_i = [A_i x] - [b_i] in
    whole steps u of a public grid: [A_i x] is rounded deterministically, from public numbers;
    [b_i] = floor(b_i/u + 1/2) after clipping to a public range.

    Formal guarantees
        One person moves every b_i by -down to +up (`utility`, for its relation). Clipping and
        rounding half up commute with shifts by whole steps, so [b_i] moves by -ceil(down/u) to
        +ceil(up/u) steps, and Delta is half the length of that interval: selection does not
        change when all scores are shifted [Canonical, Thm A.15]. Rows of either sign (<= and
        >=) need `mixed`: then both ways are taken for the larger. A and x are public, x being
        made of earlier selections. Every round has bounded range epsilon, so `rounds` of them
        are adaptively composed, charged once before the first draw. [FastMWEM, Section 4;
        McSherry-Talwar 2007; Durfee-Rogers 2019] The index over (A_i, b_i) of the paper would be
        private data; there is none here.
    With `check_multiplier` each of `searches` solves is followed by a noisy look at the largest
        violation, max_i s_i, which moves by at most ceil(max(down, up)/u) steps: discrete
        Gaussian or Laplace noise of that multiple. [Canonne-Kamath-Steinke 2020]
    """

    epsilon: Real
    """Of one selection."""
    rounds: int
    searches: int = 1
    check_multiplier: Real | None = None
    measurement: str = "gaussian"
    title: ClassVar[str] = "scalar-private LP"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, rounds="rounds", searches="searches")
        if self.check_multiplier is not None:
            positive(check_multiplier=self.check_multiplier)
        elif self.searches > 1:
            raise InputError("several solves need a noisy look after each; give check_multiplier")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        text = f"{self.title}, {self.rounds} rounds of the exponential mechanism (lazy)"
        if self.check_multiplier is None:
            return text
        return f"{self.searches} times: {text}, then discrete {self.measurement} noise"

    def promise(self, relation: Relation) -> Promise:
        """What the whole run is charged, and why."""
        selection = promise(Law.GUMBEL, "argmax", relation, epsilon=self.epsilon)
        event: Event = selection.event
        if self.rounds > 1:
            event = Repeat(event, self.rounds)
        citation = f"FastMWEM, Alg 3; {selection.citation}"
        if self.check_multiplier is not None:
            checked = promise(f"discrete-{self.measurement}", "additive", relation,
                              noise_multiplier=self.check_multiplier)  # fmt: skip
            event = Compose((event, checked.event))
            citation += f"; largest violation: {checked.citation}"
            if self.searches > 1:
                event = Repeat(event, self.searches)
        return Promise(event, citation, f"{self.rounds} times: {selection.statement}")

    def grid(self, offsets: SealedOffsets, *, mixed: bool) -> Grid:
        """The public step, and how far one person moves a score in steps."""
        return Grid.of(offsets.utility, signed=mixed, fineness=fineness_for(self.epsilon))

    def rate(self, grid: Grid) -> Fraction:
        """The exponent of one step."""
        return exact("epsilon", self.epsilon) / (2 * grid.utility.half_width)

    def check(self, offsets: SealedOffsets, largest: float, *, mixed: bool) -> None:
        """Refuse what cannot be drawn from, by public numbers only."""
        grid = self.grid(offsets, mixed=mixed)
        steps = largest * 2.0**-grid.power
        if steps > _LARGEST_STEPS:
            raise InputError(
                f"rows reach {largest:.3g}, and a sensitivity of "
                f"{float(offsets.utility.one_sided):.3g} is too small beside it; declare a larger "
                "one, or scale the rows"
            )
        if float(self.rate(grid)) * 8 * steps > _LARGEST_EXPONENT:
            raise InputError(
                "epsilon is too large for rows of this size; lower epsilon, declare a larger "
                "sensitivity, or scale the rows"
            )

    def open(
        self, offsets: SealedOffsets, grant: Grant, tape: Tape, *, mixed: bool = False
    ) -> ScalarRun:
        """Spend the grant on the whole run."""
        promised = self.promise(offsets.utility.relation)
        grid = self.grid(offsets, mixed=mixed)
        receipt = spend(self.name, promised, grant, tape)
        return ScalarRun(self, offsets, grid, tape, receipt)


class ScalarRun:
    """A run that was paid for: at most `searches` solves. All of its state is private."""

    def __init__(
        self,
        mechanism: ScalarPrivateLp,
        offsets: SealedOffsets,
        grid: Grid,
        tape: Tape,
        receipt: Receipt,
    ) -> None:
        self.receipt = receipt
        self.left = mechanism.searches
        """How many solves are still paid for."""
        self._mechanism, self._grid, self._tape = mechanism, grid, tape
        self._private = open_sealed(offsets.values)
        self._lock = Lock()

    def solve(
        self,
        rows: Rows,
        scale: Floats,
        step: float,
        public: tuple[float, ...] = (),
        *,
        lazy: bool | None = None,
    ) -> tuple[Floats, Integers, int | None]:
        """The mean point z, the selected rows, and the noisy largest violation in steps.

        ``rows`` are public; the last of them have the public right-hand sides `public`. ``lazy``
        is whether the compiled loop draws; None: by the public size of the program.
        """
        with self._lock:
            if self.left == 0:
                raise GrantError("all solves that were charged are done; charge more")
            self.left -= 1
            tape = self._tape.child(f"solve-{self.left}")
        count(rows=rows.size)
        shapes = Shapes.of(rows, scale)
        b = self._private if not public else np.append(self._private, public)
        rate = self._mechanism.rate(self._grid)
        far = max(4 * shapes.largest, 2.0**self._grid.power * _reach(float(rate)))
        steps = in_steps(b, self._grid.power, far)
        how: dict[str, Any] = {
            "power": self._grid.power, "rate": rate, "step": step,
            "rounds": self._mechanism.rounds,
        }  # fmt: skip
        drawn = tape.child("rows")
        if lazy is None:
            turns = self._mechanism.rounds * self._mechanism.searches
            lazy = not is_small(rows.size, len(scale), turns)
        if lazy:
            loop = ScalarLoop(rows, shapes, scale, steps, **how)
            z = loop.finish(words_for(drawn, self._mechanism.rounds))
            chosen = loop.chosen.astype(np.int64)
        else:
            z, chosen = plain_rounds(rows, scale, steps, tape=drawn, **how)
        return z, chosen, self._violation(rows, scale, z, steps, tape)

    def _violation(
        self, rows: Rows, scale: Floats, z: Floats, steps: Integers, tape: Tape
    ) -> int | None:
        multiplier = self._mechanism.check_multiplier
        if multiplier is None:
            return None
        values = rows.times((scale * z)[: rows.width]) * 2.0**-self._grid.power
        largest = int((np.rint(values).astype(np.int64) - steps).max())
        width = exact("check_multiplier", multiplier) * self._grid.utility.one_sided
        stream = tape.child("check").stream()
        if self._mechanism.measurement == "gaussian":
            return largest + discrete_gaussian(stream, width * width)
        return largest + discrete_laplace(stream, width)

    def __repr__(self) -> str:
        return "<run of a scalar-private LP>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a run is not copied or pickled: it is one charge")


def _reach(rate: float) -> float:
    """How many steps a right-hand side may have, so that exponents stay in the range of floats."""
    return min(_LARGEST_STEPS, 2.0**36 / rate)


def in_steps(b: Floats, power: int, reach: float) -> Integers:
    """floor(b/2^power + 1/2) of b clipped to [-reach, reach], exactly.

    The range is public and far beyond the values that rows take on the simplex: what is clipped
    is met by every point, or by none. Clipping moves no b further than it moved.
    """
    scaled = np.clip(b, -reach, reach) * 2.0**-power
    whole = np.floor(scaled)
    return np.asarray((whole + (scaled - whole >= 0.5)).astype(np.int64))
