"""AdaPlan: a plan that adapts, who reads it, and the rows of the three stages of PilotRL."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra import Budget, InvalidOption
from palestra.agents.models import Request
from palestra_adapters.teams.adaplan import AdaPlan, stage_rows
from palestra_rewards import Group, estimate

WAY = {
    "start": {"north": 0.0, "south": 0.0, "west": 0.0},
    "south": {"bridge": 0.0, "ford": 0.0, "mud": 0.0},
    "ford": {"home": 7.0, "mud": 0.0},
    "bridge": {"mud": 0.0, "home": 10.0},
}
WORLD = trail(WAY)
AT = re.compile(r"You are at (\S+), step")


def role(request: Request) -> str:
    text = last(request)
    if "You plan for a player" in text:
        return "planner"
    return "judge" if "Answer with a number" in text else "executor"


def place(request: Request) -> str:
    return AT.findall(last(request))[-1]


def follows(request: Request) -> str:
    """Goes where the plan's first step says, if there is such a way, and else the first one."""
    text = last(request)
    ways = re.findall(r"'([^']+)'", text.partition("you may play: ")[2].splitlines()[0])
    planned = re.findall(r"go (\w+)", text.rpartition("The plan for the whole task")[2])
    to = next((way for way in planned if way in ways), ways[0])
    return f"Thought: as planned.\nAction: Go(to='{to}')"


def planner(request: Request) -> str:
    """It learns on the way that the ford is deep, and plans for the bridge then."""
    if place(request) == "start":
        return "1. go south\n2. go ford\n3. go home"
    return "1. go bridge\n2. go home"


def cast(request: Request) -> str:
    return planner(request) if role(request) == "planner" else follows(request)


@pytest.mark.parametrize(("every", "paid", "plans"), [(1, 10.0, 3), (2, 7.0, 2), (0, 7.0, 1)])
def test_a_plan_that_adapts_finds_what_the_first_one_did_not_know(
    every: int, paid: float, plans: int
) -> None:
    model = Free(cast)
    (record,) = palestra.play(WORLD, agents=[AdaPlan(model=model, every=every)])
    assert record.returns == (paid,)
    assert sum("planner" in turn.facts["said"] for turn in record.turns) == plans
    order = [role(request) for request in model.requests]
    assert order.count("planner") == plans
    assert order[:2] == ["planner", "executor"]


def test_the_executor_reads_the_plan_and_not_what_the_planner_was_asked() -> None:
    model = Free(cast)
    (record,) = palestra.play(WORLD, agents=[AdaPlan(model=model)])
    first, second = model.requests[1], model.requests[3]
    assert 'The plan for the whole task:\n"1. go south\\n2. go ford\\n3. go home"' in last(first)
    assert 'The plan for the whole task:\n"1. go bridge\\n2. go home"' in last(second)
    assert not any("You plan for" in last(r) for r in model.requests if role(r) == "executor")
    assert 'Your plan so far:\n"1. go south' in last(model.requests[2])
    said = record.turns[1].facts["said"]
    assert said["planner"]["text"] == "1. go bridge\n2. go home"
    assert said["executor"]["prompt"][-1]["content"] == last(second)
    assert said["executor"]["text"].endswith("Action: Go(to='bridge')")


def test_models_are_executor_planner_and_judge() -> None:
    models = [Free(follows), Free(planner), Free("8")]
    (record,) = palestra.play(WORLD, agents=[AdaPlan(model=models, judged=True)])
    assert [{role(r) for r in model.requests} for model in models] == [
        {"executor"},
        {"planner"},
        {"judge"},
    ]
    assert [turn.facts["followed"] for turn in record.turns] == [0.8] * 3
    assert [turn.facts["quality"] for turn in record.turns] == [0.8] * 3


def test_an_answer_that_was_refused_is_asked_again_by_the_same_plan() -> None:
    answers = iter(["Action: swim", "Action: Go(to='south')", "Action: Go(to='mud')"])
    model = Free(lambda r: planner(r) if role(r) == "planner" else next(answers))
    palestra.play(WORLD, agents=[AdaPlan(model=model)], invalid="retry:2")
    assert [role(r) for r in model.requests] == [
        "planner",
        "executor",
        "executor",
        "planner",
        "executor",
    ]
    assert "That was refused" in last(model.requests[2])


def test_a_move_stands_where_the_budget_leaves_no_judge() -> None:
    models = [Free(follows), Free(planner), Free("8")]
    agent = AdaPlan(model=models, judged=True)
    agent.name = "pilot"
    budgets = {"pilot": Budget(calls=3)}
    (record,) = palestra.play(WORLD, agents=[agent], budgets=budgets, max_episode_steps=1)
    assert record.turns[0].text == "Go(to='south')"
    assert record.turns[0].facts["quality"] == 0.8
    assert "followed" not in record.turns[0].facts


def rollouts(seed: int, size: int) -> list[palestra.EpisodeRecord]:
    """Plans and moves of chance, judged by chance: rollouts of unequal lengths and returns."""
    rng = np.random.default_rng(seed)
    ways = ["south", "north", "ford", "bridge", "home", "mud"]

    def drawn(request: Request) -> str:
        match role(request):
            case "planner":
                return (
                    f"1. go {'south' if rng.random() < 0.7 else 'west'}\n2. go {rng.choice(ways)}"
                )
            case "judge":
                return str(rng.integers(0, 11))
        return follows(request)

    agent = AdaPlan(model=Free(drawn), judged=True, every=2)
    return palestra.rollouts(WORLD, agents=[agent], n=size, seed=seed)


@pytest.mark.parametrize("seed", range(8))
def test_the_third_stage_has_the_advantages_of_grpo_for_both_roles(seed: int) -> None:
    records = rollouts(seed, 3 + seed)
    rows = stage_rows(records, 3)
    values = estimate("grpo", Group.of(records)).per_episode()
    expected = [
        float(own[place])
        for record, own in zip(records, values, strict=True)
        for place, turn in enumerate(record.turns)
        for name in ("planner", "executor")
        if name in turn.facts["said"]
    ]
    assert [row.advantage for row in rows] == pytest.approx(expected, abs=1e-6)
    assert {row.role for row in rows} == {"executor", "planner"}


@pytest.mark.parametrize(
    ("stage", "name", "score"), [(1, "executor", "followed"), (2, "planner", "quality")]
)
@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_the_first_stages_train_one_role_by_its_score(
    stage: int, name: str, score: str, weight: float
) -> None:
    records = [record for seed in (1, 2) for record in rollouts(seed, 5)]
    rows = stage_rows(records, stage, weight=weight)  # type: ignore[arg-type]
    assert {row.role for row in rows} == {name}
    rewards = [
        record.returns[0]
        + weight * np.mean([t.facts[score] for t in record.turns if score in t.facts])
        for record in records
    ]
    halves = [np.array(rewards[:5]), np.array(rewards[5:])]
    gains = np.concatenate([(half - half.mean()) / (half.std() or 1.0) for half in halves])
    counts = [sum(name in turn.facts["said"] for turn in record.turns) for record in records]
    assert len(set(counts)) > 1 or stage == 2
    assert [row.advantage for row in rows] == pytest.approx(np.repeat(gains, counts))
    assert [row.reward for row in rows] == pytest.approx(np.repeat(rewards, counts))


def test_following_a_bad_plan_is_paid_in_the_first_stage_and_not_in_the_second() -> None:
    """Two rollouts: one follows a plan into the mud, the other ignores it and gets home."""

    def scored(follow: str) -> Callable[[Request], str]:
        def reply(request: Request) -> str:
            text = last(request)
            if role(request) == "planner":
                return "1. go north"
            if role(request) == "judge":
                return follow if "carry out" in text else "5"
            return (
                follows(request) if follow == "10" else f"Action: Go(to='{home[place(request)]}')"
            )

        return reply

    home = {"start": "south", "south": "bridge", "bridge": "home"}
    records = [
        palestra.rollouts(WORLD, agents=[AdaPlan(model=Free(scored(f)), judged=True)], n=1)[0]
        for f in ("10", "0")
    ]
    assert [record.returns[0] for record in records] == [0.0, 10.0]
    obeyed, ignored = (
        [row.advantage for row in stage_rows(records, 1, weight=w)] for w in (100.0, 0.0)
    )
    assert obeyed == pytest.approx([1.0, *[-1.0] * 3])
    assert ignored == pytest.approx([-1.0, *[1.0] * 3])
    assert [row.advantage for row in stage_rows(records, 2, weight=100.0)] == pytest.approx(
        [-1.0, *[1.0] * 3]
    )


def test_other_stages_and_other_records_are_refused() -> None:
    with pytest.raises(InvalidOption, match="stage must be 1, 2 or 3, not 4"):
        stage_rows(rollouts(0, 2), 4)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="play with adaplan"):
        stage_rows(palestra.play("games/TicTacToe-v0", agents="random"), 1)


# The three stages one after the other


SIDES = ("left", "right")
ROOMS = {
    "red": trail({"red": {"left": 1.0, "right": 0.0}}, start="red", top=1.0),
    "blue": trail({"blue": {"left": 0.0, "right": 1.0}}, start="blue", top=1.0),
}


class Tables:
    """A planner and an executor as tables of softmax probabilities, trained by REINFORCE.

    The planner sees the room, and the executor only the door that the plan names.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.logits = {
            "planner": {room: np.zeros(2) for room in ROOMS},
            "executor": {side: np.zeros(2) for side in SIDES},
        }

    def shares(self, name: str, seen: str) -> np.ndarray:
        powers = np.exp(self.logits[name][seen])
        return powers / powers.sum()

    def seen(self, name: str, text: str) -> str:
        if name == "planner":
            return AT.findall(text)[-1]
        return re.findall(r"go (\w+)", text.rpartition("The plan for the whole task")[2])[0]

    def reply(self, request: Request) -> str:
        text, name = last(request), role(request)
        if name == "judge":
            planned, done = re.findall(r"go (\w+)", text)[-1], re.findall(r"to='(\w+)'", text)[-1]
            return "10" if planned == done else "0"
        side = SIDES[self.rng.choice(2, p=self.shares(name, self.seen(name, text)))]
        return f"1. go {side}" if name == "planner" else f"Action: Go(to='{side}')"

    def train(self, stage: int, rounds: int) -> None:
        for number in range(rounds):
            for room in ROOMS.values():
                agent = AdaPlan(model=Free(self.reply), judged=stage == 1)
                records = palestra.rollouts(room, agents=[agent], n=10, seed=number)
                weight = 10.0 if stage == 1 else 0.0
                for row in stage_rows(records, stage, weight=weight):  # type: ignore[arg-type]
                    seen = self.seen(row.role, row.prompt[-1]["content"])
                    side = next(n for n, side in enumerate(SIDES) if side in row.text)
                    gradient = np.eye(2)[side] - self.shares(row.role, seen)
                    self.logits[row.role][seen] += 0.1 * row.advantage * gradient

    @property
    def expected(self) -> float:
        """The return that these tables earn, from their probabilities."""
        paid = {"red": "left", "blue": "right"}
        total = 0.0
        for room, side in paid.items():
            plan = self.shares("planner", room)
            total += sum(
                plan[n] * self.shares("executor", name)[SIDES.index(side)]
                for n, name in enumerate(SIDES)
            )
        return total / 2


@pytest.mark.parametrize("seed", range(3))
def test_the_stages_teach_one_role_after_the_other(seed: int) -> None:
    tables = Tables(seed)
    tables.train(1, 25)
    assert all(not tables.logits["planner"][room].any() for room in ROOMS)
    assert min(tables.shares("executor", side)[n] for n, side in enumerate(SIDES)) > 0.9
    assert tables.expected == pytest.approx(0.5)
    learnt = {side: own.copy() for side, own in tables.logits["executor"].items()}
    tables.train(2, 25)
    assert all((tables.logits["executor"][side] == learnt[side]).all() for side in SIDES)
    after_two = tables.expected
    assert after_two > 0.85
    tables.train(3, 15)
    assert tables.expected > after_two


def test_plans_cannot_be_learnt_for_an_executor_that_does_not_follow_them() -> None:
    """The share of right plans after the second stage, over four seeds, without the first."""
    found = {}
    for first in (0, 25):
        shares = []
        for seed in range(4):
            tables = Tables(seed)
            tables.train(1, first)
            tables.train(2, 15)
            plans = [tables.shares("planner", "red")[0], tables.shares("planner", "blue")[1]]
            shares.append(float(np.mean(plans)))
        found[first] = np.mean(shares)
    assert abs(found[0] - 0.5) < 0.15
    assert found[25] > 0.8
