"""Drawn courses: the student by scikit-learn, the best orders by listing all, rings by networkx."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, combinations_with_replacement
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra_tasks.worlds import courses
from palestra_tasks.worlds.course_beliefs import beliefs_of, imagine_course
from palestra_tasks.worlds.courses import (
    RIDGE,
    SIZES,
    DrawnCourse,
    Syllabus,
    accuracies,
    accuracy_on_test,
    best_orders,
    draw_hidden,
    draw_syllabus,
    examples_of,
    noise_of,
    share_of_gain,
)
from palestra_tasks.worlds.teacher import DataTeacher, Explore, Teach
from palestra_tasks.worlds.teachers import planned_orders, read_position
from sklearn.linear_model import Ridge


def drawn(seed: int, size: str = "large", overlaps: str = "common") -> DrawnCourse:
    rng = Rng.seeded(seed)
    return draw_hidden(rng, draw_syllabus(rng, SIZES[size], overlaps))


def overlap(syllabus: Syllabus) -> nx.Graph[Any]:
    """Skills and their topics."""
    pairs = [(n, f"topic {t}") for n, mine in enumerate(syllabus.topics) for t in mine]
    return nx.Graph(pairs)


def structure(course: DrawnCourse) -> str:
    """Equal for courses with the same overlaps and reversals, order of shares and clean labels.

    The names of skills and topics, and which way around a topic is, do not count.
    """
    graph: nx.Graph[Any] = nx.Graph()
    for skill, topics in enumerate(course.syllabus.topics):
        share = course.syllabus.shares[skill]
        clean = course.noise[skill] == min(noise_of(share))
        graph.add_node(skill, kind=f"{share} {clean}")
        for topic, sign in zip(topics, course.signs[skill], strict=True):
            graph.add_node((topic, sign), kind="side")
            graph.add_node((topic,), kind="topic")
            graph.add_edges_from([(skill, (topic, sign)), ((topic, sign), (topic,))])
    return str(nx.weisfeiler_lehman_graph_hash(graph, node_attr="kind", iterations=5))


@pytest.mark.parametrize("size", SIZES)
def test_courses_have_many_structures(size: str) -> None:
    found = {structure(drawn(seed, size)) for seed in range(300)}
    assert len(found) >= {"small": 280, "medium": 299, "large": 300}[size]


@pytest.mark.parametrize("size", SIZES)
def test_overlaps_form_a_ring_in_held_out_courses_alone(size: str) -> None:
    for seed in range(100):
        common, rare = (drawn(seed, size, one).syllabus for one in ("common", "rare"))
        assert nx.is_forest(overlap(common))
        assert nx.cycle_basis(overlap(rare))
        assert all(1 <= len(topics) <= 3 for s in (common, rare) for topics in s.topics)
        assert sum(common.shares) == sum(rare.shares) == 100


def independent_student(course: DrawnCourse, orders: tuple[int, ...]) -> Any:
    """The weights that scikit-learn finds for a student."""
    parts = [examples_of(course, s, 0, n) for s, n in enumerate(course.syllabus.known)]
    for skill in sorted(set(orders)):
        batches = range(1, orders.count(skill) + 1)
        parts += [examples_of(course, skill, batch, courses.BATCH) for batch in batches]
    points, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Ridge(alpha=RIDGE, fit_intercept=False).fit(points, labels).coef_


@pytest.mark.parametrize("overlaps", ["common", "rare"])
def test_accuracies_are_those_of_a_ridge_regression_on_questions(overlaps: str) -> None:
    questions = 4000
    for seed, orders in ((1, (0, 0, 3, 7)), (2, (1, 2, 2, 5, 6))):
        course = drawn(seed, "large", overlaps)
        weights = independent_student(course, orders)
        for skill, accuracy in enumerate(accuracies(course, orders)):
            clean = replace(course, noise=(0.0,) * 8)
            points, labels = examples_of(clean, skill, 900, questions)
            right = np.mean(np.where(points @ weights > 0, 1, -1) == labels)
            assert right == pytest.approx(accuracy, abs=4 * 0.5 / questions**0.5)


def test_labels_are_wrong_as_often_as_stated() -> None:
    course = drawn(3)
    for skill, noise in enumerate(course.noise):
        points, labels = examples_of(course, skill, 901, 4000)
        wrong = np.mean(np.where(points @ course.planes[skill] > 0, 1, -1) != labels)
        assert wrong == pytest.approx(noise, abs=0.035)
        outside = np.delete(
            points.reshape(4000, len(courses.TOPICS), -1), course.syllabus.topics[skill], axis=1
        )
        assert not outside.any()


def test_examples_help_skills_with_a_topic_and_harm_those_that_have_it_reversed() -> None:
    syllabus = Syllabus(("a", "b", "c", "d"), ((0,), (0,), (0, 1), (2,)), (0, 40, 40, 20), (0,) * 4)
    course = DrawnCourse(syllabus, ((1,), (-1,), (1, 1), (1,)), (0.0,) * 4, 5)
    taught, reversed_, partly, other = accuracies(course, (0, 0))
    assert taught > 0.85
    assert reversed_ == pytest.approx(1 - taught)
    assert 0.6 < partly < taught
    assert other == 0.5


def listed(skills: int, rounds: int) -> Iterator[tuple[int, ...]]:
    return combinations_with_replacement(range(skills), rounds)


def test_the_best_orders_known_are_near_the_best_of_all() -> None:
    found = []
    for seed in range(8):
        course = drawn(seed, "small")
        start = accuracy_on_test(course, ())
        best = max(accuracy_on_test(course, orders) for orders in listed(5, 5))
        known = accuracy_on_test(course, best_orders(course, 5))
        assert known <= best + 1e-9
        found.append((known - start) / (best - start) if best - start > courses.LEAST else 1.0)
    assert min(found) > 0.98


@pytest.mark.parametrize("size", ["small", "large"])
def test_the_share_of_the_gain_is_0_without_orders_and_1_with_the_best(size: str) -> None:
    for seed in range(5):
        course, rounds = drawn(seed, size), SIZES[size].rounds
        best = best_orders(course, rounds)
        assert share_of_gain(course, (), rounds) == 0
        if accuracy_on_test(course, best) - accuracy_on_test(course, ()) >= courses.LEAST:
            assert share_of_gain(course, best, rounds) == 1


def test_an_episode_pays_the_share_of_its_orders() -> None:
    episode = palestra.Episode(DataTeacher(course="medium", turns=4), 8)
    for skill in (0, 1, 1, 5):
        episode.act({0: Teach(skill)})
    state = episode.state
    assert state.taught == (0, 1, 1, 5)
    assert episode.outcome is not None
    assert episode.outcome.scores[0] == share_of_gain(state.drawn, state.taught, 4)
    assert episode.returns[0] == episode.outcome.scores[0]


def test_readings_are_new_questions_of_the_student() -> None:
    """Over many readings their mean is the exact accuracy."""
    course, rng = drawn(4), Rng.seeded(9)
    read = [courses.read_student(course, (1, 2), rng) for _ in range(200)]
    means = np.mean(read, axis=0) / courses.ASKED
    assert means == pytest.approx(np.array(accuracies(course, (1, 2))), abs=0.02)


def test_what_is_expected_is_the_mean_of_real_students() -> None:
    for seed in range(3):
        syllabus = drawn(seed).syllabus
        beliefs, orders = beliefs_of(syllabus, 3), (0, 0, 1, 3, 3, 3, 6)
        for way, expected in enumerate(beliefs.expected(orders)):
            signs = tuple(
                tuple(int(beliefs.signs[way, s, t]) for t in topics)
                for s, topics in enumerate(syllabus.topics)
            )
            noise = tuple(beliefs.noise[way].tolist())
            real = [accuracies(DrawnCourse(syllabus, signs, noise, w), orders) for w in range(40)]
            misses = np.abs(np.mean(real, axis=0) - expected)
            assert misses.max() < 0.12
            assert misses.mean() < 0.03


def test_an_imagined_course_depends_on_what_was_read_alone() -> None:
    game = DataTeacher(course="large", turns=6, structure="tree")
    episode = palestra.Episode(game, 2)
    for action in (Explore(1), Teach(3), Teach(1)):
        episode.act({0: action})
    state, other = episode.state, game.clone(episode.state)
    other.drawn = draw_hidden(Rng.seeded(77), state.drawn.syllabus)
    imagined = [game.determinize(one, 0, Rng.seeded(5)).drawn for one in (state, other)]
    assert imagined[0] == imagined[1]
    assert imagined[0] != state.drawn


def test_readings_make_what_is_hidden_likelier() -> None:
    """A skill that reads near 0 after another was taught has its topic the other way around."""
    syllabus = Syllabus(("a", "b"), ((0,), (0,)), (0, 100), (0, 0))
    found = [
        imagine_course(syllabus, (0, 0), ((50, 50), (90, 10), (95, 5)), Rng.seeded(n)).signs
        for n in range(40)
    ]
    assert {one[0][0] * one[1][0] for one in found} == {-1}


def test_readings_do_not_make_wrong_overlaps_certain() -> None:
    """Chances that two skills have a topic the same way, after 16 rounds, against the truth.

    Brier's score is 0.25 for a guess and would be above it where a wrong way is taken as certain.
    """
    scores = []
    for seed in range(25):
        course, rng = drawn(seed, "medium"), Rng.seeded(seed, 1)
        orders = tuple(rng.below(6) for _ in range(12))
        readings = [courses.read_student(course, orders[:n], rng) for n in range(13)]
        beliefs = beliefs_of(course.syllabus, 2000)
        weights = beliefs.weights(orders, readings)
        truth = [dict(zip(t, s, strict=True)) for t, s in zip(course.syllabus.topics, course.signs,
                                                              strict=True)]  # fmt: skip
        for one, other in combinations(range(6), 2):
            for topic in truth[one].keys() & truth[other].keys():
                alike = beliefs.signs[:, one, topic] == beliefs.signs[:, other, topic]
                told = truth[one][topic] == truth[other][topic]
                scores.append((float(weights @ alike) - told) ** 2)
    assert len(scores) >= 60
    assert np.mean(scores) < 0.09  # 0.105 if readings are taken as independent


@pytest.mark.parametrize("size", ["small", "large"])
def test_accuracies_on_the_test_are_the_mean_of_those_of_each_way(size: str) -> None:
    for seed in range(8):
        syllabus, rng = drawn(seed, size).syllabus, Rng.seeded(seed, 2)
        beliefs, skills = beliefs_of(syllabus, 60), len(syllabus.topics)
        ways = np.array([rng.below(60) for _ in range(25)])
        taught = [[rng.below(skills) for _ in range(number)] for number in (0, 1, 5, 16)]
        counts = np.array([np.bincount(np.array(one, int), minlength=skills) for one in taught])
        wanted = [
            (beliefs.expected(one, ways) @ np.array(syllabus.shares)).mean() / 100 for one in taught
        ]
        assert beliefs.on_test(counts, ways) == pytest.approx(wanted, abs=1e-12)


def test_planned_orders_are_near_the_best_of_all() -> None:
    """Of 495 ways to give eight orders to five skills, listed one by one."""
    for seed in range(15):
        beliefs, ways = beliefs_of(drawn(seed, "small").syllabus, 40), np.arange(40)
        every = np.array(
            [np.bincount(one, minlength=5) for one in combinations_with_replacement(range(5), 8)]
        )
        assert len(every) == 495
        values = beliefs.on_test(every, ways)
        planned = planned_orders(beliefs, ways, [], 8)
        assert planned.sum() == 8
        assert beliefs.on_test(planned[None], ways)[0] > values.max() - 0.005
    assert planned_orders(beliefs, ways, [0, 1], 1).sum() == 1


def test_a_position_tells_the_syllabus_and_all_readings() -> None:
    game = DataTeacher(course="medium", turns=6, structure="tree")
    episode = palestra.Episode(game, 3)
    for action in (Teach(0), Explore(4), Teach(4)):
        episode.act({0: action})
    state = episode.state
    heard = read_position(game.describe(state, 0))
    assert heard.syllabus == state.drawn.syllabus
    assert (heard.orders, heard.readings) == (state.orders, state.readings)
    assert [row[4] >= 0 for row in heard.readings] == [False, False, True, True]


@pytest.mark.parametrize("options", [{"structure": "open"}, {"turns": 61}])
def test_options_that_no_drawn_course_has_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="course='small' has structure='list' or 'tree'"):
        DataTeacher(course="small", **options)


@pytest.mark.slow
@pytest.mark.parametrize("overlaps", ["common", "rare"])
def test_no_cheap_teacher_earns_nine_tenths_of_the_best_orders(overlaps: str) -> None:
    def paid(agents: str) -> float:
        records = palestra.play(
            "tasks/DataTeacher-v0",
            agents=agents,
            episodes=20,
            course="large",
            overlaps=overlaps,
            turns=SIZES["large"].rounds,
        )
        assert not any(record.error for record in records)
        return sum(record.returns[0] for record in records) / 20

    cheap = ("random", "teacher-uniform", "teacher-weakest", "teacher-weighing")
    assert max(map(paid, cheap)) < 0.9  # the best orders known are paid 1
