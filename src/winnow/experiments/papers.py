"""Which experiments there are, by paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winnow.errors import ParameterError
from winnow.experiments.canonical import EXPERIMENTS as CANONICAL
from winnow.experiments.experiment import Experiment
from winnow.experiments.fast_mwem import EXPERIMENTS as FAST_MWEM
from winnow.experiments.joint import EXPERIMENTS as JOINT
from winnow.experiments.large_margin import EXPERIMENTS as LARGE_MARGIN
from winnow.experiments.multiplicative_weights import EXPERIMENTS as MULTIPLICATIVE_WEIGHTS


@dataclass(frozen=True)
class Paper:
    """A paper and what can be reproduced of it in this version."""

    name: str
    key: str
    """How the documentation cites it."""
    experiments: tuple[Experiment, ...]

    @property
    def figures(self) -> list[str]:
        """The names of the experiments."""
        return [experiment.name for experiment in self.experiments]


PAPERS = (
    Paper("fastmwem", "FastMWEM", FAST_MWEM),
    Paper("lmm", "LMM", LARGE_MARGIN),
    Paper("joint", "Joint", JOINT),
    Paper("pmw", "PMW", MULTIPLICATIVE_WEIGHTS),
    Paper("canonical", "Canonical", CANONICAL),
)


def paper_named(name: str) -> Paper:
    """The paper of this name, in any case."""
    for paper in PAPERS:
        if paper.name == name.lower():
            return paper
    known = ", ".join(paper.name for paper in PAPERS)
    raise ParameterError(f"{name!r} is not one of the papers; choose one of: {known}, all")


def chosen(paper: Paper, figures: Sequence[str]) -> list[Experiment]:
    """The experiments with these names; all of them when none is named."""
    if not figures:
        return list(paper.experiments)
    chosen_experiments: list[Experiment] = []
    for figure in figures:
        name = figure.lower().replace(" ", "").removeprefix("figure")
        matching = [each for each in paper.experiments if each.name == name]
        if not matching:
            raise ParameterError(
                f"{paper.key} has no figure {figure!r} in this version; available: "
                f"{', '.join(paper.figures)}"
            )
        chosen_experiments += [each for each in matching if each not in chosen_experiments]
    return chosen_experiments


def estimated_seconds(paper: Paper, experiments: Sequence[Experiment], *, quick: bool) -> float:
    """About how long these experiments of a paper take on one core, what they share once."""
    names = {each.name for each in experiments} | {each.after for each in experiments}
    return sum(each.seconds[0 if quick else 1] for each in paper.experiments if each.name in names)
