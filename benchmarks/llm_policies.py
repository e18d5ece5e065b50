"""A language model's exact strategy in a small game, for the exact solver and for OpenSpiel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import palestra
from palestra import Episode
from palestra.agents.agent import Turn
from palestra.agents.making import make_agent
from palestra.agents.models import Model, Reply, Request
from palestra_agents.exploitability import exploitability
from palestra_agents.game_tree import play, tree_of
from palestra_training.learner import Learner


class Asked(Model):
    """Answers with the first choice, and keeps the request."""

    name, abilities = "asked", frozenset({"choices", "raw"})

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.request = requests[-1]
        return [Reply((request.choices or ("",))[0]) for request in requests]


def strategy_of(learner: Learner, env: str) -> dict[bytes, dict[Any, float]]:
    """The probability of every action at every information set, at temperature 1."""
    rules = palestra.game(env)
    model = Asked()
    agent = make_agent("llm", model=model, prompt="raw", history="bare", mode="choice")
    found: dict[bytes, dict[Any, float]] = {}

    def walk(state: Any) -> None:
        if not rules.to_act(state):
            return
        seat = rules.to_act(state)[0]
        key = rules.state_key(state, seat)
        actions = rules.legal_actions(state, seat)
        if key not in found:
            episode = Episode(rules, 0, compiled=False)
            episode.load(state)
            agent.act([Turn(episode, seat)])
            chances = learner.strategy(model.request)
            found[key] = dict(zip(actions, chances.values(), strict=True))
        for action in actions:
            walk(play(rules, state, action)[0])

    for _, state in tree_of(rules).deals:
        walk(state)
    return found


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
