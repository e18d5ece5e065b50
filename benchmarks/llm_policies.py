"""A language model's exact strategy in a small game, for the exact solver and for OpenSpiel."""

from __future__ import annotations

from typing import Any

import palestra
from palestra import Episode
from palestra_agents.exploitability import exploitability
from palestra_training import solving
from palestra_training.learner import Learner
from palestra_training.plan import TrainPlan


def strategy_of(learner: Learner, env: str) -> dict[bytes, dict[Any, float]]:
    """The probability of every action at every information set, at temperature 1."""
    plan, rules = TrainPlan(env=env, mode="choice"), palestra.game(env)
    return solving.strategy_of([learner], plan, rules, solving.decisions(rules, plan))


def kuhn_figures(learner: Learner) -> dict[str, float]:
    """Exploitability at Kuhn poker by our solver and by OpenSpiel's, of the same strategy."""
    env = "games/KuhnPoker-v0"
    found = strategy_of(learner, env)
    return {"ours": exploitability(palestra.game(env), found), "openspiel": openspiels(found)}


def openspiels(found: dict[bytes, dict[Any, float]]) -> float:
    """The exploitability that OpenSpiel finds, cards and lines of play translated to its own."""
    import pyspiel
    from open_spiel.python.algorithms import exploitability as theirs
    from open_spiel.python.policy import TabularPolicy

    rules, game = palestra.game("games/KuhnPoker-v0"), pyspiel.load_game("kuhn_poker")
    table = TabularPolicy(game)
    for state in table.states:
        seat, told = state.current_player(), state.information_state_string()
        card, line = int(told[0]), told[1:]
        rest = [c for c in range(3) if c != card]
        episode = Episode(rules, 0, compiled=False)
        dealt = episode.state
        dealt.deck[:] = [card, *rest] if seat == 0 else [rest[0], card, rest[1]]
        episode.load(dealt)
        for move in line:
            episode.act({episode.to_act[0]: "pb".index(move)})
        chances = found[episode.state_key(seat)]
        row = table.policy_for_key(told)
        row[:] = [chances[0], chances[1]]
    return float(theirs.nash_conv(game, table)) / 2
