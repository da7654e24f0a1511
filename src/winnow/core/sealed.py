"""A box around a private value that shows nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T", covariant=True)
R = TypeVar("R")


class PublicFact(Enum):
    """Everything that leaves a seal without a charge, each with the reason why it may.

    A use of ``Sealed.publish`` names its fact. A test reads this list and every use.
    """

    ROWS_UNDER_SUBSTITUTION = (
        "The number of rows, where neighbours have the same number: substitution with one row "
        "for each person."
    )
    REFUSED_DATA = (
        "That data are refused before the charge, because they break what their owner declared: "
        "real scores where whole numbers were announced, values beyond a public grid, sums that "
        "would leave 64 bits. The owner learns it; nobody publishes it."
    )
    KIND_OF_CONTENT = "Whether values lie in memory or stay in an engine: the owner chose it."
    FINGERPRINT = (
        "A hash by which the owner's own ledger and journals know the same data again. It stays "
        "with the owner and is not part of any release."
    )
    PUBLIC_MATRIX = (
        "The matrix of a linear program whose right-hand sides alone are private: its owner says "
        "so with ScalarSides."
    )
    PUBLIC_TABLE = "Anything of a table that its owner declares public, such as a public test set."
    UNSAFE_TRUE_ANSWERS = (
        "The true answers that an owner asks for with --unsafe-show-private, on the owner's own "
        "terminal, marked as not private."
    )


class Sealed(Generic[T]):
    """A private value. It has no repr of values, no length, no iteration, no pickle.

    A ``Key``, which a charge gives, opens it. Without one there are two doors: ``map`` gives
    another sealed value, and ``publish`` tells a fact that ``PublicFact`` declares public.
    """

    __slots__ = ("__weakref__", "_content", "what")

    def __init__(self, content: T, what: str) -> None:
        self._content = content
        self.what = what
        """A public description, for messages."""

    def map(self, change: Callable[[T], R], what: str) -> Sealed[R]:
        """A private value that is computed from this one, and sealed again."""
        return Sealed(change(self._content), what)

    def beside(self, other: Sealed[R]) -> Sealed[tuple[T, R]]:
        """Both private values as a pair, sealed together."""
        return Sealed((self._content, other._content), f"{self.what} and {other.what}")

    def publish(self, fact: PublicFact, tell: Callable[[T], R]) -> R:
        """What ``tell`` makes of the private value, which is public for the reason of the fact."""
        if not isinstance(fact, PublicFact):
            raise TypeError("publish needs a PublicFact that says why this is public")
        return tell(self._content)

    def __repr__(self) -> str:
        return f"<sealed {self.what}>"

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(f"{self!r} is private: release it through a mechanism")

    __len__ = __iter__ = __getitem__ = __contains__ = __bool__ = _refuse
    __array__ = __float__ = __int__ = __index__ = __complex__ = __bytes__ = _refuse
    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = _refuse
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = object.__hash__
