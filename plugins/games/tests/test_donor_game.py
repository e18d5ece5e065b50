"""The Donor Game: closed forms, generations, punishment, traces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent
from palestra.scene import Graph
from palestra_games.dilemmas.donor_game import Act, Donate, DonorGame, Punish, Write


def played(game: DonorGame, agent: str = "donor", seed: int = 0) -> Episode:
    episode, donor = Episode(game, seed), make_agent(agent)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = donor.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


def begun(**options: Any) -> Episode:
    """Strategies are written, the first donors are to act."""
    episode = Episode(DonorGame(**options), 0)
    episode.act({seat: Write("I give.") for seat in episode.to_act})
    return episode


# Closed forms


@pytest.mark.parametrize("percent", [0, 10, 50, 100])
@pytest.mark.parametrize("rounds", [1, 2, 5, 12])
def test_equal_givers_have_what_the_matrices_say(percent: int, rounds: int) -> None:
    share, has = percent / 100, np.array([10.0, 10.0])
    first = np.array([[1 - share, 0], [2 * share, 1]])
    second = np.array([[1, 2 * share], [0, 1 - share]])
    for number in range(rounds):
        has = (second if number % 2 else first) @ has
    game = DonorGame(num_players=6, rounds=rounds, generations=1)
    returns = sorted(played(game, f"donor:percent={percent}").returns)
    assert returns == pytest.approx(sorted([*[has[0]] * 3, *[has[1]] * 3]))


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_giving_everything_leaves_one_side_all(rounds: int) -> None:
    game = DonorGame(num_players=4, rounds=rounds, generations=1, endowment=5)
    returns = sorted(played(game, "donor:percent=100").returns)
    assert returns == pytest.approx([0, 0, *[5 * 3 * 2 ** (rounds - 1)] * 2])


def test_generations_add_up() -> None:
    game = DonorGame(num_players=4, rounds=3, generations=5)
    once = played(DonorGame(num_players=4, rounds=3, generations=1)).returns
    assert sum(played(game).returns) == pytest.approx(5 * sum(once))
    assert sum(played(DonorGame(generations=3), "donor:percent=0").returns) == 12 * 10 * 3


def test_mirrors_go_on_with_what_they_began() -> None:
    game = DonorGame(num_players=6, rounds=8, generations=2)
    plain = sorted(played(game, "donor:percent=30").returns)
    assert sorted(played(game, "donor:percent=30,mirror=true").returns) == pytest.approx(plain)


# The rules


def test_giving_doubles_and_punishing_costs_twice_as_much() -> None:
    episode = begun(num_players=4, punishment=True)
    (one, first), (two, second) = episode.state.pairs
    episode.act({one: Donate(40), two: Punish(30)})
    has = episode.state.resources
    assert (has[one], has[first]) == (6, 18)
    assert (has[two], has[second]) == (7, 4)


def test_nobody_is_punished_below_nothing() -> None:
    episode = begun(num_players=2, punishment=True)
    ((donor, recipient),) = episode.state.pairs
    episode.act({donor: Punish(100)})
    assert episode.state.resources[donor] == episode.state.resources[recipient] == 0


def test_resources_grow_by_what_is_given() -> None:
    rng = Rng(5)
    episode = begun(num_players=8, generations=1)
    while not episode.over:
        before, gifts = sum(episode.state.resources), {p: rng.below(101) for p in episode.to_act}
        given = sum(episode.state.resources[p] * n / 100 for p, n in gifts.items())
        episode.act({p: Donate(n) for p, n in gifts.items()})
        assert sum(episode.state.resources) == pytest.approx(before + given)


def test_sides_change_every_round_and_everybody_is_paired() -> None:
    episode, donors = begun(num_players=6, rounds=4, generations=1), []
    while not episode.over:
        assert sorted(seat for pair in episode.state.pairs for seat in pair) == list(range(6))
        donors.append(set(episode.to_act))
        episode.act({p: Donate(1) for p in episode.to_act})
    assert donors[0] == donors[2] != donors[1] == donors[3]


def test_the_richer_half_lives_on_and_newcomers_read_its_strategies() -> None:
    episode = Episode(DonorGame(num_players=4, rounds=2, generations=2), 0)
    episode.act({seat: Write(f"Strategy of {seat}.") for seat in range(4)})
    for _ in range(2):
        episode.act({p: Donate(100 if p < 2 else 0) for p in episode.to_act})
    resources = next(e for e in episode.log[-1] if e.kind == "generation").data["resources"]
    rich = sorted(range(4), key=lambda seat: (-resources[seat], seat))[:2]
    assert set(episode.to_act) == set(range(4)) - set(rich)
    assert episode.state.resources == (10.0,) * 4
    text = episode.describe(episode.to_act[0])
    assert all(f"Strategy of {seat}." in text for seat in rich)
    assert not any(f"Strategy of {seat}." in text for seat in episode.to_act)


def test_traces_go_back_from_recipient_to_recipient() -> None:
    game = DonorGame(num_players=4, trace=3)
    state = game.initial_state(0)
    acts = (Act(0, 1, 10, 0), Act(2, 3, 20, 0), Act(1, 2, 30, 1), Act(3, 0, 40, 1))
    state.acts, state.round = (*acts, Act(0, 3, 50, 2), Act(2, 1, 60, 2)), 3
    assert [act.percent for act in game.history(state, 0)] == [50, 40, 10]
    assert [act.percent for act in game.history(state, 1)] == [30, 20]
    assert [act.percent for act in DonorGame(trace=1).history(state, 2)] == [60]


def test_only_with_punishment_can_anybody_punish() -> None:
    episode = begun(num_players=4)
    with pytest.raises(InvalidAction):
        episode.parse(episode.to_act[0], "Punish(percent=10)")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_players": 5}, "divisible by 2"),
        ({"num_players": 52}, "num_players must be an integer from 2 to 50"),
        ({"rounds": 0}, "rounds must be"),
        ({"endowment": 0}, "endowment"),
        ({"trace": 11}, "trace"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        DonorGame(**options)


# Who knows what


def told(options: dict[str, Any], donations: dict[int, int]) -> tuple[Episode, dict[int, str]]:
    """One round in which every seat gives what is named; what everybody has read after it."""
    episode = Episode(DonorGame(num_players=6, **options), 2)
    episode.act({seat: Write(f"Plan {seat}.") for seat in range(6)})
    episode.act({seat: Donate(donations[seat]) for seat in episode.to_act})
    return episode, {seat: episode.prompt(seat, 0) for seat in range(6)}


GIFTS = {seat: 11 * (seat + 1) for seat in range(6)}  # a donation names its donor


@pytest.mark.parametrize(
    ("acts", "knows"),
    [
        ("trace", lambda seat, donor, recipient: seat == donor),
        ("partners", lambda seat, donor, recipient: seat in (donor, recipient)),
        ("everybody", lambda seat, donor, recipient: True),
    ],
)
def test_an_act_is_read_by_those_the_option_names(acts: str, knows: Any) -> None:
    episode, read = told({"acts": acts}, GIFTS)
    for act in episode.state.acts:
        sentence = f"player_{act.donor} gives {act.percent}%"
        for seat in range(6):
            assert (sentence in read[seat]) == knows(seat, act.donor, act.recipient)


def test_a_donor_reads_of_one_stranger_only_and_only_along_the_chain() -> None:
    episode = Episode(DonorGame(num_players=6, trace=2), 2)
    episode.act({seat: Write(f"Plan {seat}.") for seat in range(6)})
    for _ in range(3):
        episode.act({seat: Donate(GIFTS[seat]) for seat in episode.to_act})
    acts = {(act.round, act.donor): act for act in episode.state.acts}
    for donor, recipient in episode.state.pairs:
        last = acts[2, recipient]  # sides alternate: a recipient gave in the round before
        earlier = acts[1, last.recipient]
        text = episode.describe(donor)
        assert f"In round 3 player_{recipient} gave {last.percent}%" in text
        assert f"In round 2 player_{last.recipient} gave {earlier.percent}%" in text
        assert text.count("In round") == 2


@pytest.mark.parametrize(("who", "readers"), [("nobody", 1), ("newcomers", 1), ("everybody", 6)])
def test_a_strategy_is_read_while_it_is_followed(who: str, readers: int) -> None:
    _, read = told({"strategies": who}, GIFTS)
    for seat in range(6):
        assert sum(f"Plan {seat}." in text for text in read.values()) == readers


@pytest.mark.parametrize("who", ["nobody", "newcomers"])
def test_strategies_are_handed_down_unless_nobody_reads_them(who: str) -> None:
    options: Any = {"strategies": who}
    episode = Episode(DonorGame(num_players=4, rounds=2, generations=2, **options), 0)
    episode.act({seat: Write(f"Plan {seat}.") for seat in range(4)})
    for _ in range(2):
        episode.act({p: Donate(100 if p < 2 else 0) for p in episode.to_act})
    new = episode.to_act
    for seat in new:
        read = {old for old in range(4) if f"Plan {old}." in episode.prompt(seat, 0)}
        assert read == (set(range(4)) - set(new) if who == "newcomers" else set())


def test_what_others_did_and_have_is_not_drawn_for_a_seat() -> None:
    episode, _ = told({}, GIFTS)
    episode.act({seat: Donate(GIFTS[seat] + 1) for seat in episode.to_act})
    (donor, recipient) = episode.state.pairs[0]
    (graph,) = episode.scene(donor).parts
    assert isinstance(graph, Graph)
    shown = {node.name for node in graph.nodes if node.label}
    assert shown == {str(donor), str(recipient)}
    (whole,) = episode.scene(None).parts
    assert isinstance(whole, Graph)
    assert len(whole.nodes) == 6
    gave = {(link.start, link.end, link.label) for link in whole.links}
    last = [act for act in episode.state.acts if act.round == episode.state.acts[-1].round]
    assert gave == {(act.donor, act.recipient, f"{act.percent}%") for act in last}
    assert len(gave) == 3  # not those of earlier rounds
