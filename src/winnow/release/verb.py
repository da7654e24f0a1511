"""``winnow.release``: answers to many queries, and a synthetic table, from one private table."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.process import one_thread
from winnow.core.released import Released
from winnow.read.crossing import SealedTable, sealed_table
from winnow.release.request import Release
from winnow.release.synthetic import SyntheticDistribution


@takes(Release)
def release(table: SealedTable, asked: Release) -> Released[SyntheticDistribution]:
    """Release answers to all queries of a workload, and a synthetic distribution, privately.

    ``table`` is what ``wn.read_table`` made; ``workload`` what to be accurate about, such as
    ``wn.marginals(3)``. The whole is (epsilon, delta)-DP and charged once, before the first draw.

    ``method`` is "auto", which takes the one with the least predicted error, never one that is
    predicted to be worse than plain noise; a word; or an object with options:

    - ``wn.Tables()``: all tables, prefixes and ranges with noise, in the best proportions, as
      ``wn.tabulate`` does; and a distribution of maximum entropy fitted to them, or a graphical
      model where there are too many cells. ``value.estimates`` are unbiased, with
      ``value.standard_errors``; ``value.answers()`` are what the distribution says, no further from
      the estimates than pays; see ``AnsweredSynthetic``.
    - ``wn.Toeplitz()``: the square root of the prefixes of one long column, for its prefixes and
      ranges.
    - ``wn.Explicit()``: the best matrix for any queries over up to some 1,000 cells, or noise on
      each query, where these are few.
    - ``wn.Adaptive(rounds=)``: rounds that select a badly answered table and measure it whole; for
      many tables and few people.
    - ``wn.MWEM(rounds=, update=, share=, warm_start=)``: rounds that select a badly answered query
      and measure it; for very many queries. With ``groups=`` or ``universe=`` for domains that do
      not fit memory; ``value.rests_on`` says what accuracy then rests on.
    - ``wn.Graphical(rounds=, model_cells=)``: a graphical model, for tables with too many cells.

    The receipt says which was taken, and why. ``wn.plan.release`` compares them beforehand, and
    gives the plan that this runs.

    The neighbour relation is the table's. Under substitution, with one row per person, the number
    of rows is public. Otherwise state a public number that counts are taken of where the table is
    read (``wn.read_table(..., rows=)``), or it is measured, too. ``run`` is
    ``wn.Run(memory=, pad_to=, progress=, threads=)``.
    """
    return released(table, asked)


@one_thread()
def released(table: SealedTable, asked: Release) -> Released[SyntheticDistribution]:
    """Plan what is asked of a table, and run it."""
    padding = asked.running.padding()
    sealed = sealed_table(table)
    plan = asked.plan(sealed)
    return plan.run(sealed, budget=asked.budget, seed=asked.seed, padding=padding)
