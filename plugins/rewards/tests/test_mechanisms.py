"""Discussions, attribution, hops and judges with tools: the papers' formulas, worked apart."""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any
from zlib import crc32

import numpy as np
import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra_rewards import Group, Lacking, estimate, shape
from palestra_rewards.episodes.hops import (
    ExpertHops,
    Pair,
    advance,
    fuse_progress,
    hop,
    progress_along,
    read_hop,
    states_in_words,
)
from palestra_rewards.episodes.red_team import attack_figures
from palestra_rewards.judges import Judge
from palestra_rewards.judges.attributing import marks
from palestra_rewards.judges.tools import (
    ToolJudge,
    calculate,
    calendar,
    program,
    search,
    tool_accuracy,
)
from palestra_rewards.reading import turn_rewards
from palestra_rewards.tabular import Mdp
from test_episodes import record_of


def said(request: Request) -> str:
    return request.messages[-1].content


# CoMAS


def test_solver_and_evaluator_share_one_and_a_constant_scorer_teaches_nothing() -> None:
    parts = [
        {"answer": 0, "evaluation": 2, "scoring": 3, "score": 3},
        {"answer": 1, "evaluation": 4, "scoring": 5, "score": 1},
        {"answer": 6, "evaluation": 7, "scoring": 8, "score": 2},
        {"answer": 9, "evaluation": 10, "scoring": 11, "score": None},
    ]
    record = record_of(*[{s: 0.0} for s in (0, 1, 1, 2, 2, 0, 1, 2, 0, 0, 1, 2)], discussion=parts)
    paid = shape("comas", record)
    assert paid.tolist() == [1, 0, 0, 0, 1, 0, 0.5, 0.5, 0, 0, 0, -1]
    praise = [{**part, "score": 3} for part in parts]
    same = shape("comas", record_of(*[{0: 0.0}] * 12, discussion=praise))
    assert {same[part["answer"]] for part in praise} == {1.0}
    with pytest.raises(InvalidOption, match="is 1, 2 or 3, not 4"):
        shape("comas", record_of({0: 0.0}, discussion=[{**parts[0], "score": 4}]))
    with pytest.raises(Lacking, match="discussion"):
        shape("comas", record_of({0: 0.0}))


# AgentEvolver's self-attributing


def attributed(
    lines: list[tuple[list[bool], float]], weight: float, equal: bool
) -> list[list[float]]:
    """ADCA-GRPO in plain loops, for rollouts of one task."""
    raw = [[1.0 if good else -1.0 for good in verdicts] for verdicts, _ in lines]
    if equal:
        mean = fmean([fmean(line) for line in raw])
        spread = fmean([fmean([(x - mean) ** 2 for x in line]) for line in raw]) ** 0.5
    else:
        flat = [x for line in raw for x in line]
        mean, spread = fmean(flat), pstdev(flat)
    returns = [paid for _, paid in lines]
    centre, width = fmean(returns), pstdev(returns)
    found = []
    for line, paid in zip(raw, returns, strict=True):
        steps = [weight * (x - mean) / spread if spread else 0.0 for x in line]
        steps[-1] += (paid - centre) / width if width else 0.0
        found.append([sum(steps[place:]) for place in range(len(steps))])
    return found


LINES = st.lists(
    st.tuples(st.lists(st.booleans(), min_size=1, max_size=6), st.sampled_from([0.0, 0.25, 1.0])),
    min_size=1,
    max_size=6,
)


@given(LINES, st.floats(0, 2), st.booleans())
def test_attribution_by_hand_and_without_marks_is_grpo(
    lines: list[tuple[list[bool], float]], weight: float, equal: bool
) -> None:
    group = Group.from_arrays(
        episode=[n for n, (verdicts, _) in enumerate(lines) for _ in verdicts],
        rewards=[
            paid if place == len(verdicts) - 1 else 0.0
            for verdicts, paid in lines
            for place in range(len(verdicts))
        ],
        facts={"verdicts": [good for verdicts, _ in lines for good in verdicts]},
    )
    found = estimate("agentevolver", group, weight=weight, equal=equal)
    expected = attributed(lines, weight, equal)
    assert [list(x) for x in found.per_episode()] == [pytest.approx(line) for line in expected]
    assert estimate("agentevolver", group, weight=0.0).values == pytest.approx(
        estimate("grpo", group).values
    )
    constant = group.with_facts(verdicts=np.ones(group.size))
    assert estimate("agentevolver", constant, weight=9.0).values == pytest.approx(
        estimate("grpo", group).values
    )


def test_marks_of_a_run_come_from_one_request_a_seat() -> None:
    records = palestra.rollouts("games/TicTacToe-v0", agents=["random", "scripted"], seed=3, n=5)
    requests: list[str] = []

    def corners(request: Request) -> str:
        """Good where a corner was taken; says nothing of the last turn it is asked about."""
        text = said(request)
        requests.append(text)
        numbers = re.search(r"are ([\d, ]+)\. For each", text)
        assert numbers
        own = [int(n) for n in numbers[1].split(", ")]
        moves = {int(n): m for n, m in re.findall(r"^\[(\d+)\] \w+: (\d)$", text, re.MULTILINE)}
        return "\n".join(
            f"{n}: {'GOOD' if moves[n] in '1379' else 'BAD, not a corner'}" for n in own[:-1]
        )

    found = marks(records, Judge(corners))
    assert len(requests) == len(set(requests)) <= 2 * len(records)
    expected = []
    for record in records:
        for place, turn in enumerate(record.turns):
            last = max(p for p, t in enumerate(record.turns) if t.seat == turn.seat)
            corner = turn.text in "1379"
            expected.append(record.returns[turn.seat] > 0 if place == last else corner)
    assert found.tolist() == expected
    group = Group.of(records).with_facts(verdicts=found)
    assert estimate("agentevolver", group, weight=0.0).values == pytest.approx(
        estimate("grpo", group).values
    )
    assert not np.allclose(estimate("agentevolver", group).values, estimate("grpo", group).values)


# Robo-Dopamine


UNIT = st.floats(0, 1).map(lambda x: round(x, 6))


@given(st.lists(UNIT, min_size=1, max_size=12))
def test_true_hops_give_back_the_progress_from_all_three_sides(later: list[float]) -> None:
    way = [0.0, *later]
    steps = [hop(a, b) for a, b in zip(way, later, strict=False)]
    forward, backward = [hop(0.0, b) for b in later], [hop(1.0, b) for b in later]
    assert fuse_progress(steps, forward, backward) == pytest.approx(later, abs=1e-9)


@given(st.lists(st.tuples(*[st.floats(-1, 1)] * 3), max_size=20))
def test_whatever_a_hop_model_says_progress_stays_from_zero_to_one(hops: list[Any]) -> None:
    table = np.array(hops).reshape(-1, 3).T
    assert np.all((fuse_progress(*table) >= 0) & (fuse_progress(*table) <= 1))


def test_hops_by_hand() -> None:
    assert [hop(0.5, 0.75), hop(0.5, 0.25), hop(0.2, 0.2), hop(0.0, 0.3)] == [0.5, -0.5, 0, 0.3]
    assert advance(advance(0.0, 0.5), -0.5) == 0.25
    # chained .5, .25; forward .2, -.4 (no less than 0); backward -.6, -.9: .4, .1
    mixed = fuse_progress([0.5, -0.5], [0.2, -0.4], [-0.6, -0.9])
    assert mixed == pytest.approx([(0.5 + 0.2 + 0.4) / 3, (0.25 + 0 + 0.1) / 3])
    with pytest.raises(InvalidOption, match="from -1 to 1"):
        fuse_progress([2.0], [0.0], [0.0])
    assert [read_hop(t) for t in ("<score>+25%</score>", "<score>-250%</score>", "25%")] == [
        0.25,
        -1.0,
        0.0,
    ]


def noisy(pairs: Any) -> list[float]:
    """A hop model of no sense at all, but the same for the same pair."""
    return [
        float(np.random.default_rng(crc32(repr(pair).encode())).uniform(-1, 1)) for pair in pairs
    ]


@pytest.mark.parametrize("gamma", [1.0, 0.9])
@pytest.mark.parametrize(
    ("env", "agents"),
    [
        ("games/Quest-v0", ["random"]),
        ("games/TicTacToe-v0", ["random", "random"]),
        ("grid/Foraging-v0", ["random"] * 3),
    ],
)
def test_shaping_by_fused_progress_adds_the_same_to_every_way(
    env: str, agents: list[str], gamma: float
) -> None:
    options = {"num_players": 3} if len(agents) == 3 else {}
    for record in palestra.play(env, agents=agents, episodes=3, max_episode_steps=40, **options):
        paid = shape("robo-dopamine", record, hops=noisy, goal="the end", gamma=gamma)
        own = turn_rewards(record)
        moved = 0.0
        for seat in range(len(record.players)):
            turns = [p for p, turn in enumerate(record.turns) if turn.seat == seat]
            discounts = gamma ** np.arange(len(turns))
            assert discounts @ (paid - own)[turns] == pytest.approx(0.0, abs=1e-9)
            moved += np.abs((paid - own)[turns]).sum()
        assert moved > 0.1  # it is not that nothing was paid


def test_the_naive_sum_falls_into_the_trap_that_shaping_avoids() -> None:
    """On 20 random decision problems the potential's shaping keeps every best action."""
    fell = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        moves = rng.dirichlet(np.ones(5), size=(5, 3))
        mdp = Mdp(moves, np.full(5, 0.2), gamma=0.9)
        rewards, progress = rng.uniform(size=(5, 3)), rng.uniform(size=5)
        policy, _ = mdp.best(rewards)
        shaped = rewards + 0.9 * moves @ progress - progress[:, None]
        assert mdp.best(shaped)[0] == pytest.approx(policy)
        fell += not np.array_equal(mdp.best(rewards + moves @ progress)[0], policy)
    assert fell >= 5


def test_one_episode_of_an_expert_is_enough_to_see_progress() -> None:
    expert = palestra.play("grid/Fruit-v0", agents=["scripted"], seed=5)[0]
    states = states_in_words(expert, 0)
    model = ExpertHops(states)
    assert len(states) == len(expert.turns) + 1
    assert model([Pair(states[0], states[-1], states[0], states[-1])]) == [1.0]
    rising = progress_along(states, model.goal, model)
    assert rising[-1] == pytest.approx(1.0)
    paid = shape("robo-dopamine", expert, hops=model)
    assert paid.sum() == pytest.approx(turn_rewards(expert).sum())


def test_a_judge_of_hops_reads_both_states_between_the_ends_of_the_way() -> None:
    asked: list[str] = []

    def judge(request: Request) -> str:
        asked.append(said(request))
        return "<score>+10%</score>"

    record = palestra.play("games/Hangman-v0", agents=["random"], seed=1, max_episode_steps=3)[0]
    states = states_in_words(record, 0)
    shape("robo-dopamine", record, hops=Judge(judge), goal="The word is known.", task="Find it.")
    for before, after in pairwise(states):
        assert any(f"BEFORE:\n{before}\n\nAFTER:\n{after}\n" in text for text in asked)
        assert any(f"BEFORE:\nThe word is known.\n\nAFTER:\n{after}\n" in text for text in asked)
    assert all("REFERENCE END (the task is done):\nThe word is known." in text for text in asked)
    with pytest.raises(InvalidOption, match="goal="):
        shape("robo-dopamine", record, hops=Judge(judge))


# Themis


def checks_sums(request: Request) -> str:
    """Asks the calculator for the first sum of the text, and scores by what it sees."""
    if said(request).startswith("Observation: "):
        claim = re.findall(r"(\S+ [-+*/] \S+) = (\S+?)\.?$", request.messages[0].content, re.M)[0]
        right = said(request) == f"Observation: {claim[1]}"
        return f"Thought: seen.\nRationale: it is {right}.\nScore: {10 if right else 0}"
    if "calculator" not in request.messages[0].content:
        return "Thought: it looks right.\nRationale: it looks right.\nScore: 8"
    claim = re.findall(r"(\S+ [-+*/] \S+) = ", request.messages[0].content)[0]
    return f"Thought: check it.\nAction: calculator[{claim}]"


def test_a_judge_with_tools_finds_what_one_without_cannot() -> None:
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(20):
        a, b = (int(x) for x in rng.integers(100, 999, 2))
        off = int(rng.integers(1, 9))
        pairs.append((f"The answer: {a} * {b} = {a * b}", f"The answer: {a} * {b} = {a * b + off}"))
    assert tool_accuracy(ToolJudge(Judge(checks_sums)), pairs) == 1.0
    assert tool_accuracy(ToolJudge(Judge(checks_sums), {}), pairs) == 0.5
    (verdict,) = ToolJudge(Judge(checks_sums)).score([pairs[0][0]])
    assert verdict.calls == ["calculator"]
    assert [step.split(":")[0] for step in verdict.trace] == ["Thought", "Observation", "Thought"]
    assert verdict.rationale == "it is True."


def test_calls_run_out_and_a_score_out_of_form_is_none() -> None:
    def greedy(request: Request) -> str:
        return "Thought: more.\nAction: calculator[1 + 1]"

    (verdict,) = ToolJudge(Judge(greedy), most=3).score(["x"])
    assert verdict.calls == ["calculator"] * 3
    assert verdict.score is None
    for reply in ("Score: 5", "Rationale: good.\nScore: 11", "It is good."):
        assert ToolJudge(Judge(lambda _, r=reply: r)).score(["x"])[0].score is None
    asked: list[str] = []

    def lost(request: Request) -> str:
        asked.append(said(request))
        return "Action: oracle[x]" if len(asked) < 4 else "Rationale: no.\nScore: 2"

    (verdict,) = ToolJudge(Judge(lost)).score(["x"])
    assert (
        asked[1] == "Observation: there is no tool oracle; there are calculator, calendar, python."
    )
    assert (verdict.score, verdict.calls) == (0.2, [])


def test_the_tools_know_their_trade() -> None:
    assert [calculate(t) for t in ("(3 + 4) * 2", "-2 ** 2", "7 // 2 + 7 % 2", "1 / 8")] == [
        "14",
        "-4",
        "4",
        "0.125",
    ]
    for wrong in ("__import__('os')", "1 / 0", "(-8) ** 0.5", "9 ** 9 ** 9", "x", "'a' * 3", "("):
        with pytest.raises(InvalidOption, match="no sum"):
            calculate(wrong)
    for bomb in ("-" * 100_000 + "1", "1 + " * 50_000 + "1"):
        with pytest.raises(InvalidOption, match="nested too deeply"):
            calculate(bomb)
    assert calendar("2024-02-28 to 2024-03-01") == "2 days"
    assert calendar("2024-02-28 + 2") == "2024-03-01, a Friday"
    assert calendar("2000-01-01") == "Saturday"
    with pytest.raises(InvalidOption, match="write 2024"):
        calendar("2023-02-29")
    assert program("print(sum(range(5)))") == "10"
    assert "ZeroDivisionError" in program("1 / 0")
    with pytest.raises(InvalidOption):
        program("import os")
    facts = ["Paris is the capital of France.", "Rome is the capital of Italy.", "Ice is cold."]
    assert search(facts, shown=1).run("the capital of Italy") == facts[1]
    assert search(facts).run("zebra") == "nothing found"


def test_themis_pays_every_seat_of_a_real_run_its_score() -> None:
    records = palestra.play("games/LiarsDice-v0", agents=["random"] * 3, episodes=4, num_players=3)
    judge = ToolJudge(Judge(lambda _: "Thought: seen.\nRationale: fair.\nScore: 7"))
    for record in records:
        paid = shape("themis", record, judge=judge)
        last = {turn.seat: place for place, turn in enumerate(record.turns)}
        assert sorted(np.flatnonzero(paid)) == sorted(last.values())
        assert set(paid[list(last.values())]) == {0.7}


# AdvEvo-MARL; the arena itself is tested beside the adapter `redteam`


def test_attackers_earn_harm_and_defenders_the_task_without_it() -> None:
    """Two attackers and a defender: harm once, at a price of 0.5, and the task worth 0.8."""
    records = palestra.rollouts("games/AgentsNet-v0", agents="random", n=2, num_players=4)
    roles = ["attacker", "defender", "attacker", "defender"]
    for record, executed in zip(records, ([1], []), strict=True):
        worth = [0.8] + [0.0] * (len(record.turns) - 1)
        record.tags = {"roles": roles, "executed": executed, "process": worth}
    paid = [shape("red-team", record, price=0.5) for record in records]
    last = [
        [max(n for n, t in enumerate(record.turns) if t.seat == seat) for seat in range(4)]
        for record in records
    ]
    assert paid[0][last[0]].tolist() == pytest.approx([1.0, 0.3, 1.0, 0.3])
    assert paid[1][last[1]].tolist() == pytest.approx([0.0, 0.8, 0.0, 0.8])
    assert sum(map(np.count_nonzero, paid)) == 6
    assert attack_figures(records) == {"attack success": 0.5, "task": 0.8}
    records[0].tags = {"executed": [], "process": [0.0] * len(records[0].turns)}
    with pytest.raises(InvalidOption, match="tag 'roles'"):
        shape("red-team", records[0])
