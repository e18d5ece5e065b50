"""Simulation games: closed forms of trust, NashConv by OpenSpiel, what simulation shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra.kernel.registry import registry
from palestra_games.dilemmas.simulation_game.game import SimulationGame
from palestra_games.dilemmas.simulation_game.players import (
    Equilibrium,
    SimulationPlayer,
    best_reply,
    equilibria,
)

ENV = "games/SimulationGame-v0"
TRUSTED, BETRAYED, WORTH, TEMPTATION = 25.0, 100.0, 25.0, 100.0  # a, l, b, t


def trust(cost: float, scale: tuple[float, float, float, float] | None = None) -> SimulationGame:
    a, lost, b, t = scale or (TRUSTED, BETRAYED, WORTH, TEMPTATION)
    return SimulationGame(payoffs_table=(a, b, -lost, t, 0, 0, 0, 0), cost=cost)


def split(name: str, **options: Any) -> SimulationGame:
    game = palestra.game(ENV, **{**registry().environment(ENV).splits[name], **options})
    assert isinstance(game, SimulationGame)
    return game


def played(game: SimulationGame, plan: int, commitment: int) -> list[float]:
    """Mean payoffs of a plan of the simulator against a commitment, by playing every draw."""
    paid = []
    for seed in range(1 if game.grain == 1 else 400):
        episode = Episode(game, seed, compiled=False)
        episode.act({1: commitment})
        episode.act({0: plan})
        if not episode.over:
            episode.act({0: best_reply(game, commitment)})
        paid.append(list(episode.returns))
    means: list[float] = np.mean(paid, axis=0).tolist()
    return means


def nash_conv(game: SimulationGame, found: Equilibrium) -> float:
    """By OpenSpiel, of the table that playing our episodes gives."""
    pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel, the peer here, is not installed")
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability

    plans, commitments = range(len(game.moves) + 1), range(len(game.commitments))
    cells = np.array([[played(game, row, column) for column in commitments] for row in plans])
    theirs = pyspiel.create_matrix_game(cells[:, :, 0].tolist(), cells[:, :, 1].tolist())
    theirs = pyspiel.convert_to_turn_based(theirs)
    tabular = policy.TabularPolicy(theirs)
    for seat, mix in enumerate((found.plans, found.commitments)):
        (row,) = (tabular.policy_for_key(key) for key in tabular.states_per_player[seat])
        row[:] = 0
        row[: len(mix)] = mix
    return float(exploitability.nash_conv(theirs, tabular))


# The trust game in closed form


@pytest.mark.parametrize("scale", [(25, 100, 25, 100), (2, 1, 3, 4), (10, 30, 1, 50)])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_who_trusts_who_simulates_and_who_cooperates(
    scale: tuple[float, float, float, float], share: float
) -> None:
    """At a share of the highest cost at which anybody simulates."""
    a, lost, b, t = scale
    cost = share * a * lost / (a + lost)
    trusting, distrust = sorted(equilibria(trust(cost, scale)), key=lambda found: -found.welfare)
    assert trusting.plans == pytest.approx((b / t, 0, 1 - b / t))
    assert trusting.commitments == pytest.approx((1 - cost / lost, cost / lost))
    assert trusting.values == pytest.approx((a * (1 - cost / lost) - cost, b))
    assert distrust.plans == (0, 1, 0)
    assert distrust.values == (0, 0)


def test_where_simulation_is_too_dear_nobody_trusts() -> None:
    limit = TRUSTED * BETRAYED / (TRUSTED + BETRAYED)
    for cost in (limit + 0.1, 50.0, 1000.0):
        (only,) = equilibria(trust(cost))
        assert only.plans == (0, 1, 0)
    assert len(equilibria(trust(limit - 0.1))) == 2


@pytest.mark.parametrize("name", ["trust", "coordination", "ultimatum"])
def test_equilibria_cannot_be_exploited_says_openspiel(name: str) -> None:
    game = split(name)
    for found in equilibria(game):
        assert nash_conv(game, found) == pytest.approx(0, abs=1e-6)
    worse = Equilibrium((1, *[0] * len(game.moves)), equilibria(game)[0].commitments, (0, 0))
    assert nash_conv(game, worse) > 0.05


# Other games of the papers


def test_simulation_that_shows_chances_only_helps_nobody_in_the_trust_game() -> None:
    """The negative result of the second paper: the trustee commits to just enough."""
    for cost in (0.1, 1.0, 5.0):
        found = equilibria(split("mixed", cost=cost))
        assert found
        assert all(one.values == pytest.approx((0, 0)) for one in found)


@pytest.mark.parametrize("cost", [0.5, 1.0, 2.0])
def test_it_helps_both_where_trust_can_be_scaled(cost: float) -> None:
    """To be trusted in full one commits to 9/10, where full and partial trust pay the same 12.5.

    Betrayal costs a partial truster 10, so 1 - q = c / 10; the trustee is indifferent where
    32.5 (1 - x) + 10.2 x = 12 x, x being the chance of blind partial trust.
    """
    game = split("scaled", cost=cost)
    assert all(one.values == (0, 0) for one in equilibria(game, simulation=False))
    best = max(equilibria(game), key=lambda found: found.welfare)
    blind, honest = 32.5 / 34.3, 1 - cost / 10
    assert best.plans == pytest.approx((0, blind, 0, 1 - blind))
    assert best.commitments[1] == pytest.approx(honest)
    assert best.commitments[-1] == pytest.approx(1 - honest)
    assert best.values == pytest.approx((12.5 * honest - cost, 12 * blind))


def test_it_helps_where_trust_must_be_coordinated() -> None:
    game = split("coordination")
    assert all(one.values == (0, 0) for one in equilibria(game, simulation=False))
    assert max(min(one.values) for one in equilibria(game)) > 5


def test_a_responder_who_is_always_simulated_takes_all_but_one_unit() -> None:
    game = split("ultimatum", cost=0.0)
    assert (1.0, 3.0) in [one.values for one in equilibria(game) if one.plans[-1] > 0.99]


# Play


def test_the_agent_plays_the_equilibrium() -> None:
    episodes = 1500
    records = palestra.play(ENV, agents=["simulation-player"] * 2, episodes=episodes, seed=0)
    simulated = np.mean([len(record.turns) == 3 for record in records])
    paid = np.mean([record.returns for record in records], axis=0)
    assert simulated == pytest.approx(0.75, abs=4 * (0.75 * 0.25 / episodes) ** 0.5)
    assert paid[0] == pytest.approx(18.75, abs=4 * 20 / episodes**0.5)
    assert paid[1] == pytest.approx(25, abs=4 * 20 / episodes**0.5)


@pytest.mark.parametrize(
    ("styles", "paid"),
    [
        (("trusting", "trusting"), (25, 25)),
        (("wary", "trusting"), (20, 25)),
    ],
)
def test_styles_are_paid_by_the_table(styles: tuple[str, str], paid: tuple[float, float]) -> None:
    agents = [f"simulation-player:style={style}" for style in styles]
    (record,) = palestra.play(ENV, agents=agents)
    assert tuple(record.returns) == paid


def test_simulation_shows_the_answer_and_is_paid_for_once() -> None:
    episode = Episode(SimulationGame(), 0, compiled=False)
    episode.act({1: episode.parse(1, "defect")})
    assert "unseen by you" in episode.describe(0)
    assert episode.observation(0)[4:6].tolist() == [0, 0]
    episode.act({0: episode.parse(0, "I would rather know.\n[simulate]")})
    assert "committed themselves to: defect" in episode.describe(0)
    assert episode.observation(0)[4:6].tolist() == [0, 1]
    with pytest.raises(InvalidAction, match="walk out"):
        episode.parse(0, "simulate")
    episode.act({0: episode.parse(0, "walk out")})
    assert tuple(episode.returns) == (-5, 0)
    assert episode.outcome is not None
    assert episode.outcome.scores == (-5, 0)


def test_a_blind_player_cannot_tell_commitments_apart() -> None:
    game = SimulationGame(grain=4)
    seen = set()
    for commitment in range(len(game.commitments)):
        episode = Episode(game, 0, compiled=False)
        episode.act({1: commitment})
        seen.add((episode.describe(0), episode.observation(0).tobytes()))
    assert len(seen) == 1


def test_answers_are_drawn_by_the_shares() -> None:
    game, cooperated = SimulationGame(grain=4), 0
    (commitment,) = (n for n, share in enumerate(game.commitments) if share == (3, 1))
    for seed in range(600):
        episode = Episode(game, seed)
        episode.act({1: commitment})
        episode.act({0: 0})
        cooperated += episode.returns[0] > 0
    assert cooperated / 600 == pytest.approx(0.75, abs=4 * (0.75 * 0.25 / 600) ** 0.5)


def test_unseen_commitments_are_redrawn_as_the_answer_allows() -> None:
    game, rng = SimulationGame(grain=2), Rng(0)
    episode = Episode(game, 1, compiled=False)
    episode.act({1: 1})  # a half each
    drawn = {int(game.determinize(episode.state, 0, rng).commitment) for _ in range(60)}
    assert drawn == {0, 1, 2}
    episode.act({0: 0})
    answer = int(episode.state.answer)
    drawn = {int(game.determinize(episode.state, 0, rng).commitment) for _ in range(60)}
    assert drawn == {1, 0 if answer == 0 else 2}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"payoffs_table": (1, 2, 3)}, "must be 8 numbers"),
        ({"cost": -1}, "cost must be"),
        ({"grain": 0}, "grain must be"),
        ({"grain": 5000}, "from 1 to 999"),
        ({"grain": 60, "answers": ("a", "b", "c")}, "at most 1000 commitments"),
        ({"moves": ("trust", "simulate")}, "cannot be called"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        SimulationGame(**options)


def test_the_player_refuses_other_games_and_tables_too_large() -> None:
    with pytest.raises(InvalidOption, match="smaller grain"):
        equilibria(split("scaled", grain=60))
    episode = Episode(palestra.game("games/MatrixGame-v0"), 0, compiled=False)
    with pytest.raises(InvalidOption, match="SimulationGame"):
        SimulationPlayer().act([palestra.Turn(episode, 0)])
