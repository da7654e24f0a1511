"""``winnow.lp``: a linear program whose right-hand sides, or whose rows, are private."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.padding import Padding
from winnow.core.released import Released
from winnow.lp.plan import program_in
from winnow.lp.request import Lp
from winnow.lp.sealing import LpProblem
from winnow.lp.solution import LpSolution


@takes(Lp)
def lp(problem: LpProblem, asked: Lp) -> Released[LpSolution]:
    """Solve a linear program privately and approximately.

    ``problem`` comes from ``wn.lp_problem(A, b, c, opt=...)`` or ``wn.read_lp(file, opt=...)``.
    ``method`` says who is private. ``wn.ScalarSides(sensitivity=...)``: A and c are public, and one
    person moves every b_i by at most ``sensitivity`` (a number, or a pair for what adding a person
    does; ``monotone`` for counts). The number of rows is public. Every row is met up to
    ``value.violation``. ``wn.PersonRows(entries=, sides=, rows=, exceptions=)``: every row of A and
    b is a person; c and the ranges ``entries`` of A and ``sides`` of b are public, and ``rows`` is
    a public bound on their number. What is outside these ranges is clipped. All but fewer than
    ``exceptions`` rows are met.

    Where the program's ``opt`` is (low, high), ``searches`` solves of the method (8 unless given),
    with the budget split evenly between them, halve the interval, and each is followed by a noisy
    look that gets a tenth of its share. ScalarSides: at the largest violation; a value passes if
    it is at most alpha, or four deviations of the noise. PersonRows: at the number of rows that are
    violated by more than ``alpha``, which has to be given; a value passes if it is below
    ``exceptions``. With a public ``opt``, ``measure=True`` of the method pays a tenth of the budget
    for such a look.

    ``selection`` of the method is "dense" (every candidate is scored in every round) or "lazy"
    (only those that certified bounds let through); unless it is said, the public size of the
    program decides. ``index`` takes the paper's way over an index, which is private data, with
    certified bounds on what it leaves out: of rows (A_i, b_i) for ScalarSides (dense A, a public
    ``opt``), of columns for PersonRows. The law is always the same.

    ``alpha`` is the violation that is aimed at: it sets the number of ``rounds``, unless the method
    has one; without both the number with the best promise is taken. The promise holds with
    probability 1 - ``beta`` if the program has a solution; ``wn.plan.lp`` tells it beforehand.
    ``run=wn.Run(pad_to=...)`` holds the result back until a time that was fixed beforehand.
    """
    return solved(problem, asked)


def solved(problem: LpProblem, asked: Lp) -> Released[LpSolution]:
    """The plan of what is asked, run on the program."""
    padding = Padding(None) if asked.run is None else asked.run.padding()
    plan = asked.plan(program_in(problem))
    return plan.run(problem, budget=asked.budget, seed=asked.seed, padding=padding)
