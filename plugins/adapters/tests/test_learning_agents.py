"""Instructed Q-learning, deduce and select, Agent-Pro's search: known answers and orderings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, last
from conventions import ARMS, GAME, Reader, pair, understood
from optimiser_worlds import doors
from palestra import Episode, Turn
from palestra.agents.models import Request
from palestra_adapters.learning.deduce import (
    Deduce,
    Policy,
    features_of,
    read_beliefs,
    read_moves,
    roles_of,
)
from palestra_adapters.learning.instructed import FLOOR, InstructedAgent
from palestra_adapters.memory.agent_pro import AgentPro

# instructRL


@pytest.mark.slow
def test_instructed_learners_reach_the_named_convention_and_others_one_of_their_own() -> None:
    """The paper's say/select result: with anybody of the same instruction, as with oneself."""
    told = [pair(seed, ARMS["one instruction"]) for seed in (0, 1)]
    assert understood(told[0][0], told[0][1]) == 1.0
    assert understood(told[0][0], told[1][1]) == 1.0
    alone = [pair(seed, ARMS["no instruction"]) for seed in range(3)]
    own = [understood(*agents) for agents in alone]
    cross = [understood(alone[i][0], alone[j][1]) for i in range(3) for j in range(3) if i != j]
    assert min(own) > 0.6
    assert sum(cross) / len(cross) < 0.6


def test_values_follow_the_textbook_and_the_prior_breaks_ties() -> None:
    agent = InstructedAgent(model=Reader(), instruction="any", weight=0.5, rate=0.5, seed=0)
    moves = ["a", "b"]
    assert agent.choose({"a": 0.0, "b": 0.0}, moves, np.log([0.2, 0.8])) == "b"
    # 1 + ln 0.2 / 2 = 0.195 and ln 0.8 / 2 = -0.112
    assert agent.choose({"a": 1.0, "b": 0.0}, moves, np.log([0.2, 0.8])) == "a"
    assert agent.choose({"a": 0.6, "b": 0.0}, moves, np.log([0.2, 0.8])) == "b"
    key = 0, "here"
    agent.values[key] = {"a": 1.0}
    agent._update(key, "a", 3.0)
    assert agent.values[key]["a"] == 2.0


def test_each_position_is_asked_about_once_and_nothing_is_impossible() -> None:
    agent = InstructedAgent(model=Free("a"), instruction="say a", seed=0, explore=0.0, doubt=0.1)
    palestra.play("games/Referential-v0", agents=[agent, "first"], **GAME, episodes=9, live=1)
    model = agent.models[0]
    assert isinstance(model, Free)
    assert len(model.requests) == len(agent.priors) <= 3
    assert all("say a" in request.messages[0].content for request in model.requests)
    for prior in agent.priors.values():
        assert prior.tolist() == pytest.approx([log(0.9), log(0.05), log(0.05)])
        assert prior.min() >= FLOOR


# Deduce and select


def test_a_step_of_reinforce_by_hand() -> None:
    """Two candidates with one feature each: the policy is even, so that a step is half a gain."""
    policy = Policy()
    candidates = [Counter(["x"]), Counter(["y"])]
    assert policy.chances(candidates) == [0.5, 0.5]
    policy.learn(candidates, 0, 0.4)
    assert policy.weights == pytest.approx({"x": 0.2, "y": -0.2})
    assert policy.chances(candidates)[0] == pytest.approx(1 / (1 + 2.718281828**-0.4))


def test_beliefs_moves_and_features_are_read() -> None:
    text = "player_1: werewolf, 8, silent\n- player_2: seer, 3, maybe\nplayer_9: seer, 9"
    beliefs = read_beliefs(text, ["player_1", "player_2", "player_3"])
    assert beliefs == {"player_1": "werewolf", "player_2": "seer?"}
    found = features_of("Vote(target='player_1')", "villager", beliefs)
    assert found == Counter(["Vote", "villager Vote", "Vote werewolf", "villager Vote werewolf"])
    game: Any = palestra.game("games/Werewolf-v0")
    turn = Turn(Episode(game, 0), 0)
    assert roles_of(turn) == ["villager", "werewolf", "seer", "doctor"]
    legal = turn.legal_texts
    assert read_moves(turn, f"1. {legal[0]}\nI think so.\n- {legal[-1]}\n{legal[0]}") == list(
        dict.fromkeys([legal[0], legal[-1]])
    )


WOLF = 1  # of the game's roles


class Insight(Free):
    """Deduces every role from the deal it is shown, and proposes all that it may do."""

    def __init__(self) -> None:
        super().__init__(self.say)
        self.episode: Any = None

    def say(self, request: Request) -> str:
        text = last(request)
        if "Propose" not in text:
            roles = ("villager", "werewolf", "seer", "doctor")
            names = self.episode.game.players
            known = zip(names, self.episode.state.roles, strict=True)
            return "\n".join(f"{name}: {roles[role]}, 9, I know" for name, role in known)
        name = text.split("You are ")[-1].split(",")[0]
        seat = self.episode.game.players.index(name)
        return "\n".join(self.episode.legal_texts(seat))


def votes_for_wolves(agent: Deduce, model: Any, games: int, first: int) -> float:
    """The share of village votes that go to a werewolf, over some games of its own."""
    hits = total = 0
    for number in range(games):
        episode = Episode(palestra.game("games/Werewolf-v0", talk_rounds=0), first + number)
        model.episode = episode
        while not episode.over:
            turns = [Turn(episode, seat) for seat in episode.to_act]
            actions = {}
            for turn, decision in zip(turns, agent.act(turns), strict=True):
                actions[turn.seat] = turn.parse(decision.text or "")
                if "Vote(" in str(decision.text) and episode.state.roles[turn.seat] != WOLF:
                    total += 1
                    target = turn.game.players.index(actions[turn.seat].target)
                    hits += episode.state.roles[target] == WOLF
            episode.act(actions)
        agent.forget(turns[0].episode_key)
    return hits / total


@pytest.mark.slow
def test_the_policy_learns_to_vote_for_those_it_takes_for_werewolves() -> None:
    """The model alone names its candidates in the order of seats, which says nothing of roles."""
    shares = {}
    for select in (True, False):
        model = Insight()
        agent = Deduce(model=model, count=20, rate=0.2, select=select, seed=1)
        votes_for_wolves(agent, model, 40, 0)
        shares[select] = votes_for_wolves(agent, model, 15, 1000)
    assert shares[True] > shares[False] + 0.2
    assert agent.policy.weights == {}  # the arm without selection learns nothing


def test_a_policy_is_kept_in_its_file(tmp_path: Path) -> None:
    file = str(tmp_path / "policy.json")
    agent = Deduce(model=Free("nothing"), memory=file)
    agent.policy.learn([Counter(["x"]), Counter(["y"])], 0, 1.0)
    agent.close()
    assert Deduce(model=Free(""), memory=file).policy.weights == {"x": 0.5, "y": -0.5}


def test_a_deduction_is_asked_before_moves_and_shown_with_the_proposal() -> None:
    model = Free(lambda request: "player_1: seer, 9, it said so")
    agent = Deduce(model=model, count=2)
    game: Any = palestra.game("games/Werewolf-v0")
    (decision,) = agent.act([Turn(Episode(game, 0), 0)])
    first, second = (last(request) for request in model.requests)
    assert "what is the role of every other player?" in first
    assert "What you deduced:\nplayer_1: seer, 9, it said so" in second
    assert "Propose 2 moves" in second
    assert decision.text == "player_1: seer, 9, it said so"  # no proposal was legal: refused


# Agent-Pro


def follower(lessons: Sequence[str]) -> tuple[Free, list[str]]:
    """Goes where its instruction says, else left; writes these instructions one by one."""
    asked: list[str] = []
    left = iter(lessons)

    def answer(request: Request) -> str:
        text = last(request)
        if "Write one new instruction" in text:
            asked.append(text)
            return next(left)
        if "Self-belief:" in text:
            return "Self-belief: lost\nWorld-belief: doors"
        told = re.search(r"instruction from earlier games: go (\w+)", request.messages[0].content)
        return f"Go(to='{told[1] if told else 'left'}')"

    return Free(answer), asked


def paid(agent: AgentPro, games: int) -> list[float]:
    return [r.returns[0] for r in palestra.play(doors(), agents=[agent], episodes=games, live=1)]


def test_instructions_are_searched_depth_first_and_the_best_is_played() -> None:
    """left 0, middle 1/2, right 1. By hand: none 0; left is no better; its sibling middle is; of

    middle's children left is worse and right better, and that is the fifth instruction.
    """
    model, asked = follower(["go left", "go middle", "go left", "go right"])
    agent = AgentPro(model=model, games=2, width=2, trials=5)
    assert paid(agent, 12) == [0.0] * 4 + [0.5] * 2 + [0.0] * 2 + [1.0] * 4
    (search,) = agent.searches.values()
    assert [node.text for node in search.path] == ["", "go middle", "go right"]
    assert "Your instruction was: none" in asked[0]
    assert "Your instruction was: go left" in asked[3]
    assert "You believed: Self-belief: lost World-belief: doors" in asked[0]
    assert "You were paid 0, 0 in them" in asked[0]


def test_the_search_goes_back_where_all_children_fail() -> None:
    model, _ = follower(["go middle", "go left", "go left", "go right"])
    agent = AgentPro(model=model, games=1, width=2, trials=5)
    # none 0, middle 1/2 kept, two children at 0, back to the first instruction: right 1
    assert paid(agent, 7) == [0.0, 0.5, 0.0, 0.0, 1.0, 1.0, 1.0]


def test_without_beliefs_a_move_is_one_question() -> None:
    model, _ = follower([])
    agent = AgentPro(model=model, games=9, beliefs=False)
    paid(agent, 1)
    assert len(model.requests) == 1
    model, _ = follower([])
    paid(AgentPro(model=model, games=9), 1)
    assert len(model.requests) == 2
    assert "Self-belief: lost" in model.requests[1].messages[-2].content


def test_the_search_is_kept_in_a_file(tmp_path: Path) -> None:
    file = str(tmp_path / "search.json")
    model, _ = follower(["go right"])
    agent = AgentPro(model=model, games=1, trials=2, memory=file)
    paid(agent, 3)
    agent.close()
    other = AgentPro(model=follower([])[0], games=1, trials=2, memory=file)
    assert paid(other, 1) == [1.0]
