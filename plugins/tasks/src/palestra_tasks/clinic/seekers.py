"""Seekers with a generated inner structure: what weighs on them, why, and what reaches them.

Complaints lie in topics and form trees: each comes from another one, down to a root (`Tree`). A
seeker names one topic of each tree. A topic can be asked about once it was named; the seeker then
shows a manner, such as tense. Which move reaches them in which manner differs from seeker to seeker
(`Seeker.way`). A topic that is reached opens if the seeker is ready for it, which comes with moves
that reach them and goes with others. What opens tells where it comes from, what else comes from
it, and a step that was tried in vain; a root tells the belief behind it. Of the three steps that
suit a belief two were tried, and told in two topics of the tree. The third helps.

What the counsellor did is a list of acts with their results. All else is derived from it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from itertools import permutations
from typing import Any, Literal

from palestra import Rng

WORDS: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("seekers.toml").read_text(encoding="utf-8")
)
TOPICS: tuple[str, ...] = tuple(WORDS["topics"])
MANNERS: tuple[str, ...] = tuple(WORDS["manners"])
OPENERS: tuple[str, ...] = tuple(WORDS["openers"])
STEPS: tuple[str, ...] = tuple(WORDS["steps"])
BELIEFS: dict[str, Any] = WORDS["beliefs"]["common"] | WORDS["beliefs"]["rare"]
POOLS = {
    "common": tuple(WORDS["beliefs"]["common"]),
    "rare": tuple(WORDS["beliefs"]["rare"]),
    "all": tuple(BELIEFS),
}
WAYS = tuple(permutations(OPENERS, len(MANNERS)))
MOST_NEEDED = 3  # readiness that a topic may need
NEEDS = tuple(range(MOST_NEEDED + 1))
FIRST_READY = 2  # the most readiness at the start
READIEST = 5
# What an act adds to readiness, by its result
ADDS = {"missed": -1, "hurt": -2, "early": 1, "opened": 1}

Result = Literal[
    "unnamed", "closed", "known", "idle", "missed", "hurt", "early", "opened", "taken", "refused"
]


@dataclass(frozen=True, slots=True)
class Act:
    """What the counsellor did, and what came of it."""

    session: int
    kind: str  # "ask", "move" or "offer"
    topic: str
    word: str  # the move or the step; empty for a question
    result: Result


@dataclass(frozen=True, slots=True)
class Tree:
    """Complaints that come from one root. Lists are by complaint; the root is the first."""

    above: tuple[int, ...]  # the complaint from which one comes; -1 for the root
    named: int  # the complaint whose topic the seeker names
    topics: tuple[str, ...]
    manners: tuple[str, ...]
    needs: tuple[int, ...]  # readiness
    tried: tuple[str, ...]  # the step that is told to have been in vain
    belief: str
    answer: str  # the step that helps

    def below(self, one: int) -> tuple[int, ...]:
        """The complaints that come from one directly."""
        return tuple(n for n, above in enumerate(self.above) if above == one)

    def around(self, one: int) -> tuple[str, tuple[str, ...]]:
        """The topic from which one comes, empty for a root; and those that come from it."""
        cause = self.topics[self.above[one]] if self.above[one] >= 0 else ""
        return cause, tuple(sorted(self.topics[n] for n in self.below(one)))

    def told(self, one: int) -> str:
        """What the seeker says of a complaint that opens."""
        cause, effects = self.around(one)
        said = f"I tried to {self.tried[one]}, and it did not help."
        said += f" It comes from {cause}." if cause else f" {BELIEFS[self.belief]['says']}"
        return said + (f" It weighs on {', '.join(effects)}." if effects else "")


@dataclass(frozen=True)
class Seeker:
    """A seeker's inner structure."""

    size: str
    pool: tuple[str, ...]  # of beliefs
    trees: tuple[Tree, ...]
    way: tuple[str, ...]  # by manner, the move that reaches them
    start: int  # readiness

    @cached_property
    def places(self) -> dict[str, tuple[Tree, int]]:
        """By topic, its tree and its place there."""
        return {t: (tree, n) for tree in self.trees for n, t in enumerate(tree.topics)}

    @property
    def named(self) -> tuple[str, ...]:
        """The topics that the seeker names at first."""
        return tuple(tree.topics[tree.named] for tree in self.trees)

    def manner(self, topic: str) -> str:
        tree, one = self.places[topic]
        return tree.manners[one]

    def fits(self, topic: str, move: str) -> bool:
        """Whether a move reaches the seeker in a topic."""
        return self.way[MANNERS.index(self.manner(topic))] == move

    def told(self, topic: str) -> str:
        tree, one = self.places[topic]
        return tree.told(one)


# Drawing


def draw_seeker(rng: Rng, size: str, beliefs: str) -> Seeker:
    """A seeker of a size, with beliefs of a pool."""
    form, topics, trees = WORDS["sizes"][size], list(TOPICS), []
    rng.shuffle(topics)
    for _ in range(form["roots"]):
        count = rng.between(form["least"], form["most"])
        above, named = _draw_shape(rng, count)
        belief = rng.choice(POOLS[beliefs])
        answer = rng.choice(BELIEFS[belief]["steps"])
        tried = _draw_tried(rng, ("",) * count, belief, answer)
        mine, topics = tuple(topics[:count]), topics[count:]
        manners = tuple(rng.choice(MANNERS) for _ in mine)
        needs = tuple(rng.between(0, MOST_NEEDED) for _ in mine)
        trees.append(Tree(above, named, mine, manners, needs, tried, belief, answer))
    return Seeker(size, POOLS[beliefs], tuple(trees), rng.choice(WAYS), rng.between(0, FIRST_READY))


def _draw_shape(rng: Rng, count: int) -> tuple[tuple[int, ...], int]:
    """A tree in which each complaint comes from any earlier one, and the leaf that is named."""
    above = (-1, *(rng.below(n) for n in range(1, count)))
    return above, rng.choice([n for n in range(count) if n not in above])


def _draw_tried(rng: Rng, known: Sequence[str], belief: str, answer: str) -> tuple[str, ...]:
    """Steps tried in vain: two that suit the belief, each once, and others that do not suit it."""
    suits = BELIEFS[belief]["steps"]
    tried, open_places = list(known), [n for n, step in enumerate(known) if not step]
    rng.shuffle(open_places)
    for step in suits:
        if step != answer and step not in known:
            tried[open_places.pop()] = step
    for place in open_places:
        tried[place] = rng.choice([step for step in STEPS if step not in suits])
    return tuple(tried)


# What the acts of a counsellor have come to


def opened(acts: Iterable[Act]) -> tuple[str, ...]:
    """Topics that have opened, in this order."""
    return tuple(act.topic for act in acts if act.result == "opened")


def named(seeker: Seeker, acts: Iterable[Act]) -> frozenset[str]:
    """Topics that the seeker has named, of their own accord or in what they told."""
    found = set(seeker.named)
    for topic in opened(acts):
        tree, one = seeker.places[topic]
        cause, effects = tree.around(one)
        found |= {*effects, *([cause] if cause else [])}
    return frozenset(found)


def discussed(acts: Sequence[Act], session: int) -> str:
    """The topic that was asked about last in a session; empty for none."""
    asked = (a.topic for a in reversed(acts) if a.kind == "ask" and a.session == session)
    return next(asked, "")


def readiness(start: int, acts: Iterable[Act], session: int) -> int:
    """How ready a seeker is; one is lost between sessions."""
    ready, at = start, 0
    for act in acts:
        ready, at = max(0, ready - (act.session - at)), act.session
        ready = max(0, min(READIEST, ready + ADDS.get(act.result, 0)))
    return max(0, ready - (session - at))


def helped(acts: Iterable[Act]) -> int:
    """How many roots got a step that helps."""
    return sum(act.result == "taken" for act in acts)


def ask(seeker: Seeker, acts: tuple[Act, ...], session: int, topic: str) -> Act:
    """Ask about a topic."""
    result: Result = "closed" if topic in named(seeker, acts) else "unnamed"
    return Act(session, "ask", topic, "", "known" if topic in opened(acts) else result)


def move(seeker: Seeker, acts: tuple[Act, ...], session: int, word: str) -> Act:
    """Make a move in the topic that is being discussed."""
    topic = discussed(acts, session)
    return Act(session, "move", topic, word, _result_of(seeker, acts, session, word))


def _result_of(seeker: Seeker, acts: tuple[Act, ...], session: int, word: str) -> Result:
    topic = discussed(acts, session)
    if word in ("confront", "dismiss"):
        return "hurt"
    if topic not in named(seeker, acts) or topic in opened(acts):
        return "idle"
    if not seeker.fits(topic, word):
        return "missed"
    tree, one = seeker.places[topic]
    return "opened" if readiness(seeker.start, acts, session) >= tree.needs[one] else "early"


def offer(seeker: Seeker, acts: tuple[Act, ...], session: int, topic: str, step: str) -> Act:
    """Offer a step for a topic: it helps at a root that has opened, if it is the right one."""
    helps = False
    if topic in opened(acts):
        tree, one = seeker.places[topic]
        helps = one == 0 and tree.answer == step
    return Act(session, "offer", topic, step, "taken" if helps else "refused")


def line_of(seeker: Seeker, act: Act) -> str:
    """What an act comes to, in words."""
    topic = act.topic
    if act.result in ("opened", "known"):
        return f"The seeker opens up about {topic}: {seeker.told(topic)}"
    manner = seeker.manner(topic) if act.result in ("closed", "missed", "early") else ""
    return {
        "unnamed": f"The seeker has nothing to say about {topic} now.",
        "closed": f"The seeker is {manner} about {topic} and says no more.",
        "idle": "The seeker waits.",
        "missed": f"The seeker stays {manner} about {topic}: {act.word} does not reach them.",
        "hurt": "That hurts the seeker, who draws back.",
        "early": (
            f"The move {act.word} reaches the seeker, who is {manner} about {topic}, but they are "
            "not ready to say more."
        ),
        "taken": f"The seeker takes up the step for {topic}: {act.word}.",
        "refused": f"The seeker does not take up the step for {topic}: {act.word}.",
    }[act.result]


# Imagining


def imagine_seeker(true: Seeker, acts: Sequence[Act], rng: Rng) -> Seeker:
    """A seeker drawn from its chances, given what the counsellor was told."""
    start, needs = _imagine_readiness(acts, rng)
    way = rng.choice([way for way in WAYS if _agrees(true, way, acts)])
    free = [topic for topic in TOPICS if topic not in named(true, acts)]
    rng.shuffle(free)
    asked = {act.topic for act in acts if act.result == "closed"}
    trees = []
    for tree in true.trees:
        shape = _imagine_tree(true, tree, acts, rng)
        topics = tuple(topic or free.pop() for topic in shape.topics)
        manners = tuple(true.manner(t) if t in asked else rng.choice(MANNERS) for t in topics)
        needed = tuple(rng.choice(needs.get(t, NEEDS)) for t in topics)
        trees.append(replace(shape, topics=topics, manners=manners, needs=needed))
    return replace(true, trees=tuple(trees), way=way, start=start)


def imagine_way(true: Seeker, acts: Sequence[Act], rng: Rng) -> Seeker:
    """A seeker with drawn readiness, and drawn moves that reach them, given what acts came to."""
    start, needs = _imagine_readiness(acts, rng)
    way = rng.choice([way for way in WAYS if _agrees(true, way, acts)])
    trees = tuple(
        replace(tree, needs=tuple(rng.choice(needs.get(t, NEEDS)) for t in tree.topics))
        for tree in true.trees
    )
    return replace(true, trees=trees, way=way, start=start)


def _agrees(true: Seeker, way: tuple[str, ...], acts: Iterable[Act]) -> bool:
    """Whether moves would reach a seeker of this way as they did."""
    return all(
        (way[MANNERS.index(true.manner(act.topic))] == act.word) == (act.result != "missed")
        for act in acts
        if act.result in ("missed", "early", "opened")
    )


def _imagine_readiness(acts: Sequence[Act], rng: Rng) -> tuple[int, dict[str, tuple[int, ...]]]:
    """The readiness at the start, and by topic what it may need."""
    found = [_needs_from(start, acts) for start in range(FIRST_READY + 1)]
    weights = []
    for needs in found:
        weight = 1.0
        for some in needs.values():
            weight *= len(some) / len(NEEDS)
        weights.append(weight)
    start = rng.weighted(weights)
    return start, found[start]


def _needs_from(start: int, acts: Sequence[Act]) -> dict[str, tuple[int, ...]]:
    """By topic, the needs with which acts come to what they did after a start."""
    needs: dict[str, tuple[int, ...]] = {}
    for n, act in enumerate(acts):
        if act.result in ("early", "opened"):
            ready = readiness(start, acts[:n], act.session)
            some = needs.get(act.topic, NEEDS)
            needs[act.topic] = tuple(x for x in some if (x <= ready) == (act.result == "opened"))
    return needs


def _imagine_tree(true: Seeker, tree: Tree, acts: Sequence[Act], rng: Rng) -> Tree:
    """A tree in which what opened reads as it did; topics that were not named are empty."""
    form = WORDS["sizes"][true.size]
    told = [topic for topic in opened(acts) if topic in tree.topics]
    cases = [
        (count, belief, answer)
        for count in range(form["least"], form["most"] + 1)
        for belief in true.pool
        for answer in BELIEFS[belief]["steps"]
    ]
    weights = [_weight(tree, told, acts, *case) for case in cases]
    while True:
        count, belief, answer = cases[rng.weighted(weights)]
        above, first = _draw_shape(rng, count)
        topics = _labelled(tree, told, above, first, rng)
        if topics:
            known = [tree.tried[tree.topics.index(t)] if t in told else "" for t in topics]
            tried = _draw_tried(rng, known, belief, answer)
            blank = ("",) * count
            return Tree(above, first, topics, blank, (), tried, belief, answer)


def _weight(
    tree: Tree, told: Sequence[str], acts: Sequence[Act], count: int, belief: str, answer: str
) -> float:
    """How likely steps told and offers refused are in a tree of so many complaints."""
    root, suits = tree.topics[0], BELIEFS[belief]["steps"]
    if count < len(told) or (root in told and belief != tree.belief):
        return 0.0
    for n, act in enumerate(acts):
        offered = act.kind == "offer" and act.topic == root and root in opened(acts[:n])
        if offered and (act.word == answer) != (act.result == "taken"):
            return 0.0
    known = [tree.tried[tree.topics.index(topic)] for topic in told]
    suited = [step for step in known if step in suits]
    if answer in known or len(set(suited)) < len(suited):
        return 0.0
    hidden, missing, weight = count - len(known), 2 - len(suited), 1 / (count * (count - 1))
    for n in range(missing):
        weight *= max(0, hidden - n)
    return weight / float((len(STEPS) - len(suits)) ** (len(known) - len(suited)))


def _labelled(
    tree: Tree, told: Sequence[str], above: tuple[int, ...], first: int, rng: Rng
) -> tuple[str, ...]:
    """Topics for a shape, empty where they were not named; nothing if it cannot be the tree's."""
    shape = replace(tree, above=above)
    topics = [""] * len(above)
    topics[first] = tree.topics[tree.named]
    for topic in told:
        cause, effects = tree.around(tree.topics.index(topic))
        if topic not in topics:
            return ()
        one = topics.index(topic)
        below, named_below = shape.below(one), list(effects)
        if bool(cause) != (above[one] >= 0) or len(below) != len(effects):
            return ()
        if cause:
            topics[above[one]] = cause
        for n in below:
            if topics[n]:
                named_below.remove(topics[n])
        rng.shuffle(named_below)
        for n in below:
            topics[n] = topics[n] or named_below.pop()
    return tuple(topics)
