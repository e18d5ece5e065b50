"""Drawn worlds: laws carried out by hand, distances by networkx, optima by listing all plans."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra.kernel.registry import registry
from palestra.testing.kit import Subject, run_check
from palestra_tasks.worlds.attempts import Panel
from palestra_tasks.worlds.autoenv import AutoEnv, Press
from palestra_tasks.worlds.panel_beliefs import imagine
from palestra_tasks.worlds.panels import (
    BAIT,
    ENDING,
    PAYS,
    RARE,
    SIZES,
    World,
    distances,
    good_targets,
    optimum,
)

SPLITS = {
    name: options
    for name, options in registry().environment("tasks/AutoEnv-v0").splits.items()
    if options["drawn"] != "none"
}


def panel_of(split: str, seed: int) -> Panel:
    panel = AutoEnv(**SPLITS[split]).initial_state(seed).panel
    assert panel is not None
    return panel


def changed(dials: list[int], effect: Any, top: int) -> list[int]:
    """The dials after an effect, by what its name says."""
    kind, one, other = effect
    x, y, new = dials[one], dials[other], list(dials)
    if kind == "raise":
        new[one] = x + 1 if x < top else top
    elif kind == "lower":
        new[one] = x - 1 if x else 0
    elif kind == "turn":
        new[one] = 0 if x == top else x + 1
    elif kind == "turn back":
        new[one] = top if x == 0 else x - 1
    elif kind in ("empty", "fill"):
        new[one] = 0 if kind == "empty" else top
    elif kind in ("copy", "contrast"):
        new[one] = y if kind == "copy" else top - y
    elif x != y:
        nearer = x + 1 if x < y else x - 1
        farther = max(0, x - 1) if x < y else min(top, x + 1)
        new[one] = nearer if kind == "pull" else farther
    return new


def after(world: World, dials: tuple[int, ...], button: int) -> tuple[int, ...]:
    condition, main, side = world.grammar.law(world.laws[button])
    how, dial, value = condition
    if how != "always" and (dials[dial] == value) != (how == "is"):
        return dials
    top = SIZES[world.level].values - 1
    new = changed(list(dials), main, top)
    return tuple(changed(new, side, top) if side else new)


@pytest.mark.parametrize("split", sorted(SPLITS))
def test_laws_do_what_their_names_say(split: str) -> None:
    for seed in range(6):
        world = panel_of(split, seed).world
        digits = [tuple(one) for one in world.grammar.digits.tolist()]
        for button in range(len(world.laws)):
            found = [digits[world.press(state, button)] for state in range(len(digits))]
            assert found == [after(world, dials, button) for dials in digits]


def graph_of(world: World) -> nx.DiGraph:
    states = map(tuple, world.grammar.digits.tolist())
    buttons = range(len(world.laws))
    return nx.DiGraph((one, after(world, one, n)) for one in states for n in buttons)


@pytest.mark.parametrize("split", ["small", "held-out-medium", "large"])
def test_distances_and_targets_are_those_of_networkx(split: str) -> None:
    for seed in range(6):
        world = panel_of(split, seed).world
        rules, size = world.grammar, SIZES[world.level]
        digits = [tuple(one) for one in rules.digits.tolist()]
        far = nx.single_source_shortest_path_length(graph_of(world), digits[world.start])
        found = distances(rules, world.laws, world.start)
        assert [far.get(one, 99) for one in digits] == found.tolist()
        fewest = [
            min((n for one, n in far.items() if all(one[d] == v for d, v in target)), default=99)
            for target in rules.targets
        ]
        wanted = [n for n, steps in enumerate(fewest) if size.near <= steps <= size.length]
        assert good_targets(rules, world.laws, world.start).tolist() == wanted


def listed(world: World) -> float:
    """The largest return over all plans, by what pays in words."""
    size, best = SIZES[world.level], -9.0
    target = world.grammar.targets[world.target]
    bait = (target[0][0], (target[0][1] + 1) % size.values)

    def share(dials: tuple[int, ...]) -> float:
        return sum(dials[d] == v for d, v in target) / len(target)

    start = tuple(world.grammar.digits[world.start].tolist())
    for plan in product(range(size.buttons), repeat=size.length):
        dials, total = start, 0.0
        for button in plan:
            before, dials = dials, after(world, dials, button)
            if world.pays in ("dense", "delayed"):
                total += share(dials) - share(before)
            elif world.pays in ENDING:
                lured = world.pays == "misleading" and share(dials) < 1
                total += BAIT * (lured and dials[bait[0]] == bait[1]) + (share(dials) == 1)
                if share(dials) == 1:
                    break
        best = max(best, float(share(dials) == 1) if world.pays == "binary" else total)
    return best


@pytest.mark.parametrize("pays", PAYS)
def test_the_optimum_is_that_of_all_plans(pays: str) -> None:
    seeds = [seed for seed in range(60) if panel_of("small", seed).world.pays == pays][:3]
    for seed in seeds:
        world = panel_of("small", seed).world
        assert optimum(world) == pytest.approx(listed(world))


def form(panel: Panel) -> Any:
    """The structure of a world: words, names, order and numbers not counted."""
    rules = panel.world.grammar
    laws = [rules.law(one) for one in panel.world.laws]
    target = [dial for dial, _ in rules.targets[panel.world.target]]
    forms = []
    for new in permutations(range(rules.size.dials)):
        told = sorted(
            (how, new[dial] if how != "always" else -1, main[0], new[main[1]], new[main[2]],
             (side[0], new[side[1]]) if side else ())
            for (how, dial, _), main, side in laws
        )  # fmt: skip
        unseen = new[-1] if panel.sight == "part" else -1
        forms.append((told, sorted(new[dial] for dial in target), unseen))
    return repr((min(forms), panel.world.pays, panel.sight))


@pytest.mark.parametrize("split", sorted(SPLITS))
def test_hardly_two_worlds_are_alike(split: str) -> None:
    assert len({form(panel_of(split, seed)) for seed in range(400)}) >= 399


def test_held_out_worlds_have_an_effect_that_no_other_has() -> None:
    for split in SPLITS:
        for seed in range(150):
            world = panel_of(split, seed).world
            kinds = {world.grammar.law(one)[1][0] for one in world.laws}
            assert bool(kinds & set(RARE)) == split.startswith("held-out")


def test_words_tell_the_effect_its_opposite_or_nothing() -> None:
    opposite = {"raise": "lower", "turn": "turn back", "empty": "fill", "copy": "contrast",
                "pull": "push"}  # fmt: skip
    opposite |= {two: one for one, two in opposite.items()}
    for seed in range(60):
        panel = panel_of("held-out-large", seed)
        for law, label in zip(panel.world.laws, panel.labels, strict=True):
            kind, *dials = panel.world.grammar.law(law)[1]
            told = {"plain": kind, "inverted": opposite[kind], "made-up": None}[panel.world.words]
            assert label == (told and (told, *dials))


def press_on(split: str, seed: int, presses: int) -> palestra.Episode:
    episode, rng = palestra.Episode(AutoEnv(**SPLITS[split]), seed), Rng.seeded(seed, 3)
    while not episode.over and episode.steps_played < presses:
        episode.act({0: Press(rng.between(1, SIZES[SPLITS[split]["drawn"]].buttons))})
    return episode


def test_delayed_pay_sums_to_the_share_that_is_met_at_the_end() -> None:
    for seed in range(40):
        panel = panel_of("medium", seed)
        if panel.world.pays in ("dense", "delayed"):
            rng = Rng.seeded(seed)
            while not panel.over:
                panel = panel.pressed(rng.below(5))
            shares = panel.world.grammar.shares[panel.world.target]
            wanted = shares[panel.path[-1]] - shares[panel.path[0]]
            assert panel.gained == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("split", ["small", "held-out-medium"])
def test_imagined_worlds_explain_what_was_seen(split: str) -> None:
    for seed in range(12):
        panel = press_on(split, seed, 16).state.panel
        world, sight = imagine(panel.known, Rng.seeded(seed))
        if panel.sight == "noisy" or sight == "noisy":
            continue
        copy = Panel(world, sight, 0, panel.names, panel.labels, panel.words).begun()
        for number, attempt in enumerate(panel.attempts):
            for press in attempt.presses:
                copy = copy.pressed(press.button)
            copy = copy.begun() if number < len(panel.attempts) - 1 else copy
        if panel.sight == "all":
            assert copy.attempts == panel.attempts


def test_before_a_press_words_are_as_often_plain_as_inverted() -> None:
    seed = next(s for s in range(99) if panel_of("small", s).world.words == "plain")
    panel = panel_of("small", seed)
    drawn = [imagine(panel.known, Rng.seeded(n))[0].words for n in range(200)]
    assert 60 < drawn.count("plain") < 140


@pytest.mark.parametrize("split", ["small", "held-out-small"])
@pytest.mark.parametrize(
    "check",
    [
        "secrets_stay_hidden", "transcripts_keep_secrets", "imagined_worlds_keep_secrets",
        "imagined_worlds_are_dealt_as_often",
    ],
)  # fmt: skip
def test_drawn_worlds_keep_their_secrets(split: str, check: str) -> None:
    subject = Subject(registry().environment("tasks/AutoEnv-v0"), SPLITS[split])
    verdict = run_check(subject, check)
    assert verdict.status == "passed", verdict.detail


def mean_of(agent: str, split: str, episodes: int) -> float:
    records = palestra.play(
        "tasks/AutoEnv-v0", agents=agent, seed=0, episodes=episodes, **SPLITS[split]
    )
    assert not [record.error for record in records if record.error]
    return float(np.mean([record.outcome.scores[0] for record in records if record.outcome]))


@pytest.mark.slow
def test_learning_laws_beats_shortcuts() -> None:
    scores = {
        agent: mean_of(agent, "small", 14)
        for agent in ("autoenv-planner", "autoenv-replay", "autoenv-greedy")
    }
    assert scores["autoenv-planner"] > 0.15 + max(
        scores["autoenv-replay"], scores["autoenv-greedy"]
    )


def test_pay_of_the_last_attempt_alone_counts() -> None:
    for seed in range(8):
        episode = press_on("small", seed, 24)
        assert episode.over
        panel = episode.state.panel
        assert len(panel.attempts) == 4
        assert episode.returns[0] == pytest.approx(panel.gained)
        assert episode.outcome.scores[0] == pytest.approx(panel.gained / optimum(panel.world))


def test_too_few_turns_are_refused_by_name() -> None:
    with pytest.raises(InvalidOption, match=r"turns=12 is too few for drawn='large'.*at least 20"):
        AutoEnv(drawn="large", turns=12)
    with pytest.raises(InvalidOption, match=r"skin='sea' is for the 36 worlds; set drawn='none'"):
        AutoEnv(skin="sea")
