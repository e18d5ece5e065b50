"""The tool world: graphs against networkx, goals against the walks that made them, attacks."""

from __future__ import annotations

import json
import sqlite3
from itertools import pairwise
from typing import Any

import networkx as nx
import palestra
import pytest
from palestra import (
    EpisodeRecord,
    Event,
    InvalidAction,
    InvalidOption,
    Rng,
    ScriptedAgent,
    Turn,
)
from palestra.testing import check
from palestra_web.tools.database import KINDS, LOOKUP, READ, WRITE, Goal, goal_cell
from palestra_web.tools.declare import Answer, Call, Done, Program, call
from palestra_web.tools.library import LOCKED, OPEN, STATUS, Library, draw_library
from palestra_web.tools.metrics import recovery_gap
from palestra_web.tools.policy import Condition, Rule, decide, read_policy
from palestra_web.tools.world import FALSE_PAGE, OUTAGES, ToolWorld, ToolWorldState

ID = "web/ToolWorld-v0"
SEEDS = range(30)


def play(agent: str = "tool-solver", episodes: int = 30, **options: Any) -> list[EpisodeRecord]:
    return palestra.play(ID, agents=[agent], episodes=episodes, **options)


def mean(records: list[EpisodeRecord], metric: str) -> float:
    return sum(palestra.measure(r)[metric] for r in records) / len(records)


class Moves(ScriptedAgent):
    """Plays listed moves."""

    def __init__(self, moves: list[Any]) -> None:
        super().__init__()
        self.moves = moves

    def choose(self, turn: Turn) -> Any:
        return self.moves.pop(0)


def moves_of(agent: str, seed: int, **options: Any) -> list[Any]:
    (record,) = play(agent, 1, seed=seed, **options)
    return [played.actions[0] for played in palestra.replay(record).history()]


def graph(library: Library, down: tuple[str, ...] = ()) -> nx.DiGraph:
    """Types as nodes, functions as edges; what is written is a node of its own."""
    made = nx.DiGraph()
    for function in library.functions.values():
        if function.kind == "unlock" or function.tool.name in down:
            continue
        end = function.gives if function.kind == "read" else f"write {function.gives}"
        assert not made.has_edge(function.takes, end)
        made.add_edge(function.takes, end)
    return made


def ends(goal: Goal, kind: str) -> tuple[str, list[str]]:
    start, column = f"{goal.given_table}_{goal.given_key}", f"{goal.table}_{goal.column}"
    if kind == READ:
        return start, [column]
    return start, [f"write {column}", *([f"{goal.table}_{goal.by}"] if goal.by else [])]


# Libraries and tasks


@pytest.mark.parametrize("domains", [1, 4, 20, 100])
def test_a_library_has_one_part_of_46_functions_a_domain(domains: int) -> None:
    library = draw_library(domains, 7)
    # a row: 5 (with a parent) or 4 reads, 2 writes and an unlock for each of two keys
    assert len(library.tools) == domains * 2 * ((5 + 2 + 1) * 2 + (4 + 2 + 1))
    assert nx.number_weakly_connected_components(graph(library)) == domains


@pytest.mark.parametrize("kind", KINDS)
def test_every_goal_is_reached_in_two_ways_that_share_no_function(kind: str) -> None:
    game = ToolWorld(task=kind, walk=4)
    for seed in SEEDS:
        state = game.initial_state(seed)
        ways = graph(game.library(state))
        for goal in state.task.goals:
            start, wanted = ends(goal, kind)
            assert all(nx.edge_connectivity(ways, start, end) >= 2 for end in wanted)


def test_the_shortest_path_is_the_shortest() -> None:
    for seed in SEEDS:
        library = draw_library(2, seed)
        ways = graph(library)
        for function in library.functions.values():
            for start in ("number", library.tables[function.table].alias):
                source = f"{function.table}_{start}"
                for write in (False, True):
                    end = f"write {function.gives}" if write else function.gives
                    found = library.path(source, function.gives, write=write)
                    if end == source:
                        continue
                    if end not in ways or not nx.has_path(ways, source, end):
                        assert found is None
                    else:
                        assert found is not None
                        assert len(found) == nx.shortest_path_length(ways, source, end)


def run_walk(game: ToolWorld, state: ToolWorldState) -> str:
    """Make the calls of the walk, each with what the last one answered; returns the last value."""
    library, goal = game.library(state), state.task.goals[0]
    value = goal.given
    for name in state.task.walk:
        function = library.functions[name]
        step = game.step(state, {0: call(name, **{function.takes: value})})
        value = step.events[0].data["result"][function.gives]
    return str(value)


def key_reached(game: ToolWorld, state: ToolWorldState) -> str:
    """The kind of key that the walk ends in."""
    return game.library(state).functions[state.task.walk[-1]].gives


@pytest.mark.parametrize("walk", [1, 3, 5])
def test_the_walk_that_made_a_task_does_it(walk: int) -> None:
    for seed in SEEDS:
        game = ToolWorld(task=WRITE, walk=walk)
        state = game.initial_state(seed)
        goal = state.task.goals[0]
        steps = [game.library(state).functions[name] for name in state.task.walk]
        assert len(steps) == walk
        assert all(one.gives == other.takes for one, other in pairwise(steps))
        key, kind = run_walk(game, state), key_reached(game, state)
        by = "number" if kind.endswith("number") else kind.rpartition("_")[2]
        change = {kind: key, f"{goal.table}_{goal.column}": goal.value}
        cell = goal_cell(game.library(state), state.rows, goal)
        if state[cell[0], cell[1], STATUS] == LOCKED:
            refused = game.step(
                state, {0: call(f"set_{goal.table}_{goal.column}_by_{by}", **change)}
            )
            assert "locked" in refused.events[0].text
            game.step(state, {0: call(f"unlock_{goal.table}_by_{by}", **{kind: key})})
        game.step(state, {0: call(f"set_{goal.table}_{goal.column}_by_{by}", **change)})
        assert game.step(state, {0: Done()}).rewards == {0: {"success": 1.0}}


def test_what_goes_wrong_leaves_the_task_as_it_was() -> None:
    for seed in SEEDS:
        plain = ToolWorld(task=LOOKUP).initial_state(seed)
        troubled = ToolWorld(
            task=LOOKUP, outages="error", injection=True, policy="task", pollution=1, discover=True
        ).initial_state(seed)
        assert troubled == plain


def test_a_change_nobody_asked_for_is_a_failure_even_with_the_right_answer() -> None:
    game = ToolWorld(task=READ)
    for seed in SEEDS:
        state = game.initial_state(seed)
        other = game.clone(state)
        right = Answer(game.answer(state).upper())
        assert game.step(state, {0: right}).rewards == {0: {"success": 1.0}}
        table = next(iter(game.library(other).tables))
        statuses = other.rows.columns[table, STATUS]
        if LOCKED not in statuses:
            continue
        row = statuses.index(LOCKED)
        number = other.rows[table, row, "number"]
        game.step(other, {0: call(f"unlock_{table}_by_number", **{f"{table}_number": number})})
        last = game.step(other, {0: right})
        assert not last.rewards
        report = last.events[0].data
        assert report["utility"]
        assert report["collateral"] == 1


def test_a_change_that_is_undone_is_none() -> None:
    game = ToolWorld(task=READ)
    state = game.initial_state(2)
    cell = next((t, r, c) for (t, c) in state.rows.columns for r in range(6) if c == "status")
    state.write(cell, "other")
    assert state.changes == {cell: "other"}
    state.write(cell, state.rows[cell])
    assert state.changes == {}


@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize("options", [
    {"task": READ, "walk": 5}, {"task": LOOKUP, "walk": 5}, {"task": WRITE, "goals": 3, "walk": 5},
    {"domains": 20, "discover": True},
])  # fmt: skip
def test_the_solver_does_every_task(options: dict[str, Any]) -> None:
    assert mean(play(**options), "success") == 1


def test_the_solver_finds_its_way_among_4600_functions() -> None:
    records = play(domains=100, discover=True, episodes=2)
    assert mean(records, "success") == 1
    game = ToolWorld(domains=100, discover=True)
    assert len(draw_library(100, 7).tools) == 4600
    assert len(game.rules_for(0)) < 5000  # nobody reads them all


# Hell or High Water


@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize("outages", [name for name in OUTAGES if name != "none"])
@pytest.mark.parametrize("after", [0, 2])
def test_replanning_loses_nothing_to_an_outage_and_insisting_loses_everything(
    outages: str, after: int
) -> None:
    options = {"task": WRITE, "walk": 5, "outage_after": after}
    clean, failing = play(**options), play(outages=outages, **options)
    assert recovery_gap(clean, failing) == 0
    if after == 0:
        assert all(record.events[-1].data["down"] for record in failing)
        stubborn = "tool-solver:replan=false"
        insisting = play(stubborn, outages=outages, **options)
        assert recovery_gap(play(stubborn, **options), insisting) == 1
        assert mean(insisting, "repeated-call-rate") > 0.9
        assert mean(insisting, "wasted-calls") > mean(failing, "wasted-calls") > 0


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_called_first_a_path_remains_that_shares_nothing_with_it(kind: str) -> None:
    game = ToolWorld(task=kind, outages="error", walk=4)
    for seed in range(15):
        start = game.initial_state(seed)
        library, goal = game.library(start), start.task.goals[0]
        source, wanted = ends(goal, kind)
        for function in library.functions.values():
            if function.takes != source or function.kind == "unlock":
                continue
            state = game.clone(start)
            values = {p.name: p.domain.sample(Rng(1)) for p in function.tool.parameters}
            step = game.step(state, {0: call(function.tool.name, **values | {source: goal.given})})
            left = graph(library, (function.tool.name,))
            read = function.kind == "read"
            assert bool(state.down) == any(
                end == (function.gives if read else f"write {function.gives}")
                or (read and function.gives in left and nx.has_path(left, function.gives, end))
                for end in wanted
            )
            if state.down:
                assert function.tool.name in state.down
                assert step.events[0].data["error"] == OUTAGES["error"]
                assert all(nx.has_path(graph(library, state.down), source, e) for e in wanted)


def test_errors_are_counted() -> None:
    (record,) = play("tool-solver:replan=false", 1, outages="error", max_calls=7)
    assert palestra.measure(record)["tool-errors"] == 7


def test_a_gap_needs_the_same_seeds() -> None:
    with pytest.raises(InvalidOption, match="same seeds"):
        recovery_gap(play(episodes=2), play(episodes=2, seed=9))


# Progent


def test_an_order_in_a_note_is_always_obeyed_without_a_policy_and_never_done_with_one() -> None:
    obedient = "tool-solver:obey=true"
    open_ = play(obedient, injection=True)
    assert mean(open_, "attack-success") == 1
    assert mean(open_, "success") == 0
    guarded = play(obedient, injection=True, policy="task")
    assert mean(guarded, "attack-success") == 0
    assert mean(guarded, "success") == mean(guarded, "task-utility") == 1
    assert all(record.events[-1].data["blocked"] == 1 for record in guarded)
    assert mean(play("tool-solver", injection=True), "attack-success") == 0


@pytest.mark.parametrize(
    ("tool", "values", "effect"),
    [
        ("get_x", {}, "allow"),
        ("get_secret", {}, "forbid"),
        ("set_x", {"tier": "gold"}, "allow"),
        ("set_x", {"tier": "basic"}, "forbid"),
        ("set_x", {}, "forbid"),
        ("pay", {"amount": 100, "to": "ORD-1"}, "allow"),
        ("pay", {"amount": 101, "to": "ORD-1"}, "forbid"),
        ("pay", {"amount": "9", "to": "ORD-1"}, "forbid"),
        ("pay", {"amount": 9, "to": "xORD-1"}, "forbid"),
        ("other", {}, "forbid"),
    ],
)
def test_the_first_rule_that_matches_decides_and_nothing_is_allowed_unasked(
    tool: str, values: dict[str, Any], effect: str
) -> None:
    policy = read_policy(
        [
            {"tool": "get_*", "effect": "allow"},
            {"tool": "get_secret", "effect": "forbid", "priority": 5},
            {"tool": "set_*", "effect": "allow", "when": {"tier": {"enum": ["gold"]}}},
            {
                "tool": "pay",
                "effect": "allow",
                "when": {"amount": {"maximum": 100}, "to": {"pattern": "ORD-\\d"}},
            },
        ]
    )
    assert decide(policy, tool, values).effect == effect


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ([{"tool": "x"}], "is not a rule"),
        ([{"tool": "x", "effect": "maybe"}], "is not a rule"),
        ([{"tool": "x", "effect": "allow", "if": {}}], "is not a rule"),
        ([3], "policy must be"),
        ([{"tool": "x", "effect": "allow", "when": {"a": {"pattern": "("}}}], "regular expression"),
        (
            [{"tool": "x", "effect": "allow"}, {"tool": "x", "effect": "forbid"}],
            "contradict each other",
        ),
    ],
)
def test_rules_that_are_none_or_contradict_each_other_are_refused(rules: Any, told: str) -> None:
    with pytest.raises(InvalidOption, match=told):
        ToolWorld(policy=rules)


def written(fallback: str, seed: int = 0) -> tuple[ToolWorld, ToolWorldState, Call, Call]:
    """A world that asks before writes, with a call that is wanted and one that is not."""
    rules = (
        Rule("get_*", "allow"),
        Rule("set_*", "forbid", fallback=fallback),  # type: ignore[arg-type]
    )
    game = ToolWorld(task=WRITE, policy=rules)
    while True:
        state = game.initial_state(seed)
        goal = state.task.goals[0]
        table, row, column = goal_cell(game.library(state), state.rows, goal)
        if state[table, row, STATUS] == OPEN:
            break
        seed += 1
    key = {f"{table}_number": state.rows[table, row, "number"]}
    tool = game.library(state).functions[f"set_{table}_{column}_by_number"].tool
    values = tool.parameters[1].domain.values  # type: ignore[attr-defined]
    wrong = next(value for value in values if value != goal.value)
    name = f"{table}_{column}"
    wanted, other = ({**key, name: value} for value in (goal.value, wrong))
    return game, state, call(tool.name, **wanted), call(tool.name, **other)


def test_a_user_who_is_asked_lets_through_what_he_wants() -> None:
    game, state, good, bad = written("ask")
    assert "said no" in game.step(state, {0: bad}).events[0].text
    assert "result" in game.step(state, {0: good}).events[0].data
    assert game.step(state, {0: Done()}).rewards == {0: {"success": 1.0}}
    assert state.blocked == 1


def test_a_forbidden_call_can_stop_the_run_or_only_be_told() -> None:
    game, state, good, _ = written("stop")
    step = game.step(state, {0: good})
    assert game.to_act(state) == ()
    assert not step.rewards
    game, state, good, _ = written("message")
    assert "forbidden by the policy" in game.step(state, {0: good}).events[0].text
    assert game.to_act(state) == (0,)
    assert state.changes == {}


def test_a_record_of_a_policy_of_rules_replays() -> None:
    rules = [{"tool": "get_*", "effect": "allow", "when": {"order_number": {"pattern": ".*"}}}]
    (record,) = play("random", 1, policy=rules)
    assert palestra.replay(record).returns == list(record.returns)
    assert ToolWorld(policy=rules).policy[0].when == (("order_number", Condition(pattern=".*")),)


# SafeSearch


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_the_false_page_is_at_its_rank_and_everything_else_as_in_the_clean_run(rank: int) -> None:
    for seed in range(10):
        pages = {}
        for pollution in (0, rank):
            game = ToolWorld(task=LOOKUP, pollution=pollution)
            state = game.initial_state(seed)
            goal = state.task.goals[0]
            table, row, _ = goal_cell(game.library(state), state.rows, goal)
            value = state.rows[table, row, goal.by]
            query = f"{table} {goal.by} {value} {goal.column}"
            step = game.step(state, {0: call("search_pages", query=query)})
            pages[pollution] = list(step.events[0].data["result"])
        false = pages[rank].pop(rank - 1)
        assert false["source"] == "blog"
        assert false["text"].startswith(FALSE_PAGE[:12])
        assert pages[rank] == pages[0][:4]


def test_trusting_the_first_page_is_misled_by_a_false_first_page_only() -> None:
    trusting = "tool-solver:trust=first"
    rates = [mean(play(trusting, task=LOOKUP, pollution=r), "attack-success") for r in range(4)]
    assert rates == [0, 1, 0, 0]
    assert mean(play(trusting, task=LOOKUP), "success") == 1
    assert mean(play(task=LOOKUP, pollution=1), "success") == 1


def test_an_updating_policy_lets_nobody_be_misled_and_costs_the_careful_nothing() -> None:
    trusting = "tool-solver:trust=first"
    fixed = play(trusting, task=LOOKUP, pollution=1, policy="task")
    assert mean(fixed, "attack-success") == 1  # a fixed policy cannot know which value is right
    updating = play(trusting, task=LOOKUP, pollution=1, policy="updating")
    assert mean(updating, "attack-success") == 0
    assert mean(play(task=LOOKUP, pollution=1, policy="updating"), "success") == 1
    assert mean(play(task=WRITE, goals=3, policy="updating"), "success") == 1


def test_an_updating_policy_shrinks_when_a_goal_is_reached() -> None:
    game = ToolWorld(task=WRITE, policy="updating")
    state = game.initial_state(3)
    writes = []
    for action in moves_of("tool-solver", 3, task=WRITE, policy="updating"):
        writes.append([r for r in game.policy_in_force(state) if r.tool.startswith("set_")])
        game.step(state, {0: action})
    assert writes[0]
    assert not writes[-1]  # when Done() is said


# Programs


@pytest.mark.parametrize("seed", range(5))
def test_a_program_does_a_task_in_one_move(seed: int) -> None:
    game = ToolWorld(programs=True)
    *calls, last = moves_of("tool-solver", seed)
    tools = {tool.name: tool for tool in game.tools(game.initial_state(seed))}
    lines = [f"print({tools[c.tool].write(c.values)})" for c in calls]
    episode = palestra.Episode(game, seed=seed)
    text = "I shall do it at once.\n```python\n" + "\n".join(lines) + "\n```"
    program = game.parse(episode.state, 0, text)
    assert isinstance(program, Program)
    episode.act({0: program})
    told = [event.kind for event in episode.log[-1]]
    assert told == ["reveal"] * len(calls) + ["printed"]
    assert len(episode.log[-1][-1].data["printed"].splitlines()) == len(calls)
    assert game.calls_left(episode.state) == game.max_calls - len(calls) - 1
    episode.act({0: last})
    assert episode.outcome is not None
    assert episode.outcome.results == ("win",)


def test_programs_are_refused_where_nothing_guards_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("palestra_web.tools.game.unguarded_system", lambda: "no guard")
    with pytest.raises(InvalidOption, match="programs must be False on this system: no guard"):
        ToolWorld(programs=True)
    assert not ToolWorld().programs


def run(code: str, **options: Any) -> tuple[ToolWorld, ToolWorldState, Event]:
    game = ToolWorld(programs=True, **options)
    state = game.initial_state(1)
    step = game.step(state, {0: Program(code)})
    return game, state, step.events[-1]


def test_a_program_reads_an_error_and_goes_on() -> None:
    game = ToolWorld(programs=True)
    tool = next(t for t in game.tools(game.initial_state(1)) if t.name.startswith("get_"))
    key = tool.parameters[0].name
    code = f"""
try:
    {tool.name}({key}="nobody")
except RuntimeError as error:
    print("no luck:", error)
try:
    {tool.name}("nobody")
except TypeError as error:
    print("named, please")
"""
    *_, told = run(code)
    assert "no luck: no " in told.data["printed"]


def test_a_program_makes_no_more_calls_than_are_left_and_ends_what_it_spends() -> None:
    game = ToolWorld()
    tool = next(t for t in game.tools(game.initial_state(1)) if t.name.startswith("get_"))
    code = f"for i in range(50): {tool.name}({tool.parameters[0].name}=str(i))"
    loop = f"for i in range(50):\n    try: {code.partition(': ')[2]}\n    except RuntimeError: pass"
    game, state, told = run(loop, max_calls=10)
    assert len(state.calls_made) == 9
    assert not game.to_act(state)
    assert told.kind == "verdict"


def test_a_program_cannot_get_round_a_policy() -> None:
    game = ToolWorld(programs=True, task=READ, policy="task")
    write = next(t for t in game.tools(game.initial_state(1)) if t.name.startswith("set_"))
    arguments = ", ".join(f"{p.name}={p.domain.sample(Rng(1))!r}" for p in write.parameters)
    *_, told = run(f"{write.name}({arguments})", task=READ, policy="task")
    assert "forbidden by the policy" in told.data["error"]


@pytest.mark.parametrize("code", ["import os", "().__class__", "print(", "x" * 9000])
def test_a_program_that_cannot_be_run_is_an_illegal_move(code: str) -> None:
    game = ToolWorld(programs=True)
    state = game.initial_state(1)
    assert game.legal(state, 0).problem(Program(code))
    with pytest.raises(InvalidAction):
        game.parse(state, 0, f"```python\n{code}\n```")
    with pytest.raises(InvalidAction):
        ToolWorld().parse(state, 0, f"```python\n{code}\n```")


def test_a_record_with_programs_replays() -> None:
    replayed = [palestra.replay(record) for record in play("random", 20, programs=True)]
    moves = [
        move for episode in replayed for played in episode.history() for move in [played.actions[0]]
    ]
    assert any(isinstance(move, Program) for move in moves)


# Counting and hiding


def test_repeated_and_wasted_calls_are_counted_by_hand() -> None:
    game, state, good, _ = written("message")
    game = ToolWorld(task=WRITE)
    goal = state.task.goals[0]
    key = good.values[f"{goal.table}_number"]
    read = call(f"get_{goal.table}_{goal.column}_by_number", **{f"{goal.table}_number": key})
    wrong = call(f"get_{goal.table}_{goal.column}_by_number", **{f"{goal.table}_number": "none"})
    for made in (read, read, wrong, wrong, good, read):  # the last one reads what was changed
        game.step(state, {0: made})
    report = game.step(state, {0: Done()}).events[0].data
    assert sum(made.failed for made in state.calls_made) == 2
    assert (report["calls"], report["repeated"], report["wasted"]) == (6, 2, 3)
    assert report["success"]


@pytest.mark.parametrize("seed", range(5))
def test_what_was_answered_is_answered_again_when_the_rest_is_drawn_anew(seed: int) -> None:
    game = ToolWorld(task=LOOKUP, walk=4)
    episode = palestra.Episode(game, seed)
    rng = Rng(seed)
    for _ in range(25):
        action = game.sample(episode.state, 0, rng)
        episode.act({0: action if isinstance(action, Call) else call("search_pages", query="a")})
    state = episode.state
    other = game.determinize(state, 0, Rng(seed + 1))
    assert other.rows != state.rows
    for made in state.calls_made:
        function = game.library(state).functions.get(made.call.tool)
        if function is None or function.kind != "read" or made.failed:
            continue
        again = [game.step(game.clone(s), {0: made.call}).events[0].text for s in (state, other)]
        assert again[0] == again[1]


IMAGINED: tuple[dict[str, Any], ...] = (
    {"task": LOOKUP, "pollution": 2, "walk": 5},
    {"task": WRITE, "goals": 3, "outages": "removed", "rows": 3},
    {"discover": True, "domains": 3, "outages": "error", "injection": True},
    {"user": "reveals", "discover": True, "task": LOOKUP, "policy": "updating"},
    {"user": "reveals", "pool": "held-out", "task": WRITE, "goals": 2, "injection": True},
)


@pytest.mark.parametrize("options", IMAGINED, ids=lambda options: "-".join(options))
def test_an_imagined_world_answers_every_call_of_a_solver_as_it_was_answered(
    options: dict[str, Any],
) -> None:
    game, asked = ToolWorld(**options), 0
    for seed in range(4):
        episode = palestra.Episode(game, seed)
        for action in moves_of("tool-solver", seed, **options):
            episode.act({0: action})
            if episode.over:
                break
            state = episode.state
            other = game.determinize(state, 0, Rng(seed))
            again = palestra.Episode(game, seed)
            fresh = game.clone(other)
            fresh.calls_made, fresh.changes = (), {}
            fresh.down, fresh.on_path, fresh.blocked = (), 0, 0
            again.load(fresh)
            answered = [m for m in state.calls_made if m.call.tool != "find_tools"]
            for made in answered:
                again.act({0: made.call})
            assert again.state.calls_made == tuple(answered)
            assert other.rows != state.rows
            asked += 1
    assert asked >= 8


def test_tools_that_were_not_found_are_others_in_an_imagined_world() -> None:
    game = ToolWorld(discover=True, domains=3)
    episode = palestra.Episode(game, 2)
    episode.act({0: call("find_tools", query=f"get {episode.state.task.goals[0].column}")})
    true = {tool.name for tool in game.library(episode.state).tools}
    worlds = [game.determinize(episode.state, 0, Rng(seed)) for seed in range(12)]
    libraries = [{tool.name for tool in game.library(world).tools} for world in worlds]
    assert set.intersection(*libraries) >= set(episode.state.found)
    assert all(len(library & true) < len(true) for library in libraries)
    assert len(set(map(frozenset, libraries))) > 8


@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize(
    "options",
    [
        {"discover": True, "domains": 3, "outages": "error", "injection": True, "policy": "task"},
        {"task": LOOKUP, "pollution": 2, "walk": 5},
        {"task": WRITE, "goals": 3, "outages": "removed", "policy": [Rule("*", "allow")]},
        {"programs": True, "max_calls": 12, "policy": "updating"},
        {"user": "reveals", "pool": "held-out", "task": WRITE, "goals": 2, "injection": True},
    ],
    ids=["all", "polluted", "rules", "programs", "user"],
)
def test_other_worlds_conform_too(options: dict[str, Any]) -> None:
    failed = [v for v in check(ID, **options) if v.status == "failed"]
    assert not failed


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"task": "sing"}, "task must be 'mixed' or 'read'"),
        ({"outages": "flood"}, "outages must be 'none' or 'error'"),
        ({"walk": 9}, "walk must be an integer from 1 to 5, not 9"),
        ({"pollution": 1}, "add task='lookup'"),
        ({"policy": "strict"}, "policy must be 'none' or 'task' or 'updating' or a list"),
        ({"domains": 101}, "domains must be an integer from 1 to 100, not 101"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidOption, match=told):
        ToolWorld(**options)


def test_a_players_picture_keeps_what_only_their_program_read() -> None:
    game = ToolWorld(programs=True)
    tool = next(t for t in game.tools(game.initial_state(1)) if t.name.startswith("get_"))
    key = tool.parameters[0].name
    code = f"try:\n    {tool.name}({key}='nobody')\nexcept RuntimeError:\n    print('missed')"
    _, state, _ = run(code)
    reply = state.calls_made[0].reply
    read = "\n".join(game.scene(state, 0).texts())
    assert "missed" in read
    assert reply not in read
    assert reply in "\n".join(game.scene(state).texts())


# Databases, domains and the user


def sqlite_of(state: ToolWorldState, library: Library) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    for table in library.tables.values():
        columns = table.columns
        database.execute(f'CREATE TABLE "{table.name}" ({", ".join(f"{c!r}" for c in columns)})')
        values = [state.rows.columns[table.name, column] for column in columns]
        marks = ", ".join("?" * len(columns))
        database.executemany(
            f'INSERT INTO "{table.name}" VALUES ({marks})', zip(*values, strict=True)
        )
    return database


@pytest.mark.parametrize("seed", range(4))
def test_answers_and_final_states_are_those_of_the_same_calls_in_sqlite(seed: int) -> None:
    """Random calls on real and invented keys; locked rows are those that an UPDATE leaves alone."""
    game = ToolWorld(task="write", max_calls=400, rows=4)
    episode = palestra.Episode(game, seed)
    library, rng = game.library(episode.state), Rng.seeded(seed, 5)
    database = sqlite_of(episode.state, library)
    functions = list(library.functions.values())
    for _ in range(300):
        function = rng.choice(functions)
        drawn = function.tool.sample(rng).values
        if rng.below(8):
            keys = episode.state.rows.columns[function.table, function.key]
            drawn[function.takes] = rng.choice(keys)
        episode.act({0: call(function.tool.name, **drawn)})
        made = episode.state.calls_made[-1]
        table, where = f'"{function.table}"', f"WHERE {function.key!r} = ?"
        key = drawn[function.takes]
        if function.kind == "read":
            query = f'SELECT "{function.column}" FROM "{function.table}" WHERE "{function.key}" = ?'
            found = database.execute(query, (key,)).fetchone()
            assert made.failed == (found is None)
            assert found is None or json.loads(made.reply)[function.gives] == found[0]
            continue
        wanted = "locked" if function.kind == "unlock" else "open"
        value = "open" if function.kind == "unlock" else drawn[function.gives]
        where = f'WHERE "{function.key}" = ? AND status = ?'
        query = f'UPDATE {table} SET "{function.column}" = ? {where}'
        assert database.execute(query, (value, key, wanted)).rowcount == (not made.failed)
    for table_schema in library.tables.values():
        rows = database.execute(f'SELECT * FROM "{table_schema.name}"').fetchall()
        for number, row in enumerate(rows):
            now = [episode.state[table_schema.name, number, c] for c in table_schema.columns]
            assert list(row) == now
    database.close()


@pytest.mark.parametrize("domains", [3, 8])
def test_communities_of_the_graph_are_its_domains(domains: int) -> None:
    library = draw_library(domains, 5, "general")
    found = nx.community.louvain_communities(graph(library).to_undirected(), seed=1)
    table_of = {t.type_of(c): t.domain for t in library.tables.values() for c in t.columns}
    for community in found:
        assert len({table_of[name.removeprefix("write ")] for name in community}) == 1


def test_the_pools_of_domains_share_none() -> None:
    general, held = (
        {t.domain for t in draw_library(n, seed, pool).tables.values()}
        for n, pool, seed in ((16, "general", 1), (4, "held-out", 1))
    )
    assert len(general) == 16
    assert len(held) == 4
    assert not general & held
    only = ToolWorld(pool="hotel")
    assert {t.domain for t in only.library(only.initial_state(3)).tables.values()} == {"hotel"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"pool": "hostel"}, "hostel"),
        ({"pool": "held-out", "domains": 5}, "4 domains"),
        ({"pool": "hotel", "domains": 2}, "1 domain, fewer than domains=2"),
    ],
)
def test_a_pool_that_there_is_not_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidOption, match=why):
        ToolWorld(**options)


def test_the_user_reveals_what_they_know_and_nothing_else() -> None:
    game = ToolWorld(user="reveals", task="write", goals=2)
    episode = palestra.Episode(game, 4)
    first, second = episode.state.task.goals
    opening = game.describe(episode.state, 0)
    assert all(detail not in opening for goal in (first, second) for detail in (goal.given,))
    answers = {
        (1, f"{first.given_table}_{first.given_key}"): first.given,
        (2, f"{second.table}_{second.column}"): second.value,
        (1, "name_of_the_king"): "That I do not know.",
    }
    for (number, about), answer in answers.items():
        episode.act({0: call("ask_user", request=number, about=about)})
        assert list(json.loads(episode.state.calls_made[-1].reply).values()) == [answer]
    episode.act({0: call("ask_user", request=3, about="city")})
    assert "no request 3" in episode.state.calls_made[-1].reply


def test_what_the_user_has_not_revealed_is_drawn_anew() -> None:
    game = ToolWorld(user="reveals", task="write", rows=9)
    episode = palestra.Episode(game, 6)
    (true,) = episode.state.task.goals
    others = [game.determinize(episode.state, 0, Rng(n)).task.goals[0] for n in range(40)]
    assert len({goal.given for goal in others}) > 4
    assert len({goal.value for goal in others}) > 1
    about = f"{true.given_table}_{true.given_key}"
    episode.act({0: call("ask_user", request=1, about=about)})
    others = [game.determinize(episode.state, 0, Rng(n)).task.goals[0] for n in range(40)]
    assert {goal.given for goal in others} == {true.given}
    assert len({goal.value for goal in others}) > 1


def test_a_solver_serves_a_user_who_must_be_asked() -> None:
    options: dict[str, Any] = {"user": "reveals", "goals": 2, "task": "write"}
    asked = play(episodes=10, **options)
    assert mean(asked, "success") == 1
    assert mean(asked, "user-questions") >= 4, "two details for each request"
    assert mean(play("random", episodes=10, **options), "success") < 0.2


def test_filters_of_trajectories() -> None:
    game = ToolWorld(task="read", rows=3)
    passed = []
    for seed in range(12):
        (record,) = play(episodes=1, seed=seed, task="read", rows=3)
        passed.append(palestra.measure(record))
    names = [f"trajectory-filters:{name}" for name in ("valid", "state", "sequence")]
    assert all(one[name] == 1 for one in passed for name in names), "the shortest path, and right"
    seed = 1
    state = game.initial_state(seed)
    goal = state.task.goals[0]
    detour = call(
        f"get_{goal.given_table}_status_by_{goal.given_key}",
        **{f"{goal.given_table}_{goal.given_key}": goal.given},
    )
    wanted = {"longer": (1, 1, 0), "twice": (0, 0, 0), "wrong": (1, 0, 0)}
    moves = {
        "longer": [detour, *moves_of("tool-solver", seed, task="read", rows=3)],
        "twice": [detour, detour, *moves_of("tool-solver", seed, task="read", rows=3)],
        "wrong": [detour, Answer("no idea")],
    }
    for name, made in moves.items():
        (record,) = palestra.play(ID, agents=[Moves(made)], seed=seed, task="read", rows=3)
        assert not record.error
        measured = palestra.measure(record)
        assert tuple(measured[one] for one in names) == wanted[name], name


def test_a_call_that_gives_a_name_twice_is_none() -> None:
    episode = palestra.Episode(palestra.game("web/ToolWorld-v0"), 5)
    drawn = (episode.sample(0, Rng.seeded(seed)) for seed in range(99))
    made = next(one for one in drawn if isinstance(one, Call) and one.values)
    name, value = next(iter(made.values.items()))
    pair = json.dumps({name: value})[1:-1]
    once = f'{{"name": "{made.tool}", "arguments": {{{pair}}}}}'
    assert episode.parse(0, once).tool == made.tool
    for twice in (once.replace(pair, f"{pair}, {pair}"), f'{{"name": "fly", {once[1:]}'):
        with pytest.raises(InvalidAction):
            episode.parse(0, twice)
