"""Every view pays what a shaped episode pays, step by step."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption
from palestra.engine.shaped_batch import ShapedBatch
from palestra.engine.text_batch import TextBatch
from palestra.kernel.registry import open_game
from palestra.shaping import open_episode
from palestra.views.vector import VectorView
from reward_games import height_of_bid, left_to_fill

FORAGING = "grid/Foraging-v0"
SMALL = {"max_steps": 7, "rows": 5, "columns": 5, "max_food": 2}
SHAPERS = (
    ["env", "food-distance"],
    ["env", "novelty:weight=0.1", "food-distance"],
    ["elliptical:ridge=1", "env"],
)
GAMMA = 0.9


FILL = "potential:of=reward_games:left_to_fill"


def first_legal(observations: Any, masks: Any) -> Any:
    return masks.argmax(axis=1)


@pytest.mark.parametrize("rewards", SHAPERS)
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_the_vector_view_pays_what_the_gym_view_pays(rewards: list[str], autoreset: str) -> None:
    """Lanes have episodes of different length, and are dealt again while others play on."""
    settings = {"rewards": rewards, "gamma": GAMMA, "compiled": False, **SMALL}
    alone = palestra.make(FORAGING, opponents="first", **settings)
    view = VectorView(FORAGING, 4, opponents=first_legal, autoreset=autoreset, **settings)
    view.reset(seed=11)
    batch, rng, lanes = view.batch, np.random.default_rng(0), range(4)
    seeds = list(batch.episode_seeds)
    told: list[list[tuple[int, float]]] = [[] for _ in lanes]
    episodes = 0
    for _ in range(25):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in batch.masks[:, 0]])
        dealing = batch.lanes["over"] != 0
        _, paid, ended, cut, infos = view.step(actions)
        named = sum(infos["reward_terms"].values())
        np.testing.assert_allclose(named, paid)
        for lane in lanes:
            if not dealing[lane]:
                told[lane].append((int(actions[lane]), paid[lane]))
            if ended[lane] or cut[lane]:
                alone.reset(seed=seeds[lane])
                steps = [alone.step(action) for action, _ in told[lane]]
                assert [step[1] for step in steps] == pytest.approx([p for _, p in told[lane]])
                assert [steps[-1][2], steps[-1][3]] == [ended[lane], cut[lane]]
                assert infos["final_return"][lane] == pytest.approx(sum(p for _, p in told[lane]))
                told[lane], episodes = [], episodes + 1
            seeds[lane] = batch.episode_seeds[lane]
    assert episodes >= 10


def mirrored(batch: Any, game: Any, rewards: list[str], steps: int, limit: int) -> int:
    """Play a batch and an episode a lane with the same moves; returns how many ended."""
    rng, lanes = np.random.default_rng(3), range(batch.num_envs)
    batch.reset(20)

    def fresh(lane: int) -> Episode:
        seed = batch.episode_seeds[lane]
        return open_episode(game, seed, rewards=rewards, gamma=GAMMA, invalid="forfeit")

    episodes = [fresh(lane) for lane in lanes]
    ended = 0
    for _ in range(steps):
        actions = batch.random_actions().copy()
        if rng.random() < 0.2:  # somebody errs: with luck the move is illegal
            actions[rng.integers(batch.num_envs)] = rng.integers(0, batch.masks.shape[2])
        batch.step(actions)
        for lane, episode in enumerate(episodes):
            if episode.over:  # dealt again by this step
                assert not batch.rewards[lane].any()
                episodes[lane] = fresh(lane)
                continue
            moves = {seat: game.action_of(int(actions[lane, seat])) for seat in episode.to_act}
            episode.act(moves)
            if episode.steps_played >= limit:
                episode.truncate(f"{limit} steps played")
            assert batch.rewards[lane].tolist() == pytest.approx(list(episode.rewards))
            assert bool(batch.finished[lane]) == episode.over
            if episode.over:
                ended += 1
                assert batch.statistics()["returns"][lane] == pytest.approx(list(episode.returns))
            else:
                assert batch.returns[lane].tolist() == pytest.approx(list(episode.returns))
    return ended


@pytest.mark.parametrize(
    "rewards",
    [
        ["env", FILL],
        [f"{FILL},vectorised=true", "env"],
        ["novelty", "env"],
        ["diverse-discounts:gammas=payoff=0.5,weights=payoff=3.0,gamma=0.9"],
        ["krc-step", "env"],
    ],
)
def test_a_batch_pays_all_seats_what_episodes_pay(rewards: list[str]) -> None:
    """In a game of turns, with wins, forfeits and a limit of steps, for gamma < 1."""
    _, game = open_game("games/TicTacToe-v0", {})
    batch = ShapedBatch(game, 5, rewards=rewards, gamma=GAMMA, max_steps=7, compiled=False)
    assert mirrored(batch, game, rewards, steps=60, limit=7) > 20
    assert batch.mistakes.sum() >= 3


def test_a_batch_of_a_text_game_pays_what_episodes_pay() -> None:
    _, game = open_game("games/Hangman-v0", {})
    rewards = ["novelty", "env", "potential:of=reward_games:letters"]
    batch = TextBatch(game, 3, rewards=rewards, gamma=GAMMA, max_steps=4)
    assert mirrored(batch, game, rewards, steps=30, limit=4) > 10


@pytest.mark.parametrize("opponents", ["random", first_legal])
def test_the_second_seat_is_paid_minus_the_potential_of_its_first_turn(opponents: Any) -> None:
    """Discounted by its own turns, and nothing for what came before."""
    view = VectorView(
        "games/TicTacToe-v0",
        8,
        seat=1,
        opponents=opponents,
        autoreset="same_step",
        rewards=[FILL],
        gamma=GAMMA,
        compiled=False,
    )
    view.reset(seed=5)
    paid: list[list[float]] = [[] for _ in range(8)]
    sums = []
    for _ in range(24):
        masks = view.action_masks()
        _, rewards, ended, cut, _ = view.step(masks.argmax(axis=1))
        for lane in range(8):
            paid[lane].append(float(rewards[lane]))
            if ended[lane] or cut[lane]:
                sums.append(sum(GAMMA**k * reward for k, reward in enumerate(paid[lane])))
                paid[lane] = []
    met = left_to_fill(None, {"board": np.array([0] * 8 + [1]), "turn": 1}, 1)
    assert len(sums) > 16
    assert sums == pytest.approx([-met] * len(sums))


@pytest.mark.parametrize("seat", range(4))
def test_every_seat_of_a_game_of_turns_is_paid_minus_the_potential_of_its_first_turn(
    seat: int,
) -> None:
    options = {"num_players": 4, "rewards": ["potential:of=reward_games:height_of_bid"]}
    view: Any = palestra.make(
        "games/LiarsDice-v0",
        seat=seat,
        opponents="random",
        gamma=GAMMA,
        compiled=False,
        **options,
    )
    for seed in range(3):
        _, info = view.reset(seed=seed)
        met = height_of_bid(None, view.unwrapped.episode.state, seat)
        summed, discount, over = 0.0, 1.0, False
        while not over:
            move = int(info["action_mask"].argmax())
            _, reward, ended, cut, info = view.step(move)
            summed, discount, over = summed + discount * reward, discount * GAMMA, ended or cut
        assert summed == pytest.approx(-met)


def test_gym_make_vec_and_sb3_take_rewards() -> None:
    from palestra.views.sb3 import SB3VecEnv

    options = {"opponents": first_legal, "rewards": ["food-distance"], "gamma": GAMMA}
    vector = VectorView(FORAGING, 3, autoreset="same_step", compiled=False, **options, **SMALL)
    stable = SB3VecEnv(FORAGING, 3, compiled=False, seed=2, **options, **SMALL)
    vector.reset(seed=2)
    stable.reset()
    for _ in range(9):
        actions = vector.action_masks().argmax(axis=1)
        one = vector.step(actions)[1]
        stable.step_async(actions)
        np.testing.assert_allclose(stable.step_wait()[1], one, rtol=1e-5)
    made = gymnasium.make_vec(FORAGING, 3, compiled=False, **options, **SMALL)
    made.reset(seed=2)
    assert made.step(np.zeros(3, int))[1].any()


def test_a_reward_vector_is_named_in_the_infos() -> None:
    env = palestra.make("grid/Delivery-v0", opponents="random", compiled=False)
    env.reset(seed=0)
    names = set()
    for _ in range(60):
        _, reward, ended, cut, info = env.step(int(env.action_masks().argmax()))
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)
        names |= set(info["reward_terms"])
        if ended or cut:
            break
    assert len(names) > 1
    parallel = palestra.make(FORAGING, view="parallel", rewards=["env", "food-distance"])
    parallel.reset(seed=0)
    _, rewards, _, _, infos = parallel.step(dict.fromkeys(parallel.agents, 0))
    for agent, terms in ((a, info["reward_terms"]) for a, info in infos.items()):
        assert "food-distance" in terms
        assert sum(terms.values()) == pytest.approx(rewards[agent])
    aec = palestra.make("games/TicTacToe-v0", view="aec", rewards=["env"])
    aec.reset(seed=0)
    for move in (0, 3, 1, 4, 2):
        aec.step(move)
    assert aec.infos["player_0"]["reward_terms"] == {"payoff": 1.0}
    assert aec.infos["player_1"]["reward_terms"] == {"payoff": -1.0}


def test_a_forfeit_is_named_apart_from_what_was_earned() -> None:
    env = palestra.make("games/TicTacToe-v0", opponents="first")
    env.reset(seed=0)
    env.step(4)
    _, reward, ended, _, info = env.step(4)
    assert ended
    assert info["reward_terms"] == {"payoff": 0.0, "forfeit": reward}


def test_a_gpu_refuses_shapers() -> None:
    with pytest.raises(InvalidOption, match='device="cpu"'):
        palestra.make(FORAGING, view="batch", num_envs=2, device="cuda", rewards=["env"])
