"""Step shapers that pay by a program and by discounts of their own."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord, InvalidOption, Rng
from palestra_rewards import shape
from palestra_rewards.episodes.programs import ProgramFailed, lessons_from
from palestra_rewards.episodes.terms import combine
from palestra_rewards.judges import Judge
from palestra_rewards.reading import turn_rewards
from palestra_rewards.steps.coded import design_step, steps_of
from palestra_rewards.steps.diverse import DiverseDiscounts, VisibleWeights
from palestra_rewards.steps.kinesthetic import (
    alignment,
    heat_map,
    nearness,
    shade_heat_map,
    signed_nearness,
)

TRASH = "text/Trash-v0"
PROGRAM = """
def reward(step):
    if step["over"]:
        return 10 * sum(step["paid"].values())
    return len(step["action"]) + 0.5 * (step["before"] != step["after"]) + step["seat"]
"""


def paid_by_hand(step: dict[str, Any]) -> float:
    if step["over"]:
        return 10 * float(sum(step["paid"].values()))
    return float(len(step["action"]) + 0.5 * (step["before"] != step["after"]) + step["seat"])


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, "utf-8")
    return str(path)


def test_a_program_pays_while_the_episode_runs(program: str) -> None:
    settings: dict[str, Any] = {"agents": "random", "seed": 4, "n": 1}
    name = f"code-step:program={program},weight=2.0"
    (record,) = palestra.rollouts("games/TicTacToe-v0", rewards=["env", name], **settings)
    (plain,) = palestra.rollouts("games/TicTacToe-v0", **settings)
    wanted = 2 * np.array([paid_by_hand(step) for step in steps_of(plain)])
    assert len(set(wanted)) > 2
    shaped = [step.rewards[turn.seat]["code"] for step in record.steps for turn in step.turns]
    assert shaped == pytest.approx(wanted.tolist())


def test_a_program_pays_in_gymnasium(program: str) -> None:
    env = palestra.make(
        "games/TicTacToe-v0",
        view="gym",
        opponents="random",
        rewards=[f"code-step:program={program}"],
    )
    env.reset(seed=3)
    _, paid, _, _, info = env.step(4)
    assert info["reward_terms"]["code"] == pytest.approx(paid)
    assert paid == 1.5  # the action is "5", and the board has changed


def test_a_program_that_fails_says_so_once_and_pays_nothing() -> None:
    with pytest.warns(ProgramFailed, match="KeyError") as told:
        (record,) = palestra.rollouts(
            "games/TicTacToe-v0",
            agents="random",
            n=1,
            rewards=["code-step:program=def reward(step):\n    return step['nothing']"],
        )
    assert len(told) == 1
    assert turn_rewards(record).tolist() == [0.0] * len(record.turns)


def test_a_designer_corrects_a_program_for_steps() -> None:
    records = palestra.rollouts("games/TicTacToe-v0", agents="random", n=1)
    replies = iter(["def reward(step):\n    return 1 / 0", f"```python{PROGRAM}```"])
    asked: list[str] = []

    def designer(request: Any) -> str:
        asked.append(request.messages[-1].content)
        return next(replies)

    found = design_step(Judge(designer), "Win.", records)
    assert found.strip() == PROGRAM.strip()
    assert "ZeroDivisionError" in asked[1]


GATHER = """
def reward(step):
    def worth(text):
        have = text.split("You have: ")[-1]
        tools = {"wooden": 4, "stone pickaxe": 12, "iron pickaxe": 36}
        blocks = {"wood": 1, "stone": 3, "iron": 9, "diamond": 100}
        total = sum(value for name, value in tools.items() if name in have)
        return total + sum(value for name, value in blocks.items() if f"1 {name}" in have)

    if not step["after"]:
        return 100.0 if step["paid"] else LAVA
    return worth(step["after"]) - worth(step["before"])
"""


def test_a_designed_reward_is_revised_after_what_went_wrong_in_the_mine(tmp_path: Path) -> None:
    """Auto MC-Reward's loop where only a diamond pays: design, play, analyse, design again.

    The first program does not mind lava. The analyst reads the failures and says so, the designer's
    second program pays for avoiding it, and the same one-step planner then survives.
    """
    asked: list[str] = []

    def designer(request: Any) -> str:
        asked.append(request.messages[-1].content)
        learnt = asked[-1].split("What was learnt before: ")[1:]
        return GATHER.replace("LAVA", "-50.0" if learnt and "lava" in learnt[0] else "0.5")

    def analyst(request: Any) -> str:
        text = request.messages[-1].content
        return "The player stepped into lava." if "into the lava" in text else "Nothing."

    def best(program: str) -> palestra.Agent:
        def choose(turn: palestra.Turn) -> Any:
            found = []
            for number, action in enumerate(turn.legal_actions):
                after = turn.fork(Rng(0))
                before = after.describe(0)
                after.act({0: action})
                step = {"before": before, "after": "" if after.over else after.describe(0)}
                step["paid"] = {"diamond": 1.0} if after.over and after.returns[0] else {}
                namespace: dict[str, Any] = {}
                exec(program, namespace)  # this test's own text
                found.append((namespace["reward"](step), turn.rng(number, 5).random(), number))
            return turn.legal_actions[max(found)[2]]

        return palestra.FunctionAgent(choose)

    tried = palestra.rollouts("games/Mining-v0", agents="random", n=2, seed=5)
    first = design_step(Judge(designer), "Dig a diamond.", tried)

    def dead(program: str) -> list[EpisodeRecord]:
        return [
            record
            for seed in range(6)
            for record in palestra.play(
                "games/Mining-v0", agents=[best(program)], seed=seed, lava=6
            )
            if len(record.turns) < 80 and record.returns[0] == 0  # in the last step all ends alike
        ]

    failures = dead(first)
    assert failures
    lessons = lessons_from(Judge(analyst), "Dig a diamond.", failures)
    assert "lava" in lessons
    second = design_step(Judge(designer), "Dig a diamond.", tried, lessons=lessons)
    assert not dead(second)
    (tmp_path / "reward.py").write_text(second)
    named = f"code-step:program={tmp_path / 'reward.py'}"
    shaped = palestra.rollouts(
        "games/Mining-v0", agents="miner", n=1, seed=5, rewards=["env", named]
    )
    assert turn_rewards(shaped[0]).sum() > 100


# Discounts of their own

GAMMAS = {"home": 0.9, "effort": 0.5}
NAMED = "diverse-discounts:gammas=home=0.9+effort=0.5,weights=home=2.0+effort=3.0,gamma=0.8"


def test_rewards_sum_to_individually_discounted_returns_while_playing() -> None:
    settings: dict[str, Any] = {
        "agents": "random",
        "seed": 2,
        "n": 2,
        "max_episode_steps": 12,
        "invalid": "random",
    }
    shaped = palestra.rollouts(TRASH, rewards=[NAMED], gamma=0.8, **settings)
    plain = palestra.rollouts(TRASH, **settings)
    for record, own in zip(shaped, plain, strict=True):
        paid = turn_rewards(record)
        offline = shape(
            "time-preferences", own, gammas=GAMMAS, weights={"home": 2.0, "effort": 3.0}, gamma=0.8
        )
        np.testing.assert_allclose(paid, offline, atol=1e-9)
        for seat in range(len(own.players)):
            wanted = got = 0.0
            turn = -1
            for step, one in zip(own.steps, record.steps, strict=True):
                turn += any(t.seat == seat for t in step.turns)
                for name, start in (("home", 2.0), ("effort", 3.0)):
                    value = step.rewards.get(seat, {}).get(name, 0.0)
                    wanted += start * GAMMAS[name] ** max(turn, 0) * value
                got += 0.8 ** max(turn, 0) * sum(one.rewards.get(seat, {}).values())
            assert got == pytest.approx(wanted)


def test_a_learner_sees_the_weights() -> None:
    shaper = DiverseDiscounts(gammas={"distance": 0.9, "contacts": 0.5}, gamma=0.8)
    env: Any = palestra.make(
        "grid/Particles-v0",
        view="gym",
        opponents="random",
        rewards=["diverse-discounts:gammas=distance=0.9+contacts=0.5,gamma=0.8"],
    )
    seen = VisibleWeights(env, shaper)
    first, _ = seen.reset(seed=1)
    assert isinstance(seen.observation_space, gymnasium.spaces.Box)
    assert first.shape == seen.observation_space.shape
    assert first[-2:].tolist() == [1.0, 1.0]  # contacts, distance
    second = seen.step(seen.action_space.sample())[0]
    third = seen.step(seen.action_space.sample())[0]
    assert second[-2:] == pytest.approx([0.625, 1.125])
    assert third[-2:] == pytest.approx([0.625**2, 1.125**2])
    assert seen.observation_space.contains(third)


def test_no_fixed_weights_reverse_a_preference_as_the_visible_ones_do() -> None:
    """At turns 0 and 3: left pays 1 of the patient term, right 1.2 of the impatient one.

    The terms' own returns are largest for right first and left later. A learner who maximises the
    return with visible weights finds that; with fixed weights, whatever they are, no learner does.
    """
    shaper = DiverseDiscounts(gammas={"patient": 0.9, "impatient": 0.5}, gamma=0.8)
    pays = {"left": {"patient": 1.0}, "right": {"impatient": 1.2}}
    plans = list(product(pays, repeat=2))

    def best(weight: Any) -> tuple[str, ...]:
        worth = {
            plan: sum(
                0.8**turn * sum(weight(name, turn) * value for name, value in pays[way].items())
                for turn, way in zip((0, 3), plan, strict=True)
            )
            for plan in plans
        }
        return max(worth, key=lambda plan: worth[plan])

    own = {"patient": 0.9, "impatient": 0.5}
    truth = best(lambda name, turn: own[name] ** turn / 0.8**turn)
    assert truth == ("right", "left") == best(shaper.weight)
    for share in np.linspace(0, 1, 41):
        fixed = {"patient": share, "impatient": 1 - share}
        assert best(lambda name, turn, fixed=fixed: fixed[name]) != truth


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gammas": ""}, "needs gammas"),
        ({"gammas": "home"}, "write term=number"),
        ({"gammas": "home=1.5"}, "from 0 to 1"),
    ],
)
def test_discounts_that_cannot_be_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        DiverseDiscounts(**options)


# Kinesthetic rewards


def test_terms_are_combined_while_playing() -> None:
    """Signed geometric means of each step's own terms, worked out here from the plain record."""
    settings: dict[str, Any] = {
        "agents": "random",
        "seed": 2,
        "n": 1,
        "max_episode_steps": 12,
        "invalid": "random",
    }
    (shaped,) = palestra.rollouts(TRASH, rewards=["krc-step:parts=home+effort"], **settings)
    (plain,) = palestra.rollouts(TRASH, **settings)
    found = set()
    for one, own in zip(shaped.steps, plain.steps, strict=True):
        for seat in range(len(plain.players)):
            home, effort = (own.rewards.get(seat, {}).get(n, 0.0) for n in ("home", "effort"))
            size = abs(home * effort) ** 0.5
            wanted = size if home > 0 and effort > 0 else -size
            assert one.rewards.get(seat, {}).get("krc", 0.0) == pytest.approx(wanted)
            found.add(round(wanted, 6))
    episode = palestra.make(TRASH, view="episode", seed=0, rewards=["krc-step:parts=nothing"])
    with pytest.raises(InvalidOption, match="no term 'nothing'"):
        episode.act({seat: episode.sample(seat, Rng.seeded(1)) for seat in episode.to_act})


def test_shapes_of_distance_and_direction_by_hand() -> None:
    assert nearness([0.0, 2.0]).tolist() == pytest.approx([1.0, np.exp(-1)])
    assert nearness(2.0, scale=2.0, dispersion=0.5) == pytest.approx(np.exp(-1))
    assert nearness(2.0, density=2.0) == pytest.approx(np.exp(-0.5))
    # LiuDistanceBallToGoalReward(dispersion=0.6, density=1.1) of lucy-utils, 4,500 units away:
    # exp(-0.5 * 4500 / (6000 * 0.6)) ** (1 / 1.1) = exp(-0.625 / 1.1)
    near = nearness(4500.0, scale=6000.0, dispersion=0.6, density=1.1)
    assert near == pytest.approx(0.5665546, abs=1e-6)
    # SignedLiuDistanceBallToGoalReward(density=2): sign(r) sqrt(|r|) of r = 2 (e^-1 - 1/2)
    far = signed_nearness([0.0, 9140.0], scale=4570.0, density=2.0)
    assert far == pytest.approx([1.0, -0.5140439], abs=1e-6)
    # OffensivePotentialReward: cube root of the product; two negatives still make a negative
    assert combine([[0.5, 0.25, 1.0], [-0.5, -0.25, 1.0]]) == pytest.approx([0.5, -0.5])
    assert alignment([[3, 4], [1, 0], [0, 0]], [4, 3]).tolist() == pytest.approx([0.96, 0.8, 0.0])
    drawn = heat_map(lambda x, y: x + 10 * y, 3, 2)
    assert drawn.tolist() == [[5.5, 6.5, 7.5], [15.5, 16.5, 17.5]]
    assert shade_heat_map(np.array([[0.0, 1.0], [0.5, 0.2]])) == " █\n▒·"
    with pytest.raises(InvalidOption, match="above 0"):
        nearness(1.0, density=0.0)
