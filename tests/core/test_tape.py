"""The tape: addresses, independence, secrecy."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import winnow as wn
from reference.inside import CHUNK, Randomness, Tape, WrittenKey
from winnow import InputError


@given(first=st.integers(0, 1000), count=st.integers(0, 50))
def test_words_depend_on_the_address_only(first: int, count: int) -> None:
    tape = Tape.seeded(1)
    np.testing.assert_array_equal(tape.words(first, count), tape.words(0, first + count)[first:])


def test_words_are_the_same_across_chunk_borders() -> None:
    tape = Tape.seeded(2)
    whole = tape.words(0, 2 * CHUNK + 5)
    np.testing.assert_array_equal(tape.words(CHUNK - 3, 7), whole[CHUNK - 3 : CHUNK + 4])
    np.testing.assert_array_equal(tape.words(3, CHUNK + 9), whole[3 : CHUNK + 12])


def test_bits_start_with_the_word_and_go_on_with_the_extension() -> None:
    tape = Tape.seeded(3)
    word = int(tape.words(9, 1)[0])
    high, low = (int(x) for x in tape.extension(np.array([9]), 0)[0])
    assert tape.bits(9, 160) == (word << 128) | (high << 64) | low
    assert tape.bits(9, 700) >> 540 == tape.bits(9, 160)
    assert tape.bits(9, 5) == word >> 27


def test_fresh_tapes_differ_and_seeded_tapes_repeat() -> None:
    assert Tape.fresh().bits(0, 128) != Tape.fresh().bits(0, 128)
    assert Tape.seeded(5).bits(0, 128) == Tape.seeded(5).bits(0, 128)
    assert Tape.seeded(5).bits(0, 128) != Tape.seeded(6).bits(0, 128)
    assert Tape.seeded(5).child("a").bits(0, 128) != Tape.seeded(5).child("b").bits(0, 128)
    assert Tape.seeded(5).child("a").kind == "seeded"


def test_a_source_never_gives_the_same_tape_twice() -> None:
    for source in (Randomness(), Randomness(7)):
        assert source.tape().bits(0, 128) != source.tape().bits(0, 128)
    assert Randomness().kind == "os"
    assert Randomness(7).kind == "seeded"
    assert Randomness(7).tape().bits(0, 64) == Randomness(7).tape().bits(0, 64)


def test_keys_never_show_and_tapes_are_not_copied() -> None:
    tape = Tape.seeded(1)
    assert repr(tape) == "Tape(seeded)"
    for secret in (tape, tape.stream()):
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="secret keys"):
                attempt(secret)


@pytest.mark.parametrize("seed", [1.5, "1", True, None])
def test_a_seed_that_is_no_integer_is_refused(seed: object) -> None:
    with pytest.raises(InputError, match="not an integer"):
        Tape.seeded(seed)  # type: ignore[arg-type]


def test_addresses_out_of_range_and_wrong_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="out of range"):
        Tape.seeded(1).words(-1, 2)
    with pytest.raises(ValueError, match="64 bytes"):
        Tape(b"short", "os")


def test_a_stream_reads_bits_in_sequence_without_gaps() -> None:
    one, other = Tape.seeded(4).stream(), Tape.seeded(4).stream()
    whole = one.bits(9000)
    parts = [other.bits(n) for n in (1, 32, 4063, 4904)]
    joined = 0
    for part, size in zip(parts, (1, 32, 4063, 4904), strict=True):
        joined = (joined << size) | part
    assert joined == whole


def test_a_written_key_draws_the_same_release_again_and_is_as_secret_as_noise() -> None:
    key = WrittenKey.fresh()
    table = wn.read_table(pd.DataFrame({"a": [0, 1, 2] * 200}), schema={"a": {"codes": 3}})
    first, again = (
        wn.tabulate(table, ["a"], epsilon=1.0, seed=WrittenKey(key.secret)) for _ in range(2)
    )
    assert first.to_dict() == again.to_dict() and first.receipt.randomness == "os"
    other = wn.tabulate(table, ["a"], epsilon=0.01, seed=WrittenKey.fresh())
    assert (
        other.to_dict()
        != wn.tabulate(table, ["a"], epsilon=0.01, seed=WrittenKey.fresh()).to_dict()
    )
    assert key.secret.hex() not in repr(key) and repr(key.secret) not in repr(key)
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(key)
    with pytest.raises(wn.ParameterError, match="64"):
        WrittenKey(b"short")
