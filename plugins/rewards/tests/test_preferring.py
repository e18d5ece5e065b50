"""Rows to train on, and EPO: pairs by hand, the loss in closed form, pairs from real runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra.agents.models import Model, Reply, Request, Score
from palestra_rewards import estimate, shape
from palestra_rewards.episodes.expert import AskedExpert
from palestra_rewards.episodes.feedback import (
    epo_loss,
    expert_choices,
    feedback,
    preferences,
    refusals,
)
from palestra_rewards.episodes.intents import TrajectoryScorer
from palestra_rewards.episodes.mixture import Mixture
from palestra_rewards.episodes.partners import Goals, UnaidedReturn
from palestra_rewards.episodes.terms import proxy_points
from palestra_rewards.episodes.turns import named_terms
from palestra_rewards.judges import Judge, as_text
from palestra_rewards.learnt.texts import StoryNetwork
from palestra_rewards.reading import turn_rewards
from palestra_rewards.training_rows import prompts_of, rejection_rows, role_rows


def fruit(agent: object, episodes: int, seed: int) -> list[palestra.EpisodeRecord]:
    return palestra.play(
        "grid/Fruit-v0", agents=[agent], episodes=episodes, seed=seed, max_episode_steps=15
    )


def test_rows_of_a_run_pair_answers_to_the_same_prompt_alone() -> None:
    records = palestra.rollouts("games/KuhnPoker-v0", agents=["random"] * 2, seed=2, n=12)
    worth = estimate("reinforce", records).values
    rows = role_rows(records, worth, threshold=0.0)
    assert set(rows) == {"player_0", "player_1"}
    by_hand: dict[str, dict[str, list[float]]] = {}
    number = 0
    for record in records:
        for turn, prompt in zip(record.turns, prompts_of(record), strict=True):
            key = repr((turn.seat, prompt))
            by_hand.setdefault(key, {}).setdefault(turn.text, []).append(worth[number])
            number += 1
    means = [{t: np.mean(w) for t, w in answers.items()} for answers in by_hand.values()]
    good = sum(mean > 0 for answers in means for mean in answers.values())
    pairs = sum(
        max(answers.values()) > 0 >= min(answers.values()) for answers in means
    )  # two actions, so one pair at most
    assert sum(len(one.imitate) for one in rows.values()) == good
    assert sum(len(one.prefer) for one in rows.values()) == pairs > 0
    for one in rows.values():
        assert all(row["gap"] > 0 and row["chosen"] != row["rejected"] for row in one.prefer)
    none = role_rows(records, worth, threshold=-math.inf, gap=1e9)
    assert not any(one.prefer for one in none.values())
    with pytest.raises(InvalidOption, match="one number for each of"):
        role_rows(records, [1.0])


def test_preferences_from_feedback_agree_with_the_expert_where_it_never_was() -> None:
    """Fitted to an expert's episodes, the model ranks moves of random players on other starts."""
    fitted = TrajectoryScorer().fit(expert_choices(fruit("scripted", 14, 0)))
    held_out = expert_choices(fruit("scripted", 6, 500))
    assert fitted.accuracy(held_out) > 0.75
    assert TrajectoryScorer().accuracy(held_out) == 0.5
    pytest.importorskip("torch")
    network = StoryNetwork(rate=0.03).fit(expert_choices(fruit("scripted", 14, 0)))
    assert network.accuracy(held_out) > fitted.accuracy(held_out)
    rollouts = palestra.rollouts(
        "grid/Fruit-v0", agents=["random"], seed=77, n=20, max_episode_steps=4
    )
    assert np.ptp(shape("epo", rollouts[0], scores=network)) > 0
    paid = shape("epo", rollouts, scores=fitted)
    assert paid.size == sum(len(record.turns) for record in rollouts)
    (rows,) = preferences(rollouts, fitted).values()
    assert len(rows.prefer) >= 3
    first = [turn.text for record in rollouts for turn in record.turns[:1]]
    told = feedback(rollouts[0])[0]
    best = max(set(first), key=lambda move: fitted.score(told, move))
    chosen = [r for r in rows.prefer if r["prompt"] == prompts_of(rollouts[0])[0]]
    assert {r["chosen"][0]["content"] for r in chosen} >= {best}
    assert best not in {r["rejected"][0]["content"] for r in chosen}


def test_the_best_rollouts_of_a_task_under_a_direction_are_kept() -> None:
    records = palestra.rollouts("games/KuhnPoker-v0", agents=["random"] * 2, seed=5, n=10)
    for number, record in enumerate(records):  # two directions, as the adapter notes them
        for turn in record.turns:
            turn.facts = {"direction": {"payoff": 1.0 if number % 2 else -1.0}}
    paid = [
        (1.0 if number % 2 else -1.0) * turn_rewards(record)
        for number, record in enumerate(records)
    ]
    rows = rejection_rows(records, np.concatenate(paid))
    expected = []
    for parity in (0, 1):
        for seat in (0, 1):
            sign = 1.0 if parity else -1.0
            mine = [r for n, r in enumerate(records) if n % 2 == parity]
            best = max(mine, key=lambda r: sign * r.returns[seat])
            expected += [turn.text for turn in best.turns if turn.seat == seat]
    assert sorted(row["completion"][0]["content"] for row in rows) == sorted(expected)
    every = rejection_rows(records, np.concatenate(paid), keep=10)
    assert len(every) == sum(len(record.turns) for record in records)


def test_refused_answers_are_the_worse_of_a_pair() -> None:
    rng = np.random.default_rng(0)

    def clumsy(turn: palestra.Turn) -> palestra.Decision:
        wrong = turn.tries < rng.integers(0, 3)
        return palestra.Decision(text="nothing legal" if wrong else turn.legal_texts[0])

    records = palestra.play(
        "games/TicTacToe-v0",
        agents=[palestra.FunctionAgent(clumsy)] * 2,
        episodes=5,
        invalid="retry:5",
    )
    rows = refusals(records)
    assert len(rows) == sum(len(turn.refused) for r in records for turn in r.turns) > 5
    assert {row["rejected"][0]["content"] for row in rows} == {"nothing legal"}
    assert all(row["chosen"][0]["content"].isdigit() for row in rows)


def test_the_loss_in_closed_form() -> None:
    torch = pytest.importorskip("torch")
    zero = torch.zeros(3, dtype=torch.float64)
    chosen = zero.clone().requires_grad_()
    tokens = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    loss = epo_loss(chosen, zero, zero, zero, tokens, beta=0.2, weight=0.5)
    assert loss.item() == pytest.approx(math.log(2))
    loss.backward()
    # d/dchosen of the mean: (-beta / 2 - weight / tokens) / pairs
    expected = [(-0.1 - 0.5 / n) / 3 for n in (1, 2, 4)]
    assert chosen.grad.tolist() == pytest.approx(expected)
    one = {
        name: torch.tensor([v], dtype=torch.float64)
        for name, v in {"c": -3.0, "r": -5.0, "rc": -4.0, "rr": -4.5}.items()
    }
    found = epo_loss(one["c"], one["r"], one["rc"], one["rr"], torch.tensor([6.0]), beta=1.0)
    assert found.item() == pytest.approx(math.log(1 + math.exp(-1.5)) + 0.5)


# An expert at the same states, unaided humans, points of terms, and the chance of yes


def test_an_expert_is_asked_at_the_states_of_others() -> None:
    records = palestra.play("games/TicTacToe-v0", agents=["random"] * 2, episodes=6)
    expert = AskedExpert("first")
    for record in records:
        by_hand, taken = [], set()
        for turn in record.turns:  # the first free cell of the board as it stood
            by_hand.append(next(str(c) for c in range(1, 10) if str(c) not in taken))
            taken.add(turn.text)
        assert expert(record) == by_hand
        paid = shape("stepagent", record, expert=expert, exact=True)
        expected = [float(t.text == w) for t, w in zip(record.turns, by_hand, strict=True)]
        assert paid.tolist() == expected
    own = palestra.play("grid/Fruit-v0", agents=["scripted"], max_episode_steps=8)[0]
    assert shape("stepagent", own, expert=AskedExpert("scripted")).tolist() == [1.0] * len(
        own.turns
    )
    lost = palestra.FunctionAgent(lambda turn: palestra.Decision(text="no move"))
    assert set(AskedExpert(lost)(records[0])) == {"no move"}


def test_an_expert_forgets_every_state_it_was_asked_at() -> None:
    class Remembers(palestra.Agent):
        name = "remembers"

        def __init__(self) -> None:
            self.asked: list[int] = []
            self.forgotten: list[int] = []

        def act(self, turns: Sequence[palestra.Turn]) -> list[palestra.Decision]:
            self.asked += [turn.episode_key for turn in turns]
            return [palestra.Decision(action=turn.legal[0]) for turn in turns]

        def forget(self, episode_key: int) -> None:
            self.forgotten.append(episode_key)

    (record,) = palestra.play("games/ConnectFour-v0", agents="random", seed=4)
    expert = Remembers()
    AskedExpert(expert)(record)
    assert expert.forgotten == expert.asked
    assert len(expert.asked) == len(record.turns)


def test_an_expert_that_draws_gives_a_record_one_answer() -> None:
    records = palestra.play("games/ConnectFour-v0", agents="random", episodes=3)
    for record in records:
        once = AskedExpert("random")
        answers = [once(record), once(record), AskedExpert("random")(record)]
        assert answers[0] == answers[1] == answers[2]
    assert len({tuple(AskedExpert("random")(record)[:3]) for record in records}) > 1


def test_unaided_returns_are_learnt_by_start_from_passive_partners() -> None:
    def idle(turn: palestra.Turn) -> str:
        return turn.parse("stay")

    passive = palestra.FunctionAgent(idle, "passive")
    play = {"num_players": 2, "max_episode_steps": 30, "episodes": 4, "seed": 3}
    alone = palestra.play("grid/Foraging-v0", agents=["scripted", passive], **play)
    unaided = UnaidedReturn(alone, 0)
    assert [unaided(r) for r in alone] == [r.returns[0] for r in alone]
    helped = palestra.play("grid/Foraging-v0", agents=["scripted", "scripted"], **play)
    for record, before in zip(helped, alone, strict=True):
        gain = max(0.0, record.returns[0] - before.returns[0])
        paid = shape("human-gain", record, human=0, unaided=unaided, weight=2.0)
        last = max(p for p, t in enumerate(record.turns) if t.seat == 1)
        plain = turn_rewards(record)
        assert paid[last] == pytest.approx(plain[last] + 2 * gain)
        assert np.delete(paid, last) == pytest.approx(np.delete(plain, last))
    other = palestra.play("grid/Foraging-v0", agents=["random"] * 2, num_players=2, seed=99)[0]
    assert unaided(other) == pytest.approx(np.mean([r.returns[0] for r in alone]))


def test_proxy_points_find_where_more_no_longer_helps() -> None:
    calls = 0

    def truth(points: object) -> float:
        """A gold score that peaks at (2, -1): past it, the terms are being gamed."""
        nonlocal calls
        calls += 1
        return 5 - (points["length"] - 2) ** 2 - 3 * (points["tone"] + 1) ** 2  # type: ignore[index]

    points, best = proxy_points(truth, {"length": 0.5, "tone": 0.0}, budget=120)
    assert points == pytest.approx({"length": 2.0, "tone": -1.0}, abs=1e-2)
    assert best == pytest.approx(5.0, abs=1e-3)
    assert calls <= 121
    with pytest.raises(InvalidOption, match="a budget of more"):
        proxy_points(truth, {"length": 0.0}, budget=1)


class Weighing(Model):
    """Finds "yes" likelier by what stands in the second attempt."""

    name = "weighing"
    abilities = frozenset({"score"})

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies = []
        for request in requests:
            second = request.messages[0].content.split("Second attempt:\n")[1]
            odds = float(second.count("bids 1x") - second.count("liar"))
            scores = (Score(odds - 4.0, 1), Score(-4.0, 1))
            assert request.score == ("yes", "no")
            replies.append(Reply("", scores=scores))
        return replies


def test_the_reward_is_the_chance_of_yes_beside_a_reference() -> None:
    records = palestra.play("games/LiarsDice-v0", agents=["random"] * 3, num_players=3, episodes=5)
    for record in records:
        paid = shape(
            "rewarddance", record, judge=Judge(Weighing()), task="Win.", reference="[0] x: liar"
        )
        text = as_text(record)
        odds = text.count("bids 1x") - text.count("liar")
        last = {turn.seat: place for place, turn in enumerate(record.turns)}
        assert {paid[place] for place in last.values()} == {1 / (1 + math.exp(-odds))}
        assert np.count_nonzero(paid) == len(last)
    with pytest.raises(InvalidOption, match="cannot say how likely"):
        shape("rewarddance", records[0], judge=Judge(lambda _: "yes"), task="Win.", reference="x")


# MiCRo


def test_two_tastes_are_found_in_one_set_and_a_person_is_routed_to_theirs() -> None:
    rng = np.random.default_rng(3)
    tastes = np.array([[3.0, 0.0, -2.0], [-1.0, 4.0, 1.0]])
    one, two = rng.normal(size=(2, 900, 3))
    owner = (rng.uniform(size=900) < 0.3).astype(int)  # 7 in 10 have the first taste
    gap = ((one - two) * tastes[owner]).sum(axis=1)
    first = rng.uniform(size=900) < 1 / (1 + np.exp(-gap))
    better, worse = np.where(first[:, None], one, two), np.where(first[:, None], two, one)
    mixture = Mixture(["a", "b", "c"]).fit(better, worse, rounds=60, seed=1)
    assert np.all(np.diff(mixture.likelihood) > -1e-6)
    order = np.argsort(-mixture.shares)
    assert mixture.shares[order] == pytest.approx([0.7, 0.3], abs=0.08)
    for found, true in zip(mixture.weights[order], tastes, strict=True):
        assert found @ true / np.linalg.norm(found) / np.linalg.norm(true) > 0.97
    for taste in (0, 1):
        mine = owner == taste
        routed = mixture.route(better[mine][:12], worse[mine][:12])
        assert routed[order[taste]] > 0.9
        # rate 1 is Bayes: prior shares times the likelihoods of the pairs
        odds = 1 / (1 + np.exp(-(better - worse)[mine][:12] @ mixture.weights.T))
        bayes = mixture.shares * odds.prod(axis=0)
        assert routed == pytest.approx(bayes / bayes.sum())
    again = Mixture(["a", "b", "c"])
    again.load(mixture.state())
    assert again.route(better[:5], worse[:5]) == pytest.approx(mixture.route(better[:5], worse[:5]))


def test_a_taste_pays_the_terms_of_a_real_run() -> None:
    records = palestra.play("grid/Foraging-v0", agents=["scripted"] * 2, num_players=2, episodes=4)
    names = named_terms(records[0])[0]
    mixture = Mixture(names, heads=1)
    earned = np.array([[mixture.earned(r, seat) for seat in (0, 1)] for r in records])
    assert earned.sum(axis=2) == pytest.approx(np.array([r.returns for r in records]))
    mixture.weights[:] = 2.0
    for record in records:
        paid = shape("micro", record, scores=mixture)
        assert paid == pytest.approx(2 * turn_rewards(record))
    with pytest.raises(InvalidOption, match="better and worse must have shape"):
        mixture.fit(np.zeros((2, 9)), np.zeros((2, 9)))


def test_goals_of_a_person_are_predicates_that_count_once() -> None:
    """What a partner adds is the weight of the goals that the person would not reach alone."""

    def eaten(share: float) -> Callable[[Any, Any, int], bool]:
        return lambda game, state, seat: bool(np.count_nonzero(state.food_level) <= share * 3)

    idle = palestra.FunctionAgent(lambda turn: turn.parse("stay"), "passive")
    play = {"num_players": 2, "max_episode_steps": 40, "episodes": 3, "seed": 5}
    alone = palestra.play("grid/Foraging-v0", agents=["scripted", idle], **play)
    helped = palestra.play("grid/Foraging-v0", agents=["scripted", "scripted"], **play)
    goals = Goals({"started": eaten(0.7), "all": eaten(0.0)}, {"all": 4.0})
    unaided = UnaidedReturn(alone, 0, goals)
    found = set()
    for record, before in zip(helped, alone, strict=True):
        left = [np.count_nonzero(e.state.food_level) for e in palestra.retrace(record)]
        first = {
            name: next((n - 1 for n, f in enumerate(left) if n and f <= most), None)
            for name, most in (("started", 2), ("all", 0))
        }
        assert goals.reached(record, 0) == {n: at for n, at in first.items() if at is not None}
        worth = (first["started"] is not None) + 4.0 * (first["all"] is not None)
        gain = max(0.0, worth - goals(before, 0))
        paid = shape("human-gain", record, human=0, unaided=unaided, goals=goals)
        assert (paid - turn_rewards(record)).sum() == pytest.approx(gain)
        found.add(gain)
    assert found != {0.0}
    with pytest.raises(InvalidOption, match="no goal is named 'fame'"):
        Goals({"all": eaten(0.0)}, {"fame": 1.0})
