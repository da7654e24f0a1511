"""What can happen to the file of a spent ledger, by accident or by a hand without the key."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from winnow.errors import WinnowError
from winnow.privacy import PureDP
from winnow.privacy.ledger import Ledger

TENTH = PureDP(0.1, "add-remove")
SMALL = PureDP(0.01, "add-remove")


def spent_ledger(folder: Path) -> Path:
    """A ledger in which 'census' and the share of ann in 'other' are spent, 'other' is not."""
    path = folder / "ledger.db"
    ledger = Ledger.open(path, create=True)
    for label in ("census", "other", "third"):
        ledger.open_dataset(label, epsilon=1.0)
    ledger.set_share("other", "ann", 0.3)
    for number in range(10):
        ledger.charge("census", TENTH, analyst=("ann", "bo")[number % 2], request=f"r{number}")
        if number < 3:
            ledger.charge("other", TENTH, analyst="ann")
    ledger.charge("third", TENTH, session="s")
    for number in range(3):
        ledger.note_session("third", "s", {"released": number}, number and 21 + number)
    return path


def flip(path: Path, draw: random.Random) -> None:
    """Some bits are the other way round."""
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 1, 2, 8))):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def zero(path: Path, draw: random.Random) -> None:
    """A run of bytes is zero, or a page."""
    content = bytearray(path.read_bytes())
    size = draw.choice((1, 16, 512, 4096, 8192))
    start = draw.randrange(0, len(content), size)
    content[start : start + size] = bytes(len(content[start : start + size]))
    path.write_bytes(content)


def cut(path: Path, draw: random.Random) -> None:
    """The end of the file is gone."""
    content = path.read_bytes()
    size = draw.randrange(len(content))
    path.write_bytes(content[: size - size % draw.choice((1, 4096))])


def _sql(path: Path, *statements: tuple[str, tuple[object, ...]]) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement, values in statements:
            connection.execute(statement, values)
    connection.close()


def _some(path: Path, draw: random.Random, number: int) -> list[int]:
    connection = sqlite3.connect(path)
    last = connection.execute("SELECT max(sequence) FROM entries").fetchone()[0]
    connection.close()
    return draw.sample(range(1, last + 1), number)


def swap(path: Path, draw: random.Random) -> None:
    """Two rows have changed places."""
    one, other = _some(path, draw, 2)
    move = "UPDATE entries SET sequence = ? WHERE sequence = ?"
    _sql(path, (move, (10**6, one)), (move, (one, other)), (move, (other, 10**6)))


def relabel(path: Path, draw: random.Random) -> None:
    """Some rows belong to another dataset."""
    rows = _some(path, draw, draw.choice((1, 2, 5)))
    label = draw.choice(("census", "other", "third", "fourth"))
    change = "UPDATE entries SET dataset = ? WHERE sequence = ?"
    _sql(path, *((change, (label, row)) for row in rows))


def remove(path: Path, draw: random.Random) -> None:
    """Some rows are gone, from the middle or from the end."""
    rows = _some(path, draw, draw.choice((1, 2, 5)))
    if draw.random() < 0.5:
        _sql(path, ("DELETE FROM entries WHERE sequence >= ?", (min(rows),)))
    else:
        _sql(path, *(("DELETE FROM entries WHERE sequence = ?", (row,)) for row in rows))


def rewrite(path: Path, draw: random.Random) -> None:
    """A number in a row, or a whole body, is another one."""
    one, other = _some(path, draw, 2)
    body = "(SELECT body FROM entries WHERE sequence = ?)"
    change = draw.choice((
        ("UPDATE entries SET body = replace(body, '1/10', '0') WHERE sequence >= ?", (one,)),
        ("UPDATE entries SET body = replace(body, '\"1\"', '\"0\"') WHERE sequence >= ?", (one,)),
        (f"UPDATE entries SET body = {body} WHERE sequence = ?", (one, other)),
        ("UPDATE entries SET body = '[' || body WHERE sequence = ?", (one,)),
        ("UPDATE entries SET tag = ? WHERE sequence = ?", ("é" * 64, one)),
        ("UPDATE ending SET sequence = ?, tag = (SELECT tag FROM entries WHERE sequence = ?)",
         (one, one)),
        ("DELETE FROM noted", ()),
        ("UPDATE noted SET sequence = sequence + ?", (one,)),
    ))  # fmt: skip
    _sql(path, change)


KINDS: tuple[Callable[[Path, random.Random], None], ...] = (
    flip, zero, cut, swap, relabel, remove, rewrite,
)  # fmt: skip


def outcomes(folder: Path, number: int, seed: int) -> Counter[tuple[str, str]]:
    """Damage a spent ledger so many times; what each attempt to charge met, by kind of damage."""
    path = spent_ledger(folder)
    whole, draw = path.read_bytes(), random.Random(seed)
    found: Counter[tuple[str, str]] = Counter()
    attempts = (("census", "ann"), ("census", ""), ("other", "ann"))
    for trial in range(number):
        kind = KINDS[trial % len(KINDS)]
        path.write_bytes(whole)
        kind(path, draw)
        label, analyst = attempts[trial // len(KINDS) % len(attempts)]
        try:
            Ledger.open(path).charge(label, SMALL, analyst=analyst)
            met = "GRANTED"
        except WinnowError as error:
            met = type(error).__name__
        except BaseException as error:
            met = f"RAW {type(error).__name__}"
        found[kind.__name__, met] += 1
        for rest in folder.glob("ledger.db-*"):
            rest.unlink()
    path.write_bytes(whole)
    return found
