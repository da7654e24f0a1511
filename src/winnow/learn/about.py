"""What is public of rows with a class each: all that a plan may know of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winnow.core.checks import count
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded
from winnow.learn.crossing.rows import Classes, SealedLabelled, check_classes, no_rows
from winnow.learn.features import Feature, cut_features, schema_features
from winnow.learn.rules import RuleClass
from winnow.learn.weights import weighed


@dataclass(frozen=True, kw_only=True)
class AboutRows:
    """What is public of rows with a class each; ``wn.plan.learn`` takes it."""

    classes: Classes
    """The classes; of two, the negative and the positive one."""
    relation: Relation
    rows: int | None = None
    """The number of rows, where it is public."""
    rows_per_person: int = 1
    schema: Schema | None = None
    """The columns beside the class; None: an array, or predictions."""
    names: tuple[str, ...] = ()
    """The columns of an array or a frame."""
    named: bool = False
    """Whether the data brought these names."""
    unread: str = ""
    """Why there are no columns, where X has none."""
    predictions: int | None = None
    """The number of hypotheses, where the rows come with predictions."""

    def features(self, cuts: Any) -> tuple[Feature, ...]:
        """What tests are made on: the columns of the schema, or an array at its cut points."""
        if self.predictions is not None:
            raise ParameterError(
                "the rows come with predictions, and one hypothesis of these is chosen; "
                "take method='auto' or wn.OneRule() without of= and cuts="
            )
        if self.schema is not None:
            if cuts is not None:
                raise ParameterError("the schema declares the cut points as edges; leave out cuts")
            features = schema_features(self.schema)
        elif self.unread:
            raise DataError(self.unread)
        elif cuts is None:
            raise ParameterError(
                "an array needs public cut points; give them as in "
                "method=wn.Boosted(cuts=[...]), or declare a schema: wn.labelled(X, y, schema=)"
            )
        else:
            features = cut_features(self.names, cuts, named=self.named)
        RuleClass(features, "stumps")  # refuses what is too large to count
        return features

    def two_classes(self) -> None:
        """Refuse more classes than a rule tells apart."""
        if len(self.classes) > 2:
            raise ParameterError(
                f"there are {len(self.classes)} classes, and a rule tells two apart; declare two "
                "values, or one value and 'other', or learn one class against the others, as in "
                "y == 'a', or method='additive'"
            )

    def nobody(self, class_weights: Any) -> SealedLabelled:
        """Rows of nobody: the noise depends on public numbers only."""
        empty = no_rows(self.classes, self.relation, self.rows_per_person)
        return weighed(empty, class_weights)

    def check(self, other: AboutRows) -> None:
        """Refuse rows for which another plan was to be made."""
        for what in ("classes", "rows_per_person", "schema", "names", "named", "predictions"):
            if getattr(self, what) != getattr(other, what):
                words = what.replace("_", " ")
                raise ParameterError(f"the plan is for rows with other {words}; plan again")
        if None not in (self.rows, other.rows) and self.rows != other.rows:
            raise ParameterError(
                f"the plan is for {self.rows} rows, and there are {other.rows}; plan again"
            )


@guarded
def labelled(
    schema: Any,
    target: str,
    *,
    rows: int | None = None,
    relation: str | Relation = Relation.SUBSTITUTION,
    max_rows: int = 1,
) -> AboutRows:
    """Say what is public of a table to learn from, before there is one.

    ``target`` is the column of classes, ``rows`` a public or assumed number of rows, ``max_rows``
    the most rows of one person.
    """
    declared = Schema.parse(schema)
    count(max_rows=max_rows)
    if rows is not None:
        count(rows=rows)
    classes = tuple(declared.column(target).labels)
    check_classes(target, len(classes))
    return AboutRows(
        classes=classes,
        relation=Relation.parse(relation),
        rows=None if rows is None else int(rows),
        rows_per_person=int(max_rows),
        schema=declared.subset(feature_names(declared, target)),
    )


def feature_names(schema: Schema, target: str) -> list[str]:
    """The columns beside the target."""
    features = [name for name in schema.names if name != target]
    if not features:
        raise ParameterError(
            f"there is no column besides {target!r}; add the features to the schema"
        )
    return features
