"""The batch of a game whose state is no record: lanes, seeds, and states as values."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import palestra
import pytest
from palestra.engine.batch import Batch
from palestra.engine.shaped_batch import open_batch
from palestra.engine.text_batch import TextBatch
from palestra.kernel.errors import InvalidAction, InvalidOption

COMMONS = "text/Commons-v0"
ARRAYS = ("observations", "masks", "acting", "rewards", "terminations", "truncations", "finished")


def batch(num_envs: int = 3, name: str = COMMONS, **options: Any) -> Any:
    return palestra.make(name, view="batch", num_envs=num_envs, **options)


def played(lanes: Any, steps: int) -> list[list[Any]]:
    """What a batch showed while it played at random."""
    seen = []
    for _ in range(steps):
        lanes.step(lanes.random_actions())
        seen.append([np.array(getattr(lanes, name)) for name in ARRAYS])
    return seen


def same(one: list[list[Any]], two: list[list[Any]]) -> bool:
    pairs = zip(one, two, strict=True)
    return all(np.array_equal(a, b) for x, y in pairs for a, b in zip(x, y, strict=True))


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_saved_lanes_go_on_as_they_would_have(autoreset: str) -> None:
    lanes = batch(autoreset=autoreset, max_episode_steps=14)
    lanes.reset(seed=4)
    played(lanes, 9)
    saved = pickle.loads(pickle.dumps(lanes.save()))
    future = played(lanes, 12)
    lanes.load(saved)
    assert same(played(lanes, 12), future)
    other = batch(autoreset=autoreset, max_episode_steps=14)
    other.load(saved)
    assert same(played(other, 12), future)


def test_one_saved_lane_goes_into_all() -> None:
    lanes = batch(4)
    lanes.reset(seed=4)
    played(lanes, 5)
    lanes.load(lanes.save([2]))
    assert (lanes.observations == lanes.observations[2]).all()
    with pytest.raises(InvalidOption, match="2 lanes were saved; they do not fit 4"):
        lanes.load(lanes.save([0, 1]))


def test_a_reset_of_some_lanes_leaves_the_others_alone() -> None:
    lanes = batch()
    lanes.reset(seed=[7, 8, 9])
    dealt = lanes.observations.copy()
    played(lanes, 1)
    before = lanes.observations.copy()
    assert not np.array_equal(before[1], dealt[1])
    lanes.reset(seed=[7, 8, 9], lanes=[1])
    assert np.array_equal(lanes.observations[1], dealt[1])
    assert np.array_equal(lanes.observations[[0, 2]], before[[0, 2]])


def test_what_happens_in_a_lane_follows_from_its_seed_alone() -> None:
    few, many = batch(1, max_episode_steps=5), batch(3, max_episode_steps=5)
    few.reset(seed=[21])
    many.reset(seed=[20, 21, 22])
    for one, all_of_them in zip(played(few, 20), played(many, 20), strict=True):
        assert all(np.array_equal(a[0], b[1]) for a, b in zip(one, all_of_them, strict=True))


def test_lanes_are_seeded_as_those_of_an_array_game() -> None:
    words = batch(max_episode_steps=1)
    arrays = Batch(palestra.game("games/TicTacToe-v0"), 3, compiled=False, max_steps=1)
    for lanes in (words, arrays):
        lanes.reset(seed=5)
        played(lanes, 6)  # one step an episode, one to deal the next
    assert isinstance(words, TextBatch)
    assert words.episode_seeds == arrays.episode_seeds
    assert words.seeds == arrays.seeds == [5, 6, 7]


def test_statistics_are_those_of_the_episode_that_ended() -> None:
    lanes = batch(2, autoreset="same_step")
    lanes.reset(seed=3)
    total, steps, ended = np.zeros_like(lanes.rewards), np.zeros(2, int), 0
    for _ in range(80):
        lanes.step(lanes.random_actions())
        total += lanes.rewards
        steps += 1
        told = lanes.statistics()
        for lane in told["_finished"].nonzero()[0]:
            assert told["returns"][lane] == pytest.approx(total[lane])
            assert told["length"][lane] == steps[lane]
            total[lane], steps[lane] = 0.0, 0
            ended += 1
    assert ended >= 4


def test_tensors_share_the_memory_of_the_arrays() -> None:
    torch = pytest.importorskip("torch")
    lanes = batch()
    lanes.reset(seed=1)
    tensors = lanes.torch()
    assert set(tensors) == set(Batch(palestra.game("games/TicTacToe-v0"), 1).torch())
    played(lanes, 3)
    assert torch.equal(tensors["observations"], torch.from_numpy(lanes.observations))


def test_what_is_no_action_is_refused_before_anything_moves() -> None:
    lanes = batch()
    lanes.reset(seed=1)
    before = lanes.observations.copy()
    most = lanes.masks.shape[2]
    for wrong in (np.full(lanes.acting.shape, most), np.full(lanes.acting.shape, 0.5)):
        with pytest.raises(InvalidAction):
            lanes.step(wrong)
    assert np.array_equal(lanes.observations, before)


def first_legal(lanes: Any) -> np.ndarray:
    return np.asarray(lanes.masks.argmax(axis=2))


@pytest.mark.parametrize("rewards", [None, ["env"]])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_scripted_seats_play_as_in_a_batch_of_the_same_rules(
    autoreset: str, seat: int, rewards: list[str] | None
) -> None:
    """The plain loop over an array game's rules is the array game's own batch."""
    rules = palestra.game("games/ConnectFour-v0")
    settings: dict[str, Any] = {"autoreset": autoreset, "max_steps": 11, "scripted_seats": [seat]}
    plain = TextBatch(rules, 3, rewards=rewards, **settings)
    arrays = open_batch(rules, 3, rewards=rewards, compiled=False, **settings)
    for lanes in (plain, arrays):
        lanes.reset(seed=[3, 4, 5])
    ended = 0
    for _ in range(24):
        told = [lanes.step(first_legal(lanes)) for lanes in (plain, arrays)]
        for name in ("observations", "masks", "acting", "rewards", "returns", "finished"):
            assert np.array_equal(getattr(plain, name), getattr(arrays, name)), name
        assert plain.episode_seeds == arrays.episode_seeds
        assert all(np.array_equal(a, b) for a, b in zip(told[0][1:4], told[1][1:4], strict=True))
        if rewards:
            terms = [infos["reward_terms"] for *_, infos in told]
            assert all(np.array_equal(terms[0][k], terms[1].get(k, 0.0)) for k in terms[0])
        ended += int(plain.finished.sum())
    assert ended >= (3 if autoreset == "disabled" else 6)


TURNS = "games/MiniHanabi-v0"  # a team is paid for what the first player does before the second


def test_random_seats_play_on_to_the_next_turn_of_somebody_else() -> None:
    lanes = TextBatch(palestra.game(TURNS), 5, autoreset="same_step", random_seats=[0])
    lanes.reset(seed=1)
    total, ended, moves = np.zeros((5, 2)), 0, set()
    for _ in range(40):
        assert (lanes.acting == [False, True]).all()
        before = [len(list(episode.history())) for episode in lanes.episodes]
        lanes.step(first_legal(lanes))
        total += lanes.rewards
        told = lanes.statistics()
        for lane, episode in enumerate(lanes.episodes):
            if told["_finished"][lane]:
                assert total[lane].tolist() == told["returns"][lane].tolist()
                total[lane], ended = 0.0, ended + 1
            else:
                new = list(episode.history())[before[lane] :]
                assert [set(played.actions) for played in new] == [{1}, {0}]
                moves.add(new[1].actions[0])
    assert ended > 20
    assert len(moves) > 2, "not always the same"


def test_random_seats_follow_from_the_seed_of_their_lane() -> None:
    rules = palestra.game(TURNS)
    few, many = (TextBatch(rules, n, random_seats=[1], max_steps=9) for n in (1, 3))
    few.reset(seed=[21])
    many.reset(seed=[20, 21, 22])
    for _ in range(20):
        for lanes in (few, many):
            lanes.step(first_legal(lanes))
        assert np.array_equal(few.observations[0], many.observations[1])
        assert np.array_equal(few.rewards[0], many.rewards[1])
    saved = pickle.loads(pickle.dumps(many.save()))
    future = played(many, 10)
    many.load(saved)
    assert same(played(many, 10), future)


def test_seats_that_cannot_play_by_themselves_are_refused_as_in_an_array_batch() -> None:
    with pytest.raises(InvalidOption, match="Commons has no script for opponents"):
        batch(scripted_seats=[0])
    with pytest.raises(InvalidOption, match="seat 9 is not one of 0 to"):
        batch(random_seats=[9])
    commons = type(palestra.game(COMMONS))
    kind = type("Frugal", (commons,), {"scripted": lambda self, state, seat: 1})
    lanes = palestra.make(kind(), view="batch", num_envs=2, scripted_seats=[0], random_seats=[1])
    lanes.reset(seed=1)
    lanes.step(first_legal(lanes))
    frugal = commons().action_of(1)
    assert all(next(episode.history()).actions[0] == frugal for episode in lanes.episodes)
