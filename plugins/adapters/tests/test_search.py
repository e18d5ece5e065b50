"""Tree search over forks: known optima, exact values, what each rule promises."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import palestra
import pytest
from adapter_worlds import last, trail
from hypothesis import given
from hypothesis import strategies as st
from palestra import Budget, Episode, InvalidOption, UnknownName, Usage
from palestra.agents.budget import Account
from palestra.agents.models import Reply, Request
from palestra.testing import ScriptedModel
from palestra_adapters.scoring import read_grade
from palestra_adapters.search.agents import (
    BAVT,
    FLARE,
    BeamSearch,
    BestOfN,
    SWESearch,
    TreeAgent,
    TreeSearch,
)
from palestra_adapters.search.growth import thrifty_weights
from palestra_adapters.search.spots import Spot
from palestra_adapters.search.tree import Spending

BAIT = {  # the bait pays at once and leads nowhere
    "start": {"bait": 3.0, "path": 0.1},
    "bait": {"swamp": 0.0},
    "swamp": {"swamp end": 0.0},
    "path": {"hill": 0.0},
    "hill": {"treasure": 10.0, "view": 1.0},
}
KINDS: list[Callable[..., TreeAgent]] = [TreeSearch, SWESearch, BAVT, FLARE, BeamSearch]


def gained(spot: Spot) -> float:
    """What it has paid so far: a greedy eye."""
    return spot.gain / 10


def negamax(episode: Episode, seat: int) -> float:
    """The exact value of a position of tic-tac-toe for a seat, from -1 to 1."""
    return _exact(_Board(episode), seat)


class _Board:
    def __init__(self, episode: Episode) -> None:
        self.episode, self.key = episode, episode.state_key()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Board) and self.key == other.key


@cache
def _exact(board: _Board, seat: int) -> float:
    episode = board.episode
    if episode.over:
        return float(np.sign(episode.returns[seat]))
    values = []
    for action in episode.legal_actions():
        twin = episode.fork()
        twin.act({twin.to_act[0]: action})
        values.append(_exact(_Board(twin), seat))
    return max(values) if episode.to_act[0] == seat else min(values)


def exactly(spot: Spot) -> float:
    return (negamax(spot.episode, spot.seat) + 1) / 2


def test_best_of_n_with_exact_values_plays_optimally_whatever_is_proposed() -> None:
    agent = BestOfN(model=ScriptedModel("7"), n=9, scorer=exactly, others="minimax")
    records = palestra.play(
        "games/TicTacToe-v0", agents=[agent, "minimax"], episodes=2, invalid="raise"
    )
    assert [record.outcome.results for record in records if record.outcome] == [("draw",) * 2] * 2


def test_best_of_n_plays_the_best_of_what_was_proposed_and_no_other() -> None:
    drawn = iter(["Go(to='b')", "Go(to='c')", "Go(to='b')", "Go(to='b')"])
    game = trail({"start": {c: float(i) for i, c in enumerate("abcdefgh")}})
    agent = BestOfN(model=ScriptedModel(lambda _: next(drawn)), n=4, scorer=gained)
    record = palestra.play(game, agents=[agent])[0]
    assert record.turns[0].text == "Go(to='c')"  # of b and c; h would pay more


@pytest.mark.parametrize("kind", KINDS)
def test_looking_ahead_does_not_take_the_bait(kind: Callable[..., TreeAgent]) -> None:
    agent = kind(model=ScriptedModel(""), scorer=gained, expansions=20, depth=3)
    record = palestra.play(trail(BAIT), agents=[agent])[0]
    assert record.outcome is not None
    assert record.outcome.scores == (10.1,)


def test_one_step_of_foresight_takes_it() -> None:
    record = palestra.play(trail(BAIT), agents=[BestOfN(model=ScriptedModel(""), scorer=gained)])[0]
    assert record.outcome is not None
    assert record.outcome.scores == (3.0,)


@pytest.mark.parametrize("kind", KINDS)
def test_with_true_distances_every_rule_finds_the_shortest_way(
    kind: Callable[..., TreeAgent],
) -> None:
    size = 4
    grid = {
        f"{x}{y}": {
            f"{x + a}{y + b}": float((x + a, y + b) == (size - 1, size - 1))
            for a, b in ((1, 0), (0, 1), (-1, 0), (0, -1))
            if 0 <= x + a < size and 0 <= y + b < size
        }
        for x in range(size)
        for y in range(size)
        if (x, y) != (size - 1, size - 1)
    }

    def nearness(spot: Spot) -> float:
        place = spot.text.split("at ")[1][:2]
        return 1 - (2 * (size - 1) - int(place[0]) - int(place[1])) / 10

    game = trail(grid, start="00", top=1.0)
    agent = kind(model=ScriptedModel(""), scorer=nearness, width=4, expansions=12, depth=3)
    record = palestra.play(game, agents=[agent])[0]
    assert len(record.turns) == 2 * (size - 1)


def judged_by(values: dict[str, int]) -> Callable[[Request], str]:
    """A judge that grades places, and proposes nothing of its own."""

    def answer(request: Request) -> str:
        place = last(request).split("You are at ")[1].split(",")[0]
        return str(values.get(place, 0))

    return answer


def test_the_judge_is_the_model_and_is_asked_once_a_position() -> None:
    model = ScriptedModel(judged_by({"path": 6, "bait": 4, "hill": 9}))
    record = palestra.play(trail(BAIT), agents=[TreeSearch(model=model, expansions=4)])[0]
    assert record.outcome is not None
    assert record.outcome.scores == (10.1,)
    first = [last(r).split("\n")[0] for r in model.requests[:3]]
    assert len(set(first)) == len(first)
    assert record.turns[0].usage.calls <= 4


def test_all_turns_share_the_calls_of_the_search() -> None:
    model = ScriptedModel(judged_by({"path": 6, "bait": 4, "hill": 9}))
    palestra.play(trail(BAIT), agents=[TreeSearch(model=model, expansions=4)], episodes=10)
    assert all(calls % 10 == 0 for calls in model.calls)


def test_best_first_stops_where_enough_is_found() -> None:
    few = TreeSearch(model=ScriptedModel(""), scorer=gained, expansions=50, enough=0.2)
    turn = palestra.play(trail(BAIT), agents=[few])[0].turns[0]
    assert turn.text == "Go(to='bait')"
    assert turn.thought.startswith("1 positions expanded")


def test_a_plan_is_followed_while_everything_comes_as_planned() -> None:
    agent = TreeSearch(model=ScriptedModel(""), scorer=gained, expansions=20, commit=3)
    record = palestra.play(trail(BAIT), agents=[agent])[0]
    assert [turn.thought for turn in record.turns][2:] == ["as planned"]
    assert record.turns[1].text == "Go(to='hill')"


def test_a_plan_is_dropped_where_the_other_plays_something_else() -> None:
    agent = TreeSearch(
        model=ScriptedModel(""), scorer="playouts", others="first", commit=9, expansions=4
    )
    records = palestra.play("games/TicTacToe-v0", agents=[agent, "random"], episodes=5)
    assert not any(sum(record.mistakes) for record in records)


def test_the_next_proposal_is_told_what_was_wrong_with_the_last() -> None:
    def answer(request: Request) -> str:
        if "Value:" not in last(request):
            return "Go(to='b')" if "a leads nowhere" in last(request) else "Go(to='a')"
        return "a leads nowhere. Value: 1" if "at a," in last(request) else "Fine. Value: 8"

    game = trail({"start": dict.fromkeys("abcd", 0.0), "a": {"x": 0.0}, "b": {"y": 5.0}})
    agent = SWESearch(model=ScriptedModel(answer), width=2, depth=1, expansions=3)
    record = palestra.play(game, agents=[agent])[0]
    assert record.turns[0].text == "Go(to='b')"


def test_finalists_are_debated() -> None:
    def answer(request: Request) -> str:
        if "Two moves are left" in last(request):
            return "Go(to='path')"
        return "Value: 5"

    agent = SWESearch(model=ScriptedModel(answer), depth=1, expansions=4, debate=3)
    record = palestra.play(trail(BAIT), agents=[agent])[0]
    assert record.turns[0].text == "Go(to='path')"


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_with_all_of_the_budget_left_chances_are_proportional_to_values(
    values: list[float],
) -> None:
    expected = np.array(values) / np.sum(values)
    np.testing.assert_allclose(thrifty_weights(values, 1.0), expected)


def test_with_nothing_left_the_best_is_certain() -> None:
    assert thrifty_weights([0.2, 0.9, 0.5], 0.0) == [0.0, 1.0, 0.0]
    assert thrifty_weights([0.2, 0.9, 0.5], 0.01)[1] == pytest.approx(1.0)


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6, unique=True), st.floats(0.05, 0.95))
def test_the_less_is_left_the_greedier(values: list[float], left: float) -> None:
    more, less = thrifty_weights(values, left), thrifty_weights(values, left / 2)
    assert less[int(np.argmax(values))] >= more[int(np.argmax(values))] - 1e-12


def test_a_spent_budget_ends_the_search_with_what_it_has() -> None:
    model = ScriptedModel(judged_by({"path": 6, "bait": 4, "hill": 9}))
    agent = TreeSearch(model=model, expansions=50)
    agent.name = "tree"
    record = palestra.play(trail(BAIT), agents=[agent], budgets={"tree": Budget(calls=3)})[0]
    assert record.turns[0].text == "Go(to='path')"
    assert record.outcome is not None
    assert "budget of calls" in record.outcome.reason


@pytest.mark.parametrize("calls", [1, 4, 7, 12])
def test_bavt_never_asks_more_than_its_calls_and_keeps_one_for_the_answer(calls: int) -> None:
    """Every ask counts: proposals, judgements, and the moves of the other seat."""
    agent = BAVT(model=ScriptedModel("5"), expansions=50, width=2, depth=4, calls=calls)
    record = palestra.play("games/TicTacToe-v0", agents=[agent, "first"], episodes=3)[0]
    mine = [turn for turn in record.turns if turn.seat == 0]
    assert max(turn.usage.calls for turn in mine) <= calls
    searched = [
        turn.thought.endswith("positions expanded") or "making for" in turn.thought for turn in mine
    ]
    assert any(searched) == (calls >= 7)  # judge the root, propose two, answer twice, judge two


def test_bavt_without_enough_to_search_asks_the_model_for_its_move() -> None:
    agent = BAVT(model=ScriptedModel("Go(to='path')"), expansions=50, calls=1)
    turn = palestra.play(trail(BAIT), agents=[agent])[0].turns[0]
    assert turn.text == "Go(to='path')"
    assert turn.usage.calls == 1


def test_bavt_stays_within_its_tokens() -> None:
    """A scripted call takes the words it reads and writes: the limit is in those."""
    free, held = (
        BAVT(model=ScriptedModel("5"), expansions=30, width=2, depth=3, tokens=tokens)
        for tokens in (0, 900)
    )
    spent = []
    for agent in (free, held):
        record = palestra.play("games/TicTacToe-v0", agents=[agent, "first"])[0]
        spent.append(max(turn.usage.tokens for turn in record.turns if turn.seat == 0))
    assert spent[0] > 900 >= spent[1]


def test_the_scarcest_share_of_the_budget_is_what_is_left() -> None:
    """By hand: 3 of 12 calls, 100 of 200 tokens, 8 of 10 calls of the run."""
    account = Account(Budget(calls=10), Usage(calls=5))
    spending = Spending(calls=12, tokens=200)
    assert spending.left == 1
    spending.count([Reply("", Usage(40, 10, calls=1)), Reply("", Usage(20, 30, calls=2))])
    assert spending.left == pytest.approx(0.5)
    spending.account = account
    assert spending.left == pytest.approx(0.2)
    assert spending.dearest == 50
    assert [spending.affords(n) for n in (2, 3)] == [True, False]  # 50 tokens a call
    spending.tokens = 0
    assert [spending.affords(n) for n in (9, 10)] == [True, False]
    spending.reserve = 1
    assert [spending.affords(n) for n in (8, 9)] == [True, False]


def test_residual_values_are_changes_added_to_where_they_began() -> None:
    """The root is graded 4, path changes for the better by 2 x (8 - 5) / 10, bait by nothing."""
    changes = {"path": 8, "bait": 5, "hill": 9}

    def answer(request: Request) -> str:
        if "Then" not in last(request):
            return "4"
        return str(changes.get(last(request).split("You are at ")[1].split(",")[0], 0))

    agent = BAVT(model=ScriptedModel(answer), width=3, depth=1, expansions=1)
    turn = palestra.play(trail(BAIT), agents=[agent])[0].turns[0]
    assert turn.thought.endswith("path')  (1.00)") or "path') (1.00)" in turn.thought


def test_hidden_cards_stay_hidden_from_the_search() -> None:
    """Every position it shows the model is one that fits what the seat has seen."""
    model = ScriptedModel("5")
    agent = TreeSearch(model=model, expansions=3, others="random")
    records = palestra.play("games/KuhnPoker-v0", agents=[agent, "random"], episodes=20)
    assert not any(sum(record.mistakes) for record in records)


def test_it_plays_every_kind_of_game() -> None:
    for game, seats in (
        ("games/PrisonersDilemma-v0", 2),
        ("text/Negotiation-v0", 2),
        ("grid/Foraging-v0", 2),
        ("games/Wordle-v0", 1),
    ):
        agent = TreeSearch(model=ScriptedModel("5"), expansions=2, width=2, depth=2)
        record = palestra.play(game, agents=[agent] * seats, max_episode_steps=2)[0]
        assert record.turns


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 0.7), ("It is bad. Value: 2", 0.2), ("Value: 3 of 10", 1.0), ("99", 1.0), ("", None)],
)
def test_grades_are_read(text: str, value: float | None) -> None:
    assert read_grade(text) == value


def test_what_is_drawn_in_one_episode_does_not_depend_on_those_beside_it() -> None:
    name = "bavt:echo:,scorer=playouts,others=random,expansions=2,width=2,depth=2"
    alone, together = (
        palestra.play("games/TicTacToe-v0", agents=[name, "first"], episodes=3, live=live)
        for live in (1, 3)
    )
    assert [[t.action for t in r.turns] for r in alone] == [
        [t.action for t in r.turns] for r in together
    ]


def test_bad_options_are_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'playouts'"):
        palestra.make_agent("treesearch:echo:,scorer=playout")
    with pytest.raises(InvalidOption, match="must be an integer at least 1, not 0"):
        palestra.make_agent("beam:echo:,width=0")
    with pytest.raises(InvalidOption, match=r"expansions .* at least 1, not 0"):
        palestra.make_agent("bavt:echo:,expansions=0")
    with pytest.raises(InvalidOption, match="scorer=likelihood is not possible"):
        TreeSearch(model=ScriptedModel(""), scorer="likelihood")
