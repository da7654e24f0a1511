"""``winnow.scores``: one real score for each of very many candidates, read where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from winnow.core.checks import Real
from winnow.core.noisy_top.keyed import Worker
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.unit import PERSON, Unit
from winnow.core.utility import Utility, declared
from winnow.errors import ParameterError
from winnow.foreign import guarded, shown
from winnow.read.options import Reading, TextFormat, reading_of, text_format_of

if TYPE_CHECKING:  # it needs sqlglot
    from winnow.read.engine import Engine


@dataclass(frozen=True)
class ScoreSource:
    """Private scores of public candidates that stay in their source until a selection."""

    engine: Sealed[Engine]
    id: str
    score: str
    memory: str
    utility: Utility
    unit: Unit = PERSON
    """Whose presence is protected."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""
        return self.utility.relation

    def __repr__(self) -> str:
        column, relation = repr(self.score), self.relation
        return f"<sealed scores in the column {column} of a source, neighbours: {relation}>"


@guarded
def scores(
    source: Any,
    *,
    id: str,
    score: str,
    sensitivity: Real | tuple[Real, Real] = 1,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    text: TextFormat | None = None,
    reading: Reading | None = None,
) -> ScoreSource:
    """Scores of very many candidates, for ``winnow.select``; nothing is collected.

    ``source`` is anything that ``winnow.counts`` takes. ``id`` names the column of candidates,
    whole numbers or texts, and ``score`` that of their scores. The candidates are public, their
    scores are private. A candidate that appears twice counts with its higher score. Declare how
    far one person moves a score by ``sensitivity``, ``monotone`` and ``relation``, as in
    ``winnow.seal_scores``.

    The noise of a candidate depends on a secret key and its own id only. So the result does not
    depend on how the source is split, in which order it is read, or how often. Spark draws where
    the data are: the key travels to its executors, which are trusted with it, and each answers
    with its few contenders, encrypted. Other sources are streamed through this process.
    """
    from winnow.read.engine import refusing
    from winnow.read.engines.registry import engine_for

    for name, value in (("id", id), ("score", score)):
        if not isinstance(value, str):
            raise ParameterError(f"{name}={shown(value)} is not the name of a column; give a text")
    if id == score:
        raise ParameterError(f"the column {id!r} cannot be both id and score")
    utility = declared(sensitivity, monotone, relation)
    text, memory = text_format_of(text), reading_of(reading, "memory").memory
    with refusing("the source cannot be read", memory=memory):
        engine = engine_for(source, memory, [id, score], text)
        engine.check_scores(id, score)
    return ScoreSource(Sealed(engine, "scores"), id, score, memory, utility)


def answers(engine: Engine, source: ScoreSource, worker: Worker) -> list[bytes]:
    """The contenders of all parts of a source."""
    from winnow.read.engine import refusing

    with refusing("the scores cannot be read", memory=source.memory):
        return engine.contenders(worker, source.id, source.score)
