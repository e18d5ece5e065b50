"""SCoRe, MALT and CoMAS: what is said, what it was worth, and what each role earns by its paper."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import palestra
import pytest
from adapter_worlds import Free, last, trail
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Budget, EpisodeRecord, InvalidOption
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.talks import settle, talks_of
from palestra_adapters.teams.comas import CoMAS, read_score
from palestra_adapters.teams.dylan import DyLAN
from palestra_adapters.teams.malt import ROLES, Malt
from palestra_adapters.teams.score import CORRECT, SCoRe
from palestra_rewards import Group, estimate, shape
from palestra_rewards.episodes.attempts import corrections
from palestra_rewards.episodes.discussion import agreement
from palestra_rewards.training_rows import role_rows

DOORS = {"start": {"left": 0.0, "right": 1.0}}
WORLD = trail(DOORS, top=1.0)


def door(side: str) -> str:
    return f"Thought: so it is.\nAction: Go(to='{side}')"


def rules(request: Request) -> str:
    return request.messages[0].content


def after_each_other(*answers: str) -> Free:
    """A model that gives these answers, one after another, again and again."""
    given = iter(answers * 1000)
    return Free(lambda _: next(given))


# SCoRe


@pytest.mark.parametrize(
    ("attempts", "paid"),  # alpha = 10: r1, and r2 + 10 (r2 - r1)
    [
        (("left", "right"), (0.0, 11.0)),
        (("right", "left"), (1.0, -10.0)),
        (("right", "right"), (1.0, 1.0)),
        (("left", "left"), (0.0, 0.0)),
        (("nowhere", "right"), (0.0, 11.0)),
    ],
)
def test_two_attempts_are_paid_as_the_paper_says(
    attempts: tuple[str, str], paid: tuple[float, float]
) -> None:
    agent = SCoRe(model=after_each_other(*map(door, attempts)))
    records = palestra.play(WORLD, agents=[agent], episodes=3, live=1)
    assert {record.turns[0].text for record in records} == {f"Go(to='{attempts[1]}')"}
    talks = settle(records, game=WORLD)
    assert [talk.tags["of"] for talk in talks] == ["0", "1", "2"]
    assert shape("score", talks, alpha=10.0) == pytest.approx(paid * 3)
    assert shape("score", talks, phase=1) == pytest.approx((0.0, talks[0].tags["process"][1]) * 3)


def test_the_second_attempt_reads_the_first_and_the_order_to_correct_it() -> None:
    model = Free(door("left"))
    record = palestra.play(WORLD, agents=[SCoRe(model=model, attempts=3)])[0]
    one, two, three = model.requests
    assert two.messages[: len(one.messages)] == one.messages
    assert [m.content for m in two.messages[len(one.messages) :]] == [door("left"), CORRECT]
    assert len(three.messages) == len(two.messages) + 2
    (talk,) = talks_of([record])
    assert [turn.raw for turn in talk.turns] == [door("left")] * 3
    prompts = [e for e in talk.events if e.kind == "asked" and e.data["line"] == 1]
    assert [e.text for e in prompts] == [m.content for m in two.messages]


def test_corrections_are_counted_over_a_run() -> None:
    sides = [("left", "right"), ("left", "right"), ("right", "left"), ("right", "right")]
    model = after_each_other(*(door(side) for pair in sides for side in pair))
    records = palestra.play(WORLD, agents=[SCoRe(model=model)], episodes=4, live=1)
    one, two = np.array([talk.tags["process"] for talk in settle(records, game=WORLD)]).T
    assert corrections(one, two) == {
        "accuracy@1": 0.5,
        "accuracy@2": 0.75,
        "change": 0.25,
        "wrong-to-right": 0.5,
        "right-to-wrong": 0.25,
    }


def test_attempts_of_both_seats_of_a_game_are_scored_in_the_game_itself() -> None:
    def answer(request: Request) -> str:
        kind = "bet" if CORRECT in [m.content for m in request.messages] else "pass"
        return kind if request.choices else f"Thought: chips.\nAction: {kind}"

    agent = SCoRe(model=ScriptedModel(answer))  # held to what is legal
    records = palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=12)
    talks = settle(records, agents=["first", "first"], playouts=1)
    assert len(talks) == sum(len(record.turns) for record in records)
    for record in records:  # both bet: the higher card takes one pot of two
        own = [talk for talk in talks if talk.tags["of"] == str(record.number)]
        # the last bet ends the game: what it was worth is what the record says was paid
        assert own[-1].tags["process"][1] == record.returns[record.turns[-1].seat]
        # a pass instead of that bet gives up the ante
        assert own[-1].tags["process"][0] == -1.0


def test_a_spent_budget_plays_the_first_attempt() -> None:
    agent = SCoRe(model=Free(door("right")))
    agent.name = "twice"
    record = palestra.play(WORLD, agents=[agent], budgets={"twice": Budget(calls=1)})[0]
    assert record.turns[0].text == "Go(to='right')"
    assert len(record.turns[0].facts["talks"][0]["steps"]) == 1


# MALT


def tree_model(right: dict[tuple[int, int, int], bool]) -> Free:
    """Answers by place in the tree: samples of a prompt are counted, and name their branch."""
    seen: dict[str, int] = {}

    def answer(request: Request) -> str:
        asked = last(request)
        number = seen[asked] = seen.get(asked, -1) + 1
        if "You verify" in rules(request):
            return f"critique {number} of {asked.split('sample ')[1].split('.')[0]}"
        if "Critique of it" not in asked:
            return f"Thought: sample {number}.\nAction: Go(to='left')"
        one = int(asked.split("sample ")[1].split(".")[0])
        two = int(asked.split("critique ")[1].split(" ")[0])
        side = "right" if right[one, two, number] else "left"
        return f"Thought: refined {number}.\nAction: Go(to='{side}')"

    return Free(answer)


@settings(max_examples=15)
@given(st.integers(2, 3), st.integers(0, 2**32 - 1))
def test_values_of_the_tree_are_means_of_the_leaves_below(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, 2, (n, n, n))
    places = {(int(a), int(b), int(c)): bool(leaf[a, b, c]) for a, b, c in np.ndindex(n, n, n)}
    agent = Malt(model=tree_model(places), branches=n)
    record = palestra.play(WORLD, agents=[agent], seed=seed)[0]
    talks = settle([record], game=WORLD)
    assert len(talks) == n**3
    assert [talk.returns[0] for talk in talks] == leaf.ravel().tolist()
    soft = estimate("malt", talks, soft=True).values.reshape(n**3, 3) + 0.5
    by_hand = [
        np.repeat(leaf.mean(axis=(1, 2)), n * n),
        np.repeat(leaf.mean(axis=2).ravel(), n),
        leaf.ravel(),
    ]
    assert pytest.approx(np.array(by_hand)) == soft.T
    side = "right" if leaf.sum() * 2 > n**3 else "left"
    if leaf.sum() * 2 != n**3:
        assert record.turns[0].text == f"Go(to='{side}')"
        share = max(leaf.mean(), 1 - leaf.mean())
        assert record.turns[0].facts["confidence"] == pytest.approx(share)


def test_rows_of_every_role_follow_the_majority_of_their_branch() -> None:
    ones = {(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 0), (0, 1, 1), (1, 2, 0), (2, 2, 2), (2, 2, 1)}
    right = {(a, b, c): (a, b, c) in ones for a in range(3) for b in range(3) for c in range(3)}
    record = palestra.play(WORLD, agents=[Malt(model=tree_model(right), branches=3)])[0]
    talks = settle([record], game=WORLD)
    rows = role_rows(talks, estimate("malt", talks).values)
    assert set(rows) == set(ROLES)
    # generator 0 has 5 of 9 right, 1 has 1, 2 has 2
    (row,) = rows["generator"].imitate
    assert "sample 0." in row["completion"][0]["content"]
    assert len(rows["generator"].prefer) == 2
    # verifiers: (0,0) 3/3, (0,1) 2/3, (2,2) 2/3 are good; (0,2) is bad and shares a prompt with two
    assert len(rows["verifier"].imitate) == 3
    assert len(rows["verifier"].prefer) == 2 + 2
    # refiners: as many pairs as good times bad leaves at one prompt: 2*1 at (0,1), 1*2, 2*1
    assert len(rows["refiner"].imitate) == len(ones)
    assert len(rows["refiner"].prefer) == 2 + 2 + 2
    assert rows["verifier"].prefer[0]["prompt"][0]["content"].count("You verify answers") == 1


def test_three_models_play_three_roles_and_every_call_is_counted_once() -> None:
    models = [Free(door("left"), "g"), Free("It is wrong.", "v"), Free(door("right"), "r")]
    record = palestra.play(WORLD, agents=[Malt(model=models, branches=2)])[0]
    assert [len(model.requests) for model in models] == [2, 4, 8]
    talks = talks_of([record])
    assert {turn.model for talk in talks for turn in talk.turns} == {"g", "v", "r"}
    assert sum(turn.usage.calls for talk in talks for turn in talk.turns) == 14
    assert record.turns[0].usage.calls == 14
    assert record.turns[0].text == "Go(to='right')"


def test_one_branch_is_the_pipeline_run_once() -> None:
    agent = Malt(model=ScriptedModel(lambda r: "bet"), branches=1)
    records = palestra.play("games/KuhnPoker-v0", agents=[agent, "random"], episodes=5)
    talks = settle(records)
    assert all(len(talk.turns) == 3 for talk in talks)
    values = estimate("malt", talks).values.reshape(-1, 3)
    assert (values == values[:, :1]).all()  # one leaf: the outcome is everybody's


# CoMAS


def member(request: Request) -> str:
    if "You score" in rules(request):
        named = last(request).split("Answer to score:")[1]
        return "Brief.\n<score>" + ("3" if "right" in named else "1") + "</score>"
    if "You evaluate" in rules(request):
        return "A defect."
    return door("right" if request.seed and request.seed % 3 else "left")


def discussions(records: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    return settle(records, game=WORLD)


def test_solver_and_evaluator_share_one_whoever_they_are() -> None:
    agent = CoMAS(model=Free(member), size=5, rounds=3, references=2)
    records = palestra.play(WORLD, agents=[agent], episodes=4)
    for talk in discussions(records):
        paid, parts = shape("comas", talk), talk.tags["discussion"]
        assert len(parts) == 15
        for one in parts:
            turns = [talk.turns[one[name]] for name in ("answer", "evaluation", "scoring")]
            assert len({turn.seat for turn in turns}) == 3
            right = "right" in turns[0].text
            earned = [paid[one[name]] for name in ("answer", "evaluation", "scoring")]
            assert earned == [float(right), 1 - float(right), 0.0]
    assert agreement(discussions(records))["fit"] == pytest.approx(1.0)


def test_members_read_what_their_part_needs_and_no_more() -> None:
    model = Free(member)
    palestra.play(WORLD, agents=[CoMAS(model=model, size=3, rounds=2, references=2)])
    solvers = [r for r in model.requests if "You " not in rules(r).split("Write Go")[1]]
    scorers = [r for r in model.requests if "You score" in rules(r)]
    assert len(solvers) == 6
    assert all("Answers to the same question" not in last(r) for r in solvers[:3])
    assert all(last(r).count('Evaluation:\n"A defect."') == 2 for r in solvers[3:])
    assert all('Evaluation of it:\n"A defect."' in last(r) for r in scorers)


def test_a_scorer_without_a_score_alone_is_paid_for_it() -> None:
    def silent(request: Request) -> str:
        return "I will not say." if "You score" in rules(request) else member(request)

    record = palestra.play(WORLD, agents=[CoMAS(model=Free(silent), size=3)])[0]
    (talk,) = discussions([record])
    paid = shape("comas", talk)
    for one in talk.tags["discussion"]:
        assert (paid[one["answer"]], paid[one["evaluation"]], paid[one["scoring"]]) == (0, 0, -1)
    assert [read_score(t) for t in ("<score>3</score>", "3", "<score>4</score>")] == [3, None, None]
    assert read_score("<score>1</score> no: < Score > 2 </ SCORE >") == 2


def test_a_constant_scorer_teaches_nothing_and_is_found_out() -> None:
    def praise(request: Request) -> str:
        return "<score>3</score>" if "You score" in rules(request) else member(request)

    records = palestra.play(WORLD, agents=[CoMAS(model=Free(praise), size=4)], episodes=6)
    talks = discussions(records)
    found = agreement(talks)
    assert found["spread"] == 0.0
    assert np.isnan(found["fit"])
    group = Group.of(talks)
    earned = group.replace(rewards=shape("comas", talks), state=None)
    answers = [talk.turns[one["answer"]] for talk in talks for one in talk.tags["discussion"]]
    assert len(answers) == 24
    assert set(earned.rewards.tolist()) == {0.0, 1.0}  # answers 1, evaluations and scorings 0


def test_records_without_talks_are_told() -> None:
    records = palestra.play(WORLD, agents=["random"])
    with pytest.raises(InvalidOption, match="no turn of these records has talks"):
        settle(records, game=WORLD)


# DyLAN


def rating_team(request: Request) -> str:
    """Members go left or right by their draw, and rate authors of `right` three times as high."""
    if "Rate each" not in last(request):
        return door("right" if (request.seed or 0) % 3 else "left")
    moves = [line for line in last(request).splitlines() if line.startswith("Action: ")]
    return "Ratings: " + " ".join("3" if "right" in move else "1" for move in moves)


def test_members_get_credit_by_the_ratings_of_real_play() -> None:
    """Ratings pushed back from the last layer by hand, in every sibling; left is worth 0."""
    team = DyLAN(model=Free(rating_team), size=3, keep=2, layers=3)
    records = palestra.rollouts(WORLD, agents=[team], n=8, seed=1)
    talks = [msgspec.structs.replace(talk, group="first") for talk in settle(records, game=WORLD)]
    assert {len(talk.tags["ratings"]) for talk in talks} > {0}  # some agree at once
    returns = np.array([record.returns[0] for record in records])
    assert [talk.returns[0] for talk in talks] == returns.tolist()
    assert 0 < returns.mean() < 1
    expected = []
    for record, talk in zip(records, talks, strict=True):
        own = record.returns[0] - returns.mean()
        part = np.array(talk.tags["final"])
        parts = [part]
        for table in reversed(talk.tags["ratings"]):
            part = sum(part[rater] * np.array(table[rater]) for rater in range(3))
            parts.append(part)
        assert all(one.sum() == pytest.approx(1) for one in parts)
        expected += [own * 3 * np.mean(parts, axis=0)[turn.seat] for turn in talk.turns]
    np.testing.assert_allclose(estimate("dylan", talks).values, expected, atol=1e-12)


def test_a_talk_of_dylan_holds_every_answer_and_its_prompt() -> None:
    model = after_each_other(
        *map(door, ("left", "right", "right")), *["Ratings: 1 3 3"] * 3, *[door("right")] * 3
    )
    (record,) = palestra.play(WORLD, agents=[DyLAN(model=model, size=3)], live=1)
    (talk,) = talks_of([record])
    assert [turn.seat for turn in talk.turns] == [0, 1, 2, 0, 1, 2]
    assert talk.tags["ratings"] == [[[1 / 7, 3 / 7, 3 / 7]] * 3]
    assert talk.tags["final"] == pytest.approx([1 / 3] * 3)
    asked = [event for event in talk.events if event.kind == "asked"]
    assert {event.data["line"] for event in asked} == set(range(6))
    assert "Member 2" in next(e.text for e in asked if e.data["line"] == 3 and "left" in e.text)
