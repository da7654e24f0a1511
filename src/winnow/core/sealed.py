"""A box around a private value that shows nothing of it."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T")


class Sealed(Generic[T]):
    """A private value. It has no repr of values, no length, no iteration, no pickle.

    ``winnow.core.opening`` opens it; an import contract lets only files called ``crossing``
    import that.
    """

    __slots__ = ("__weakref__", "_content", "what")

    def __init__(self, content: T, what: str) -> None:
        self._content = content
        self.what = what
        """A public description, for messages."""

    def __repr__(self) -> str:
        return f"<sealed {self.what}>"

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(f"{self!r} is private: release it through a mechanism")

    __len__ = __iter__ = __getitem__ = __contains__ = __bool__ = _refuse
    __array__ = __float__ = __int__ = __index__ = __complex__ = __bytes__ = _refuse
    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = _refuse
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = object.__hash__
