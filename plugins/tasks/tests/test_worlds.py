"""Worlds that make tasks: optima by brute force, plans by networkx, students by another fit."""

from __future__ import annotations

import json
import re
from itertools import pairwise, product
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import InvalidOption, Rng, UnknownName
from palestra_tasks.worlds.autoenv import ONE_OF_36, WORLDS, AutoEnv, advance, draw_level, optimum
from palestra_tasks.worlds.crafting import SKILLS, Config, Crafting, GroundConfig
from palestra_tasks.worlds.envgen import Configure, EnvGen
from palestra_tasks.worlds.heist import PRESETS as HEIST_PRESETS
from palestra_tasks.worlds.heist import SKILLS as HEIST_SKILLS
from palestra_tasks.worlds.heist import Heist, HeistConfig
from palestra_tasks.worlds.kinds import KINDS, evolve, installed_kinds, kinds_of, survey
from palestra_tasks.worlds.learning import (
    METHODS,
    Candidate,
    compare,
    errors,
    learn,
    play,
    revise,
    select,
)
from palestra_tasks.worlds.planning import (
    apply_action,
    generate,
    generate_world,
    read_world,
    write_world,
)
from palestra_tasks.worlds.planning import evolve as evolve_world
from palestra_tasks.worlds.planworld import BUCKETS, AgentGen, PlanWorld, Write
from palestra_tasks.worlds.structure import steps_that_matter, structure
from palestra_tasks.worlds.student import answers, draw_course, examples, questions, rows
from palestra_tasks.worlds.teacher import DataTeacher, Teach
from palestra_tasks.worlds.teacher import Write as WriteExamples
from scipy.optimize import minimize


def mean_score(env: str, agents: str, episodes: int, **options: Any) -> float:
    records = palestra.play(env, agents=agents, seed=1, episodes=episodes, **options)
    assert not any(record.error for record in records), records[0].error
    return sum(record.outcome.scores[0] for record in records if record.outcome) / episodes


# AutoEnv


def test_there_are_36_worlds() -> None:
    assert len(set(WORLDS)) == 36


@pytest.mark.parametrize(("rules", "rewards"), sorted({world[:2] for world in WORLDS}))
def test_the_optimum_is_that_of_all_plans(rules: str, rewards: str) -> None:
    level, best = draw_level(rules, rewards, 3), 0.0
    for plan in product(range(4), repeat=6):
        at: Any = (level.start, frozenset(), False)
        total = 0.0
        for way in plan:
            at, paid, over = advance(level, rules, rewards, at, way)
            total += paid
            best = max(best, total)
            if over:
                break
    assert optimum(level, rules, rewards, 6) == best


def test_the_skin_changes_no_optimum() -> None:
    for seed in range(5):
        found = set()
        for skin in ("plain", "sea", "inverted"):
            game = AutoEnv(**ONE_OF_36, rules="ice", pays="collect", skin=skin)
            state = game.initial_state(seed)
            found.add((state.level, optimum(state.level, "ice", "collect", game.turns)))
        assert len(found) == 1


def test_inverted_words_mean_their_opposite() -> None:
    rows = []
    for skin in ("plain", "inverted"):
        game = AutoEnv(**ONE_OF_36, rules="torus", pays="reach", skin=skin)
        episode = palestra.Episode(game, 5)
        start = episode.state.cell
        episode.act({0: episode.parse(0, "Go(way='north')")})
        rows.append((start, episode.state.cell, episode.state.level.walls))
    (start, up, walls), (_, down, _) = rows
    assert up in ((start - 4) % 16, start)
    assert down in ((start + 4) % 16, start)
    assert up != down or walls


def test_the_planner_reaches_every_optimum() -> None:
    assert mean_score("tasks/AutoEnv-v0", "autoenv-planner", 12, **ONE_OF_36) == pytest.approx(1.0)
    assert mean_score("tasks/AutoEnv-v0", "random", 12, **ONE_OF_36) < 0.8


# Planning worlds


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_shortest_plans_are_those_of_networkx(level: str) -> None:
    for seed in range(2):
        planned = generate_world(level, seed)
        graph, todo = nx.DiGraph(), [planned.start]
        while todo:
            facts = todo.pop()
            for action in planned.actions:
                if action.needs <= facts:
                    after = apply_action(facts, action)
                    if after not in graph:
                        todo.append(after)
                    graph.add_edge(facts, after)
        lengths = nx.single_source_shortest_path_length(graph, planned.start)
        wanted = min(n for facts, n in lengths.items() if planned.goal <= facts)
        assert planned.length == wanted


def test_the_planner_solves_in_the_shortest_number_of_steps() -> None:
    records = palestra.play(
        "tasks/PlanWorld-v0", agents="planworld-planner", seed=1, episodes=4, level="hard"
    )
    for record in records:
        assert record.outcome is not None
        (found,) = [e.data["verdict"] for e in record.events if "verdict" in e.data]
        assert len(record.steps) == found["shortest"]


def test_evolution_goes_both_ways() -> None:
    rng = Rng.seeded(2)
    for seed in range(6):
        world = generate_world("medium", seed).world
        harder, easier = (evolve_world(world, rng, harder=up) for up in (True, False))
        lengths = [read_world(write_world(w)).length for w in (easier, world, harder)]
        assert len(harder.goal) >= len(world.goal) >= len(easier.goal)
        assert lengths == sorted(lengths)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"operators": []}, "at least one operator"),
        ({"goal": ["at(you, moon)"]}, "moon"),
        ({"goal": ["import os"]}, "no fact"),
        ({"start": ["__class__(you)"]}, "no fact"),
        ({"name": "A Name"}, "no name"),
        ({"extra": 1}, "unknown field"),
        ({"objects": {"room": [f"r{n}" for n in range(60)], "person": ["you"]}}, "ground actions"),
    ],
)
def test_a_broken_world_is_refused_by_name(change: dict[str, Any], why: str) -> None:
    world = json.loads(
        '{"name": "house", "objects": {"room": ["hall", "attic"], "person": ["you"]}, "operators":'
        '[{"name": "go", "parameters": {"a": "room", "b": "room"}, "needs": ["at(you, ?a)"],'
        '"adds": ["at(you, ?b)"], "deletes": ["at(you, ?a)"]}], "start": ["at(you, hall)"],'
        '"goal": ["at(you, attic)"]}'
    )
    if "ground" in why:
        change["start"] = change["goal"] = []
        world["start"], world["goal"] = ["at(you, r1)"], ["at(you, r2)"]
        change = {"objects": change["objects"]}
    with pytest.raises(InvalidOption, match=why):
        read_world(json.dumps({**world, **change}))


def test_a_world_of_ones_own_is_played() -> None:
    text = write_world(generate_world("easy", 4).world)
    assert mean_score("tasks/PlanWorld-v0", "planworld-planner", 2, world=text) == 1.0
    with pytest.raises(InvalidOption, match="cannot be read"):
        PlanWorld(world="{}")


def test_an_author_is_paid_for_what_is_asked_for_once() -> None:
    assert mean_score("tasks/AgentGen-v0", "agentgen-author", 2) > 0.6
    for seed in range(9):  # what the grammar offers is no world that is asked for
        offers = palestra.Episode(AgentGen(), seed)
        codes = offers.game.options(offers.state, 0)[0].fields["world"].samples
        assert read_world(codes[0]).length == 1
        while not offers.over:
            offers.act({0: Write(codes[seed % len(codes)])})
        assert offers.returns[0] == 0
    episode = palestra.Episode(AgentGen(), 1)
    low = episode.state.bucket
    episode.act({0: Write("{}")})
    assert "Refused" in episode.log[-1][0].text
    assert episode.state.bucket == low


def renamed(text: str, rng: Rng) -> str:
    """The same world under other names, with its parts in another order."""
    world = json.loads(text)
    names = sorted({n for many in world["objects"].values() for n in many} | {*world["objects"]})
    names += [operator["name"] for operator in world["operators"]]
    names += sorted(set(re.findall(r"(\w+)\(", text)))
    rng.shuffle(names)
    new = {name: f"x{number}" for number, name in enumerate(names)}
    other = json.loads(re.sub(r"(?<![?\w])[\w-]+(?=[\"(),])", lambda m: new.get(m[0], m[0]), text))
    for parts in (*other["objects"].values(), other["operators"], other["start"], other["goal"]):
        rng.shuffle(parts)
    return json.dumps({**other, "name": "another"})


def decorated(text: str) -> str:
    """The same world with an object, a fact and an operator that no plan needs."""
    world = json.loads(text)
    world["objects"]["bird"] = ["swan"]
    world["start"].append("white(swan)")
    swim = {"name": "swim", "parameters": {"b": "bird"}, "needs": [], "adds": ["wet(?b)"]}
    world["operators"].append({**swim, "deletes": []})
    return json.dumps(world)


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_a_copy_under_other_names_has_the_same_structure(level: str) -> None:
    for seed in range(12):
        text = write_world(generate_world(level, seed).world)
        copies = [renamed(text, Rng(seed)), decorated(text), decorated(renamed(text, Rng(seed)))]
        assert all(read_world(copy).world != read_world(text).world for copy in copies)
        assert {structure(read_world(copy)) for copy in copies} == {structure(read_world(text))}


def graph_of(text: str) -> nx.Graph:
    """Facts and what actions do to them, as networkx compares them."""
    planned, graph = read_world(text), nx.Graph()
    for fact in planned.goal:
        graph.add_node(fact)
    for number, step in enumerate(steps_that_matter(planned)):
        graph.add_edges_from(
            (fact, (number, role)) for role, part in enumerate(step) for fact in part
        )
        for role in range(3):
            graph.add_edge((number, role), number)
            graph.nodes[number, role]["kind"] = role
        graph.nodes[number]["kind"] = 3
    for node in graph:
        if isinstance(node, str):
            graph.nodes[node]["kind"] = 4 + 2 * (node in planned.start) + (node in planned.goal)
    return graph


def test_worlds_have_the_same_structure_where_networkx_gives_one_hash() -> None:
    rng = Rng.seeded(8)
    sizes = [(rng.between(2, 4), rng.between(1, 3), 1, rng.below(2)) for _ in range(40)]
    texts = [write_world(generate(rng, *size)) for size in sizes]
    found = [structure(read_world(text)) for text in texts]
    hashes = [
        nx.weisfeiler_lehman_graph_hash(graph_of(text), node_attr="kind", iterations=16)
        for text in texts
    ]
    for one, other in product(range(40), range(40)):
        assert (hashes[one] == hashes[other]) == (found[one] == found[other])
    assert 8 < len(set(found)) < 40


def test_an_author_earns_nothing_for_a_copy_under_other_names() -> None:
    texts: dict[int, str] = {}
    for bucket, (low, high) in enumerate(BUCKETS):
        rng = Rng.seeded(bucket)
        while bucket not in texts:
            text = write_world(generate(rng, 3, 3, 1 + bucket, 0))
            if low <= read_world(text).length <= high:
                texts[bucket] = text
    episode = palestra.Episode(AgentGen(turns=9), 4)
    for _ in range(3):
        episode.act({0: Write(texts[episode.state.bucket])})
    paid = episode.returns[0]
    assert paid == pytest.approx(3 / 9)
    for number in range(5):
        copy = decorated(renamed(texts[episode.state.bucket], Rng(number)))
        episode.act({0: Write(copy)})
        assert "written this world before" in episode.log[-1][0].text
    assert episode.returns[0] == paid


# The student


def test_the_student_is_a_logistic_regression() -> None:
    course, rng = draw_course(2, 5), Rng.seeded(4)
    learned = tuple(e for s in range(2) for e in examples(course, s, 25, rng, clean=False))
    asked = questions(course, 9, 60)
    x, y = rows(course, learned), np.array([2 * e[3] - 1 for e in learned])

    def loss(w: Any) -> float:  # C = 10, and an intercept that is not shrunk
        inside = np.logaddexp(0, -y * (x @ w[:-1] + w[-1])).sum()
        return float(10.0 * inside + 0.5 * w[:-1] @ w[:-1])

    w = minimize(loss, np.zeros(7)).x
    right = (rows(course, asked) @ w[:-1] + w[-1] > 0) == np.array([e[3] for e in asked])
    assert answers(course, learned, asked).mean() == pytest.approx(right.mean(), abs=0.02)


def test_examples_of_a_skill_raise_that_skill() -> None:
    gains = []
    for seed in range(6):
        game = DataTeacher(turns=6)
        episode = palestra.Episode(game, seed)
        before = game.right(episode.state).mean(axis=1)
        for _ in range(4):
            episode.act({0: Teach(2)})
        gains.append(game.right(episode.state).mean(axis=1) - before)
    mean = np.mean(gains, axis=0)
    assert mean[2] > 0.05
    assert mean[2] == max(mean)


def test_a_teacher_writes_examples_where_it_is_open() -> None:
    game = DataTeacher(structure="open")
    episode = palestra.Episode(game, 3)
    course = game.plain_course(episode.state)
    clean = examples(course, 1, 12, Rng.seeded(1), clean=True)
    count = len(episode.state.learned)
    episode.act({0: WriteExamples(json.dumps([list(e) for e in clean]))})
    assert len(episode.state.learned) == count + 12
    for text in ("[]", "[[9, 0, 0, 1]]", "[[0, NaN, 0, 1]]", "[[0, 0, 0, 2]]", "[[0, 1e9, 0, 1]]"):
        episode.act({0: WriteExamples(text)})
        assert "Refused" in episode.log[-1][0].text
    assert len(episode.state.learned) == count + 12
    with pytest.raises(palestra.InvalidAction):
        palestra.Episode(DataTeacher(), 0).parse(0, "Write(examples='[]')")


def test_noise_of_labels_is_as_stated() -> None:
    course = draw_course(8, 1)
    for skill, kind in enumerate(course.skills):
        drawn = examples(course, skill, 1500, Rng.seeded(skill), clean=False)
        wrong = [
            (x * np.cos(kind.angle) + y * np.sin(kind.angle) > kind.offset) != label
            for _, x, y, label in drawn
        ]
        assert np.mean(wrong) == pytest.approx(kind.noise, abs=0.035)


# EnvGen


def test_achievements_need_each_other() -> None:
    world = Crafting(Config(size=2, trees=1, stones=1, wood=0), Rng.seeded(1))
    assert world.act(5) == world.act(6) == 0  # no wood yet
    (tree,), (stone,) = world.trees, world.stones
    world.here = stone
    assert world.act(4) == 0  # no pickaxe
    world.here = tree
    assert world.act(4) == 1
    assert world.act(5) == 1
    assert world.act(6) == 0  # the wood is in the table
    assert world.act(4) == 0  # more wood, no new achievement
    assert world.act(6) == 1
    world.here = stone
    assert world.act(4) == 1
    assert world.done == set(SKILLS)


@pytest.mark.slow
def test_a_curriculum_teaches_deep_skills_sooner() -> None:
    adaptive = mean_score("tasks/EnvGen-v0", "envgen-adaptive", 6)
    assert adaptive > mean_score("tasks/EnvGen-v0", "envgen-original", 6) + 0.1


@pytest.mark.parametrize(
    ("worlds", "why"),
    [
        ("[]", "1 to 6"),
        ('[{"size": 99}]', "size"),
        ('[{"size": 2, "trees": 9}]', "fit"),
        ('[{"lava": 1}]', "unknown field"),
        ("nonsense", "not a JSON list"),
        ('heist [{"size": 2}]', "size must be from 3 to 9"),
        ('heist [{"locks": 3}]', "locks must be from 0 to 2"),
        ('heist [{"locks": 1, "keys": 2}]', "keys must be"),
        ('heist [{"trees": 1}]', "unknown field"),
    ],
)
def test_a_broken_configuration_is_refused_by_name(worlds: str, why: str) -> None:
    maze, worlds = worlds.startswith("heist"), worlds.removeprefix("heist ")
    episode = palestra.Episode(EnvGen(practice=8, original="heist" if maze else "crafting"), 0)
    episode.act({0: Configure(worlds)})
    assert why in episode.log[-1][0].text
    assert episode.returns[0] == 0


@pytest.mark.parametrize("original", ["crafting", "heist"])
def test_looking_ahead_does_not_tell_how_lucky_the_next_training_is(original: str) -> None:
    episodes = [palestra.Episode(EnvGen(practice=30, original=original), seed) for seed in range(8)]
    move = episodes[0].game.menu[-1]

    def trained(episode: palestra.Episode) -> str:
        episode.act({0: move})
        return episode.log[-1][0].text

    ahead = [trained(palestra.Turn(one, 0).fork(palestra.Rng(4))) for one in episodes]
    assert len(set(ahead)) == 1, "of two episodes that look the same"
    assert len({trained(episodes[0].fork(n)) for n in range(4)}) > 1
    assert len(set(map(trained, episodes))) > 1


def paid_for_constant_worlds(worlds: str, seeds: range) -> float:
    """The mean pay of who writes the same worlds in every cycle of every episode."""
    total, game = 0.0, palestra.make("tasks/EnvGen-v0", split="drawn").unwrapped.game
    for seed in seeds:
        episode = palestra.Episode(game, seed)
        while not episode.over:
            episode.act({0: Configure(worlds)})
        total += episode.returns[0]
    return total / len(seeds)


def test_no_constant_worlds_suit_a_drawn_original() -> None:
    game = EnvGen(original="drawn", practice=60)
    records = palestra.play(
        "tasks/EnvGen-v0", agents="envgen-adaptive", seed=7, episodes=32, split="drawn"
    )
    adaptive = sum(r.outcome.scores[0] for r in records if r.outcome) / 32
    small = [{"size": 3, "trees": 4, "stones": 2, "ground": ground} for ground in range(8)]
    answers = [action.worlds for action in game.menu]  # type: ignore[attr-defined]
    answers += [json.dumps(small[:6]), json.dumps(small[2:5]), json.dumps([small[0], small[7]])]
    constant = [paid_for_constant_worlds(worlds, range(40, 64)) for worlds in answers]
    assert max(constant) < 0.7 * adaptive
    assert adaptive > 0.4


def test_moves_of_each_ground_lead_other_ways() -> None:
    found = set()
    for ground in range(8):
        config = GroundConfig(size=8, trees=0, stones=0, ground=ground)
        world = config.open(Rng.seeded(5))
        world.here, ways = 27, []
        for move in range(4):
            world.here = 27
            world.act(move)
            ways.append(world.here - 27)
        assert sorted(ways) == [-8, -1, 1, 8]
        assert world.seen()[0] == ground
        found.add(tuple(ways))
    assert len(found) == 8
    originals = {EnvGen(original="drawn").initial_state(seed).original for seed in range(200)}
    assert {original.ground for original in originals} == set(range(8))  # type: ignore[attr-defined]
    assert len(originals) > 32


def maze_of(world: Heist) -> nx.Graph:
    graph = nx.Graph([(a, b) for a, near in enumerate(world.passages) for b in near])
    assert nx.is_tree(graph)
    assert len(graph) == world.config.size**2
    return graph


@pytest.mark.parametrize("config", [c for worlds in HEIST_PRESETS for c in worlds])
@pytest.mark.parametrize("seed", range(20))
def test_every_maze_can_be_solved_and_needs_every_key(config: HeistConfig, seed: int) -> None:
    world = config.open(Rng.seeded(seed))
    graph, places = maze_of(world), sorted(world.locks, key=world.locks.__getitem__)
    assert len(places) == config.locks
    for number, lock in enumerate(places):
        before = nx.restricted_view(graph, places[number:], [])
        reached = nx.node_connected_component(before, world.here)
        assert world.gem not in reached
        assert number in world.held or any(world.keys.get(cell) == number for cell in reached)
        assert any(near in reached for near in graph[lock]), "the lock can be opened"
    assert nx.has_path(graph, world.here, world.gem)


@pytest.mark.parametrize("seed", range(20))
def test_a_student_that_goes_where_it_sees_things_has_every_skill(seed: int) -> None:
    """It walks to the key, then to the lock, and in as many steps as the shortest paths have."""
    world = HeistConfig(size=7).open(Rng.seeded(seed))
    graph, here, stops = maze_of(world), world.here, []
    for number in range(2):
        stops += [c for c, n in world.keys.items() if n == number]
        stops += [c for c, n in world.locks.items() if n == number]
    steps = 0
    while "gem" not in world.done:
        _, _, move = world.seen()
        world.act(move - 1)
        steps += 1
        assert steps <= 200
    assert world.done == set(HEIST_SKILLS)
    legs = [nx.shortest_path_length(graph, a, b) for a, b in pairwise([here, *stops, world.gem])]
    assert steps <= sum(legs) + 2, "an opened lock takes a step more"


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_curriculum_helps_in_the_maze_too() -> None:
    options: dict[str, Any] = {"original": "heist", "practice": 30}
    adaptive = mean_score("tasks/EnvGen-v0", "envgen-adaptive", 16, **options)
    assert adaptive > mean_score("tasks/EnvGen-v0", "envgen-original", 16, **options) + 0.05


# Learning across worlds


def test_the_truth_explains_every_move_of_every_world() -> None:
    for rules, pays, skin in WORLDS:
        truth = Candidate(rules, skin == "inverted")
        _, moves = play(truth, (rules, pays, skin), 4, 0.5)
        assert errors(truth, moves) == 0


@pytest.mark.parametrize(("rules", "skin"), [("ice", "sea"), ("torus", "inverted")])
def test_a_method_learns_what_it_revises_and_nothing_else(rules: str, skin: str) -> None:
    world = (rules, "collect", skin)
    method = {one.name: one for one in METHODS}
    assert learn(method["none"], world) == Candidate()
    assert learn(method["rules"], world).turned is False
    assert learn(method["words"], world).rules == "plain"
    scores = compare([world], [method["none"], method["both"]], range(200, 206))
    assert scores["both"][0] > scores["none"][0] + 0.2
    assert scores["best for each world"][0] == max(scores["both"][0], scores["none"][0])


def test_who_believes_the_truth_is_paid_the_optimum() -> None:
    for world in WORLDS[::5]:
        truth = Candidate(world[0], world[2] == "inverted")
        assert [play(truth, world, seed)[0] for seed in range(3)] == [1.0] * 3


def test_selection_of_the_best_and_of_the_front() -> None:
    a, b, c = Candidate("ice"), Candidate("torus"), Candidate("stride")
    scores = {a: (1.0, 0.0), b: (0.0, 0.9), c: (0.0, 0.5)}
    assert select(scores) == [a]
    assert set(select(scores, "pareto")) == {a, b}, "c is no better than b anywhere"


def test_a_component_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidOption, match="'rules' or 'words'"):
        revise(Candidate(), "prompt", [])


# AgentGym


def test_one_agent_plays_all_fourteen_kinds() -> None:
    means = survey(episodes=1)
    assert set(means) == set(installed_kinds())


def test_every_kind_is_an_environment() -> None:
    assert len(KINDS) == 14
    for env, options in installed_kinds().values():
        assert palestra.game(env, **options)


def test_kinds_are_split_as_in_the_authors_table() -> None:
    # trajectories of 11 kinds; WebArena, Academia and Sheet have tasks for evaluation alone
    assert (len(kinds_of("held-in")), len(kinds_of("held-out"))) == (11, 3)
    assert sorted(kinds_of("held-in") + kinds_of("held-out")) == sorted(kinds_of("all"))
    assert set(survey(episodes=1, split="held-out")) <= set(kinds_of("held-out"))
    with pytest.raises(UnknownName, match="held-out"):
        kinds_of("heldout")


def test_the_loop_reaches_the_optimum_of_a_small_world() -> None:
    world = (
        "tasks/AutoEnv-v0",
        {"drawn": "none", "rules": "plain", "pays": "reach", "skin": "plain", "turns": 8},
    )
    policy, curve = evolve([world], seeds=range(2), rounds=5, episodes=25)
    assert curve[-1] > curve[0] + 0.2
    assert policy.weights


@pytest.mark.parametrize("skin", ["plain", "sea", "inverted", "any"])
@pytest.mark.parametrize("pays", ["reach", "collect", "key", "any"])
def test_an_auto_env_tells_nothing_of_what_is_to_be_found_out(skin: str, pays: str) -> None:
    game = palestra.game("tasks/AutoEnv-v0", **ONE_OF_36, skin=skin, pays=pays)
    hints = r"meaning|opposite|invert|turn(s|ed)? .*around|reach|collect|ice|torus|stride|edge"
    assert not re.search(rf"\b({hints})\b", game.rules_for(0), re.IGNORECASE)
    for seed in range(4):
        told = palestra.Episode(game, seed).prompt(0, 0)
        assert not re.search(rf"\b({hints})\b", told, re.IGNORECASE)
