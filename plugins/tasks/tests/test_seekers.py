"""Seekers: another reader of what they say, imagined ones by rejection, shortcuts that fail."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import msgspec
import networkx as nx
import palestra
import pytest
from palestra import InvalidOption, Rng, Turn
from palestra.kernel.registry import registry
from palestra.testing.kit import CHECKS, Subject, run_check
from palestra_tasks.clinic import seekers
from palestra_tasks.clinic.counselling import (
    Close,
    Counselling,
    Offer,
    Recall,
    Say,
    Touch,
)
from palestra_tasks.clinic.counsellors import Heard, QuickCounsellor, TracingCounsellor
from palestra_tasks.clinic.feelings import MOVES, SUITS, Chain, Felt, imagine_moves, modulate
from palestra_tasks.clinic.seekers import (
    BELIEFS,
    OPENERS,
    POOLS,
    TOPICS,
    Act,
    Seeker,
    draw_seeker,
    imagine_seeker,
    line_of,
)

SIZES = ("small", "medium", "large")
SPLITS = registry().environment("tasks/Counselling-v0").splits


def drawn(seed: int, size: str = "medium", beliefs: str = "common") -> Seeker:
    return draw_seeker(Rng.seeded(seed), size, beliefs)


def structure(seeker: Seeker) -> Any:
    """A seeker without the names of topics and manners: what is beside them in every complaint."""
    return (
        seeker.start,
        *sorted((tree.belief, tree.answer, _nested(seeker, tree, 0)) for tree in seeker.trees),
    )


def _nested(seeker: Seeker, tree: seekers.Tree, one: int) -> Any:
    way = seeker.way[seekers.MANNERS.index(tree.manners[one])]
    here = (tree.needs[one], tree.tried[one], way, one == tree.named)
    return (*here, *sorted(_nested(seeker, tree, other) for other in tree.below(one)))


@pytest.mark.parametrize("size", SIZES)
def test_no_two_of_many_seekers_have_the_same_structure(size: str) -> None:
    game = Counselling(**SPLITS[size])
    found = [game.initial_state(seed).inner for seed in range(2000)]
    assert len({structure(inner) for inner in found if inner}) >= 1999


@pytest.mark.parametrize("size", SIZES)
def test_held_out_seekers_believe_what_no_other_does(size: str) -> None:
    for beliefs, others in (("common", "rare"), ("rare", "common")):
        split = size if beliefs == "common" else f"held-out-{size}"
        states = [Counselling(**SPLITS[split]).initial_state(seed) for seed in range(200)]
        held = {tree.belief for state in states if state.inner for tree in state.inner.trees}
        assert held == set(POOLS[beliefs])
        assert not held & set(POOLS[others])
        answers = {frozenset(BELIEFS[belief]["steps"]) for belief in held}
        assert not answers & {frozenset(BELIEFS[other]["steps"]) for other in POOLS[others]}


@pytest.mark.parametrize("size", SIZES)
def test_what_helps_follows_from_what_all_topics_tell(size: str) -> None:
    """Read by networkx: the trees of all that is told, and the step that nobody tried there."""
    for seed in range(60):
        seeker = drawn(seed, size, "all")
        told = {topic: seeker.told(topic) for topic in seeker.places}
        graph: nx.Graph[str] = nx.Graph()
        for topic, said in told.items():
            graph.add_node(topic)
            for cause in re.findall(r"It comes from (.+?)\.", said):
                graph.add_edge(topic, cause)
        helps = {}
        for part in nx.connected_components(graph):
            tried = {re.findall(r"tried to (\w+)", told[topic])[0] for topic in part}
            (root,) = (topic for topic in part if "comes from" not in told[topic])
            (belief,) = (b for b in BELIEFS.values() if b["says"] in told[root])
            (helps[root],) = set(belief["steps"]) - tried
        assert helps == {tree.topics[0]: tree.answer for tree in seeker.trees}
        assert nx.is_forest(graph)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seats", [1, 2])
def test_the_reference_finds_what_helps(size: str, seats: int) -> None:
    for split in (size, f"held-out-{size}"):
        options = {**SPLITS[split], "num_players": seats}
        records = palestra.play(
            "tasks/Counselling-v0", agents="counsellor-tracing", episodes=6, **options
        )
        assert sum(record.returns[0] for record in records) / 6 > 0.9


class Untold(Heard):
    """Offers a step that suits the belief and forgets what was tried."""

    def step(self, root: str) -> str:
        told = self.told()
        return str(next(b["steps"] for b in BELIEFS.values() if b["says"] in told[root])[0])


class AllTried(Heard):
    """Takes what was tried for any root as tried for all."""

    def step(self, root: str) -> str:
        told = self.told()
        suits = next(b["steps"] for b in BELIEFS.values() if b["says"] in told[root])
        tried = {re.findall(r"tried to (\w+)", said)[0] for said in told.values()}
        return str(next((step for step in suits if step not in tried), suits[0]))


class OneWay(Heard):
    """Tries the moves in their order for every topic, whatever reached the seeker before."""

    def next_move(self, topic: str) -> str:
        words = re.findall(r"(?:Missed: |, )\w+ (\w+)", self.position.split("Reached:")[1])
        return OPENERS[len(words) % len(OPENERS)]


class Blind(Heard):
    """Offers the commonest step to whoever has opened, root or not."""

    def next_offer(self, *, thorough: bool) -> str:
        return next((topic for topic in self.told() if topic not in self.offered()), "")

    def step(self, root: str) -> str:
        return "talk"


@pytest.mark.parametrize("reading", [Untold, AllTried, OneWay, Blind, None])
def test_no_shortcut_earns_nine_tenths_of_the_reference(
    reading: type[Heard] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = TracingCounsellor() if reading else QuickCounsellor()
    if reading:
        monkeypatch.setattr("palestra_tasks.clinic.counsellors.Heard", reading)
    paid = 0.0
    for seed in range(40):
        episode = palestra.Episode(Counselling(**SPLITS["large"]), seed)
        while not episode.over:
            episode.act({0: agent.choose(Turn(episode, 0))})
        paid += episode.returns[0]
    assert paid / 40 < 0.85


def test_an_offer_before_its_root_has_opened_is_lost() -> None:
    game = Counselling(**SPLITS["small"])
    episode = palestra.Episode(game, 3)
    tree = episode.state.inner.trees[0]
    episode.act({0: Offer(tree.topics[0], tree.answer, "Try this.")})
    assert "does not take up" in episode.log[-1][0].text
    again = Offer(tree.topics[0], tree.answer, "Try this.")
    assert game.legal(episode.state, 0).problem(again) is not None


def test_a_topic_that_nobody_named_says_nothing_of_whether_it_weighs() -> None:
    for seed in range(20):
        inner = drawn(seed)
        for topic in TOPICS:
            if topic not in inner.named:
                act = seekers.ask(inner, (), 0, topic)
                assert line_of(inner, act) == f"The seeker has nothing to say about {topic} now."


def test_readiness_follows_by_hand() -> None:
    results = [(0, "missed"), (0, "early"), (0, "opened"), (0, "hurt"), (1, "early"), (3, "missed")]
    acts = [Act(session, "move", "work", "ask", result) for session, result in results]  # type: ignore[arg-type]
    # 2 - 1 + 1 + 1 - 2 = 1; then a session: 0 + 1 = 1; two sessions: 0; no less than 0
    assert [seekers.readiness(2, acts[:n], s) for n, (s, _) in enumerate(results, 1)] == [
        1, 2, 3, 1, 1, 0,
    ]  # fmt: skip
    assert seekers.readiness(2, acts[:3], 2) == 1


PLANS: dict[str, list[Any]] = {
    "asked": ["ask 0"],
    "pressed": ["ask 0", "reflect", "inform", "affirm", "reflect"],
    "both": ["ask 0", "reflect", "affirm", "ask 1", "affirm", "summarise", "affirm"],
}


def acted(seeker: Seeker, plan: list[str]) -> tuple[Act, ...]:
    acts: tuple[Act, ...] = ()
    for word in plan:
        if word.startswith("ask "):
            topic = seeker.named[int(word[4:])]
            acts += (seekers.ask(seeker, acts, 0, topic),)
        else:
            acts += (seekers.move(seeker, acts, 0, word),)
    return acts


def read(seeker: Seeker, acts: tuple[Act, ...]) -> Any:
    return seeker.named, tuple(line_of(seeker, act) for act in acts)


@pytest.mark.parametrize("plan", PLANS)
def test_imagined_seekers_say_what_was_said(plan: str) -> None:
    for seed in range(12):
        true = drawn(seed, "large", "all")
        acts = acted(true, PLANS[plan])
        other = [imagine_seeker(true, acts, Rng(n)) for n in range(12)]
        assert all(read(one, acted(one, PLANS[plan])) == read(true, acts) for one in other)
        assert len({one.trees for one in other}) > 9
        assert all(len(one.places) == sum(len(t.topics) for t in one.trees) for one in other)


def test_imagined_seekers_are_as_likely_as_drawn_ones_that_say_the_same() -> None:
    """By rejection: of drawn seekers, those whose first topic opens as it did in shape and words.

    Topics are compared by whether they were named, since any is as likely as any other.
    """

    def shown(seeker: Seeker) -> Any:
        tree, one = seeker.places[seeker.named[0]]
        acts = acted(seeker, ["ask 0", "reflect"])
        opened = acts[-1].result == "opened"
        return acts[-1].result, tree.manners[one], tree.tried[one] if opened else ""

    def hidden(seeker: Seeker) -> Any:
        tree = seeker.trees[0]
        return len(tree.above), tree.belief, tree.answer, seeker.start

    rng = Rng.seeded(4)
    true = next(
        s
        for n in range(99)
        if shown(s := drawn(n, "small"))[0] == "opened" and s.trees[0].named > 0
    )
    acts = acted(true, ["ask 0", "reflect"])
    alike = Counter(
        hidden(s)
        for s in (draw_seeker(rng, "small", "common") for _ in range(30_000))
        if shown(s) == shown(true) and s.trees[0].named > 0
    )
    imagined = Counter(hidden(imagine_seeker(true, acts, rng)) for _ in range(2000))
    total = sum(alike.values())
    assert total > 80
    far = sum(abs(alike[x] / total - imagined[x] / 2000) for x in alike | imagined) / 2
    assert far < 1.5 * (len(alike | imagined) / (6 * total)) ** 0.5 + 0.02


def test_imagined_kinds_of_moves_are_as_likely_as_drawn_ones_that_feel_the_same() -> None:
    """By rejection: moves of random kinds, of which those are kept that feel as the true ones."""
    chain, start, length = Chain((), ()), 3, 3
    adds = dict(zip(MOVES, (3, 9, 6, 7, 2, -3, -10, -18), strict=True))

    def lived(rng: Rng) -> tuple[tuple[str, ...], int, tuple[Felt, ...]]:
        trust, emotion, voiced = rng.between(5, 25), start, 0
        felt: list[Felt] = []
        kinds: list[str] = []
        for _ in range(length):
            kinds.append(rng.choice(MOVES))
            more, suited = adds[kinds[-1]], kinds[-1] == SUITS[emotion]
            trust = max(0, trust + (more if suited else min(-2, more)))
            after = modulate(emotion, kinds[-1], rng.below(100))
            voiced += chain.voices(voiced, trust, after, frozenset())
            felt.append(Felt(0, emotion, after, voiced))
            emotion = after
        return tuple(kinds), trust, tuple(felt)

    rng = Rng.seeded(8)
    felt = (Felt(0, 3, 3, 1), Felt(0, 3, 2, 1), Felt(0, 2, 1, 1))
    alike = Counter(k[-1] for k, _, f in (lived(rng) for _ in range(100_000)) if f == felt)
    found = [imagine_moves(chain, felt, 0, rng) for _ in range(2400)]
    imagined = Counter(kinds[-1] for kinds, _ in found)
    total = sum(alike.values())
    assert total > 200
    far = sum(abs(alike[k] / total - imagined[k] / 2400) for k in MOVES) / 2
    assert far < 0.08


def test_recalled_notes_show_what_was_told_before() -> None:
    episode = palestra.Episode(Counselling(seeker="small", sessions=2, length=9), 1)
    topic = episode.state.inner.named[0]
    episode.act({0: Touch(topic, "How is it?")})
    assert f"about {topic} and says no more" in episode.describe(0)
    episode.act({0: Close()})
    assert f"about {topic} and says no more" not in episode.describe(0)
    episode.act({0: Recall()})
    assert f"about {topic} and says no more" in episode.describe(0)


def test_words_to_a_generated_seeker_change_nothing() -> None:
    said = []
    for words in ("That sounds heavy.", "Shut up."):
        episode, agent = palestra.Episode(Counselling(**SPLITS["small"]), 2), TracingCounsellor()
        while not episode.over:
            action = agent.choose(Turn(episode, 0))
            if isinstance(action, Say | Touch | Offer):
                action = msgspec.structs.replace(action, text=words)
            episode.act({0: action})
        said.append((episode.returns, [event.text for step in episode.log for event in step]))
    assert said[0] == said[1]
    assert said[0][0] == [1.0]


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_generated_seeker_with_two_seats_passes_the_conformance_tests(check: str) -> None:
    options = {"num_players": 2, "seeker": "medium", "beliefs": "rare", "length": 6}
    verdict = run_check(Subject(registry().environment("tasks/Counselling-v0"), options), check)
    assert verdict.status != "failed", verdict.detail


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seeker": "chain", "beliefs": "rare"}, "set seeker to small"),
        ({"seeker": "small", "depth": "deep"}, "set one of the two"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidOption, match=words):
        Counselling(**options)
