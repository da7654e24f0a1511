"""The key that a spent grant gives: it alone opens what is sealed."""

from __future__ import annotations

from typing import NoReturn, TypeVar, final

from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.errors import GrantError

T = TypeVar("T")

SPENT = object()
"""``core.run`` alone shows this token, after it redeemed a grant."""


@final
class Key:
    """A spent grant. It opens seals while its one draw lasts, and holds the tape of that draw.

    Only ``core.run`` makes keys, each for a charge that was recorded before. So whatever a key
    opens was paid for. A key cannot be copied, pickled or made by hand.
    """

    __slots__ = ("_ended", "_parent", "_tape")

    def __init__(self, tape: Tape, *, spent: object = None, parent: Key | None = None) -> None:
        if spent is not SPENT:
            raise GrantError("a key is a spent grant; run a plan to get one")
        self._tape, self._ended, self._parent = tape, False, parent

    @property
    def tape(self) -> Tape:
        """The random bits of the draw."""
        self._check()
        return self._tape

    def open(self, sealed: Sealed[T]) -> T:
        """The private value inside."""
        self._check()
        return sealed._content

    def child(self, label: str) -> Key:
        """The key of a part of the draw, with random bits of its own; it ends with the whole."""
        return Key(self.tape.child(label), spent=SPENT, parent=self)

    def end(self) -> None:
        """The draw is over: from now on the key opens nothing."""
        self._ended = True

    def _check(self) -> None:
        if self._parent is not None:
            self._parent._check()
        if self._ended:
            raise GrantError("the draw of this key has ended; charge again for another one")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("a key is not copied or pickled: it stands for one draw")

    def __repr__(self) -> str:
        return f"<Key, {'ended' if self._ended else 'in use'}>"
