"""Noise that is a function of a key and of an item's name, for draws over many processes.

Every process gives an item the same noise, in whatever part, order or attempt it meets it. So a
part answers with its *contenders*, the items that can still be among the k largest, and the
largest of all contenders are the largest of all items, bit for bit.

The name becomes 128 bits: a whole number as it is, a text by BLAKE2b under the key. The first 32
bits of the noise of an item and each further 128 are AES-256 of these, every level under a key of
its own. Contenders are private (they hold scores), and whoever has the key and the result knows
the noise: what leaves a process is encrypted under the key (AES-256-GCM), and shows nothing of
either. An item that stands there twice counts with its higher score.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from winnow.core.laws import Law
from winnow.core.noisy_top.draw import NoisyTop, survivors_among
from winnow.core.noisy_top.filter import Scores
from winnow.core.tape import Kind, Tape, Words
from winnow.errors import DataError
from winnow.foreign import instead

Names = NDArray[np.int64] | list[str]
Blocks = NDArray[np.uint64]
"""Two words for each item: its 128 bits."""

_WHOLE = 0x77686F6C65206964  # beside a whole number, so that its block is no small number
_BATCH = 1 << 16
_TOGETHER = 64
_NONCE = 12
_PADDED = 1 << 12


class KeyedTape(Tape):
    """The bits of items that are known by 128 bits each; item i is the i-th of them."""

    __slots__ = ("_blocks",)

    def __init__(self, key: bytes, kind: Kind, blocks: Blocks) -> None:
        super().__init__(key, kind)
        self._blocks = blocks

    def words(self, first: int, count: int) -> Words:
        """The first 32 bits of the items first .. first + count - 1."""
        part = self._encrypted(self._blocks[first : first + count], "word")
        return np.ascontiguousarray(part.view("<u4")[:, 0])

    def extension(self, items: NDArray[np.int64], level: int) -> NDArray[np.uint64]:
        """128 further bits of every item at a level."""
        return self._encrypted(self._blocks[items], f"level-{level}")

    def _encrypted(self, blocks: Blocks, label: str) -> NDArray[np.uint64]:
        cipher = Cipher(algorithms.AES256(_derived(self._key, label)), modes.ECB()).encryptor()
        encrypted = cipher.update(np.ascontiguousarray(blocks, "<u8").tobytes())
        return np.frombuffer(encrypted, "<u8").reshape(-1, 2)


@dataclass(frozen=True, repr=False)
class _Part:
    """Items with their scores; private."""

    names: Names
    blocks: Blocks
    scores: Scores

    def at(self, places: NDArray[np.int64]) -> _Part:
        """Some of them."""
        listed = self.names
        names = [listed[i] for i in places] if isinstance(listed, list) else listed[places]
        return _Part(names, self.blocks[places], self.scores[places])


class Worker:
    """What a process needs to answer for a part of the items: the key of one draw, and its law.

    It may be pickled, because it has to travel: send it as you send any secret, encrypted, and
    to processes that may know the noise. It shows nothing of the key, and nor do its answers.
    """

    __slots__ = ("_key", "_kind", "_law", "_most", "_scale", "draw")

    def __init__(self, key: bytes, kind: Kind, law: Law, scale: Fraction, k: int) -> None:
        self._key, self._kind = key, kind
        self._law, self._scale, self._most = law, scale, k
        self.draw = _derived(key, "draw").hex()[:16]
        """A public name of the draw."""

    def contenders(self, ids: Any, scores: Any) -> bytes:
        """The contenders among some items, encrypted; ``ids`` are whole numbers or texts."""
        names, values = _names(ids), _values(scores)
        if len(names) != len(values):
            raise DataError(f"{len(names)} ids and {len(values)} scores; give one score for each")
        kept: _Part | None = None
        for start in range(0, len(values), _BATCH):
            part = slice(start, start + _BATCH)
            here = _Part(names[part], self._blocks(names[part]), values[part])
            kept = self._filtered([here] if kept is None else [kept, here])
        if kept is None:
            kept = _Part(names, self._blocks(names), values)
        return self._sealed(kept)

    def of_batches(self, batches: Iterable[Any]) -> bytes:
        """The contenders of Arrow's batches of two columns, ids and scores, one by one."""
        parts: list[bytes] = []
        for batch in batches:
            ids, scores = batch.column(0), batch.column(1)
            if scores.null_count:
                raise DataError("scores are missing or are not numbers; give a number for each id")
            texts = str(ids.type) in ("string", "large_string", "string_view")
            names = ids.to_pylist() if texts else ids.to_numpy(zero_copy_only=False)
            parts.append(self.contenders(names, scores.to_numpy(zero_copy_only=False)))
            if len(parts) > _TOGETHER:
                parts = [self.merge(parts)]
        return self.merge(parts)

    def merge(self, parts: Iterable[bytes]) -> bytes:
        """The contenders of several parts together, encrypted."""
        return self._sealed(self._merged(parts))

    def winners(self, parts: Iterable[bytes]) -> list[Any]:
        """The items with the k largest noisy scores of all parts, largest first: the release.

        Whoever calls it has paid for the draw, once.
        """
        kept = self._merged(parts)
        if not len(kept.scores):
            return []
        tape = KeyedTape(self._key, self._kind, kept.blocks)
        places = np.arange(len(kept.scores))
        words = tape.words(0, len(places))
        top = NoisyTop(tape, self._law, self._scale, self._most, places, words, kept.scores)
        names = [kept.names[place] for place in top.winners()]
        return [name if isinstance(name, str) else int(name) for name in names]

    def _merged(self, parts: Iterable[bytes]) -> _Part:
        opened = [self._opened(part) for part in parts]
        filled = [part for part in opened if len(part.scores)]
        if not filled:
            return opened[0] if opened else _Part([], np.empty((0, 2), np.uint64), np.empty(0))
        return self._filtered(filled)

    def _filtered(self, parts: list[_Part]) -> _Part:
        """What may be among the k largest of all, each item once."""
        if len({(type(part.names), part.scores.dtype) for part in parts}) > 1:
            raise DataError("the parts have ids or scores of different types; give one type")
        joined = _once(_joined(parts))
        tape = KeyedTape(self._key, self._kind, joined.blocks)
        words = tape.words(0, len(joined.scores))
        near = survivors_among(joined.scores, words, self._law, self._scale, self._most)
        return joined.at(near)

    def _blocks(self, names: Names) -> Blocks:
        blocks = np.empty((len(names), 2), "<u8")
        if not isinstance(names, list):
            blocks[:, 0], blocks[:, 1] = names.view(np.uint64), _WHOLE
            return blocks
        key = _derived(self._key, "names")
        texts = (hashlib.blake2b(n.encode(), digest_size=16, key=key).digest() for n in names)
        return np.frombuffer(b"".join(texts), "<u8").reshape(-1, 2)

    def _sealed(self, part: _Part) -> bytes:
        cipher, nonce = AESGCM(_derived(self._key, "wire")), os.urandom(_NONCE)
        plain = _packed(part)
        plain += bytes(-len(plain) % _PADDED)  # how many contenders there are is private, too
        return nonce + cipher.encrypt(nonce, plain, self.draw.encode())

    def _opened(self, sealed: bytes) -> _Part:
        cipher = AESGCM(_derived(self._key, "wire"))
        other = DataError("these contenders are of another draw, or damaged; give those of one")
        with instead(other, InvalidTag, ValueError, TypeError):
            content = bytes(sealed)
            plain = cipher.decrypt(content[:_NONCE], content[_NONCE:], self.draw.encode())
        part = _unpacked(plain)
        return _Part(part[0], self._blocks(part[0]), part[1])

    def __repr__(self) -> str:
        return f"<worker of the draw {self.draw}>"

    def __getstate__(self) -> tuple[Any, ...]:
        return self._key, self._kind, str(self._law), self._scale, self._most

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        key, kind, law, scale, most = state
        Worker.__init__(self, key, kind, Law.parse(law), scale, most)

    def __copy__(self) -> NoReturn:
        raise TypeError("a worker holds the key of one draw and is not copied")


def _joined(parts: list[_Part]) -> _Part:
    if len(parts) == 1:
        return parts[0]
    listed: list[Any] = [part.names for part in parts]
    names: Names
    if isinstance(listed[0], list):
        names = [name for each in listed for name in each]
    else:
        names = np.concatenate(listed)
    blocks = np.concatenate([part.blocks for part in parts])
    return _Part(names, blocks, np.concatenate([part.scores for part in parts]))


def _once(part: _Part) -> _Part:
    """Each item once, with its highest score: k copies of one must not push another out."""
    ordered = np.sort(part.blocks[:, 0])
    if not (ordered[1:] == ordered[:-1]).any():
        return part
    order = np.lexsort((part.scores, *part.blocks.T))
    blocks = part.blocks[order]
    last = np.ones(len(order), bool)
    last[:-1] = (blocks[1:] != blocks[:-1]).any(axis=1)
    return part.at(np.sort(order[last]))


def _derived(key: bytes, label: str) -> bytes:
    return hashlib.blake2b(label.encode(), key=key, person=b"winnow-keyed").digest()[:32]


def _names(ids: Any) -> Names:
    """Whole numbers, or texts as they can be written in UTF-8."""
    names = ids.tolist() if isinstance(ids, np.ndarray) and ids.dtype.kind not in "iu" else ids
    if isinstance(names, np.ndarray):
        with instead(
            DataError("an id is not a whole number of 64 bits; give such ids, or texts"),
            OverflowError,
        ):
            if names.dtype == np.uint64 and len(names) and names.max() >= 2**63:
                raise DataError("an id is not a whole number of 64 bits; give such ids, or texts")
            return np.ascontiguousarray(names, np.int64)
    listed = list(names)
    if all(isinstance(name, str) for name in listed):
        with instead(
            DataError("an id is not a text that can be written in UTF-8; rename it"), UnicodeError
        ):
            for name in listed:
                name.encode()
        return listed
    if all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in listed):
        with instead(
            DataError("an id is not a whole number of 64 bits; give such ids, or texts"),
            OverflowError,
        ):
            return np.array(listed, np.int64)
    raise DataError(
        "ids are missing or of several types; give whole numbers or texts, all of one type"
    )


def _values(scores: Any) -> Scores:
    values = np.asarray(scores)
    if values.dtype.kind in "iu" and values.dtype != np.uint64:
        return np.ascontiguousarray(values, np.int64)
    with instead(
        DataError("scores are missing or are not numbers; give a number for each id"),
        ValueError,
        TypeError,
    ):
        floats = np.ascontiguousarray(values, np.float64)
    if not np.isfinite(floats).all():
        raise DataError("at least one score is NaN or infinite; leave those candidates out")
    return floats


def _packed(part: _Part) -> bytes:
    """Types, number, scores, names."""
    texts = isinstance(part.names, list)
    head = struct.pack("<BBQ", texts, part.scores.dtype == np.int64, len(part.scores))
    scores = np.ascontiguousarray(part.scores).tobytes()
    if isinstance(part.names, list):
        encoded = [name.encode() for name in part.names]
        sizes = np.array([len(each) for each in encoded], "<u8").tobytes()
        return head + scores + sizes + b"".join(encoded)
    return head + scores + np.ascontiguousarray(part.names, "<i8").tobytes()


def _unpacked(plain: bytes) -> tuple[Names, Scores]:
    texts, whole, size = struct.unpack_from("<BBQ", plain)
    place = struct.calcsize("<BBQ")
    scores = np.frombuffer(plain, "<i8" if whole else "<f8", size, place)
    place += 8 * size
    if not texts:
        return np.frombuffer(plain, "<i8", size, place), scores
    ends = np.cumsum(np.frombuffer(plain, "<u8", size, place)).tolist()
    place += 8 * size
    starts: Sequence[int] = [0, *ends[:-1]]
    return [
        plain[place + a : place + b].decode() for a, b in zip(starts, ends, strict=True)
    ], scores
