"""A linear program: its public parts, and its rows and right-hand sides, sealed.

Who is private is the method: with ``ScalarSides`` the right-hand sides, with ``PersonRows`` every
row. So rows and sides are sealed, and the matrix is published only where the method says that it
is public.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact
from winnow.core.relation import Relation
from winnow.core.sealed import PublicFact, Sealed
from winnow.core.unit import PERSON, Unit
from winnow.core.utility import Utility
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, instead, shown
from winnow.lp.crossing.rows import (
    SENSES,
    SealedOffsets,
    SealedRows,
    check_lengths,
    checked_matrix,
    upper_matrix,
    upper_sides,
    vector,
)
from winnow.lp.problem import Simplex, Target
from winnow.lp.solution import LpSolution

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FileVariables:
    """How the variables of a file are made of the program's variables, which are not negative."""

    names: Sequence[str]
    shift: Floats
    """What the file's variables are where the program's are 0."""
    source: Integers
    """Which variable of the file each one belongs to."""
    signs: Floats
    constant: float
    """The file's objective where the program's variables are 0."""

    def original(self, z: Floats) -> Floats:
        """The variables of the file for a solution z."""
        x = self.shift.copy()
        np.add.at(x, self.source, self.signs * np.asarray(z, np.float64))
        return x


@dataclass(frozen=True, eq=False, repr=False)
class LpProblem:
    """max or min c'x with A x <= b (or >=, =) and x >= 0; A and b are sealed."""

    simplex: Simplex
    target: Target
    senses: str | tuple[str, ...]
    relation: Relation
    sparse: bool
    matrix: Sealed[Any] | None
    sides: Sealed[Floats] | None
    names: Sequence[str] | None = None
    variables: FileVariables | None = None
    """How solutions are shown, where the program was read from a file."""
    unit: Unit = PERSON

    @property
    def columns(self) -> int:
        """The number of variables."""
        return len(self.simplex.costs)

    def public_rows(self) -> tuple[Any, bool]:
        """A in the form A_i x <= b_i, where b alone is private; and whether b has both signs."""
        if self.matrix is None:
            raise DataError("A is missing; with private right-hand sides it is public: give it")
        matrix = self.matrix.publish(PublicFact.PUBLIC_MATRIX, lambda rows: rows)
        if matrix.shape[0] == 0:
            raise DataError("A is not a matrix with rows and columns; give a 2-d array")
        return upper_matrix(matrix, self.senses)

    def one_sense(self) -> str:
        """The sense of all rows of people, by what was said alone, whether there are any."""
        kinds = {self.senses} if isinstance(self.senses, str) else set(self.senses)
        if kinds == {"="}:
            raise DataError("the row of a person cannot be an equation; give <= or >= for all rows")
        if len(kinds) != 1:
            raise DataError(
                "rows of people have to be all <= or all >=; this program has others, or upper "
                "bounds of variables"
            )
        return kinds.pop()

    def offsets(self, utility: Utility) -> SealedOffsets:
        """The private right-hand sides, one for each public row."""
        senses, sides = self.senses, self._given(self.sides)
        values = sides.map(lambda b: upper_sides(b, senses), sides.what)
        return SealedOffsets(values, self.public_rows()[0].shape[0], utility)

    def people(self) -> SealedRows:
        """The rows of people, in the form A_i x <= b_i."""
        sense, sides = self.one_sense(), self._given(self.sides)
        content = self._given(self.matrix).beside(sides)
        rows = content.map(
            lambda pair: (upper_matrix(pair[0], sense)[0], upper_sides(pair[1], sense)),
            "rows of a linear program",
        )
        return SealedRows(rows, self.columns, self.relation)

    def check_like(self, other: LpProblem, *, rows: bool) -> None:
        """Refuse another program than the one that was planned, by what is public of both."""
        other._given(other.matrix)
        other._given(other.sides)
        if other is self:
            return
        same = {
            "c": np.array_equal(self.simplex.costs, other.simplex.costs),
            "maximise": self.simplex.maximise == other.simplex.maximise,
            "bound": self.simplex.bound == other.simplex.bound,
            "opt": self.target == other.target,
            "senses": (
                self.senses == other.senses if rows else self.one_sense() == other.one_sense()
            ),
            "A": not rows or self.matrix is other.matrix or _equal(self, other),
        }
        for name, equal in same.items():
            if not equal:
                raise ParameterError(
                    f"the plan is for a program with another {name}; plan again for this one"
                )

    def shown(self, solution: LpSolution) -> LpSolution:
        """A solution in the words of whoever gave the program: names, or variables of a file."""
        if self.variables is None:
            return replace(solution, names=self.names)
        return replace(
            solution,
            x=self.variables.original(solution.x),
            names=self.variables.names,
            objective=solution.objective + self.variables.constant,
            opt=solution.opt + self.variables.constant,
        )

    def _given(self, part: Sealed[Any] | None) -> Sealed[Any]:
        if part is None:
            raise DataError(
                "this program has no rows or no right-hand sides: it can be planned, not solved; "
                "give A and b to wn.lp_problem"
            )
        return part

    def __repr__(self) -> str:
        return f"<sealed linear program in {self.columns} variables, {self.relation}>"


def _equal(one: LpProblem, other: LpProblem) -> bool:
    """Whether two public matrices have the same entries."""
    if one.matrix is None or other.matrix is None or one.sparse != other.sparse:
        return False
    left, right = (each.publish(PublicFact.PUBLIC_MATRIX, lambda rows: rows)
                   for each in (one.matrix, other.matrix))  # fmt: skip
    if left.shape != right.shape:
        return False
    return (left != right).nnz == 0 if one.sparse else np.array_equal(left, right)


@guarded
def lp_problem(
    A: Any,
    b: Any,
    c: Any,
    *,
    opt: Any,
    senses: Any = "<=",
    maximise: bool = True,
    bound: float | None = None,
    names: Any = None,
    relation: str | Relation = Relation.ADD_REMOVE,
) -> LpProblem:
    """Seal the linear program max (or min) c'x with A x <= b, x >= 0.

    ``A`` is an array or a sparse matrix of SciPy, which is kept and not copied. Which of A and b
    are private is said where it is solved (``wn.ScalarSides``, ``wn.PersonRows``); everything else
    is public. To plan only, ``b`` may be None, and with rows of people ``A``, too.

    ``opt`` is the optimal value, when it is public; or (low, high), to search between these.
    ``senses`` are "<=", ">=" or "=", one for all rows or one for each (rows of people: one for
    all). Without c > 0 give ``bound``, a public bound on the sum of all x (private right-hand sides
    only). ``names`` are those of the variables. ``relation`` says which datasets are neighbours.
    """
    matrix = None if A is None else checked_matrix(A, empty=True)
    costs = costs_of(c, None if matrix is None else matrix.shape[1])
    if not isinstance(maximise, bool):
        raise ParameterError(f"maximise={shown(maximise)} is not True or False")
    target, kind = Target.of(opt), Relation.parse(relation)
    sides = None if b is None else vector(b, "b", empty=True)
    if matrix is None and sides is not None:
        raise DataError("there are right-hand sides and no rows; give A, too")
    said = _senses(senses, None if matrix is None else matrix.shape[0])
    if matrix is not None and sides is not None:
        check_lengths(matrix, sides)
    limit = None if bound is None else float(exact("bound", bound))
    return LpProblem(
        Simplex(costs, maximise, limit),
        target,
        said,
        kind,
        sparse=hasattr(matrix, "tocsr"),
        matrix=None if matrix is None else Sealed(matrix, "rows of a linear program"),
        sides=None if sides is None else Sealed(sides, "right-hand sides of a linear program"),
        names=names_of(names, len(costs)),
    )


def _senses(senses: Any, size: int | None) -> str | tuple[str, ...]:
    if isinstance(senses, str):
        said: str | tuple[str, ...] = senses
        listed = {said}
    else:
        said = tuple(map(str, senses)) if isinstance(senses, Iterable) else ()
        listed = set(said)
    wrong = listed - set(SENSES) or (
        not isinstance(said, str) and size is not None and len(said) != size and size > 0
    )
    if wrong or not listed:
        raise DataError("senses are not <=, >= or =; give one for all rows, or one for each row")
    return said


def costs_of(c: Any, columns: int | None = None) -> Any:
    """c as a vector, with one entry for each column where their number is known."""
    with instead(
        ParameterError("c is not a vector of numbers; give one for each variable"),
        TypeError,
        ValueError,
    ):
        costs = np.array(c, np.float64)
    if columns is not None and costs.shape != (columns,):
        raise ParameterError(
            f"c has the shape {costs.shape} and A has {columns} columns; give one for each"
        )
    return costs


def names_of(names: Any, columns: int) -> list[str] | None:
    """Public names, one for each variable."""
    if names is None:
        return None
    listed = [str(name) for name in names]
    if len(listed) != columns:
        raise ParameterError(
            f"there are {len(listed)} names for {columns} variables; give one each"
        )
    return listed
