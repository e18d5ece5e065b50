"""Teams: who speaks to whom, what counts as agreement, and what each method's paper promises."""

from __future__ import annotations

import re
from itertools import combinations, product
from math import comb

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, last, trail
from hypothesis import given
from hypothesis import strategies as st
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.teams.dylan import DyLAN, contributions, has_agreement, read_ratings
from palestra_adapters.teams.oneflow import OneFlow
from palestra_adapters.teams.selforg import SelfOrg, contribution, edges, levels
from palestra_adapters.teams.spp import SoloPerformance, read_final
from palestra_adapters.teams.team import Answer, majority
from palestra_adapters.teams.topologies import (
    Topologies,
    efficiency,
    error_amplification,
    overhead,
)

DOORS = {"start": {"left": 0.0, "right": 1.0}}


def door(side: str, why: str = "so it is") -> str:
    return f"Thought: {why}\nAction: Go(to='{side}')"


def one_game(agent: palestra.Agent) -> palestra.EpisodeRecord:
    return palestra.play(trail(DOORS, top=1.0), agents=[agent])[0]


# DyLAN


def answers_of(*moves: str | None) -> list[Answer]:
    return [Answer(i, move) for i, move in enumerate(moves)]


@given(st.integers(1, 5), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_contributions_of_every_layer_sum_to_one(size: int, layers: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = [[Answer(i, str(rng.integers(2))) for i in range(size)] for _ in range(layers)]
    rated = [rng.integers(1, 6, (size, size)).astype(float) for _ in range(layers - 1)]
    parts = contributions(made, rated)
    assert len(parts) == layers
    for part in parts:
        assert part.sum() == pytest.approx(1.0)


def test_importance_is_passed_back_in_proportion_to_ratings() -> None:
    layers = [answers_of("a", "b"), answers_of("a", "a")]
    rated = [np.array([[4.0, 1.0], [3.0, 1.0]])]
    first, second = contributions(layers, rated)
    assert second.tolist() == [0.5, 0.5]
    assert first == pytest.approx([0.5 * 0.8 + 0.5 * 0.75, 0.5 * 0.2 + 0.5 * 0.25])


def test_a_silent_member_gets_nothing() -> None:
    def answer(request: Request) -> str:
        if "Rate each" in last(request):
            return "Ratings: 5 5 5 5"
        return door("left") if request.seed and request.seed % 2 else door("right")

    silent = Free("I do not know.")
    models = [silent, Free(answer, "a"), Free(answer, "b"), Free(answer, "c")]
    team = DyLAN(model=models, size=4, keep=4)
    palestra.play(trail(DOORS, top=1.0), agents=[team], episodes=20)
    assert team.importance[0] == 0.0
    assert all(team.importance[1:] > 0)


def test_one_who_is_always_right_is_the_most_important() -> None:
    def wrong(request: Request) -> str:
        if "Rate each" in last(request):
            return "Ratings: 1 1 5 1"
        return door("right") if "Member 3" in last(request) else door("left")

    def right(request: Request) -> str:
        return "Ratings: 1 1 5 1" if "Rate each" in last(request) else door("right")

    models = [Free(wrong, "0"), Free(wrong, "1"), Free(right, "2"), Free(wrong, "3")]
    team = DyLAN(model=models, size=4, team=1, trial=3)
    models[1]._answer = lambda r: door("middle") if "Rate" not in last(r) else wrong(r)
    record = one_game(team)
    assert np.argmax(team.importance) == 2
    assert record.turns[0].text == "Go(to='right')"
    palestra.play(trail(DOORS, top=1.0), agents=[team], episodes=5, live=1)
    assert team.members == [2]


def test_agreement_of_more_than_two_thirds_ends_the_talk() -> None:
    model = Free(door("right"))
    one_game(DyLAN(model=model, size=4, layers=3))
    assert len(model.requests) == 4
    assert not has_agreement(answers_of("a", "a", "b"))
    assert has_agreement(answers_of("a", "a", "a", "b"))
    assert not has_agreement(answers_of(None, None, None))


def test_the_weak_drop_out_after_the_second_layer() -> None:
    sides = iter(["left", "right"] * 50)

    def answer(request: Request) -> str:
        return "Ratings: 5, 5, 1, 1" if "Rate" in last(request) else door(next(sides))

    model = Free(answer)
    one_game(DyLAN(model=model, size=4, layers=3, keep=2))
    assert len(model.requests) == 4 + (4 + 4) + (4 + 2)  # answers, ratings and answers, twice


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Ratings: 5 3 1", [5, 3, 1]), ("Ratings: 9, 0", [5, 1, 3]), ("none", [3, 3, 3])],
)
def test_ratings_are_read(text: str, expected: list[float]) -> None:
    assert read_ratings(text, 3) == expected


# SelfOrg


def shapley(made: np.ndarray) -> np.ndarray:
    """Exact Shapley values of the game in which a coalition is worth how its mean fits all's."""
    size, whole = len(made), made.mean(axis=0)

    def worth(members: tuple[int, ...]) -> float:
        if not members:
            return 0.0
        mean = made[list(members)].mean(axis=0)
        return float(mean @ whole / (np.linalg.norm(mean) * np.linalg.norm(whole)))

    values = np.zeros(size)
    for i in range(size):
        others = [j for j in range(size) if j != i]
        for k in range(size):
            for group in combinations(others, k):
                share = 1 / (size * comb(size - 1, k))
                values[i] += share * (worth(tuple(sorted((*group, i)))) - worth(group))
    return values


@pytest.mark.parametrize("size", [3, 4, 5, 6])
def test_contribution_ranks_members_as_their_shapley_values_do(size: int) -> None:
    rng = np.random.default_rng(size)
    agreements = []
    for _ in range(20):
        made = np.abs(rng.normal(size=(size, 8)))
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        ranks = [np.argsort(np.argsort(v)) for v in (contribution(made), shapley(made))]
        agreements.append(np.corrcoef(*ranks)[0, 1])
    assert np.mean(agreements) > 0.9


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_messages_never_go_in_a_circle(size: int, seed: int, alike: float) -> None:
    made = np.random.default_rng(seed).random((size, 5))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    sent = edges(made, alike)
    order = levels(sent)
    assert sorted(i for level in order for i in level) == list(range(size))
    place = {member: n for n, level in enumerate(order) for member in level}
    assert all(place[m] < place[n] for m, n in zip(*np.nonzero(sent), strict=True))


def test_the_answer_is_that_of_the_strongest_contributor() -> None:
    sides = iter(["left", "right", "right"])
    record = one_game(SelfOrg(model=Free(lambda _: door(next(sides))), size=3, rounds=1))
    assert record.turns[0].text == "Go(to='right')"


def test_the_weaker_hear_the_stronger_and_not_the_other_way() -> None:
    sides = iter(["right", "right", "left"])

    def answer(request: Request) -> str:
        if "have answered" in last(request):
            return door("right", "I was told")
        return door(next(sides))

    model = Free(answer)
    record = one_game(SelfOrg(model=model, size=3, rounds=2, alike=0.1))
    told = [request for request in model.requests if "have answered" in last(request)]
    assert 1 <= len(told) <= 2  # the strongest hears nobody
    assert record.turns[0].text == "Go(to='right')"


# Topologies


@pytest.mark.parametrize("size", [1, 3, 5])
def test_an_independent_team_of_coin_flips_is_the_binomial(size: int) -> None:
    """Every pattern of right and wrong members once, weighted by its chance."""
    p, total = 0.6, 0.0
    for pattern in product((True, False), repeat=size):
        sides = iter("right" if good else "left" for good in pattern)
        agent = Topologies(
            model=Free(lambda _, sides=sides: door(next(sides))), topology="independent", size=size
        )
        outcome = one_game(agent).outcome
        assert outcome is not None
        total += outcome.scores[0] * p ** sum(pattern) * (1 - p) ** (size - sum(pattern))
    needed = size // 2 + 1
    expected = sum(comb(size, k) * p**k * (1 - p) ** (size - k) for k in range(needed, size + 1))
    assert total == pytest.approx(expected)


@pytest.mark.parametrize(
    ("topology", "calls"),
    [
        ("single", 2),  # an answer, and once more over it
        ("independent", 3),
        ("centralised", 2 * (1 + 3 + 1)),
        ("decentralised", 2 * 3),
        ("hybrid", 2 * (1 + 3 + 1)),
    ],
)
def test_each_topology_makes_its_calls(topology: str, calls: int) -> None:
    model = Free(lambda r: "Go(to='right')" if "lead" in last(r) else door("right"))
    record = one_game(Topologies(model=model, topology=topology, size=3, rounds=2))
    assert len(model.requests) == calls == record.turns[0].usage.calls


def test_only_some_topologies_let_members_hear_each_other() -> None:
    for topology, hears in (("independent", False), ("centralised", False), ("hybrid", True)):
        model = Free(lambda r: "Go(to='right')" if "lead" in last(r) else door("right", "peer"))
        one_game(Topologies(model=model, topology=topology, size=2, rounds=2))
        own = [last(request) for request in model.requests if "lead" not in last(request)]
        assert any("peer" in text for text in own) is hears


def test_teams_keep_to_the_same_budget() -> None:
    for topology in ("single", "centralised", "decentralised", "hybrid"):
        model = Free(lambda r: "Go(to='right')" if "lead" in last(r) else door("right"))
        free = one_game(Topologies(model=model, topology=topology, rounds=30))
        tokens = free.turns[0].usage.tokens // 2
        bound = Topologies(model=model, topology=topology, rounds=30, tokens=tokens)
        assert 0 < one_game(bound).turns[0].usage.tokens <= tokens * 1.2


def test_measures_of_a_single_agent_are_neutral() -> None:
    assert overhead(7, 7) == 0
    assert error_amplification(0.7, 0.7) == pytest.approx(1.0)
    assert efficiency(0.7, 7, 7) == pytest.approx(0.7)
    assert error_amplification(0.4, 0.8) == pytest.approx(3.0)
    same = Topologies(model=Free(door("right")), topology="independent", size=3)
    one_game(same)
    assert same.talked.redundancy == pytest.approx(1.0)
    assert same.talked.density == 0.0


# OneFlow and Solo Performance Prompting


@pytest.mark.parametrize("game", ["games/KuhnPoker-v0", "games/TicTacToe-v0"])
def test_one_conversation_and_many_show_each_role_the_same_text(game: str) -> None:
    """Apart, what another role wrote is quoted."""
    texts = []
    for separate in (False, True):
        count = iter(range(10_000))
        model = ScriptedModel(lambda _, count=count: f"Line {next(count)}.")
        agent = OneFlow(model=model, separate=separate, roles="analyst+historian+critic+player")
        palestra.play(game, agents=[agent, "first"])
        texts.append(["\n".join(m.content for m in r.messages) for r in model.requests])
    assert texts[0] == [re.sub(r'"(Line \d+\.)"', r"\1", text) for text in texts[1]]
    assert texts[0] != texts[1]
    assert len(texts[0]) % 4 == 0


def test_one_conversation_only_grows_so_that_a_cache_serves_it() -> None:
    model = ScriptedModel("on")
    palestra.play(trail(DOORS), agents=[OneFlow(model=model)])
    first, second, third = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages


def test_only_the_final_block_is_the_move() -> None:
    text = "Personas: a cook\nDraft: Go(to='left')\nCritique: no\nFinal: Go(to='right')"
    record = one_game(SoloPerformance(model=Free(text)))
    assert record.turns[0].text == "Go(to='right')"
    assert "Personas: a cook" in record.turns[0].thought
    assert read_final(f"{text}\n**Final answer:** x") == "x"
    assert read_final("nothing") == ""


def test_without_a_final_block_the_move_is_asked_for() -> None:
    model = ScriptedModel("Personas: nobody")
    record = one_game(SoloPerformance(model=model))
    assert not sum(record.mistakes)
    assert record.turns[0].usage.calls == 2


def test_votes() -> None:
    assert majority(["a", "b", "b", None]) == "b"
    assert majority(["a", "b"]) == "a"
    assert majority([None]) is None


def test_members_are_models_in_turn() -> None:
    agent = palestra.make_agent("team:echo:a+echo:b,size=4,topology=independent")
    assert isinstance(agent, Topologies)
    assert [model.name for model in agent.models] == ["echo:a", "echo:b"]
    palestra.play("games/KuhnPoker-v0", agents=[agent, "random"], invalid="random")


def test_bad_options_are_named() -> None:
    with pytest.raises(InvalidOption, match="or 'hybrid', not 'hybrids'"):
        palestra.make_agent("team:echo:,topology=hybrids")
    with pytest.raises(
        InvalidOption, match="size of agent 'selforg' must be an integer from 1 to 1000, not 0"
    ):
        palestra.make_agent("selforg:echo:,size=0")
    with pytest.raises(InvalidOption, match="keep 5"):
        palestra.make_agent("dylan:echo:,keep=5")
    with pytest.raises(InvalidOption, match="roles"):
        palestra.make_agent("oneflow:echo:,roles=a++b")
