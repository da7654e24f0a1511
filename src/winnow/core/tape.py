"""The random tape: item i owns an infinite string of bits that depends on (key, i) only.

The first 32 bits of item i are word i of an AES-256-CTR key stream; further bits come,
128 at a time, from AES-256 under a second key on the block (i, level). AES is the only
primitive, always through the `cryptography` package. Because every bit has an address,
a result does not depend on chunks, threads, shards or filter precision, and more bits
can be asked for lazily when a comparison is too close to call.

Secure by default: the keys are 64 fresh bytes from the operating system for every
tape, with no state shared between calls, threads or forks. A seed gives a repeatable
tape for tests and simulations, and taints every receipt that it touches.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Literal, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from winnow.core.process import Owner
from winnow.errors import GrantError, ParameterError
from winnow.foreign import shown

Words = NDArray[np.uint32]
Kind = Literal["os", "seeded"]

CHUNK = 1 << 16
"""How many words are generated at a time; any value gives the same answers."""

_MAX_ITEM = 1 << 62
_WORDS, _LOW = np.uint64(1 << 32), np.uint64((1 << 32) - 1)
_ZEROS = memoryview(bytes(4 * CHUNK + 16))


class Tape:
    """The bits of one draw. A tape serves one release and is then thrown away."""

    __slots__ = ("_claimed", "_key", "_kind", "_owner", "_written")

    def __init__(self, key: bytes, kind: Kind, written: str = "") -> None:
        if len(key) != 64:
            raise ValueError("a tape needs a key of 64 bytes")
        self._key = key
        self._kind: Kind = kind
        self._written = written
        self._claimed = False
        self._owner = Owner() if kind == "os" else None

    @property
    def kind(self) -> Kind:
        """'os', or 'seeded' for a repeatable tape."""
        return self._kind

    @property
    def written(self) -> str:
        """The mark of the written key that it comes from; empty: its bits are written nowhere."""
        return self._written

    def claim(self) -> None:
        """Use the tape up for one release; a second release from the same bits is refused."""
        if self._claimed:
            raise GrantError("this tape was used for a release before; take a fresh tape")
        self._claimed = True

    def check_owner(self) -> None:
        """Refuse a fork: equal bits in parent and fork would be one noise for two releases."""
        if self._owner is not None:
            self._owner.check("this tape", "take a fresh one here")

    @classmethod
    def fresh(cls) -> Tape:
        """A tape from the operating system's entropy."""
        return cls(os.urandom(64), "os")

    @classmethod
    def seeded(cls, seed: int) -> Tape:
        """A repeatable tape: for tests and simulations only."""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise ParameterError(
                f"seed={shown(seed)} is not an integer; give an integer, or none at all"
            )
        return cls(hashlib.blake2b(b"winnow-seed:%d" % int(seed)).digest(), "seeded")

    def child(self, label: str) -> Tape:
        """An independent tape for the part of a draw that the label names."""
        self.check_owner()
        derived = hashlib.blake2b(label.encode(), key=self._key, person=b"winnow-child").digest()
        return Tape(derived, self._kind, self._written)

    def words(self, first: int, count: int) -> Words:
        """The first 32 bits of the items first .. first + count - 1."""
        if count > CHUNK:
            return np.concatenate([*map(np.copy, self.chunks(first, count))])
        stream, skip = self._from(first, count)
        drawn = np.frombuffer(bytearray(stream.update(_ZEROS[: 4 * (skip + count)])), "<u4")
        return drawn[skip:]

    def _from(self, first: int, count: int) -> tuple[CipherContext, int]:
        """The key stream at the block of an item, and how many words of it come before."""
        self.check_owner()
        if not 0 <= first <= first + count <= _MAX_ITEM:
            raise ValueError("tape address out of range")
        block, skip = divmod(first, 4)  # a cipher block holds four words
        counter = block.to_bytes(16, "big")
        return Cipher(algorithms.AES256(self._key[:32]), modes.CTR(counter)).encryptor(), skip

    def chunks(self, first: int, count: int) -> Iterator[Words]:
        """The words, CHUNK at a time, each yielded in one reused buffer."""
        stream, skip = self._from(first, count)
        if skip:
            stream.update(_ZEROS[: 4 * skip])
        buffer = bytearray(4 * min(count, CHUNK) + 16)
        words = np.frombuffer(buffer, "<u4")
        for start in range(0, count, CHUNK):
            size = min(CHUNK, count - start)
            stream.update_into(_ZEROS[: 4 * size], buffer)
            yield words[:size]

    def extension(self, items: NDArray[np.int64], level: int) -> NDArray[np.uint64]:
        """128 further bits of every item at a level: one row of two words each."""
        self.check_owner()
        blocks = np.empty((len(items), 2), "<u8")
        blocks[:, 0] = items
        blocks[:, 1] = level
        cipher = Cipher(algorithms.AES256(self._key[32:]), modes.ECB())
        return np.frombuffer(cipher.encryptor().update(blocks.tobytes()), "<u8").reshape(-1, 2)

    def bits(self, item: int, count: int) -> int:
        """The first `count` bits of an item, as an integer (first bit highest)."""
        value, have = int(self.words(item, 1)[0]), 32
        level = 0
        while have < count:
            high, low = self.extension(np.array([item], np.int64), level)[0]
            value = (value << 128) | (int(high) << 64) | int(low)
            have += 128
            level += 1
        return value >> (have - count)

    def stream(self) -> BitStream:
        """The bits of this tape in sequence, for samplers that are not about items.

        It uses the tape up: two streams would give the same bits.
        """
        self.claim()
        return BitStream(self)

    def __repr__(self) -> str:
        return f"Tape({self.kind})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a tape holds secret keys and cannot be pickled or copied")


class BitStream:
    """Uniform integers read one after another from a tape."""

    __slots__ = ("_bits", "_have", "_source", "_tape", "kind")

    def __init__(self, tape: Tape) -> None:
        child = tape.child("stream")
        self.kind: Kind = tape.kind
        self._tape = tape
        self._source = Cipher(algorithms.AES256(child._key[:32]), modes.CTR(bytes(16))).encryptor()
        self._bits = 0
        self._have = 0

    def bits(self, count: int) -> int:
        """The next `count` bits as an integer."""
        self._tape.check_owner()
        while self._have < count:
            fresh = self._source.update(_ZEROS[:512])
            self._bits = (self._bits << 4096) | int.from_bytes(fresh, "big")
            self._have += 4096
        self._have -= count
        value = self._bits >> self._have
        self._bits &= (1 << self._have) - 1
        return value

    def below(self, bound: int) -> int:
        """A uniform integer in 0 .. bound - 1, by rejection: no modulo bias."""
        width = (bound - 1).bit_length()
        while True:
            value = self.bits(width)
            if value < bound:
                return value

    def below_each(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Independent uniform integers, each in 0 .. its bound - 1.

        Of word x bound the high half is uniform if words are drawn anew whose low half is below
        2^32 mod bound: then each value has as many words. [Lemire 2019] Bounds of more than 32
        bits are drawn one by one.
        """
        self._tape.check_owner()
        drawn = np.empty(len(bounds), np.int64)
        fits = bounds < 1 << 32
        drawn[~fits] = [self.below(bound) for bound in bounds[~fits].tolist()]
        left, wanted = np.flatnonzero(fits), bounds[fits].astype(np.uint64)
        while len(left):
            words = np.frombuffer(self._source.update(bytes(4 * len(left))), "<u4")
            product = words.astype(np.uint64) * wanted
            again = (product & _LOW) < (_WORDS - wanted) % wanted
            drawn[left] = product >> np.uint64(32)
            left, wanted = left[again], wanted[again]
        return drawn

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a bit stream holds secret keys and cannot be pickled or copied")


class WrittenKey:
    """A secret key that is written down before a charge, in the place of a seed.

    Whoever is killed between the charge and the result draws the same release again from it,
    on the same data, for the same charge. Like the noise itself it is as private as the data,
    and it serves one release: to draw two from one key would subtract their noise.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != 64:
            raise ParameterError("a written key has 64 secret bytes; take WrittenKey.fresh()")
        self._key = key

    @classmethod
    def fresh(cls) -> WrittenKey:
        """A key from the operating system's entropy."""
        return cls(os.urandom(64))

    @property
    def secret(self) -> bytes:
        """The bytes to be sealed and written down; nobody else may see them."""
        return self._key

    @property
    def mark(self) -> str:
        """What tells this key from others, for a ledger: the key is not found from it."""
        return hashlib.blake2b(self._key, digest_size=32, person=b"winnow-written").hexdigest()

    def tape(self) -> Tape:
        """The tape of the release."""
        return Tape(self._key, "os", self.mark)

    def __repr__(self) -> str:
        return "WrittenKey(...)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a written key is secret and cannot be pickled or copied")


class Randomness:
    """Where a verb gets its tapes: the operating system, a written key, or a seed for tests."""

    __slots__ = ("_calls", "_root")

    def __init__(self, seed: int | WrittenKey | None = None) -> None:
        if isinstance(seed, WrittenKey):
            self._root: Tape | None = seed.tape()
        else:
            self._root = None if seed is None else Tape.seeded(seed)
        self._calls = 0

    @property
    def kind(self) -> Kind:
        """'os', or 'seeded' for a repeatable source."""
        return "os" if self._root is None else self._root.kind

    def tape(self) -> Tape:
        """The next tape; never the same twice."""
        if self._root is None:
            return Tape.fresh()
        self._calls += 1
        return self._root.child(f"call-{self._calls}")
