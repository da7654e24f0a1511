"""Questions that are remembered in a table of fixed size."""

import random
import tracemalloc

from winnow.ask.remembered import Remembered


def test_the_table_holds_what_a_set_would_and_forgets_all_when_it_is_full() -> None:
    chance, held, model = random.Random(5), Remembered(100), set()
    keys = [chance.randbytes(20) for _ in range(150)]
    for _ in range(3000):
        key = chance.choice(keys)
        assert (key in held) is (key in model) and len(held) == len(model)
        if key not in model and len(model) == 100:
            model.clear()
        held.add(key)
        model.add(key)
        assert key in held


def test_keys_that_begin_alike_are_told_apart() -> None:
    held = Remembered(8)
    keys = [b"\xff" * 8 + bytes([number]) * 12 for number in range(8)]
    for key in keys:
        held.add(key)
    assert all(key in held for key in keys) and b"\xff" * 20 not in held


def test_memory_does_not_grow_with_what_is_remembered() -> None:
    chance, held = random.Random(5), Remembered(20_000)
    tracemalloc.start()
    try:
        for _ in range(20_000):
            held.add(chance.randbytes(20))
        assert tracemalloc.get_traced_memory()[0] < 10_000
    finally:
        tracemalloc.stop()
