"""StableReinforce, V₀, Value Kaleidoscope: numbers worked by hand, and real runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import e, log

import numpy as np
import palestra
import pytest
from palestra import InvalidOption, Usage
from palestra.agents.models import Model, Reply, Request, Score
from palestra_rewards import Group, estimate, shape
from palestra_rewards.estimators.stable import stable_loss
from palestra_rewards.judges import Judge
from palestra_rewards.judges.kaleidoscope import Kaleidoscope, read_pillars
from palestra_rewards.judges.reasoning import judge_rewards, order, read_choice, well_formed
from palestra_rewards.learnt.state_zero import (
    ContextNetwork,
    History,
    StateZero,
    budget,
    route,
    start_text,
)

# StableReinforce


def test_outliers_get_no_advantage_and_others_are_standardised() -> None:
    """99 zeros and one 1: the mean is 0.01, the spread sqrt(0.0099), and the 1 is 9.95 above it."""
    rewards = np.zeros(100)
    rewards[37] = 1.0
    group = Group.from_arrays(episode=range(100), rewards=rewards)
    found = estimate("stable-reinforce", group).values
    assert found[37] == 0.0
    assert found[0] == pytest.approx(-0.01 / np.sqrt(0.0099))
    kept = estimate("stable-reinforce:most=10.0", group).values
    assert kept[37] == pytest.approx(0.99 / np.sqrt(0.0099))
    even = Group.from_arrays(episode=range(4), rewards=[0, 1, 1, 0], task=[0, 1, 2, 3])
    assert estimate("stable-reinforce", even).values.tolist() == [-1, 1, 1, -1]
    spread = estimate(
        "grpo+stable-reinforce", Group.from_arrays(episode=range(3), rewards=[1, 2, 6])
    )
    assert spread.values == pytest.approx(np.array([-2, -1, 3]) / np.sqrt(14 / 3))


def test_ratios_are_bounded_before_they_are_exponentiated() -> None:
    torch = pytest.importorskip("torch")
    now = torch.tensor([0.0, 900.0, -900.0, log(1.5)], dtype=torch.float64, requires_grad=True)
    then, gain = torch.zeros(4, dtype=torch.float64), torch.tensor([1.0, -1.0, -1.0, 1.0])
    loss = stable_loss(now, then, gain, lowest=0.01, highest=100.0)
    loss.backward()  # type: ignore[no-untyped-call]
    # -(1), 100, max(0.01, 0.8) = 0.8, and -min(1.5, 1.2)
    assert float(loss.detach()) == pytest.approx((-1 + 100 + 0.8 - 1.2) / 4)
    assert now.grad.tolist() == pytest.approx([-0.25, 0.0, 0.0, 0.0])
    with pytest.raises(InvalidOption, match="around 1"):
        stable_loss(now, then, gain, lowest=2.0)


def test_a_judges_own_rewards_by_hand() -> None:
    """The numbers that the authors' released verifier gives (r1_reward, math_verifier_mllm.py).

    There the reward is 0.5 format + result (1 + 0.5 consistency), with consistency 1 or -1.
    """
    good = "<think>The first is wrong.</think><answer>2</answer>"
    replies = [
        good,
        good,
        good.replace("wrong", "right"),
        "2",
        "<think>x</think><answer>3</answer>",
        good.replace("><", "> <"),
        f"{good}<answer>2</answer>",
        "<think>The second.</think>It is 2",
    ]

    def agrees(request: Request) -> str:
        return "yes" if "The first is wrong" in request.messages[-1].content else "no"

    better = [2, 1, 2, 2, 2, 2, 2, 2]

    judge = Judge(agrees)
    found = judge_rewards(replies, better, consistency=judge)
    # consistent, wrong, inconsistent, a bare right choice, no choice, a gap, two answers, no answer
    assert found.tolist() == [2.0, 0.5, 1.0, 0.5, 0.5, 1.5, 0.0, 0.0]
    assert judge.asked == 3  # right replies alone are asked about, and equal ones once
    assert judge_rewards(replies[:1], [2]).tolist() == [1.5]
    assert read_choice("think first <answer>1</answer>") == ("think first", 1)
    assert [well_formed(reply) for reply in replies[:5]] == [True, True, True, False, True]
    assert "Answer 2:\ndown" in order("Reach the goal.", "up", "down")
    with pytest.raises(InvalidOption, match="1 or 2"):
        judge_rewards(replies, [0] * 8)


# V₀


def test_predictions_are_weighted_means_of_a_policys_own_past() -> None:
    history = History(["add two numbers", "sort a list"], [1.0, 0.0])
    model = StateZero(sharpness=1.0, prior=2.0)
    same, neither = model.predict(history, ["add two numbers", "walk outside now"])
    # likeness 1 and 0 to the two tasks: weights 1 and 1/e, beside two tasks worth one half
    assert same == pytest.approx((2 * 0.5 + 1) / (2 + 1 + 1 / e))
    assert neither == pytest.approx(0.5)
    assert model.predict(History(), ["anything"]).tolist() == [0.5]
    sharp = StateZero(sharpness=500.0, prior=1e-9)
    assert sharp.predict(history, history.tasks) == pytest.approx([1.0, 0.0], abs=1e-6)


def test_one_model_serves_policies_it_was_not_fitted_to() -> None:
    """Each policy can do some kinds of tasks; fitted on eight policies, it predicts a ninth."""
    kinds, rng = ["alpha", "beta", "gamma", "delta"], np.random.default_rng(0)

    def policy() -> tuple[History, dict[str, float]]:
        able = dict(zip(kinds, rng.choice([0.05, 0.95], len(kinds)), strict=True))
        drawn = rng.choice(kinds, 24)
        tasks = [f"{kind} {kind} problem number {n}" for n, kind in enumerate(drawn)]
        return History(tasks, (rng.random(24) < [able[kind] for kind in drawn]).tolist()), able

    model = StateZero(sharpness=0.1, prior=5.0).fit([policy()[0] for _ in range(8)])
    gaps, means = [], []
    for _ in range(6):
        history, able = policy()
        found = model.predict(history, [f"{kind} {kind} problem number 99" for kind in kinds])
        truth = np.array(list(able.values()))
        gaps.append(np.abs(found - truth).mean())
        means.append(np.abs(np.mean(history.success) - truth).mean())
    assert np.mean(gaps) < 0.2 < np.mean(means)
    assert model.sharpness > 1
    other = StateZero()
    other.load(model.state())
    assert other.state() == model.state()


def test_a_policys_history_is_read_from_real_play() -> None:
    records = palestra.rollouts("games/Wordle-v0", agents="random", n=2, seed=3)
    records += palestra.rollouts("games/Quest-v0", agents="quest-explorer", n=1, seed=4)
    history = History.of(records)
    assert history.success == [0.0, 0.0, 1.0]
    assert history.tasks[0] == history.tasks[1] == start_text(records[0])
    chance = StateZero(prior=0.5).predict(history, [history.tasks[0], history.tasks[2]])
    assert chance[0] < chance[1]


@pytest.mark.parametrize("chances", [(0.5, 0.9, 0.99), (0.2, 0.2, 0.0), (1.0, 0.03, 0.6)])
def test_budgets_are_those_of_an_enumeration(chances: Sequence[float]) -> None:
    def mixed(counts: Sequence[int]) -> float:
        return sum(1 - p**n - (1 - p) ** n for p, n in zip(chances, counts, strict=True))

    found = budget(chances, 14, least=2)
    every = [c for c in product(range(2, 11), repeat=3) if sum(c) == 14]
    assert sum(found) == 14
    assert mixed(found) == pytest.approx(max(map(mixed, every)))
    with pytest.raises(InvalidOption, match="too few"):
        budget(chances, 5)


def test_the_cheapest_agent_that_is_good_enough_is_chosen() -> None:
    chances, costs = {"small": 0.7, "large": 0.9}, {"small": 0.1, "large": 1.0}
    assert route(chances, costs, price=0.1) == "large"
    assert route(chances, costs, price=0.5) == "small"
    assert route({"small": 0.9, "large": 0.9}, {"small": 1.0, "large": 2.0}, price=0.0) == "small"
    with pytest.raises(InvalidOption, match="a cost for every"):
        route(chances, {})


TOPICS = ("algebra", "history", "grammar", "chess")


def policies(number: int, seed: int, tasks: int = 24) -> list[History]:
    """Each masters some topics and fails at the others; a task has its topic among noise words."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        good = rng.permutation(len(TOPICS))[:2]
        history = History()
        for topic in rng.integers(len(TOPICS), size=tasks):
            noise = [f"w{n}" for n in rng.integers(40, size=7)]
            place = int(rng.integers(8))
            words = [*noise[:place], TOPICS[topic], *noise[place:]]
            history.tasks.append(" ".join(words))
            history.success.append(float(topic in good))
        found.append(history)
    return found


@pytest.mark.exhaustive
def test_a_network_learns_over_policies_what_makes_tasks_alike() -> None:
    """On policies that nothing was fitted to: loss in nats; ln 2 knows nothing, 0 is sure."""
    pytest.importorskip("torch")

    def loss(model: StateZero | ContextNetwork) -> float:
        found = []
        for history in policies(12, seed=9):
            known, new = History(history.tasks[:16], history.success[:16]), history.tasks[16:]
            chances = np.clip(model.predict(known, new), 1e-6, 1 - 1e-6)
            won = np.array(history.success[16:])
            found.append(-np.log(np.where(won == 1, chances, 1 - chances)).mean())
        return float(np.mean(found))

    fitted = policies(60, seed=1)
    network = ContextNetwork(steps=60, rate=0.1).fit(fitted)
    assert loss(network) < 0.2
    assert loss(StateZero().fit(fitted[:6])) > 0.5  # seven of eight words are noise to it too
    again = ContextNetwork(seed=5)
    again.load(network.state())
    assert loss(again) == pytest.approx(loss(network))
    assert network.predict(History(), ["chess"]).tolist() == [0.5]
    with pytest.raises(InvalidOption, match="two tasks"):
        network.fit([History(["chess"], [1.0])])


# Value Kaleidoscope

SAID = "- Value: honesty\n- Duty: Keep promises\n* Right: free speech\nValue: honesty\nnonsense"


class Weighing(Model):
    """Says what it was told, and scores answers by fixed odds."""

    name = "weighing"
    abilities = frozenset({"score"})

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        text = request.messages[-1].content
        if not request.score:
            return Reply(SAID, Usage(calls=1), model=self.name)
        odds = {"yes": 4.0, "no": 1.0, "supports": 3.0, "opposes": 1.0, "either": 4.0}
        if "free speech" in text:
            odds["yes"] = 0.25
        if "promises" in text:
            odds["opposes"] = 9.0
        scores = [Score(log(odds[one]), 1) for one in request.score]
        return Reply("", Usage(calls=1), scores=tuple(scores), model=self.name)


def test_relevance_and_side_weigh_what_is_paid() -> None:
    """Honesty: 0.8 (3/8 - 1/8) = 0.2; promises: 0.8 (3/16 - 9/16) = -0.3; speech is irrelevant."""
    assert read_pillars(SAID) == [
        ("value", "honesty"),
        ("duty", "Keep promises"),
        ("right", "free speech"),
    ]
    judge = Judge(Weighing())
    (found,) = Kaleidoscope(judge).see(["player_0: tell the truth"])
    assert [(one.text, round(one.valence, 9)) for one in found] == [
        ("honesty", 0.2),
        ("Keep promises", -0.3),
    ]
    (record,) = palestra.rollouts("games/TicTacToe-v0", agents="random", n=1)
    turns = len(record.turns)
    assert shape("kaleidoscope", record, judge=judge) == pytest.approx([-0.05] * turns)
    weights = {"value: honesty": 2.0, "right: free speech": 1.0}
    wanted = 2 * 0.2 + 0.2 * (3 / 8 - 1 / 8)
    paid = shape("kaleidoscope", record, judge=judge, weights=weights)
    assert paid == pytest.approx([wanted] * turns)


def test_near_duplicates_are_dropped_and_other_models_answer_in_words() -> None:
    def model(request: Request) -> str:
        text = request.messages[-1].content
        if "Name up to" in text:
            return "Value: telling the truth\nValue: telling truth\nRight: to know"
        if "relevant" in text:
            return "yes"
        return "opposes" if "to know" in text else "supports"

    (found,) = Kaleidoscope(Judge(model)).see(["a lie"])
    assert [(one.text, one.valence) for one in found] == [
        ("telling the truth", 1.0),
        ("to know", -1.0),
    ]
    with pytest.raises(InvalidOption, match="name weights"):
        shape(
            "kaleidoscope",
            palestra.rollouts("games/TicTacToe-v0", agents="random", n=1),
            judge=Judge(model),
            weights={"honesty": 1.0},
        )
