"""State keys: equal states have equal keys, in whatever order and process they were made."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import palestra
import pytest
from palestra import Episode, Rng
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.text_game import written_state

IDS = tuple(spec.id for spec in palestra.specs())
WITH_SETS = (
    "games/SplitFacts-v0",
    "games/PlanPath-v0",
    "games/AgentsNet-v0",
    "markets/Magentic-v0",
    "web/ToolWorld-v0",
)
SCRIPT = """
import sys
from test_state_keys import keys
for name in sys.argv[2:]:
    for seed in range(int(sys.argv[1])):
        print(name, seed, *keys(name, seed))
"""


def played(name: str, seed: int, steps: int = 4) -> Episode:
    game = palestra.game(name)
    compiled = False if isinstance(game, ArrayGame) else None
    episode, rng = Episode(game, seed, compiled=compiled), Rng(seed)
    for _ in range(steps):
        if not episode.over:
            episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    return episode


def keys_of(game: Any, state: Any) -> list[str]:
    seats = (None, 0, game.num_players - 1)
    return [game.state_key(state, seat).hex() for seat in seats]


def keys(name: str, seed: int) -> list[str]:
    episode = played(name, seed)
    return keys_of(episode.game, episode.state)


@pytest.mark.parametrize("name", IDS)
def test_a_state_out_of_a_pickle_has_the_same_keys(name: str) -> None:
    for seed in range(3):
        episode = played(name, seed)
        game, state = episode.game, episode.state
        again = pickle.loads(pickle.dumps(state))
        assert keys_of(game, again) == keys_of(game, state), f"seed {seed}"
        assert keys_of(pickle.loads(pickle.dumps(game)), again) == keys_of(game, state)


def in_a_process(hash_seed: int, seeds: int, names: Sequence[str]) -> str:
    here = os.path.dirname(__file__)
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": here}
    command = [sys.executable, "-c", SCRIPT, str(seeds), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_keys_are_the_same_under_every_hash_seed() -> None:
    one, other = (in_a_process(seed, 4, WITH_SETS) for seed in (1, 2))
    assert one.count("\n") == 4 * len(WITH_SETS)
    assert one == other


@pytest.mark.exhaustive
@pytest.mark.slow
def test_keys_of_every_environment_are_the_same_under_every_hash_seed() -> None:
    one, other = (in_a_process(seed, 3, IDS) for seed in (3, 4))
    assert one == other


class Note(msgspec.Struct):
    words: Any


@dataclass
class Kept:
    rng: Any
    things: Any
    hidden: Any = field(default=None, repr=False)


WORDS = [f"word {number}" for number in range(40)]


@pytest.mark.parametrize(
    "made",
    [
        frozenset,
        set,
        dict.fromkeys,
        Counter,
        lambda words: [(frozenset(words),)],
        lambda words: {"a": {1: set(words)}},
        lambda words: Note(frozenset(words)),
        lambda words: Kept(0, set(words)),
        lambda words: {frozenset([word]): set(words) for word in words},
    ],
)
def test_the_order_in_which_a_set_or_dict_was_filled_is_not_written(made: Any) -> None:
    one, other = Kept(1, made(WORDS)), Kept(2, made(WORDS[::-1]))
    assert one.things == other.things
    assert written_state(one) == written_state(other)
    assert written_state(one) != written_state(Kept(1, made(WORDS[1:])))


def test_large_arrays_are_told_apart() -> None:
    one, other = np.zeros(5_000, np.int8), np.zeros(5_000, np.int8)
    other[2_500] = 1  # which numpy's repr leaves out
    assert written_state(Kept(1, [one])) != written_state(Kept(1, [other]))
    assert written_state(Kept(1, [one])) == written_state(Kept(1, [one.copy()]))
    assert written_state(Kept(1, [one])) != written_state(Kept(1, [one.astype(np.int16)]))


def test_lists_keep_their_order_and_the_generator_does_not_count() -> None:
    assert written_state(Kept(1, [1, {2}])) != written_state(Kept(1, [{2}, 1]))
    assert written_state(Kept(1, {"a": 1})) == written_state(Kept(9, {"a": 1}))


@pytest.mark.parametrize("name", IDS)
def test_pythons_own_copies_have_equal_keys(name: str) -> None:
    episode = played(name, 1)
    game, state = episode.game, episode.state
    for made in (copy.copy(state), copy.deepcopy(state), copy.deepcopy(copy.deepcopy(state))):
        assert game.state_key(made) == game.state_key(state)
