"""The runner: batches, retries, budgets, hooks, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra import (
    Agent,
    Budget,
    Decision,
    Episode,
    InvalidAction,
    InvalidOption,
    Turn,
    UnknownName,
    Usage,
    hookimpl,
)
from palestra.kernel.errors import UnknownOption
from palestra.records.record import read_records

TTT = "games/TicTacToe-v0"


class Counting(Agent):
    """Plays the first legal action and counts how it is asked."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.closed = 0
        self.forgotten: list[int] = []

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        self.sizes.append(len(turns))
        return [
            Decision(turn.legal_actions[0], usage=Usage(calls=1, tokens_in=10)) for turn in turns
        ]

    def forget(self, episode_key: int) -> None:
        self.forgotten.append(episode_key)

    def close(self) -> None:
        self.closed += 1


def test_waiting_turns_of_all_episodes_come_in_one_call() -> None:
    agent = Counting()
    palestra.play(TTT, agents=[agent, "first"], episodes=8)
    assert agent.sizes[0] == 8
    assert agent.closed == 1
    assert len(agent.forgotten) == 8


def test_one_agent_in_both_seats_is_asked_for_both() -> None:
    agent = Counting()
    palestra.play(TTT, agents=[agent, agent], episodes=2)
    assert agent.closed == 1
    assert set(agent.sizes) == {2}


def test_what_is_played_does_not_depend_on_how_many_are_live() -> None:
    def actions(live: int) -> list[list[Any]]:
        records = palestra.play(TTT, agents=["first", "first"], episodes=5, seed=2, live=live)
        return [[turn.action for turn in record.turns] for record in records]

    assert actions(1) == actions(5)


def test_records_come_in_order_and_are_on_disk(tmp_path: Path) -> None:
    records = palestra.play(TTT, agents=["random", "random"], episodes=6, seed=4, out=tmp_path)
    assert [record.number for record in records] == list(range(6))
    assert [record.seed for record in records] == list(range(4, 10))
    written = read_records(tmp_path / "episode.jsonl")
    assert sorted(record.number for record in written) == list(range(6))


def test_finished_episodes_survive_an_interrupt(tmp_path: Path) -> None:
    def impatient(turn: Turn) -> Any:
        if turn._episode.seed == 3:
            raise KeyboardInterrupt
        return turn.legal_actions[0]

    with pytest.raises(KeyboardInterrupt):
        palestra.play(TTT, agents=[impatient, "first"], episodes=9, out=tmp_path, live=1)
    assert [r.number for r in read_records(tmp_path / "episode.jsonl")] == [0, 1, 2]


class Stubborn(Agent):
    """Answers nonsense until it has been told off `times` times in a turn."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.errors: list[str] = []

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        out = []
        for turn in turns:
            if turn.error:
                self.errors.append(turn.error)
            good = turn.tries >= self.times
            out.append(Decision(turn.legal_actions[0]) if good else Decision(text="well, hm"))
        return out


def test_a_retry_tells_why_and_is_recorded() -> None:
    agent = Stubborn(1)
    (record,) = palestra.play(TTT, agents=[agent, "first"], invalid="retry:2")
    assert "cannot play 'well, hm'" in agent.errors[0]
    turn = record.turns[0]
    assert (turn.status, len(turn.errors)) == ("retried", 1)
    assert record.mistakes[0] == len([t for t in record.turns if t.seat == 0])


def test_too_many_retries_forfeit() -> None:
    (record,) = palestra.play(TTT, agents=[Stubborn(9), "first"], invalid="retry:2")
    assert record.outcome.results == ("forfeit", "win")
    assert record.mistakes == (3, 0)
    assert palestra.replay(record).outcome.results == ("forfeit", "win")


def test_random_replaces_and_says_so() -> None:
    (record,) = palestra.play(TTT, agents=[Stubborn(9), "first"], invalid="random")
    assert {t.status for t in record.turns if t.seat == 0} == {"replaced"}
    assert palestra.replay(record)


def test_raise_raises() -> None:
    with pytest.raises(InvalidAction):
        palestra.play(TTT, agents=[Stubborn(9), "first"], invalid="raise")


@pytest.mark.parametrize("limit", [{"steps": 2}, {"calls": 2}, {"tokens": 20}])
def test_a_spent_budget_forfeits_a_zero_sum_game(limit: dict[str, int]) -> None:
    (record,) = palestra.play(
        TTT, agents=[Counting(), "first"], budgets={"Counting": Budget(**limit)}
    )
    assert record.outcome.results == ("forfeit", "win")
    assert f"budget of {next(iter(limit))} is spent" in record.outcome.reason
    assert len([t for t in record.turns if t.seat == 0 and t.status == "ok"]) == 2


def test_a_spent_budget_truncates_where_nobody_wins_by_it() -> None:
    budget = {"negotiator": Budget(steps=0)}
    (record,) = palestra.play("text/Negotiation-v0", agents=["negotiator"] * 2, budgets=budget)
    assert record.outcome.results == ("truncated", "truncated")


def test_an_agent_sees_what_is_left() -> None:
    seen = []

    def frugal(turn: Turn) -> Any:
        seen.append(turn.account.left()["steps"])
        return turn.legal_actions[0]

    palestra.play(TTT, agents=[frugal, "first"], budgets=Budget(steps=9))
    assert seen == [9, 8, 7, 6][: len(seen)]


def test_life_cycle_hooks_hear_everything_in_order() -> None:
    heard = []

    class Listener:
        @hookimpl
        def palestra_episode_started(self, episode: Episode, agents: tuple[str, ...]) -> None:
            heard.append(("started", agents))

        @hookimpl
        def palestra_turn_ready(self, turn: Turn) -> None:
            heard.append(("ready", turn.seat))

        @hookimpl
        def palestra_action_chosen(self, turn: Turn, decision: Decision) -> None:
            heard.append(("chosen", decision.action))

        @hookimpl
        def palestra_stepped(self, episode: Episode) -> None:
            heard.append(("stepped", episode.steps_played))

        @hookimpl
        def palestra_episode_finished(self, record: Any) -> None:
            heard.append(("finished", record.number))

    (record,) = palestra.play(TTT, agents=["first", "first"], hooks=[Listener()])
    assert heard[:4] == [
        ("started", ("first", "first")),
        ("ready", 0),
        ("chosen", 0),
        ("stepped", 1),
    ]
    assert heard[-1] == ("finished", 0)
    assert len(heard) == 2 + 3 * len(record.turns)


def test_a_hook_that_wraps_the_others_runs_around_them() -> None:
    heard = []

    class Listener:
        @hookimpl
        def palestra_stepped(self, episode: Episode) -> None:
            heard.append("stepped")

    class Wrapper:
        @hookimpl(wrapper=True)
        def palestra_stepped(self, episode: Episode) -> Any:
            heard.append("before")
            yield
            heard.append("after")

    (record,) = palestra.play(TTT, agents=["first", "first"], hooks=[Listener(), Wrapper()])
    assert heard == ["before", "stepped", "after"] * len(record.turns)


def test_a_listener_with_a_catalogue_hook_is_refused() -> None:
    class Confused:
        @hookimpl
        def palestra_agents(self) -> list[Any]:
            return []

    with pytest.raises(UnknownName, match="life-cycle hook"):
        palestra.play(TTT, agents=["first", "first"], hooks=[Confused()])


def test_the_number_of_agents_sets_the_number_of_players() -> None:
    (record,) = palestra.play("text/Commons-v0", agents=["harvester"] * 3)
    assert len(record.players) == 3
    with pytest.raises(InvalidOption, match="2 seats; got 3 agents"):
        palestra.play(TTT, agents=["first"] * 3)


def test_an_agent_that_answers_too_little_is_named() -> None:
    class Lazy(Agent):
        name = "lazy"

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            return []

    with pytest.raises(InvalidOption, match="'lazy' gave 0 decisions for 1 turns"):
        palestra.play(TTT, agents=[Lazy(), "first"])


def test_unknown_agents_and_options_are_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'random'"):
        palestra.play(TTT, agents=["randm", "first"])
    with pytest.raises(UnknownName, match="simulations"):
        palestra.make_agent("mcts:simulation=3")
    with pytest.raises(InvalidOption, match="an agent is a name"):
        palestra.make_agent(3)
    with pytest.raises(InvalidOption, match="budget tokens"):
        Budget(tokens=-1)


def test_max_episode_steps_cut_an_episode_short() -> None:
    (record,) = palestra.play("grid/Foraging-v0", agents=["random"] * 2, max_episode_steps=5)
    assert len(record.steps) >= 5
    assert record.outcome.results == ("truncated", "truncated")


def test_a_game_gets_its_own_max_steps() -> None:
    """An option that many games have is no setting of the runner."""
    options = {"num_players": 2, "max_steps": 7}
    (record,) = palestra.play("grid/Kitchen-v0", agents="random", **options)
    assert (record.options["max_steps"], len(record.steps)) == (7, 7)
    (record,) = palestra.play("grid/PathFinding-v0", agents="random", max_steps=66)
    assert (record.options["max_steps"], len(record.steps)) == (66, 66)
    with pytest.raises(UnknownOption, match="max_steps"):
        palestra.play("games/ConnectFour-v0", agents="random", max_steps=7)


def test_the_greatest_seed_is_played_by_every_seat():
    (record,) = palestra.play("games/TicTacToe-v0", agents=["random", "first"], seed=2**64 - 1)
    assert record.seed == 2**64 - 1
    assert not record.error
