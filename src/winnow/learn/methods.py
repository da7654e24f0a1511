"""What is learned, as objects with their options; ``winnow.learn(..., method=)`` takes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from winnow.core.options import AUTO, Method, Methods, Option
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.learn.words import (
    BOOSTED,
    CONJUNCTIONS,
    LONGEST,
    MOST_ROUNDS,
    PLAIN_RULES,
    rules_named,
    size_named,
)

if TYPE_CHECKING:
    from winnow.learn.about import AboutRows
    from winnow.learn.plan import LearnPlan
    from winnow.learn.request import Learn

Selection = Literal["permute-and-flip", "exponential", "large-margin"]
Thresholds = Literal["tight", "printed"]


class LearnMethod(Method, ABC):
    """What is learned. One of your own plans a release from public facts about the rows."""

    @abstractmethod
    def plan(self, asked: Learn, about: AboutRows) -> LearnPlan:
        """All that is fixed before the rows are looked at."""


@dataclass(frozen=True, kw_only=True)
class Boosted(LearnMethod):
    """A vote of rules, chosen one after another; for two classes and many rows."""

    rounds: Annotated[
        int | None,
        Option(
            "How many rules vote; by default public numbers decide.",
            "N",
            least=1,
            most=MOST_ROUNDS,
        ),
    ] = None
    size: Annotated[int, Option("The most tests in one rule.", "N", least=1, most=LONGEST)] = 2
    cuts: Any = None
    """Public cut points of arrays: one list for all columns, one for each, or a dict by name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cuts(self.cuts)

    def plan(self, asked: Learn, about: AboutRows) -> LearnPlan:
        """Rule after rule, and the vote."""
        from winnow.learn.plan import boosted

        return boosted(self, asked, about)


@dataclass(frozen=True, kw_only=True)
class Additive(LearnMethod):
    """Points for every value of every column; for two classes or more."""

    cuts: Any = None
    """Public cut points of arrays: one list for all columns, one for each, or a dict by name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cuts(self.cuts)

    def plan(self, asked: Learn, about: AboutRows) -> LearnPlan:
        """Noisy tables, and one of the models that follow from them."""
        from winnow.learn.plan import additive

        return additive(self, asked, about)


@dataclass(frozen=True, kw_only=True)
class VoteOrAdditive(LearnMethod):
    """An additive model, rules on top of it, and the best of these; for two classes."""

    cuts: Any = None
    """Public cut points of arrays: one list for all columns, one for each, or a dict by name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cuts(self.cuts)

    def plan(self, asked: Learn, about: AboutRows) -> LearnPlan:
        """An additive model, rules that mend it, and a choice among them."""
        from winnow.learn.either import either

        return either(self, asked, about)


@dataclass(frozen=True, kw_only=True)
class OneRule(LearnMethod):
    """One rule of a public class; the easiest to explain, with a bound on its error."""

    of: Any = AUTO
    """The class: "thresholds", "intervals", "stumps", "conjunctions:N" with N from 1 to 4, or a
    list of functions of X. "auto": the predictions that the rows come with; else conjunctions
    of two tests, or of one where pairs of tests are too many to score."""
    cuts: Any = None
    """Public cut points of arrays: one list for all columns, one for each, or a dict by name."""
    selection: Annotated[
        Selection | None,
        Option(
            "What chooses the rule. By default permute-and-flip, which promises the least error; "
            "large-margin where thresholds= is given.",
            "NAME",
        ),
    ] = None
    thresholds: Annotated[
        Thresholds | None,
        Option("Those of large-margin: tight by default, or as printed in the paper.", "NAME"),
    ] = None
    with_accuracy: Annotated[
        bool, Option("Release the noisy number of correct rows, too, for half of epsilon=.")
    ] = False
    confidence: Annotated[
        float,
        Option("The probability with which the bound on new rows holds.", "P", above=0, below=1),
    ] = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cuts(self.cuts)
        if isinstance(self.of, str):
            if self.of != AUTO:
                rules_named("of", self.of)
        elif not self.functions:
            raise ParameterError(
                f"of= is a {type(self.of).__name__}; give {', '.join(PLAIN_RULES)}, "
                "conjunctions:N or a list of functions of X; predictions of private rows go "
                "with the rows: wn.labelled(y=, predictions=)"
            )

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions of X among which one is chosen, where they are given."""
        if isinstance(self.of, list | tuple) and self.of and all(map(callable, self.of)):
            return tuple(self.of)
        return ()

    def plan(self, asked: Learn, about: AboutRows) -> LearnPlan:
        """One choice among all rules of the class."""
        from winnow.learn.one_rule import one_rule

        return one_rule(self, asked, about)


@dataclass(frozen=True)
class LearnMethods(Methods):
    """The methods by their words; a class of rules in words means one rule of it."""

    @property
    def words(self) -> tuple[str, ...]:
        """What a user may write; N is a number."""
        return (*super().words, *PLAIN_RULES, f"{CONJUNCTIONS}:N", f"{BOOSTED}:N")

    @property
    def simple(self) -> Any:
        """A text: some words have a number in them."""
        return str

    def build(self, word: Any, said: Mapping[str, Any]) -> Method | str:
        """The method of a word with what was said of it; what it does not take is refused."""
        kind, colon, number = word.partition(":") if isinstance(word, str) else ("", "", "")
        if kind == BOOSTED and colon:
            if "size" in said:
                raise ParameterError(f"method={word} says a size, and size= too; leave out one")
            return super().build(BOOSTED, {**said, "size": size_named("method", word, number)})
        if kind in (*PLAIN_RULES, CONJUNCTIONS):
            rules_named("method", word)
            made = super().build(OneRule.word(), said)
            assert isinstance(made, OneRule)
            return replace(made, of=word)
        return super().build(word, said)


def check_cuts(cuts: Any) -> None:
    """Refuse what is no list of cut points, by its type."""
    listed = isinstance(cuts, Mapping | Sequence) and not isinstance(cuts, str | bytes)
    if cuts is None or listed or hasattr(cuts, "__array__"):
        return
    raise ParameterError(
        f"cuts={shown(cuts)} is a {type(cuts).__name__}; give a list of numbers, one list for "
        "each column, or a dict of lists"
    )
