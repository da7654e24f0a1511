"""Which tables count as neighbours: the relation every guarantee speaks about."""

from __future__ import annotations

from enum import StrEnum

from winnow.errors import ParameterError
from winnow.foreign import instead, shown


class Relation(StrEnum):
    """A neighbour relation. Guarantees under different relations never mix."""

    ADD_REMOVE = "add-remove"
    """One person more or one person less; the number of people may change."""

    SUBSTITUTION = "substitution"
    """One person's record replaced by another; the number of people is public."""

    @classmethod
    def parse(cls, relation: str | Relation) -> Relation:
        """The relation of this name, or an error that lists the names."""
        names = ", ".join(repr(str(member)) for member in cls)
        unknown = f"relation={shown(relation)} is unknown; choose one of: {names}"
        with instead(ParameterError(unknown), ValueError):
            return cls(relation)

    @property
    def sentence(self) -> str:
        """The relation in words, for reports."""
        if self is Relation.ADD_REMOVE:
            return "add or remove one person"
        return "replace one person's record"
