"""Episode shapers: on real records, with the identities their papers state."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import EpisodeRecord
from palestra.agents.budget import Usage
from palestra.records.record import OutcomeRecord, StepRecord, TurnRecord
from palestra_rewards import Group, Lacking, estimate, shape
from palestra_rewards.episodes.attempts import corrections
from palestra_rewards.episodes.bounded import clip_scores, differences
from palestra_rewards.episodes.checklist import Item, met_share
from palestra_rewards.episodes.matching import hard_mass, soft_mass
from palestra_rewards.episodes.palette import palette, tilted_means
from palestra_rewards.episodes.probes import rises
from palestra_rewards.episodes.progress import ProgressModel
from palestra_rewards.episodes.terms import Lagrangian, combine
from palestra_rewards.episodes.thrift import overuse
from palestra_rewards.reading import turn_rewards
from reward_rollouts import drawn, outcomes

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def record_of(
    *texts: str, paid: float = 1.0, usage: Usage | None = None, **tags: Any
) -> EpisodeRecord:
    """A single-player record with these action texts, paid on its last turn."""
    steps = [
        StepRecord([TurnRecord(0, number, text, usage=usage or Usage())])
        for number, text in enumerate(texts)
    ]
    steps[-1].rewards = {0: {"goal": paid}}
    outcome = OutcomeRecord(("win" if paid > 0 else "loss",), (paid,))
    return EpisodeRecord(
        "text/Told-v0", 0, ("player_0",), steps=steps, outcome=outcome, returns=(paid,), tags=tags
    )


def kuhn(episodes: int = 6) -> list[EpisodeRecord]:
    return palestra.play("games/KuhnPoker-v0", agents=["random", "random"], episodes=episodes)


def length(record: EpisodeRecord) -> list[float]:
    return [float(len(turn.text)) for turn in record.turns]


@given(PROBABILITIES, st.floats(0, 1))
def test_delta_telescopes_to_the_first_score(scores: list[float], eta: float) -> None:
    found = differences(np.array(scores))
    assert found.sum() == pytest.approx(scores[0])
    assert found[-1] == scores[-1]


@given(PROBABILITIES, st.integers(1, 30), st.floats(0, 1))
def test_repeating_good_steps_never_raises_the_sum(
    scores: list[float], repeats: int, eta: float
) -> None:
    """Clip and Delta are bounded under repetition; raw process rewards grow without end."""
    padded = np.array(scores + [max(scores)] * repeats)
    before = np.array(scores)
    assert clip_scores(padded, eta).sum() <= clip_scores(before, eta).sum() + 1e-12
    assert differences(padded).sum() == pytest.approx(differences(before).sum())
    assert differences(clip_scores(padded, eta)).sum() <= 1e-9
    if max(scores) > 0:
        assert padded.sum() > before.sum()


def test_shapers_keep_the_order_of_turns_and_the_outcome() -> None:
    records = kuhn()
    group = Group.of(records)
    found = shape("delta", records, scores=length)
    assert found.shape == (group.size,)
    summed = group.line_sum(found)
    expected = (
        group.returns + np.concatenate([length(record) for record in records])[group.line_first]
    )
    np.testing.assert_allclose(summed, expected)


def test_contributions_sum_to_the_outcome() -> None:
    """SPA-RL with residual redistribution: every seat's contributions sum to what it was paid."""
    records = kuhn(20)
    model = ProgressModel(buckets=64).fit(records)
    found = shape("spa-rl", records, scores=model, share=1.0, valid=0.0)
    group = Group.of(records)
    np.testing.assert_allclose(group.line_sum(found), group.returns)


def test_valid_actions_add_their_grounding_bonus() -> None:
    record = record_of("look", "take key", process=[0.5, 0.5])
    record.turns[0].status = "replaced"
    assert shape("spa-rl", record, valid=0.25).tolist() == [0.5, 0.75]


def test_a_progress_model_finds_the_word_that_earned_it() -> None:
    rng = np.random.default_rng(0)
    words = ["look", "wait", "walk", "key"]
    records = []
    for _ in range(60):
        texts = [words[i] for i in rng.integers(0, 4, 5)]
        records.append(record_of(*texts, paid=float(texts.count("key"))))
    model = ProgressModel().fit(records)
    np.testing.assert_allclose(model(record_of("key", "look", "walk")), [1, 0, 0], atol=0.01)
    again = ProgressModel()
    again.load(model.state())
    np.testing.assert_array_equal(again(records[0]), model(records[0]))


@pytest.mark.parametrize(
    ("stages", "value"),
    [([0, 1, 1], 0.0), ([1, 0, 1], 0.1), ([1, 1, 0.5], 0.65), ([1, 1, 1], 1.0)],
)
def test_later_stages_count_only_once_earlier_ones_pass(stages: list[float], value: float) -> None:
    assert shape("prs", record_of("a", "b", stages=stages)) == pytest.approx([0, value])


def test_the_dial_goes_from_shares_of_checks_to_the_final_pass() -> None:
    record = record_of("plan", checks={"schema": [True], "hard": [True, False, True]})
    assert shape("planner-r1", record, dial=(1, 0, 0)) == pytest.approx([0.75])
    assert shape("planner-r1", record, dial=(0, 1, 0)) == pytest.approx([0.5])
    assert shape("planner-r1", record, dial=(0, 0, 1)) == pytest.approx([0])
    perfect = record_of("plan", checks={"schema": [True], "hard": [True]})
    assert shape("planner-r1", perfect, dial=(0.2, 0.3, 0.5)) == pytest.approx([1])


def test_copying_earns_no_bonus_and_spoiling_costs_more_than_it_saved() -> None:
    def total(first: float, second: float) -> float:
        record = record_of("answer", "revise", process=[first, second])
        return float(shape("score", record, alpha=2.0).sum())

    assert total(1, 1) == 2  # a copy: both attempts, no bonus
    assert total(0, 0) == 0
    assert total(0, 1) == 3  # a correction earns alpha more
    assert total(1, 0) == -1  # a spoilt answer loses alpha, more than its first attempt paid
    phase_one = shape("score", record_of("answer", "revise", process=[1, 0.5]), phase=1)
    assert phase_one.tolist() == [0, 0.5]


def test_corrections_count_both_ways() -> None:
    found = corrections([1, 0, 0, 1], [1, 1, 0, 0])
    assert found["wrong-to-right"] == found["right-to-wrong"] == 0.25
    assert found["change"] == 0


def test_needless_calls_cost_more() -> None:
    record = record_of("search", "answer", calls=[2, 0], needless=[1, 0])
    assert shape("smart", record, price=0.1, waste=0.3) == pytest.approx([-0.5, 1])
    rates = overuse(np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1]))
    assert rates == {"overuse": 0.5, "underuse": 0.5}


def test_saved_tokens_pay_on_success_only() -> None:
    usage = Usage(tokens_in=25)
    won = record_of("a", "b", usage=usage, **{"full tokens": [50, 50]})
    assert shape("agent-omit", won, weight=0.4) == pytest.approx([0, 1.2])
    lost = record_of("a", "b", paid=-1.0, usage=usage, **{"full tokens": [50, 50]})
    assert shape("agent-omit", lost).tolist() == [0, 0]


SEARCH = {"name": "search", "arguments": {"query": "weather", "days": 3}}
OPEN = {"name": "open", "arguments": {"page": 1}}
BOOK = {"name": "book", "arguments": {}}


@pytest.mark.parametrize("matching", ["hard", "soft"])
def test_the_reference_trace_scores_one_a_call(matching: str) -> None:
    reference = [SEARCH, OPEN, BOOK]
    for order in permutations(reference):
        record = record_of("a", "b", calls=[list(order[:2]), list(order[2:])])
        found = shape("matchtir", record, reference=reference, matching=matching)
        assert found == pytest.approx([2, 1])


def test_a_duplicate_call_earns_nothing_under_hard_matching() -> None:
    record = record_of("a", "b", calls=[[SEARCH], [SEARCH]])
    assert sorted(shape("matchtir", record, reference=[SEARCH])) == pytest.approx([0, 1])
    with_penalty = shape("matchtir", record, reference=[SEARCH], penalty=0.5)
    assert sorted(with_penalty) == pytest.approx([-0.5, 1])


def test_a_call_is_scored_by_tool_parameters_and_values() -> None:
    near = {"name": "search", "arguments": {"query": "weather", "days": 5}}
    record = record_of("a", calls=[[near, BOOK]])
    assert shape("matchtir", record, reference=[SEARCH]) == pytest.approx([(1 + 1 + 0.5) / 3])


@given(st.integers(1, 5), st.integers(0, 1000))
def test_hard_matching_is_the_best_of_all_pairings(size: int, seed: int) -> None:
    table = np.random.default_rng(seed).random((size, size))
    best = max(sum(table[i, p[i]] for i in range(size)) for p in permutations(range(size)))
    assert hard_mass(table).sum() == pytest.approx(best)
    assert soft_mass(table).sum() == pytest.approx(best)  # Birkhoff: a permutation is optimal


def test_prerequisites_evidence_and_order_of_a_checklist() -> None:
    def says(word: str) -> Any:
        return lambda record: (
            any(word in turn.text for turn in record.turns),
            next((turn.text for turn in record.turns if word in turn.text), ""),
        )

    items = [
        Item("asked", says("ask")),
        Item("booked", says("book"), weight=2.0, after=("asked",)),
        Item("thanked", lambda record: (True, "")),  # no evidence
        Item("refunded", says("refund"), applies=lambda record: False),
    ]
    record = record_of("ask dates", "book room")
    assert shape("checklist", record, judge=items) == pytest.approx([0, 3 / 4])
    assert {met_share(record, order) for order in permutations(items)} == {3 / 4}
    assert met_share(record_of("book room"), items) == 0  # the prerequisite voids it


def test_checklists_that_cannot_be_settled_are_refused() -> None:
    def yes(record: EpisodeRecord) -> tuple[bool, str]:
        return True, "seen"

    circle = [Item("a", yes, after=("b",)), Item("b", yes, after=("a",))]
    with pytest.raises(palestra.InvalidOption, match="form a cycle: a -> b -> a"):
        met_share(record_of("x"), circle)
    with pytest.raises(
        palestra.InvalidOption, match="names 'c' in after=, but there is no such item"
    ):
        met_share(record_of("x"), [Item("a", yes, after=("c",))])


@given(PROBABILITIES)
def test_the_rises_of_spae_telescope(potential: list[float]) -> None:
    assert rises(np.array(potential)).sum() == pytest.approx(potential[-1])


def test_going_on_after_saturation_costs_more_and_more() -> None:
    record = record_of(*"abcd", confidence=[0.5, 1, 1, 1], correctness=[1, 1, 1, 1])
    assert shape("spae", record, tax=0.1) == pytest.approx([0.5, 0.5, -0.1, -0.2])


def vectors(*rows: dict[str, float]) -> EpisodeRecord:
    """A record whose turns pay these terms."""
    record = record_of(*["move"] * len(rows))
    for step, terms in zip(record.steps, rows, strict=True):
        step.rewards = {0: terms}
    return record


def test_directions_have_unit_length_and_trace_the_front() -> None:
    """Sweeping the direction over points on a circle picks each of them in turn."""
    angles = np.linspace(0, np.pi / 2, 7)
    points = [vectors({"short": np.cos(a), "right": np.sin(a)}) for a in angles]
    for place, angle in enumerate(angles):
        towards = {"short": float(np.cos(angle)), "right": float(np.sin(angle))}
        worth = [shape("direction", point, towards=towards)[0] for point in points]
        assert int(np.argmax(worth)) == place
    with pytest.raises(palestra.InvalidOption, match="length 1"):
        shape("direction", points[0], towards={"short": 1.0, "right": 1.0})


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=5))
def test_krc_is_high_only_where_all_components_are(parts: list[float]) -> None:
    value = float(combine(np.array([parts]))[0])
    assert abs(value) == pytest.approx(abs(np.prod(parts)) ** (1 / len(parts)), abs=1e-9)
    assert (value > 0) == (min(parts) > 0) or value == pytest.approx(0, abs=1e-9)


def test_krc_reads_named_terms() -> None:
    record = vectors({"near": 4.0, "aligned": 9.0}, {"near": 4.0, "aligned": -9.0})
    assert shape("krc", record) == pytest.approx([6, -6])
    assert shape("krc", record, parts=["near"]) == pytest.approx([4, 4])


def test_returns_are_sums_of_individually_discounted_returns() -> None:
    """Pitis (2023): one reward whose return equals the objectives' own, and preferences reverse."""
    rows = [{"now": 1.0, "later": 0.5}, {"later": 2.0}, {"now": 3.0, "later": 1.0}]
    gammas, gamma = {"now": 0.5, "later": 0.9}, 0.8
    found = shape("time-preferences", vectors(*rows), gammas=gammas, gamma=gamma)
    ours = sum(gamma**t * value for t, value in enumerate(found))
    theirs = sum(gammas[n] ** t * v for t, row in enumerate(rows) for n, v in row.items())
    assert ours == pytest.approx(theirs)


def test_multipliers_hold_a_term_at_its_point() -> None:
    """A learner that raises a term by its weight stops where the term meets its point."""
    dual, level = Lagrangian({"proxy": 2.0}, rate=0.05, bound=3.0), 0.0
    for _ in range(4000):
        level += 0.05 * dual.weights["proxy"]
        dual.update({"proxy": level})
        level *= 0.99  # regularisation towards the start
    assert level == pytest.approx(2.0, abs=0.1)
    other = Lagrangian({"proxy": 2.0})
    other.load(dual.state())
    assert shape("lagrangian", vectors({"proxy": 2.0}), weights=other) == pytest.approx(
        2 * dual.weights["proxy"]
    )


def test_multipliers_stay_in_bounds() -> None:
    dual = Lagrangian({"proxy": 0.0}, rate=1.0, bound=0.5)
    dual.update({"proxy": 9.0})
    assert dual.weights == {"proxy": 0.5}


def test_an_expert_beside_itself_scores_one_a_turn() -> None:
    record = record_of("go north", "take key")

    def same(record: EpisodeRecord) -> list[str]:
        return [turn.text for turn in record.turns]

    assert shape("stepagent", record, expert=same).tolist() == [1, 1]
    near = shape("stepagent", record, expert=lambda record: ["go south", "take key"])
    assert 0 < near[0] < near[1] == 1
    exact = shape("stepagent", record, expert=lambda r: ["go south", "take key"], exact=True)
    assert exact.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("kitten", "sitting", 3), ("flaw", "lawn", 2), ("abc", "", 3), ("abc", "abc", 0)],
)
def test_levenshtein_distances_of_known_words(one: str, other: str, distance: int) -> None:
    near = shape("recourse", record_of(*one), expert=list(other), goal=0.0)
    assert near[-1] == pytest.approx(1 - distance / max(len(one), len(other)))


def test_recourse_pays_for_staying_near_the_original_path() -> None:
    record = record_of("a", "b", "c")
    assert shape("recourse", record, expert=["a", "b", "c"]) == pytest.approx([0, 0, 2])
    assert shape("recourse", record, expert=["a", "x", "y"]) == pytest.approx([0, 0, 1 + 1 / 3])


@pytest.mark.parametrize("name", ["clip", "spa-rl", "prs", "planner-r1", "smart", "spae"])
def test_what_a_record_lacks_is_named(name: str) -> None:
    with pytest.raises(Lacking, match=f"'{name}' needs"):
        shape(name, record_of("a"))


def test_scores_must_fit_the_turns() -> None:
    with pytest.raises(palestra.InvalidOption, match="one number for each of 2 turns"):
        shape("clip", record_of("a", "b"), scores=lambda record: [1.0])


def test_shaped_rewards_feed_estimators() -> None:
    records = kuhn()
    group = Group.of(records)
    shaped = group.replace(rewards=shape("delta", records, scores=length, alpha=1.0))
    assert np.isfinite(estimate("mars", shaped).values).all()
    with_process = group.with_facts(process=shape("clip", records, scores=length))
    assert np.isfinite(estimate("dual-level", with_process).values).all()


def test_agentprm_targets_are_means_over_like_histories() -> None:
    group = Group.from_arrays(
        episode=[0, 0, 1, 1, 2, 2],
        rewards=[0, 1.0, 0, 0, 0, 5.0],
        state=["s", "t", "s", "t", "s", "u"],
        action=["a", "b", "a", "c", "z", "c"],
    )
    assert estimate("agentprm", group).values.tolist() == [0.5, 1, 0.5, 0, 5, 5]


def test_rewards_implied_by_the_true_q_are_the_rewards() -> None:
    group = drawn(0)
    group = group.with_facts(values=group.to_go(gamma=0.9))
    found = estimate("inverse-prm:gamma=0.9", group).values
    np.testing.assert_allclose(found, group.rewards, atol=1e-12)


def test_oprl_without_steps_is_grpo() -> None:
    group = drawn(1)
    group = group.with_facts(implicit=np.random.default_rng(0).normal(size=group.size))
    np.testing.assert_allclose(
        estimate("oprl:alpha=0", group).values, estimate("grpo", group).values
    )
    steps = estimate("oprl", group).values - estimate("grpo", group).values
    assert steps[group.turn_task == 0].sum() == pytest.approx(0)


def test_optima_without_a_price_orders_by_return() -> None:
    group = outcomes(3, 1, 2, tokens=[10, 20, 40])
    free, dear = estimate("optima:price=0", group).values, estimate("optima:price=9", group).values
    np.testing.assert_allclose(free, estimate("grpo", group).values)
    assert dear.argmin() == 2


def test_turn_rewards_reach_the_turn_that_came_before_them() -> None:
    for record in kuhn():
        paid = turn_rewards(record)
        for seat in (0, 1):
            own = [
                value for value, turn in zip(paid, record.turns, strict=True) if turn.seat == seat
            ]
            assert sum(own) == record.returns[seat]


def test_palettes_of_gaussian_values_have_their_closed_form() -> None:
    """Tilting a Gaussian by lambda moves its mean by covariance @ lambda."""
    rng = np.random.default_rng(0)
    mixing = np.array([[1.0, 0.0], [0.4, 0.8]])
    samples = rng.normal(size=(200_000, 2)) @ mixing.T
    floors = np.array([0.3, 0.4])
    exact = np.linalg.solve(mixing @ mixing.T, floors)
    np.testing.assert_allclose(palette(samples[:20_000], floors), exact, atol=0.05)


def test_a_palette_reaches_its_floors_and_pays_nothing_for_those_met() -> None:
    samples = np.random.default_rng(1).normal(size=(500, 2))
    weights = palette(samples, [0.5, -3.0])
    assert tilted_means(samples, weights)[0] == pytest.approx(0.5, abs=1e-5)
    assert weights[1] == pytest.approx(0, abs=1e-6)


def test_floors_out_of_reach_are_refused_with_how_far_one_comes() -> None:
    samples = [[0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(palestra.InvalidOption, match="0 of the way"):
        palette(samples, [0.9, 0.9])
    assert palette(samples, [0.5, 0.5]) == pytest.approx([0, 0])


def test_a_partner_who_adds_nothing_gains_nothing() -> None:
    for record in kuhn():
        plain = turn_rewards(record)
        human = float(record.returns[1])
        same = shape("human-gain", record, human=1, unaided=human)
        np.testing.assert_array_equal(same, plain)
        helped = shape("human-gain", record, human=1, unaided=human - 2, weight=0.5)
        assert (helped - plain).sum() == pytest.approx(1)
        fallen = shape("human-gain", record, human=1, unaided=human + 2)
        np.testing.assert_array_equal(fallen, plain)


@pytest.mark.parametrize("measure", ["probability", "log", "entropy"])
def test_curiosity_telescopes_to_what_was_learnt(measure: str) -> None:
    belief = [[0.5, 0.5], [0.7, 0.3], [0.9, 0.1]]
    found = shape("curiosity", record_of("a", "b", belief=belief, type=0), measure=measure)
    learnt = {
        "probability": 0.9 - 0.5,
        "log": np.log(0.9 / 0.5),
        "entropy": np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1),
    }
    assert found.sum() == pytest.approx(learnt[measure])


def test_a_crash_after_loading_beats_one_before() -> None:
    before = record_of("run", "run", paid=-1.0, milestones=[["import"], ["import"]])
    after = record_of("run", "run", paid=-1.0, milestones=[["import"], ["import", "load"]])
    assert shape("milestones", before) == pytest.approx([0.1, 0])
    assert shape("milestones", after) == pytest.approx([0.1, 0.1])
    success = record_of("run", "run", milestones=[["import", "load"], ["submit"]])
    assert shape("milestones", success).tolist() == [0, 1]


def test_steps_after_the_first_bad_one_can_be_dropped() -> None:
    record = record_of(*"abcd", verdicts=[True, False, True, False])
    assert shape("steve", record).tolist() == [1, -1, 1, -1]
    assert shape("steve", record, stop=True).tolist() == [1, -1, 0, 0]
