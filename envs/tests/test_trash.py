"""Trash: runs in closed form, the least effort by shortest paths, and why it is a dilemma."""

from __future__ import annotations

from typing import Any

import networkx as nx
import palestra
import pytest
from palestra import Episode, InvalidOption
from palestra_envs.text.sharing import Pass, Say
from palestra_envs.text.trash import Clear, Trash


def paid(*agents: str, **options: Any) -> list[float]:
    (record,) = palestra.play("text/Trash-v0", agents=list(agents), **options)
    return list(record.returns)


def test_keeping_trash_at_the_limit_leaves_sixty_and_foresight_more() -> None:
    assert paid(*["tidier:policy=needed"] * 5) == [12 * (15 - 10)] * 5
    assert paid(*["tidier"] * 5) == [144.0] * 5


def test_if_nobody_clears_the_house_is_given_up_at_once_and_pays_nothing() -> None:
    (record,) = palestra.play("text/Trash-v0", agents=["tidier:policy=idle"] * 5)
    assert list(record.returns) == [0.0] * 5
    assert record.outcome.reason == "The house was given up in round 1 of 12."


def test_who_does_nothing_while_others_do_enough_is_paid_best() -> None:
    """Three who clear for four: 75 is more than the 50 that must go, and little comes back."""
    episode = Episode(Trash(talk=False), 0)
    for amount in (25, *[3] * 11):
        episode.act({seat: Clear(0 if seat == 4 else amount) for seat in range(5)})
    assert episode.outcome.reason.startswith("The house was kept")
    assert episode.returns[4] == 12 * 15
    assert all(value < 12 * 15 for value in episode.returns[:4])


def least(game: Trash, rounds: int) -> int:
    """The cheapest way through rounds and stocks, as a shortest path."""
    graph = nx.DiGraph()
    for number in range(rounds):
        for trash in range(game.most + 1):
            for left in range(min(trash, game.limit) + 1):
                then = "end" if number == rounds - 1 else (number + 1, max(game.least, 2 * left))
                cost = trash - left
                known = graph.get_edge_data((number, trash), then, {"weight": 10**9})
                graph.add_edge((number, trash), then, weight=min(cost, known["weight"]))
    effort: int = nx.dijkstra_path_length(graph, (0, game.start), "end")
    return effort


@pytest.mark.parametrize(
    ("rounds", "options"),
    [
        (1, {}),
        (2, {}),
        (4, {}),
        (12, {}),
        (6, {"least": 0}),
        (6, {"least": 37, "limit": 20, "start": 33}),
        (5, {"limit": 0, "least": 0, "start": 9}),
    ],
)
def test_the_least_effort_is_a_shortest_path(rounds: int, options: dict[str, int]) -> None:
    game = Trash(rounds=rounds, **options)
    assert game.plan(game.start, rounds)[1] == least(game, rounds)


@pytest.mark.parametrize(
    ("cleared", "left", "after"),
    [((10,) * 5, 50, 100), ((20, 20, 20, 20, 15), 5, 20), ((30,) * 5, 0, 20)],
)
def test_what_is_left_doubles_from_the_least_up(
    cleared: tuple[int, ...], left: int, after: int
) -> None:
    episode = Episode(Trash(talk=False), 0)
    episode.act({seat: Clear(n) for seat, n in enumerate(cleared)})
    assert episode.log[-1][0].data["left"] == left
    assert episode.state.trash == after
    assert sum(episode.state.cleared) == 100 - left  # nobody clears what is not there


def test_whispers_reach_one_player_only() -> None:
    episode = Episode(Trash(num_players=3, utterances=2), 0)
    episode.act({seat: Clear(30) for seat in range(3)})
    (speaker,) = episode.to_act
    hearer, stranger = (seat for seat in range(3) if seat != speaker)
    episode.act({speaker: Say("Between us.", to=f"player_{hearer}")})
    assert "Between us." in episode.prompt(hearer)
    assert "Between us." not in episode.prompt(stranger)
    episode.act({episode.to_act[0]: Pass()})
    assert episode.to_act == (0, 1, 2)


@pytest.mark.parametrize(
    "options", [{"num_players": 1}, {"rounds": 0}, {"least": 200}, {"limit": -1}, {"home": -1}]
)
def test_bad_options_say_what_is_accepted(options: dict[str, int]) -> None:
    with pytest.raises(InvalidOption, match=rf"{next(iter(options))} must be .*from"):
        Trash(**options)
