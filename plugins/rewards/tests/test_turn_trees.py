"""Optima: what reads well, where a dialogue branches, and the pairs of its branches."""

from __future__ import annotations

from math import log

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra.agents.models import Model, Reply, Score
from palestra.records.record import replay
from palestra_rewards import Group, Lacking, estimate
from palestra_rewards.readability import ModelReader, NGrams, reading_losses
from palestra_rewards.turn_trees import TurnNode, apart, turn_tree
from rapidfuzz.distance import Levenshtein


def test_words_alone_are_counted_by_hand() -> None:
    """ "a a b": V = 2 known words, a third for all others; smooth 1 adds 1/3 to every count."""
    reader = NGrams(["a a b"], order=1)
    chances = {"a": (2 + 1 / 3) / 4, "b": (1 + 1 / 3) / 4, "c": (1 / 3) / 4}
    assert sum(chances.values()) == pytest.approx(1)
    assert reader(["a", "b", "c", "a c", ""]) == pytest.approx(
        [-log(chances[w]) for w in "abc"] + [-(log(chances["a"]) + log(chances["c"])) / 2, 0]
    )


def test_word_order_counts_with_contexts() -> None:
    reader = NGrams(["the cat sat on the mat", "the dog sat on the log"], order=3, smooth=0.5)
    for context in ((), ("the",), ("sat", "on"), ("never", "seen")):
        words = ["the", "cat", "sat", "on", "mat", "dog", "log"]
        known = sum(reader.chance(context, word) for word in words)
        assert known + reader.chance(context, "elsewhere") == pytest.approx(1)
    straight, mixed = reader(["the cat sat on the log", "log the on sat cat the"])
    assert straight < mixed


class Weigher(Model):
    """Says that every token has the chance one half; a text has a token a letter."""

    name = "weigher"
    abilities = frozenset({"score", "raw"})

    def chat(self, requests: object) -> list[Reply]:
        sizes = [len(request.score[0]) for request in requests]  # type: ignore[attr-defined]
        return [Reply("", scores=(Score(n * log(0.5), n),)) for n in sizes]


class Mute(Weigher):
    abilities = frozenset()


def test_a_model_that_scores_is_a_reader() -> None:
    assert ModelReader(Weigher())(["abc", "a"]) == pytest.approx([log(2)] * 2)
    with pytest.raises(InvalidOption, match="cannot score texts"):
        ModelReader(Mute())


def test_optima_pays_for_what_reads_well() -> None:
    """By hand: 1 - 0.5 * tokens / 40 + 0.5 / loss, standardised over the task."""
    group = Group.from_arrays(
        episode=[0, 1, 2], rewards=[1.0, 1.0, 0.0], tokens=[10, 40, 20]
    ).with_facts(**{"reading loss": [2.0, 0.5, 1.0]})
    score = np.array([1 - 0.125 + 0.25, 1 - 0.5 + 1, 0 - 0.25 + 0.5])
    expected = (score - score.mean()) / score.std()
    found = estimate("optima:readability=0.5", group).values
    np.testing.assert_allclose(found, expected)
    with pytest.raises(Lacking, match="reading loss"):
        estimate(
            "optima:readability=0.5", Group.from_arrays(episode=[0], rewards=[1.0], tokens=[1])
        )


def test_losses_of_real_talk_are_means_over_a_seats_messages() -> None:
    records = palestra.rollouts("games/SplitFacts-v0", agents="random", n=5, seed=3)
    reader = NGrams([turn.text for turn in records[0].turns])
    losses = reading_losses(records, reader)
    group = Group.of(records)
    assert losses.size == group.lines
    place = 0
    for record in records:
        for seat in sorted({turn.seat for turn in record.turns}):
            own = [reader([turn.text])[0] for turn in record.turns if turn.seat == seat]
            assert losses[place] == pytest.approx(np.mean(own))
            place += 1
    tokens = group.replace(tokens=np.ones(group.size, dtype=int))
    paid = estimate("optima:readability=1", tokens.with_facts(**{"reading loss": losses}))
    assert np.ptp(paid.values) > 0


def through(node: TurnNode, tree: object) -> list[float]:
    """The returns of the records that pass a node, found by their texts alone."""
    record = node.record
    start = (
        [] if record is None else [t.text for s in record.steps[: node.step + 1] for t in s.turns]
    )
    return [
        float(np.mean(one.returns))
        for one in tree.records  # type: ignore[attr-defined]
        if [turn.text for turn in one.turns][: len(start)] == start
    ]


@pytest.mark.parametrize(
    ("env", "settings"),
    [("games/SplitFacts-v0", {}), ("games/TicTacToe-v0", {}), ("games/Wordle-v0", {})],
)
def test_a_node_is_worth_the_mean_of_the_rollouts_through_it(env: str, settings: dict) -> None:
    tree = turn_tree(env, agents="random", expansions=6, branches=3, seed=4, **settings)
    nodes = tree.root.below()
    assert len(tree.records) == 3 * sum(node.expanded for node in nodes)
    assert sum(node.expanded for node in nodes) > 1
    for node in nodes:
        assert sorted(node.scores) == pytest.approx(sorted(through(node, tree)))
    opened = [node.text for node in nodes if node.expanded and node is not tree.root]
    for place, text in enumerate(opened):
        for other in opened[:place]:
            assert Levenshtein.normalized_similarity(text, other) <= 0.75
    for record in tree.records[:4]:
        replay(record)


def test_pairs_are_siblings_whose_values_lie_apart() -> None:
    """Board moves against each other, scored for the first seat from 0 to 1."""
    tree = turn_tree(
        "games/TicTacToe-v0",
        agents="random",
        expansions=10,
        branches=4,
        seed=1,
        score=lambda record: (1 + record.returns[0]) / 2,
    )
    every = tree.pairs(least=0.5, gap=0.3, keep=1.0)
    assert len(every) >= 3
    values = {
        (node.text, child.text): (node, child)
        for node in tree.root.below()
        for child in node.children
    }
    assert len(values) > 30
    for row in every:
        assert row["gap"] >= 0.3
        assert row["chosen"] != row["rejected"]
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    half = tree.pairs(least=0.5, gap=0.3, keep=0.5)
    assert half == every[: round(len(every) / 2)]


def test_texts_are_as_far_apart_as_their_edits() -> None:
    assert apart("kitten", "sitting") == pytest.approx(3 / 7)
    assert apart("", "") == 0


def test_what_cannot_grow_is_named() -> None:
    with pytest.raises(InvalidOption, match="expansions and branches must be at least 1"):
        turn_tree("games/TicTacToe-v0", agents="random", expansions=0)
    with pytest.raises(InvalidOption, match="order must be 1 or more"):
        NGrams([], order=0)
