"""Solvers against Kuhn's published solution and OpenSpiel's figures."""

from __future__ import annotations

import palestra
import pytest
from palestra import Episode, InvalidOption
from palestra_agents import game_tree
from palestra_agents.cfr import Solver, solve
from palestra_agents.exploitability import (
    expected_values,
    exploitability,
    nash_conv,
    require_solvable,
    uniform_policy,
)

KUHN = palestra.game("games/KuhnPoker-v0")
PASS, BET = 0, 1
JACK, QUEEN, KING = range(3)


def chance(policy: dict, holder: int, card: int, line: tuple[int, ...]) -> float:
    """The probability of betting with a card after a line of moves."""
    episode = Episode(KUHN, 0, compiled=False)
    state = episode.state
    rest = [c for c in range(3) if c != card]
    state.deck[:] = [card, *rest] if holder == 0 else [rest[0], card, rest[1]]
    episode.load(state)
    for move in line:
        episode.act({episode.to_act[0]: move})
    assert episode.to_act == (holder,)
    return float(policy[episode.state_key(holder)][BET])


def test_uniform_play_has_openspiels_nash_conv() -> None:
    assert nash_conv(KUHN, uniform_policy(KUHN)) == pytest.approx(11 / 12)
    pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    import pyspiel
    from open_spiel.python import policy as openspiel_policy
    from open_spiel.python.algorithms import exploitability as openspiel_exploitability

    game = pyspiel.load_game("kuhn_poker")
    theirs = openspiel_exploitability.nash_conv(game, openspiel_policy.UniformRandomPolicy(game))
    assert nash_conv(KUHN, uniform_policy(KUHN)) == pytest.approx(theirs)


def test_uniform_play_pays_the_first_player_an_eighth() -> None:
    assert expected_values(KUHN, uniform_policy(KUHN)) == pytest.approx([1 / 8, -1 / 8])


def test_exploitability_falls_below_a_thousandth() -> None:
    solver = Solver(KUHN)
    early = exploitability(KUHN, solver.run(10))
    late = exploitability(KUHN, solver.run(290))
    assert late < early
    assert late < 1e-3


def test_the_first_player_is_paid_minus_an_eighteenth() -> None:
    assert expected_values(KUHN, solve(KUHN, 300))[0] == pytest.approx(-1 / 18, abs=1e-3)


def test_the_strategy_is_in_kuhns_family() -> None:
    """Kuhn (1950): the first player bluffs with a in [0, 1/3] and bets the king 3a."""
    policy = solve(KUHN, 300)
    bluff = chance(policy, 0, JACK, ())
    assert 0 <= bluff <= 1 / 3 + 0.01
    assert chance(policy, 0, KING, ()) == pytest.approx(3 * bluff, abs=0.05)
    assert chance(policy, 0, QUEEN, ()) == pytest.approx(0, abs=0.02)
    assert chance(policy, 0, QUEEN, (PASS, BET)) == pytest.approx(bluff + 1 / 3, abs=0.05)
    assert chance(policy, 0, KING, (PASS, BET)) == pytest.approx(1, abs=0.02)
    assert chance(policy, 1, JACK, (PASS,)) == pytest.approx(1 / 3, abs=0.03)
    assert chance(policy, 1, QUEEN, (BET,)) == pytest.approx(1 / 3, abs=0.03)
    assert chance(policy, 1, KING, (BET,)) == pytest.approx(1, abs=0.02)


def test_the_agent_takes_a_random_player_for_money() -> None:
    records = palestra.play(
        "games/KuhnPoker-v0", agents=["cfr:iterations=100", "random"], episodes=400
    )
    assert sum(record.returns[0] for record in records) > 0


def test_games_that_cannot_be_walked_are_refused() -> None:
    simultaneous = [s for s in palestra.specs() if s.moves != "sequential"]
    for spec in simultaneous:
        with pytest.raises(InvalidOption, match="cannot be solved"):
            require_solvable(palestra.game(spec.id))


def test_uniform_play_of_leduc_has_openspiels_nash_conv() -> None:
    leduc = palestra.game("games/LeducHoldem-v0")
    assert nash_conv(leduc, uniform_policy(leduc)) == pytest.approx(4.747222, abs=1e-6)


def test_leducs_value_is_the_published_one() -> None:
    """-0.0856 (Southey et al. 2005 and OpenSpiel), within the exploitability that is left."""
    leduc = palestra.game("games/LeducHoldem-v0")
    policy = solve(leduc, 200)
    apart = exploitability(leduc, policy)
    assert apart < 0.006
    assert expected_values(leduc, policy)[0] == pytest.approx(-0.085606, abs=2 * apart)


def test_compiled_and_interpreted_rules_give_the_same_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = game_tree.tree_of(KUHN)
    monkeypatch.setattr(game_tree, "FEW", 5)
    compiled = game_tree.tree_of.__wrapped__(KUHN)
    assert compiled.keys == plain.keys
    for name in ("parent", "slot", "paid", "mover", "first", "set_mover"):
        assert (getattr(compiled, name) == getattr(plain, name)).all()


def test_a_tree_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_tree, "FEW", 5)
    monkeypatch.setattr(game_tree, "LARGEST", 20)
    with pytest.raises(InvalidOption, match="more than 20 positions"):
        game_tree.tree_of.__wrapped__(KUHN)


def test_a_policy_must_know_the_sets_that_play_reaches() -> None:
    policy = uniform_policy(KUHN)
    first = next(key for key in policy if key == game_tree.tree_of(KUHN).keys[0])
    del policy[first]
    with pytest.raises(KeyError):
        expected_values(KUHN, policy)
