"""Lanes of a batch on CPU or GPU: their memory layout, seeds, and actions from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.kernel.array_game import ArrayGame, record_dtype
from palestra.kernel.errors import InvalidAction, InvalidOption, cause
from palestra.kernel.game import Game
from palestra.kernel.rng import MASK, SEED_LIMIT, check_seed, threefry

AUTORESET = {"next_step": 0, "same_step": 1, "disabled": 2}
Array = NDArray[Any]

OUTSIDE, RANDOM, SCRIPTED = range(3)  # who plays a seat of a batch
TRAIL = 64  # steps of rivals in one call
RESEED = 0x5EED  # as in `palestra.engine.batch_driver`


def lane_dtype(game: ArrayGame) -> np.dtype[Any]:
    """One lane of a batch: a timestep, and what is kept about it from step to step.

    `seed` is the lane's, `key` that of the current episode, both as two 32-bit words; `finished`
    says that an episode ended in the last step, `final_…` how; `early_reward` is what was paid
    before the first turn from outside, and is reported with that turn; `left` says which seats left
    an episode that others went on with.
    """
    seats = game.num_players
    return record_dtype(
        [
            ("timestep", game.timestep_dtype),
            ("seed", np.int64, 2),
            ("key", np.int64, 2),
            ("episodes", np.int64),
            ("random_bits", np.int64),
            ("length", np.int64),
            ("final_length", np.int64),
            ("reward", np.float64, seats),
            ("last_reward", np.float64, seats),
            ("early_reward", np.float64, seats),
            ("final_returns", np.float64, seats),
            ("mistakes", np.int64, seats),
            ("final_results", np.uint8, seats),
            ("acting", np.uint8, seats),
            ("left", np.uint8, seats),
            ("terminated", np.uint8, seats),
            ("truncated", np.uint8, seats),
            ("over", np.uint8),
            ("finished", np.uint8),
            ("active", np.uint8),
        ]
    )


def shared_dtype(game: ArrayGame) -> np.dtype[Any]:
    """What all lanes share: an empty timestep; who plays each seat, and whether all are played from
    outside; the most steps of an episode (0: no limit); `forfeits[i, j]`, what seat j is paid when
    seat i forfeits.
    """
    seats = game.num_players
    return record_dtype(
        [
            ("blank", game.timestep_dtype),
            ("auto", np.uint8, seats),
            ("alone", np.uint8),
            ("limit", np.int64),
            ("forfeits", np.float64, (seats, seats)),
        ]
    )


def rivals_dtype(game: ArrayGame) -> np.dtype[Any]:
    """The opponents of one seat of an episode, and what they played in the last call.

    `auto` says who plays each seat, `actions[step]` what each seat played, -1 where it did not act;
    `paid` is what the steps paid the seat by term.
    """
    seats = game.num_players
    return record_dtype(
        [
            ("seat", np.int64),
            ("random_bits", np.int64),
            ("steps", np.int64),
            ("auto", np.uint8, seats),
            ("paid", np.float64, len(game.reward_terms)),
            ("actions", np.int32, (TRAIL, seats)),
        ]
    )


def check_seats(
    game: Game[Any, Any], random_seats: Sequence[int], scripted_seats: Sequence[int]
) -> None:
    """Raise `InvalidOption` for seats that cannot be played inside the loop."""
    strange = [s for s in (*random_seats, *scripted_seats) if s not in range(game.num_players)]
    if strange:
        raise InvalidOption(f"seat {strange[0]} is not one of 0 to {game.num_players - 1}")
    if scripted_seats and not _has_script(game):
        raise InvalidOption(
            f"{type(game).__name__} has no script for opponents; use random_seats, or play them "
            "from outside"
        )


def _has_script(game: Game[Any, Any]) -> bool:
    if isinstance(game, ArrayGame):
        return game.has_script
    return type(game).scripted is not Game.scripted


def make_shared(
    game: ArrayGame,
    random_seats: Sequence[int],
    scripted_seats: Sequence[int] = (),
    max_steps: int | None = None,
) -> Array:
    """The shared data of a game's lanes, as an array of one record."""
    check_seats(game, random_seats, scripted_seats)
    seats = range(game.num_players)
    shared = np.zeros(1, shared_dtype(game))
    for how, chosen in ((RANDOM, random_seats), (SCRIPTED, scripted_seats)):
        shared["auto"][0, list(chosen)] = how
    shared["alone"] = not shared["auto"].any()
    shared["limit"] = max_steps or 0
    shared["forfeits"] = [[game.forfeit(lost)[s] for s in seats] for lost in seats]
    return shared


def lane_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int]:
    """A seed for every lane: consecutive from a single seed, or as given (None: a fresh one).

    Raises `InvalidOption` for anything else, and for another number of seeds.
    """
    given: Any = seed.tolist() if isinstance(seed, np.ndarray) else seed
    listed = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    if not listed:
        first = check_seed(given)
        return [(first + i) % SEED_LIMIT for i in range(num_envs)]
    seeds = [check_seed(one) for one in given]
    if len(seeds) != num_envs:
        raise InvalidOption(f"{num_envs} seeds are needed, got {len(seeds)}")
    return seeds


def write_seeds(
    lanes: Array,
    seed: int | Sequence[int | None] | None,
    chosen: Array | Sequence[int] | None = None,
) -> None:
    """Give lanes (all, or those chosen) their seeds, as `lane_seeds` reads them."""
    index: Any = slice(None) if chosen is None else np.asarray(chosen)
    seeds = np.array(lane_seeds(seed, len(lanes)), np.uint64)[index]
    lanes["seed"][index, 0] = seeds & np.uint64(MASK)
    lanes["seed"][index, 1] = seeds >> np.uint64(32)
    lanes["random_bits"][index] = [random_bits(int(s)) for s in seeds]
    lanes["episodes"][index] = 0


def random_bits(seed: int) -> int:
    """The initial state of a stream of random moves."""
    return (seed * 2654435761 + 97) & 0x7FFFFFFF


def episode_seed(seed: int, number: int) -> int:
    """The seed of a lane's n-th episode: the first has the lane's, others derive from it."""
    if number == 0:
        return seed
    low, high = threefry(seed & MASK, seed >> 32, number, RESEED)
    return low | (high << 32)


def check_actions(actions: Any, shape: tuple[int, ...], choices: int, acting: Array) -> Array:
    """Actions as an array of the right shape, type and range; raises before the state changes."""
    try:
        array = np.asarray(actions)
    except Exception as error:  # rows of unequal length, objects that numpy cannot convert
        legal = f"integers of shape {shape}"
        raise InvalidAction(actions, legal, why=f"it is no array ({cause(error)})") from error
    if array.shape != shape or array.dtype.kind not in "iu":
        raise InvalidAction(
            f"array of shape {array.shape} and type {array.dtype}",
            f"integers of shape {shape}: one action number for every environment and seat",
        )
    numbers = array.view(f"u{array.itemsize}")  # what is below 0 is larger than any number
    wrong = (numbers >= choices) & acting
    if np.count_nonzero(wrong):  # a tenth of the time that `any` takes
        first = tuple(np.argwhere(wrong)[0].tolist())
        names = zip(("environment", "seat"), first, strict=False)  # one seat's have no second side
        where = ", ".join(f"{name} {number}" for name, number in names)
        raise InvalidAction(
            int(array[first]), f"0 to {choices - 1}", why=f"{where} is out of range"
        )
    return array
