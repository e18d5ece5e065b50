"""Candidates by fork at every turn, and what is compared among them."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra.records.record import replay
from palestra_rewards import Group, estimate
from palestra_rewards.branching import branch_turns
from reward_games import Relay


def test_at_grpo_compares_candidates_of_one_position_only() -> None:
    """By hand: at the second turn two rollouts stand in s and three in t, with means 2 and 20."""
    group = Group.from_arrays(
        episode=np.repeat(np.arange(5), 2),
        state=["o", "s", "o", "s", "o", "t", "o", "t", "o", "t"],
        rewards=[0, 1.0, 0, 3.0, 0, 10.0, 0, 20.0, 0, 30.0],
    )
    values = estimate("at-grpo:team=0,local=1", group).values.reshape(5, 2)
    third = 10 / np.sqrt(200 / 3)
    np.testing.assert_allclose(values[:, 0], 0)
    np.testing.assert_allclose(values[:, 1], [-1, 1, -third, 0, third], atol=1e-12)
    strangers = group.replace(state=np.arange(10))
    assert not estimate("at-grpo", strangers).values.any()


@pytest.mark.parametrize("seed", [0, 7])
def test_every_turn_of_the_learner_has_k_candidates_of_one_position(seed: int) -> None:
    """Against an opponent in its seat: the opponent's turns are played once and not compared."""
    found = branch_turns(
        "games/ConnectFour-v0", agents=["random", "first"], k=3, seed=seed, learners=["random"]
    )
    group = Group.of(found.candidates, agents=["random"])
    mine = [turn for turn in found.trunk.turns if turn.seat == 0]
    assert group.episodes == group.size == 3 * len(mine)
    for turn, siblings in zip(
        mine, groupby(found.candidates, lambda r: r.branched_at), strict=True
    ):
        keys = {record.own_turns[0].state_key for record in siblings[1]}
        assert keys == {turn.state_key}
    replay(found.trunk)
    assert found.trunk.outcome is not None
    assert found.trunk.outcome.results != ("truncated",) * 2


def test_the_best_candidate_is_played_and_advantages_are_those_of_its_siblings() -> None:
    """Two foragers who move at once, five steps of a candidate, scored in a plain loop."""
    found = branch_turns(
        "grid/Foraging-v0", agents="random", k=5, seed=2, horizon=5, max_episode_steps=8, local=0.5
    )
    group = Group.of(found.candidates)
    values = estimate("at-grpo:local=0.5", group).values
    spread = 0
    for at, several in groupby(range(len(found.candidates)), lambda i: at_of(found, i)):
        siblings = list(several)
        assert len(siblings) == 5
        first = {i: np.flatnonzero(group.episode == i)[:2] for i in siblings}
        team = {i: float(np.mean(found.candidates[i].returns)) for i in siblings}
        whole = {i: team[i] + 0.5 * group.rewards[first[i]].mean() for i in siblings}
        best = found.candidates[max(siblings, key=lambda i: whole[i])]
        played = [turn.action for turn in found.trunk.steps[at].turns]
        assert played == [turn.action for turn in best.steps[at].turns]
        for seat in (0, 1):
            scores = np.array([team[i] + 0.5 * group.rewards[first[i][seat]] for i in siblings])
            expected = (scores - scores.mean()) / (scores.std() or 1.0)
            np.testing.assert_allclose(values[[first[i][seat] for i in siblings]], expected)
            spread += scores.std() > 0
    assert spread


def at_of(found: object, place: int) -> int:
    return int(found.candidates[place].branched_at)  # type: ignore[attr-defined]


def test_three_seats_of_one_agent_branch_alike_in_every_call() -> None:
    game = Relay(num_players=3, length=6)
    keeps = branch_turns(game, agents=["random"] * 3, k=8, seed=1, horizon=2)
    assert keeps.trunk.returns == tuple(replay(keeps.trunk, game).returns)
    assert sum(keeps.trunk.returns) == 6
    assert len(keeps.candidates) == 8 * 6
    again = branch_turns(game, agents=["random"] * 3, k=8, seed=1, horizon=2)
    for one, other in zip(again.candidates, keeps.candidates, strict=True):
        assert [turn.action for turn in one.turns] == [turn.action for turn in other.turns]


def clumsy(turn: palestra.Turn) -> object:
    """Names an illegal action first, in every second turn of its own."""
    if turn.tries == 0 and turn.steps_played % 4 == 0:
        return 99
    return turn.sample(turn.rng(0, 5))


def test_refused_answers_stay_on_the_trunk() -> None:
    found = branch_turns(
        "games/TicTacToe-v0", agents=[clumsy, "first"], k=3, seed=2, learners=["clumsy"]
    )
    refused = [len(turn.errors) for turn in found.trunk.turns if turn.seat == 0]
    assert refused == [1 - place % 2 for place in range(len(refused))]
    assert found.trunk.mistakes == (sum(refused), 0)


def test_what_cannot_be_branched_is_named() -> None:
    with pytest.raises(InvalidOption, match="k must be at least 1"):
        branch_turns("games/TicTacToe-v0", agents="random", k=0)
    with pytest.raises(InvalidOption, match="learners must be among the agents that play, random"):
        branch_turns("games/TicTacToe-v0", agents="random", learners=["llm"])
    with pytest.raises(palestra.PalestraError, match="sizes"):
        branch_turns("games/TicTacToe-v0", agents="random", sizes=4)
