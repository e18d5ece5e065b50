"""The generator against published vectors, and the draws made from it."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from palestra import InvalidOption, Rng
from palestra.kernel.rng import encrypt, threefry
from palestra.rules import randint, shuffle
from palestra_games.board.tic_tac_toe import TicTacToe

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers_of_threefry_2x32_20(
    key: tuple[int, int], counter: tuple[int, int], words: tuple[int, int]
) -> None:
    # kat_vectors of Random123 (Salmon et al., 2011)
    assert threefry(*key, *counter) == words
    assert encrypt(key[0] | key[1] << 32, *counter) == words


def test_lanes_of_one_number_are_encrypted_apart() -> None:
    lanes = 1 | 1 << 64 | 1 << 128
    counters = 5 | ONES << 64 | 77 << 128
    x, y = encrypt(2**64 - 3, counters, ONES * lanes, lanes)
    words = [(x >> shift & 2**64 - 1, y >> shift & 2**64 - 1) for shift in (0, 64, 128)]
    assert words == [threefry(ONES - 2, ONES, counter, ONES) for counter in (5, ONES, 77)]


def test_a_choice_of_one_takes_its_turn() -> None:
    rng, other = Rng(9), Rng(9)
    assert rng.below(1) == 0
    other.word()
    assert rng.word() == other.word()


@pytest.mark.parametrize("key", [0, 7, 2**63 + 5, 2**64 - 1])
@pytest.mark.parametrize("start", [0, 200, 2**32 - 100])
def test_a_stream_is_the_cipher_word_by_word(key: int, start: int) -> None:
    rng = Rng(key, start)
    counters = range(start, start + 600)
    said = [threefry(key & ONES, key >> 32, c & ONES, c >> 32)[0] for c in counters]
    assert [rng.word() for _ in counters] == said


def chi_square(counts: list[int]) -> float:
    mean = sum(counts) / len(counts)
    return sum((n - mean) ** 2 / mean for n in counts)


def test_integers_are_even() -> None:
    rng = Rng(7)
    counts = Counter(rng.below(6) for _ in range(12_000))
    assert set(counts) == set(range(6))
    assert chi_square(list(counts.values())) < 20.5  # 5 degrees of freedom, p = 0.001


def test_every_order_is_as_likely() -> None:
    rng, counts = Rng(3), Counter[tuple[int, ...]]()
    for _ in range(6_000):
        items = [0, 1, 2]
        rng.shuffle(items)
        counts[tuple(items)] += 1
    assert set(counts) == set(permutations(range(3)))
    assert chi_square(list(counts.values())) < 20.5


def test_weights_are_followed_and_zero_is_never_drawn() -> None:
    rng = Rng(5)
    counts = Counter(rng.weighted([1.0, 0.0, 3.0]) for _ in range(8_000))
    assert set(counts) == {0, 2}
    assert counts[2] / 8_000 == pytest.approx(0.75, abs=0.02)


def test_floats_lie_in_the_half_open_unit_interval() -> None:
    rng = Rng(1)
    drawn = [rng.random() for _ in range(4_000)]
    assert min(drawn) >= 0.0
    assert max(drawn) < 1.0
    assert sum(drawn) / len(drawn) == pytest.approx(0.5, abs=0.02)


def test_the_same_seed_gives_the_same_numbers_and_streams_differ() -> None:
    one, same, other = Rng.seeded(9), Rng.seeded(9), Rng.seeded(9, stream=1)
    first = [one.word() for _ in range(5)]
    assert first == [same.word() for _ in range(5)]
    assert first != [other.word() for _ in range(5)]


def test_state_and_object_draw_alike() -> None:
    state = TicTacToe().initial_state(41)
    state = state.view(np.recarray) if not hasattr(state, "rng") else state
    rng = Rng(41)
    state.rng[2] = rng.counter
    assert [randint(state, 1_000) for _ in range(20)] == [rng.below(1_000) for _ in range(20)]
    items = np.arange(9)
    shuffle(state, items)
    own = list(range(9))
    rng.shuffle(own)
    assert items.tolist() == own


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5])
def test_bad_seeds_are_refused(seed: float) -> None:
    with pytest.raises(InvalidOption, match="seed"):
        Rng.seeded(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
def test_a_draw_takes_the_small_numbers_of_an_array(kind: Any) -> None:
    first: Any = SimpleNamespace(rng=np.array([5, 7, 0], np.int64))
    second: Any = SimpleNamespace(rng=np.array([5, 7, 0], np.int64))
    assert randint(first, kind(40)) == randint(second, 40)
