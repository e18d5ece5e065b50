"""A batch plays what single episodes play, row by row."""

from __future__ import annotations

import copy
import pickle
import random
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import ArrayGame, Episode, InvalidAction, InvalidOption, OutOfTurn, UnknownName
from palestra.engine.batch import Batch
from palestra.engine.driver import pick

GAMES = {type(palestra.game(spec.id)): spec.id for spec in palestra.specs()}
IDS = sorted(env for kind, env in GAMES.items() if issubclass(kind, ArrayGame))  # one a class
VARIANTS: list[tuple[str, dict[str, Any]]] = [  # whose setup takes another path
    ("grid/Pursuit-v0", {"map": "random"}),
    ("grid/Harvest-v0", {"map": "random"}),
    ("grid/CleanUp-v0", {"map": "random"}),
]


def follow(batch: Batch, steps: int, seed: int) -> None:
    """Play random moves, and the same in one interpreted episode a row; everything must agree."""
    rng = np.random.default_rng(seed)
    batch.reset(seed)
    episodes = [Episode(batch.game, s, compiled=False) for s in batch.episode_seeds]
    for _ in range(steps):
        actions = (rng.random(batch.masks.shape) * batch.masks).argmax(2)
        dealt = batch.lanes["over"].copy()
        batch.step(actions)
        for row, episode in enumerate(episodes):
            if dealt[row]:
                episode.reset(batch.episode_seeds[row])
            else:
                episode.act({p: int(actions[row, p]) for p in episode.to_act})
                assert batch.rewards[row].tolist() == list(episode.rewards)
            agree(batch, row, episode)


def agree(batch: Batch, row: int, episode: Episode) -> None:
    assert batch.acting[row].nonzero()[0].tolist() == list(episode.to_act)
    assert bool(batch.lanes["over"][row]) == episode.over
    assert batch.returns[row].tolist() == list(episode.returns)
    for seat in range(batch.game.num_players):
        assert np.array_equal(batch.observations[row, seat], episode.observation(seat))
        assert np.array_equal(batch.masks[row, seat], episode.action_mask(seat))


@pytest.mark.exhaustive(sample=12)
@pytest.mark.parametrize("env", IDS)
@pytest.mark.essential
def test_compiled_lanes_equal_interpreted_episodes(env: str) -> None:
    follow(Batch(palestra.game(env), 3), 40, seed=5)


@pytest.mark.parametrize("env", IDS)
def test_interpreted_lanes_equal_episodes(env: str) -> None:
    follow(Batch(palestra.game(env), 3, compiled=False), 12, seed=5)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(("env", "options"), VARIANTS)
def test_lanes_of_drawn_maps_equal_interpreted_episodes(env: str, options: dict[str, Any]) -> None:
    game = palestra.game(env, **options)
    follow(Batch(game, 5), 20, seed=6)
    batch = Batch(game, 20, threads=3)
    batch.reset(7)
    states = batch.lanes["timestep"]["state"]
    for row, seed in enumerate(batch.episode_seeds):
        dealt = Episode(game, seed, compiled=False).state
        assert [states[row][name].tolist() for name in states.dtype.names] == [
            dealt[name].tolist() for name in states.dtype.names
        ]
    batch.close()


@settings(max_examples=10)
@given(seed=st.integers(0, 2**63), num_envs=st.integers(1, 5))
def test_any_seed_and_size_equals_episodes(seed: int, num_envs: int) -> None:
    batch = Batch(palestra.game("games/KuhnPoker-v0"), num_envs)
    rng = np.random.default_rng(seed % 2**32)
    batch.reset(seed)
    episodes = [Episode(batch.game, s, compiled=False) for s in batch.episode_seeds]
    for _ in range(3):
        actions = rng.integers(0, 2, batch.actions.shape)
        batch.step(actions)
        for row, episode in enumerate(episodes):
            if not episode.over:
                episode.act({p: int(actions[row, p]) for p in episode.to_act})
                agree(batch, row, episode)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 256, 300, 729, 4672])
def test_a_draw_from_a_mask_is_its_nth_legal_action(size: int) -> None:
    rng = np.random.default_rng(size)
    for share in (0.02, 0.5, 1.0):
        mask = (rng.random(size) < share).astype(np.uint8)
        mask[rng.integers(size)] = 1
        legal = mask.nonzero()[0].tolist()
        timestep = SimpleNamespace(mask=[np.zeros(size, np.uint8), mask])
        holder, found = SimpleNamespace(random_bits=int(rng.integers(2**31))), set()
        for _ in range(40):
            chosen = pick(holder, timestep, 1)
            assert chosen == legal[((holder.random_bits >> 8) * len(legal)) >> 23]
            found.add(chosen)
        assert len(found) > min(len(legal), 12) / 2


@pytest.mark.exhaustive(sample=12)
@pytest.mark.parametrize("env", IDS)
def test_neither_size_nor_threads_change_a_row(env: str) -> None:
    game = palestra.game(env)
    batches = [Batch(game, 3), Batch(game, 17), Batch(game, 17, threads=3)]
    for batch in batches:
        batch.reset(7)
    for _ in range(60):
        for batch in batches:
            batch.random_actions()
            batch.step()
        first, *others = batches
        for other in others:
            assert np.array_equal(first.lanes, other.lanes[:3])
    batches[2].close()


def test_next_step_mode_deals_a_finished_row_in_the_step_after() -> None:
    batch = Batch(palestra.game("games/TicTacToe-v0"), 1)
    batch.reset(0)
    for cell in (0, 3, 1, 4, 2):
        batch.step(np.full((1, 2), cell))
    assert batch.terminations.all()
    assert batch.finished.all()
    assert batch.rewards.tolist() == [[1.0, -1.0]]
    assert batch.statistics()["length"].tolist() == [5]
    batch.step(np.full((1, 2), 8))
    assert not batch.terminations.any()
    assert not batch.observations.any()
    assert batch.rewards.tolist() == [[0.0, 0.0]]


def test_same_step_mode_deals_at_once_and_keeps_the_last_sight() -> None:
    batch = Batch(palestra.game("games/TicTacToe-v0"), 1, autoreset="same_step")
    batch.reset(0)
    for cell in (0, 3, 1, 4, 2):
        batch.step(np.full((1, 2), cell))
    assert batch.terminations.all()
    assert batch.rewards.tolist() == [[1.0, -1.0]]
    assert not batch.observations.any()
    assert batch.final_observations[0, 0, 0].ravel().tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_disabled_mode_waits_for_reset_of_some_rows() -> None:
    batch = Batch(palestra.game("games/TicTacToe-v0"), 2, autoreset="disabled")
    batch.reset(0)
    for cell in (0, 3, 1, 4, 2, 5):
        batch.step(np.full((2, 2), cell))
    assert batch.terminations.all()
    batch.reset(lanes=[1])
    assert batch.terminations.tolist() == [[True, True], [False, False]]


def test_an_illegal_action_forfeits_and_is_counted() -> None:
    batch = Batch(palestra.game("games/TicTacToe-v0"), 2)
    batch.reset(0)
    batch.step(np.array([[4, 0], [4, 0]]))
    batch.step(np.array([[0, 4], [0, 3]]))
    assert batch.rewards.tolist() == [[1.0, -1.0], [0.0, 0.0]]
    assert batch.mistakes.tolist() == [[0, 1], [0, 0]]
    assert batch.terminations.tolist() == [[True, True], [False, False]]


@pytest.mark.slow  # compiles the rules of 19 games
def test_all_seats_that_play_illegally_in_one_step_forfeit_as_in_an_episode() -> None:
    """In every game of simultaneous moves that has illegal ones, with drawn seats in the wrong."""
    rng, tried = random.Random(3), 0
    for spec in palestra.specs():
        if not spec.array_game or spec.moves == "sequential" or spec.players[1] < 2:
            continue
        game = palestra.game(spec.id)
        batch, episode = Batch(game, 1), Episode(game, 5, invalid="forfeit")
        batch.reset(5)
        wrong: list[int] = []
        while len(wrong) < 2 and not episode.over and episode.steps_played < 6:
            batch.random_actions()
            episode.act({seat: int(batch.actions[0, seat]) for seat in episode.to_act})
            batch.step()
            wrong = [seat for seat in episode.to_act if not batch.masks[0, seat].all()]
        if len(wrong) < 2:
            continue
        lost = rng.sample(wrong, rng.randint(2, len(wrong)))
        batch.random_actions()
        for seat in lost:
            batch.actions[0, seat] = int(np.argmin(batch.masks[0, seat]))
        episode.act({seat: int(batch.actions[0, seat]) for seat in episode.to_act})
        batch.step()
        assert episode.outcome is not None
        assert [p for p, r in enumerate(episode.outcome.results) if r == "forfeit"] == sorted(lost)
        assert batch.mistakes[0].tolist() == list(episode.mistakes), spec.id
        assert batch.rewards[0].tolist() == list(episode.rewards), spec.id
        assert batch.terminations.all(), spec.id
        tried += 1
    assert tried >= 4


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        (np.zeros((2, 3), np.int64), "shape (2, 2)"),
        (np.zeros((2, 2)), "float64"),
        (np.array([[9, 0], [0, 0]]), "environment 0, seat 0"),
        (np.array([[0, 0], [-1, 0]]), "environment 1, seat 0"),
    ],
)
def test_bad_action_arrays_are_refused_before_anything_moves(actions: Any, says: str) -> None:
    batch = Batch(palestra.game("games/TicTacToe-v0"), 2)
    batch.reset(0)
    before = batch.save()
    with pytest.raises(InvalidAction, match=says.replace("(", r"\(").replace(")", r"\)")):
        batch.step(actions)
    assert np.array_equal(batch.lanes, before)


def test_saved_lanes_have_the_same_future_anywhere() -> None:
    game = palestra.game("games/ConnectFour-v0")
    batch = Batch(game, 4)
    batch.reset(3)
    for _ in range(5):
        batch.random_actions()
        batch.step()
    other = Batch(game, 2)
    other.reset(99)
    other.load(batch.save([2, 0]))
    for _ in range(30):
        for each in (batch, other):
            each.random_actions()
            each.step()
    assert np.array_equal(batch.lanes[[2, 0]], other.lanes)


def test_wrong_set_up_is_named() -> None:
    game = palestra.game("games/TicTacToe-v0")
    with pytest.raises(UnknownName, match="did you mean 'same_step'"):
        Batch(game, 2, autoreset="samestep")
    with pytest.raises(InvalidOption, match="num_envs"):
        Batch(game, 0)
    with pytest.raises(OutOfTurn, match="reset"):
        Batch(game, 1).step(np.zeros((1, 2), np.int64))
    with pytest.raises(UnknownName, match="device"):
        palestra.make("games/TicTacToe-v0", view="batch", num_envs=1, device="tpu")


def test_torch_tensors_share_memory() -> None:
    torch = pytest.importorskip("torch")
    batch = palestra.make("games/ConnectFour-v0", view="batch", num_envs=8)
    batch.reset(0)
    tensors = batch.torch()
    batch.step(np.zeros((8, 2), np.int64))
    assert torch.equal(tensors["observations"], torch.from_numpy(batch.observations.copy()))
    assert int(tensors["observations"].sum()) == 16


def test_gymnasium_makes_a_vector_of_one_seat() -> None:
    env = gymnasium.make_vec(
        "palestra:games/ConnectFour-v0", num_envs=16, vectorization_mode="vector_entry_point"
    )
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    finished = 0
    for _ in range(60):
        actions = info["action_mask"].argmax(1)
        observation, rewards, terminated, truncated, info = env.step(actions)
        assert observation in env.observation_space
        if "_final_return" in info:
            finished += int(info["_final_return"].sum())
            assert set(info["final_return"][info["_final_return"]]) <= {-1.0, 0.0, 1.0}
    assert finished > 16
    assert not env.unwrapped.batch.mistakes.any()
    env.close()


def test_a_batched_policy_plays_the_other_seat() -> None:
    """The opponent opens and fills the last column; it has four there on its fourth move."""
    asked = []

    def highest(seen: Any, masks: Any) -> Any:
        asked.append(len(masks))
        return 6 - masks[:, ::-1].argmax(1)

    env = gymnasium.make_vec(
        "palestra:games/ConnectFour-v0",
        num_envs=3,
        vectorization_mode="vector_entry_point",
        seat=1,
        opponents=highest,
    )
    _, info = env.reset(seed=0)
    rewards = []
    for _ in range(4):
        _, reward, terminated, _, info = env.step(info["action_mask"].argmax(1))
        rewards.append(reward.tolist())
    assert rewards == [[0.0] * 3, [0.0] * 3, [-1.0] * 3, [0.0] * 3]
    assert set(asked) == {3}


def test_episodes_of_a_row_replay_by_their_seeds() -> None:
    batch = Batch(palestra.game("games/KuhnPoker-v0"), 2)
    batch.reset(11)
    decks = []
    for _ in range(12):
        decks.append((batch.episode_seeds[0], batch.lanes["timestep"]["state"]["deck"][0].tolist()))
        batch.random_actions()
        batch.step()
    assert len({seed for seed, _ in decks}) > 2
    for seed, deck in decks:
        assert Episode(batch.game, seed).state.deck.tolist() == deck


def test_noise_of_random_seats_is_spread_over_all_moves() -> None:
    batch = Batch(palestra.game("games/TicTacToe-v0"), 2_000)
    batch.reset(0)
    counts = np.bincount(batch.random_actions()[:, 0], minlength=9)
    assert counts.min() > 2_000 / 9 * 0.7
    assert counts.max() < 2_000 / 9 * 1.3


SCRIPTED = [env for env in IDS if palestra.game(env).has_script]


@pytest.mark.parametrize("env", SCRIPTED)
@pytest.mark.parametrize("compiled", [True, False])
def test_scripted_seats_play_the_game_s_own_script(env: str, compiled: bool) -> None:
    game = palestra.game(env)
    others = list(range(1, game.num_players))
    batch = Batch(game, 4, scripted_seats=others, autoreset="disabled", compiled=compiled)
    batch.reset(3)
    episodes = [Episode(game, seed, compiled=False) for seed in batch.episode_seeds]
    rng = np.random.default_rng(0)
    for _ in range(12):
        actions = (rng.random(batch.masks.shape) * batch.masks).argmax(2)
        acting = batch.acting.copy()
        batch.step(actions)
        for row, episode in enumerate(episodes):
            if acting[row, 0]:
                play_scripted(batch, row, episode, int(actions[row, 0]))
                agree(batch, row, episode)


def play_scripted(batch: Batch, row: int, episode: Episode, action: int) -> None:
    """Play a learner's action, and what the others are seen to have answered."""
    while True:
        played = {p: int(batch.actions[row, p]) for p in episode.to_act if p > 0}
        for seat, answer in played.items():
            wanted = batch.game.scripted_action(batch.game.config, episode.state, seat)
            if wanted >= 0 and episode.action_mask(seat)[wanted]:
                assert answer == wanted
        episode.act(played | ({0: action} if 0 in episode.to_act else {}))
        if episode.over or 0 in episode.to_act:
            return


def test_the_script_is_an_agent_and_an_opponent() -> None:
    records = palestra.play("games/ConnectFour-v0", agents=["scripted", "random"], episodes=100)
    assert sum(record.returns[0] for record in records) > 90
    env: Any = gymnasium.make_vec(
        "palestra:games/TicTacToe-v0",
        num_envs=64,
        vectorization_mode="vector_entry_point",
        opponents="scripted",
    )
    _, info = env.reset(seed=0)
    rng, paid = np.random.default_rng(0), []
    for _ in range(60):
        choices = (rng.random(info["action_mask"].shape) * info["action_mask"]).argmax(1)
        _, rewards, *_, info = env.step(choices)
        paid += [reward for reward in rewards.tolist() if reward]
    assert np.mean(paid) < -0.8
    env.close()


def test_a_game_without_a_script_says_so() -> None:
    with pytest.raises(InvalidOption, match="KuhnPoker has no script for opponents"):
        Batch(palestra.game("games/KuhnPoker-v0"), 2, scripted_seats=[1])
    with pytest.raises(InvalidOption, match="it needs script"):
        palestra.play("games/KuhnPoker-v0", agents=["scripted", "random"])
    named = palestra.make(
        "games/ConnectFour-v0", view="batch", num_envs=2, random_seats=[0], scripted_seats=[1]
    )
    named.reset(seed=0)
    named.step()
    assert named.lanes["over"].all(), "nobody outside is to act, so its first step tells the end"
    with pytest.raises(InvalidOption, match="seat 7 is not one of 0 to 1"):
        Batch(palestra.game("games/ConnectFour-v0"), 2, random_seats=[7])


def deep(batch: Any) -> Any:
    return copy.deepcopy(batch)


def pickled(batch: Any) -> Any:
    return pickle.loads(pickle.dumps(batch))


def play_on(batch: Any, steps: int, seed: int) -> list[Any]:
    """Play legal moves drawn from a seed; everything that the batch reports."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        batch.step((rng.random(batch.masks.shape) * batch.masks).argmax(2))
        arrays = (batch.observations, batch.masks, batch.acting, batch.rewards, batch.returns)
        flags = (batch.terminations, batch.truncations, batch.finished, batch.final_observations)
        seen.append([array.tolist() for array in (*arrays, *flags, batch.statistics()["returns"])])
    return seen


@pytest.mark.parametrize("way", [deep, pickled])
@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("games/KuhnPoker-v0", {"autoreset": "same_step", "compiled": True}),
        ("games/ConnectFour-v0", {"threads": 3, "compiled": False}),
        ("grid/Foraging-v0", {"num_players": 3, "random_seats": [1], "compiled": False}),
        ("games/TicTacToe-v0", {"rewards": ["env"], "autoreset": "same_step", "compiled": False}),
        ("text/Commons-v0", {"num_players": 3}),
    ],
)
def test_a_copy_in_mid_episode_goes_on_by_itself(env: str, settings: Any, way: Any) -> None:
    batch = palestra.make(env, view="batch", num_envs=5, **settings)
    batch.reset([9, 4, 2**40, 7, 7])
    play_on(batch, 3, 1)
    twin = way(batch)
    before = [array.tolist() for array in (twin.observations, twin.masks, twin.returns)]
    played = play_on(batch, 25, 2)
    assert [array.tolist() for array in (twin.observations, twin.masks, twin.returns)] == before
    assert play_on(twin, 25, 2) == played
    for one in (batch, twin):
        one.close()


@pytest.mark.parametrize("env", ["games/KuhnPoker-v0", "text/Commons-v0"])
def test_seeds_that_are_no_integers_are_refused(env: str) -> None:
    batch = palestra.make(env, view="batch", num_envs=2)
    batch.reset([5, 6])
    for wrong in (
        1.5,
        "12",
        [1, 1.5],
        [1, "2"],
        [1, -1],
        [1, 2**64],
        [1, [2]],
        np.array([1.0, 2.0]),
    ):
        with pytest.raises(InvalidOption, match="seed"):
            batch.reset(wrong)
        assert list(batch.seeds) == [5, 6]
    for seed, meant in (
        (np.array(3), [3, 4]),
        (np.uint8(3), [3, 4]),
        (np.array([8, 2], np.uint64), [8, 2]),
        ((np.int32(8), 2**63), [8, 2**63]),
        (range(4, 6), [4, 5]),
    ):
        batch.reset(seed)
        assert list(batch.seeds) == meant


@pytest.mark.parametrize("env", ["games/KuhnPoker-v0", "text/Commons-v0"])
def test_a_seed_of_none_in_a_list_is_drawn(env: str) -> None:
    batch = palestra.make(env, view="batch", num_envs=3)
    drawn = set()
    for _ in range(4):
        batch.reset([7, None, 9])
        assert (batch.seeds[0], batch.seeds[2]) == (7, 9)
        drawn.add(batch.seeds[1])
    assert len(drawn) == 4


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("limit", [None, 9])
def test_a_seat_that_left_is_not_cut_by_a_later_limit(limit: int | None, autoreset: str) -> None:
    """The first car is out after 5 steps; time is up for the second, which waits."""
    settings = {"compiled": False, "max_episode_steps": limit, "autoreset": autoreset}
    batch = palestra.make("games/Merge-v0", view="batch", num_envs=2, steps=12, **settings)
    batch.reset(1)
    for number in range(1, (limit or 12) + 1):
        batch.step(np.array([[2, 0], [1, 0]]))
        over = number == (limit or 12)
        assert batch.terminations[0].tolist() == [number >= 5, False]
        assert batch.truncations[0].tolist() == [False, over]
        assert batch.terminations[1].tolist() == [number >= 10, False]
        assert batch.truncations[1].tolist() == [over and number < 10, over]


def test_views_end_alike_for_seats_that_leave() -> None:
    """PettingZoo's agents that are gone have terminated; the batch says the same of its seats."""
    batch = palestra.make("games/Merge-v0", view="batch", num_envs=1, autoreset="disabled")
    parallel = palestra.make("games/Merge-v0", view="parallel")
    ways = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        batch.reset(seed)
        parallel.reset(seed=seed)
        ended: dict[str, tuple[bool, bool]] = {}
        while parallel.agents:
            moves = rng.choice(3, 2, p=[0.8, 0.1, 0.1] if seed % 2 else [0.1, 0.1, 0.8])
            actions = dict(zip(parallel.possible_agents, moves, strict=True))
            _, _, terminated, truncated, _ = parallel.step(actions)
            ended |= {a: (terminated[a], truncated[a]) for a in terminated}
            batch.step(moves[None])
            for seat, agent in enumerate(parallel.possible_agents):
                flags = batch.terminations[0, seat], batch.truncations[0, seat]
                assert flags == ended[agent], (seed, agent)
        ways.add(tuple(ended.values()))
    assert len(ways) > 2  # a seat of each kind, in one episode too
