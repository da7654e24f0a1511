"""Workloads before they meet a schema: what `wn.marginals(...)` and its like return.

A maker knows how much memory its queries need over a schema before it builds any of them,
and refuses, with advice, what does not fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from winnow.domain.memory import memory_text, parse_memory
from winnow.domain.schema import Schema
from winnow.domain.workloads.conjunction import ConjunctionPart
from winnow.domain.workloads.part import Part
from winnow.domain.workloads.workload import PER_QUERY, Workload
from winnow.errors import InputError

DEFAULT_MEMORY = "4GB"


class Maker(ABC):
    """Queries not yet bound to a schema. ``.over(schema)`` binds them; ``+`` is union."""

    advice = "use fewer queries"
    """How to make the workload smaller."""

    @abstractmethod
    def size(self, schema: Schema) -> int:
        """How many queries there would be."""

    @abstractmethod
    def own_memory(self, schema: Schema) -> int:
        """How many bytes the queries themselves would hold."""

    @abstractmethod
    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """The queries, built."""

    def memory(self, schema: Schema | Mapping[str, Any] | str | Path) -> int:
        """About how many bytes the workload would need, found without building it."""
        bound = Schema.parse(schema)
        return self.own_memory(bound) + PER_QUERY * self.size(bound)

    def over(
        self,
        schema: Schema | Mapping[str, Any] | str | Path,
        *,
        memory: str | int = DEFAULT_MEMORY,
    ) -> Workload:
        """The workload over a schema, or a refusal when it needs more than ``memory``."""
        bound, limit = Schema.parse(schema), parse_memory(memory)
        needed = self.memory(bound)
        if needed > limit:
            raise InputError(
                f"these {self.size(bound):,} queries over {bound} need about "
                f"{memory_text(needed)}, more than memory={memory!r}; {self.advice}, or allow more"
            )
        return Workload(bound, self.parts(bound))

    def __add__(self, other: object) -> Union:
        if not isinstance(other, Maker):
            return NotImplemented
        return Union((*_members(self), *_members(other)))


@dataclass(frozen=True)
class Union(Maker):
    """Several makers, one after another."""

    makers: tuple[Maker, ...]

    advice = "use fewer queries"

    def size(self, schema: Schema) -> int:
        """The sum of the sizes."""
        return sum(maker.size(schema) for maker in self.makers)

    def own_memory(self, schema: Schema) -> int:
        """The sum of the memories."""
        return sum(maker.own_memory(schema) for maker in self.makers)

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """The parts in order; neighbouring predicates become one part."""
        parts: list[Part] = []
        every = [part for maker in self.makers for part in maker.parts(schema)]
        for kind, group in groupby(every, key=type):
            members = list(group)
            if kind is ConjunctionPart:
                masks = [m for part in members if isinstance(part, ConjunctionPart)
                         for m in part.masks]  # fmt: skip
                members = [ConjunctionPart(schema, tuple(masks))]
            parts += members
        return tuple(parts)


def _members(maker: Maker) -> tuple[Maker, ...]:
    return maker.makers if isinstance(maker, Union) else (maker,)
