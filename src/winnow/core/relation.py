"""Which tables count as neighbours: the relation every guarantee speaks about."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

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
        if isinstance(relation, cls):
            return relation
        names = ", ".join(repr(str(member)) for member in cls)
        unknown = f"relation={shown(relation)} is unknown; choose one of: {names}"
        with instead(ParameterError(unknown), ValueError):
            return cls(relation)

    @property
    def sentence(self) -> str:
        """The relation in words, for reports."""
        from winnow.core.unit import PERSON

        return PERSON.sentence(self)

    @property
    def people(self) -> int:
        """How many people's data come or go between neighbours: one, or one of each.

        What one person adds to a table moves that many times.
        """
        match self:
            case Relation.ADD_REMOVE:
                return 1
            case Relation.SUBSTITUTION:
                return 2
            case never:
                assert_never(never)

    @property
    def size_is_public(self) -> bool:
        """Whether neighbours have the same number of people."""
        match self:
            case Relation.ADD_REMOVE:
                return False
            case Relation.SUBSTITUTION:
                return True
            case never:
                assert_never(never)
