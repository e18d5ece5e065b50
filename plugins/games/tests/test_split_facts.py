"""Split Facts: what one can know by a count of all worlds, messages needed, lies, costs."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import networkx as nx
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, play
from palestra_games.social.split_facts import (
    FRIEND,
    PEOPLE,
    TOWN,
    TOWNS,
    Answer,
    Say,
    SplitFacts,
    SplitFactsState,
)


@pytest.mark.parametrize("seed", range(20))
def test_the_answer_is_at_the_end_of_the_chain_and_nobody_knows_it_alone(seed: int) -> None:
    game = SplitFacts(people=4 + seed % 9, links=1 + seed % 3)
    world = game.initial_state(seed)
    graph = nx.DiGraph(enumerate(world.friends))
    assert nx.is_strongly_connected(graph)
    end = next(
        p
        for p, d in nx.single_source_shortest_path_length(graph, world.first).items()
        if d == game.links
    )
    assert game.solution(world) == world.towns[end]
    assert world.dealt[0] | world.dealt[1] == {
        (k, p) for k in (FRIEND, TOWN) for p in range(game.people)
    }
    assert len(world.dealt[0]) == len(world.dealt[1]) == game.people
    chain = nx.shortest_path(graph, world.first, end)
    needed = [*((FRIEND, person) for person in chain[:-1]), (TOWN, end)]
    assert all((a in world.dealt[0]) != (b in world.dealt[0]) for a, b in pairwise(needed))


def worlds(game: SplitFacts, world: SplitFactsState, seat: int) -> Counter[tuple[Any, Any]]:
    """All friends and towns that fit what a player was dealt, by listing them."""
    fits: Counter[tuple[Any, Any]] = Counter()
    for order in permutations(range(1, game.people)):
        circle = [0, *order]
        follow = dict(zip(circle, [*order, 0], strict=True))
        friends = tuple(follow[p] for p in range(game.people))
        if any(friends[p] != world.friends[p] for k, p in world.dealt[seat] if k == FRIEND):
            continue
        needed, person = [], world.first
        for link in range(game.links + 1):
            needed.append((FRIEND if link < game.links else TOWN, person))
            person = friends[person]
        if game.alternate and not all(
            (a in world.dealt[0]) != (b in world.dealt[0]) for a, b in pairwise(needed)
        ):
            continue
        for towns in permutations(world.choices):
            if all(towns[p] == world.towns[p] for k, p in world.dealt[seat] if k == TOWN):
                fits[friends, towns] = 1
    return fits


@pytest.mark.parametrize("alternate", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_hidden_facts_are_drawn_evenly_from_all_worlds_that_fit(seed: int, alternate: bool) -> None:
    game = SplitFacts(people=5, links=2, alternate=alternate)
    world = game.initial_state(seed)
    fits, rng = worlds(game, world, 0), Rng(seed)
    draws = 150 * len(fits)
    drawn = Counter(
        (twin.friends, twin.towns)
        for twin in (game.determinize(world, 0, rng) for _ in range(draws))
    )
    assert set(drawn) == set(fits)
    assert (world.friends, world.towns) in fits
    assert all(95 < count < 205 for count in drawn.values())  # 150, give or take 4 sigma


@pytest.mark.parametrize("links", range(1, 8))
def test_a_relay_needs_one_message_a_link_and_one_more_to_begin(links: int) -> None:
    options = {"links": links, "people": 9}
    game = SplitFacts(**options)
    for record in play(
        "games/SplitFacts-v0", agents=["fact-teller"] * 2, episodes=12, seed=links, **options
    ):
        world = game.initial_state(record.seed)
        begins = (FRIEND, world.first) in world.dealt[0]
        assert record.outcome.scores == (1.0, 1.0)
        assert len(record.turns) == links + (not begins) + 2


def test_telling_everything_costs_more_and_is_right_just_as_often() -> None:
    def spent(style: str) -> float:
        agents = [f"fact-teller:style={style}"] * 2
        records = play("games/SplitFacts-v0", agents=agents, episodes=20, seed=5)
        assert all(record.outcome.scores == (1.0, 1.0) for record in records)
        steps = [step for record in records for step in record.steps]
        return sum(step.costs[0]["characters"] for step in steps if step.costs)

    assert 1.5 * spent("relay") < spent("all")


def test_guessing_is_right_about_as_often_as_there_are_towns() -> None:
    records = play(
        "games/SplitFacts-v0",
        agents=["fact-teller", "random"],
        episodes=200,
        seed=2,
        max_messages=0,
    )
    right = sum(record.outcome.scores[0] for record in records)
    assert right < 20  # both right by chance: once in 64


def test_a_lie_is_shown_as_it_was_said() -> None:
    game = SplitFacts()
    episode = Episode(game, 0)
    state = episode.state
    person = next(p for k, p in state.dealt[0] if k == TOWN)
    lie = next(town for town in state.choices if town != state.towns[person])
    text = f"{PEOPLE[person]} lives in {TOWNS[lie]}."
    episode.act({0: Say(text)})
    assert f"Said in the words of facts: {text}" in episode.describe(1)
    assert episode.observation(1)[6 + 3 * game.people + game.people + person] == 1 + lie
    assert episode.step.costs[1] == {"characters": len(text)}


def test_each_answers_once_and_no_more_is_said() -> None:
    episode = Episode(SplitFacts(), 3)
    right = TOWNS[episode.game.solution(episode.state)]
    episode.act({0: Answer(right)})
    with pytest.raises(InvalidAction):
        episode.act({1: Say("Wait.")})
    wrong = next(TOWNS[t] for t in episode.state.choices if TOWNS[t] != right)
    episode.act({1: Answer(wrong)})
    assert list(episode.returns) == [0, 0]


@pytest.mark.parametrize(
    "options",
    [{"people": 2}, {"links": 0}, {"links": 8}, {"max_messages": -1}, {"message_limit": 10}],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=f"{next(iter(options))} must be (a.* )?from"):
        SplitFacts(**options)
