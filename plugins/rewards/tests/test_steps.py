"""Step shapers: what they promise of the policies that learn from them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Transition
from palestra.records.record import retrace
from palestra.shaping import load_shaper
from palestra_rewards import Group
from palestra_rewards.steps.captions import CaptionReward
from palestra_rewards.steps.novelty import Elliptical, Novelty
from palestra_rewards.steps.potential import PotentialShaper
from palestra_rewards.steps.schedule import Schedule
from reward_games import Relay, height, place

STATES, ACTIONS, GAMMA = 8, 3, 0.9


def transition(before: Any, after: Any, *, over: bool = False, gamma: float = GAMMA) -> Transition:
    game: Any = None
    return Transition(game, before, {0: 0}, after, 0, over, gamma)


def random_mdp(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Moves (state, action, next), rewards of the same shape, and a potential of states."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(STATES, 0.3), (STATES, ACTIONS))
    return moves, rng.normal(size=(STATES, ACTIONS, STATES)), 3 * rng.normal(size=STATES)


def solve(moves: np.ndarray, rewards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Optimal values of states and actions, exactly: policy iteration with linear solves."""
    policy = np.zeros(STATES, dtype=int)
    paid = (moves * rewards).sum(axis=2)
    everywhere = np.arange(STATES)
    while True:
        values = np.linalg.solve(
            np.eye(STATES) - GAMMA * moves[everywhere, policy], paid[everywhere, policy]
        )
        worth = paid + GAMMA * moves @ values
        if (worth.max(axis=1) <= worth[everywhere, policy] + 1e-10).all():
            return values, worth
        policy = worth.argmax(axis=1)


def shaped_by(shaper: Any) -> np.ndarray:
    return np.array(
        [[sum(shaper(transition(s, t)).values()) for t in range(STATES)] for s in range(STATES)]
    )[:, None, :]


@pytest.mark.parametrize("seed", range(20))
def test_potential_shaping_leaves_the_optimal_policy_unchanged(seed: int) -> None:
    moves, rewards, potential = random_mdp(seed)
    shaper = PotentialShaper(of=lambda game, state, seat: potential[state])
    values, worth = solve(moves, rewards)
    shaped_values, shaped_worth = solve(moves, rewards + shaped_by(shaper))
    assert (worth.argmax(axis=1) == shaped_worth.argmax(axis=1)).all()
    np.testing.assert_allclose(shaped_values, values - potential)  # Ng et al., Corollary 2


def test_a_term_that_is_no_potential_difference_changes_the_optimal_policy() -> None:
    changed = 0
    for seed in range(20):
        moves, rewards, potential = random_mdp(seed)
        worth = solve(moves, rewards)[1]
        trapped = solve(moves, rewards + potential[None, None, :])[1]
        changed += bool((worth.argmax(axis=1) != trapped.argmax(axis=1)).any())
    assert changed >= 15


@pytest.mark.parametrize("dynamic", [False, True])
def test_discounted_potential_terms_sum_to_minus_the_first_potential(dynamic: bool) -> None:
    """Devlin and Kudenko: also for a potential that changes while it is learnt."""
    rng, drift = np.random.default_rng(0), [0.0]
    values = rng.normal(size=STATES)

    def potential(game: Any, state: int, seat: int) -> float:
        drift[0] += 0.5 * dynamic
        return float(values[state]) + drift[0]

    shaper = PotentialShaper(of=potential, dynamic=dynamic).begin()
    walk = rng.integers(0, STATES, 12)
    first = float(values[walk[0]]) + 0.5 * dynamic
    paid = 0.0
    for t, (before, after) in enumerate(pairwise(walk)):
        over = t == len(walk) - 2
        paid += GAMMA**t * shaper(transition(before, after, over=over))["potential"]
    assert paid == pytest.approx(-first)


def test_a_potential_is_named_in_a_string() -> None:
    name = "potential:of=palestra_envs.grid.shaping:distance_potential"
    both = ["env", name]
    shaped = palestra.make("grid/Foraging-v0", view="episode", seed=1, rewards=both, gamma=0.9)
    usual = palestra.make(
        "grid/Foraging-v0", view="episode", seed=1, rewards=["env", "food-distance"], gamma=0.9
    )
    for number in range(12):
        for episode in (shaped, usual):
            episode.act({p: episode.legal_actions(p)[number % 3] for p in episode.to_act})
    assert list(shaped.returns) == pytest.approx(list(usual.returns))


def own_turn_sums(record: Any, gamma: float) -> dict[int, float]:
    """What each seat's rewards sum to from its first turn, discounted once an own turn."""
    group = Group.of([record])
    to_go = group.to_go(gamma=gamma)
    return {int(group.seat[turn]): float(to_go[turn]) for turn in group.line_first}


@pytest.mark.parametrize("dynamic", ["false", "true"])
def test_potential_terms_of_a_game_of_turns_do_not_depend_on_the_moves(dynamic: str) -> None:
    """The empty board is worth 0.563 to the first player, and each of four games pays minus it."""
    records = palestra.play(
        "games/TicTacToe-v0",
        agents=["random", "random"],
        episodes=4,
        rewards=[f"potential:of=reward_games:marks,dynamic={dynamic}"],
        gamma=0.9,
    )
    paid = [own_turn_sums(record, 0.9)[0] for record in records]
    assert paid == pytest.approx([-0.563] * 4)
    lengths = {len(record.turns) for record in records}
    assert len(lengths) > 1


@settings(max_examples=40)
@given(
    seats=st.integers(1, 5),
    seed=st.integers(0, 10_000),
    gamma=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    dynamic=st.booleans(),
)
def test_potential_terms_sum_to_minus_the_potential_of_a_seats_first_turn(
    seats: int, seed: int, gamma: float, dynamic: bool
) -> None:
    """However many seats there are, and in whatever order they move."""
    game = Relay(num_players=seats)
    name = f"potential:of=reward_games:height,dynamic={str(dynamic).lower()}"
    (record,) = palestra.play(
        game, agents=["random"] * seats, seed=seed, rewards=[name], gamma=gamma
    )
    first: dict[int, float] = {}
    for episode in retrace(record, game):
        for seat in episode.to_act:
            first.setdefault(seat, height(game, episode.state, seat))
    sums = own_turn_sums(record, gamma)
    assert sums == pytest.approx({seat: -potential for seat, potential in first.items()})


@settings(max_examples=40)
@given(
    seats=st.integers(1, 5),
    seed=st.integers(0, 2**32),
    gamma=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    end=st.sampled_from(["forfeit", "limit"]),
    at=st.integers(0, 7),
)
def test_forfeits_and_limits_take_the_potential_back(
    seats: int, seed: int, gamma: float, end: str, at: int
) -> None:
    """The discounted terms of a seat still add up to minus the potential of its first turn."""
    game = Relay(num_players=seats)

    def stumble(turn: Any) -> int:
        erring = end == "forfeit" and int(turn.observation[0]) == at
        return 99 if erring else int(turn.sample(turn.rng(seed, 0)))

    (record,) = palestra.play(
        game,
        agents=[stumble] * seats,
        seed=seed,
        rewards=["potential:of=reward_games:height"],
        gamma=gamma,
        invalid="forfeit",
        max_episode_steps=at + 1 if end == "limit" else None,
    )
    assert record.outcome.results.count("forfeit") == (end == "forfeit")
    first: dict[int, float] = {}
    for episode in retrace(record, game):  # which compares the replay's returns to the bit
        for seat in episode.to_act:
            first.setdefault(seat, height(game, episode.state, seat))
    sums = own_turn_sums(record, gamma)
    forfeits = turn_terms(record, "forfeit")
    assert set(sums) == {turn.seat for turn in record.turns}
    for seat, total in sums.items():
        own = forfeits.get(seat, [])
        lost = sum(gamma**k * paid for k, paid in enumerate(own))
        assert total - lost == pytest.approx(-first[seat])


def turn_terms(record: Any, term: str) -> dict[int, list[float]]:
    """What a term paid each seat, by its own turns."""
    paid: dict[int, list[float]] = {}
    for step in record.steps:
        for turn in step.turns:
            paid.setdefault(turn.seat, []).append(0.0)
        for seat, terms in step.rewards.items():
            if seat in paid:
                paid[seat][-1] += terms.get(term, 0.0)
    return paid


def test_novelty_pays_the_inverse_root_of_visits() -> None:
    shaper = Novelty(weight=2.0).begin()
    assert [shaper.bonus("a") for _ in range(4)] == pytest.approx([2, 2 / 2**0.5, 2 / 3**0.5, 1])


def test_a_new_play_through_clears_only_episodic_counts() -> None:
    both = Novelty(scope="both")
    first = both.begin()
    assert [first.bonus("a"), first.bonus("a")] == pytest.approx([1, 1 / 2])
    assert both.begin().bonus("a") == pytest.approx(1 / 3**0.5)
    assert Novelty(scope="lifetime").begin().bonus("a") == 1


def test_lifetime_counts_are_saved_as_json() -> None:
    shaper = Novelty(scope="lifetime")
    shaper.begin().bonus("a")
    other = Novelty(scope="lifetime")
    other.load(json.loads(json.dumps(shaper.state())))
    assert other.begin().bonus("a") == pytest.approx(1 / 2**0.5)


def test_states_are_counted_by_the_function_that_is_named() -> None:
    rewards = ["novelty:of=reward_games:place"]
    (record,) = palestra.play("grid/Foraging-v0", agents=["random"] * 2, rewards=rewards)
    visits: dict[Any, int] = {}
    for number, episode in enumerate(retrace(record)):
        for seat in (0, 1) if number else ():
            at = (seat, place(episode.game, episode.state, seat))
            visits[at] = visits.get(at, 0) + 1
            paid = record.steps[number - 1].rewards[seat]["novelty"]
            assert paid == pytest.approx(visits[at] ** -0.5)


def test_hashed_states_share_a_count() -> None:
    rewards = ["novelty:buckets=1"]
    episode = palestra.make("grid/Foraging-v0", view="episode", seed=1, rewards=rewards)
    for visit in range(1, 4):
        episode.act({p: episode.legal_actions(p)[0] for p in episode.to_act})
        assert list(episode.rewards) == pytest.approx([visit**-0.5] * 2)


def test_the_first_elliptical_bonus_is_the_squared_norm_over_ridge() -> None:
    shaper = Elliptical(ridge=0.5).begin()
    feature = np.array([3.0, 4.0])
    assert shaper.bonus(0, feature) == pytest.approx(25 / 0.5)
    covariance = 0.5 * np.eye(2) + np.outer(feature, feature)
    again = np.array([1.0, -2.0])
    assert shaper.bonus(0, again) == pytest.approx(again @ np.linalg.inv(covariance) @ again)
    assert shaper.begin().bonus(0, feature) == pytest.approx(50)


def test_captions_pay_by_labels_that_existed_at_the_start(tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    shaper = CaptionReward(labels=str(labels), weight=0.4)
    first = shaper.begin()
    assert first.bonus(0, "a key!") == 0
    assert shaper.unlabelled == {"a key!"}
    labels.write_text(json.dumps({"a key!": 1.0}))
    assert first.bonus(0, "a key!") == 0  # labelled too late for this play-through
    second = shaper.begin()
    assert [second.bonus(0, "a key!") for _ in range(2)] == pytest.approx([0.4, 0.4 / 2**0.5])


def test_a_schedule_goes_from_start_to_end() -> None:
    schedule = Schedule(of="novelty", start=1.0, end=0.0, over=4)
    assert [schedule.begin().weight for _ in range(6)] == [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    stepped = Schedule(of="novelty", start=1.0, end=3.0, over=2, form="step")
    assert [stepped.begin().weight for _ in range(3)] == [1.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "novelty:scope=always",
            "scope of reward 'novelty' must be 'episode' or 'lifetime' or 'both'",
        ),
        ("novelty:wieght=2", "wieght"),
        ("elliptical:ridge=0", "must be a number above 0, not 0"),
        ("schedule:of=novelty,over=0", "must be an integer at least 1"),
        ("potential", "missing a required argument: 'of'"),
    ],
)
def test_options_that_cannot_be_are_named(text: str, message: str) -> None:
    with pytest.raises(palestra.PalestraError, match=message):
        load_shaper(text)
