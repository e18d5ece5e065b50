"""Optima's turn tree: dialogues that branch at valuable positions, and preference pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

import palestra
from palestra import Episode, EpisodeRecord, InvalidOption, Rng

from palestra_rewards.branching import close_all, follow, open_branch
from palestra_rewards.training_rows import Row

Worth = Callable[[EpisodeRecord], float]


@dataclass(eq=False)
class TurnNode:
    """A position; its `value` is the mean score of the rollouts through it.

    `record` is the first of those rollouts and `step` the number of the step that led here; the
    root has neither.
    """

    episode: Episode
    record: EpisodeRecord | None = None
    step: int = -1
    text: str = ""
    scores: list[float] = field(default_factory=list)
    children: list[TurnNode] = field(default_factory=list)
    expanded: bool = False

    @property
    def value(self) -> float:
        """The mean score of the rollouts that came by."""
        return sum(self.scores) / len(self.scores)

    def below(self) -> list[TurnNode]:
        """This node and all its descendants."""
        return [self, *(node for child in self.children for node in child.below())]


@dataclass
class TurnTree:
    """`records` are all the complete rollouts; the tree merges the steps that they share."""

    root: TurnNode
    records: list[EpisodeRecord]

    def pairs(self, *, least: float = 0.4, gap: float = 0.2, keep: float = 0.5) -> list[Row]:
        """Preference pairs of siblings, as rows: prompt, chosen, rejected, and gap of their values.

        The chosen answer is worth more than `least` and the rejected one at least `gap` less. Of
        all such pairs, the share `keep` with the most valuable chosen answers is returned. Only
        steps in which one seat decides make pairs.
        """
        found = []
        for node in self.root.below():
            alone = [child for child in node.children if len(_turns(child)) == 1]
            for better in alone:
                for worse in alone:
                    far = better.value - worse.value >= gap > 0
                    if far and better.value > least:
                        found.append((node, better, worse))
        found.sort(key=lambda pair: -pair[1].value)
        return [_row(*pair) for pair in found[: max(1, round(keep * len(found)))]]


def turn_tree(
    env: Any,
    *,
    agents: Any,
    expansions: int = 8,
    branches: int = 3,
    seed: int = 0,
    score: Worth | None = None,
    similar: float = 0.25,
    top: int = 10,
    temperature: float = 0.2,
    invalid: str = "retry:2",
    max_episode_steps: int | None = None,
    **options: Any,
) -> TurnTree:
    """Grow a tree from one start: `expansions` nodes, `branches` rollouts to the end from each.

    The root is expanded first. Then a node is drawn from the `top` most valuable ones, with
    probability proportional to exp(value / `temperature`). Nodes without a continuation, those
    already expanded, and those whose text is closer than `similar` to an expanded one (edit
    distance divided by the longer length) are left out. `score` returns the worth of a rollout, by
    default the mean return of its seats. Chen et al., "Optima" (2024).
    """
    if expansions < 1 or branches < 1 or temperature <= 0:
        raise InvalidOption(
            f"expansions and branches must be at least 1, temperature above 0; not {expansions}, "
            f"{branches} and {temperature}"
        )
    start, seated = open_branch(env, agents, seed, options)
    worth = score or (lambda record: sum(record.returns) / len(record.returns))
    tree, rng = TurnTree(TurnNode(start), []), Rng.seeded(seed)
    try:
        for _ in range(expansions):
            node = _pick(tree.root, rng, similar=similar, top=top, temperature=temperature)
            if node is None:
                break
            node.expanded = True
            records = palestra.rollouts(
                start.game,
                agents=seated,
                n=branches,
                seed=seed + 1 + len(tree.records),
                start=node.episode,
                invalid=invalid,
                max_episode_steps=max_episode_steps,
            )
            for record in records:
                _add(tree, record, worth(record))
    finally:
        close_all(seated)
    return tree


def _add(tree: TurnTree, record: EpisodeRecord, score: float) -> None:
    """Add a rollout to the tree, from the root to its end."""
    tree.records.append(record)
    node = tree.root
    node.scores.append(score)
    for number, step in enumerate(record.steps):
        if not step.turns:
            break  # it was cut off here
        text = "\n".join(f"{turn.seat}: {turn.text}" for turn in step.turns)
        child = next((one for one in node.children if one.text == text), None)
        if child is None:
            episode = node.episode.fork()
            follow(episode, step)
            child = TurnNode(episode, record, number, text)
            node.children.append(child)
        child.scores.append(score)
        node = child


def _pick(
    root: TurnNode, rng: Rng, *, similar: float, top: int, temperature: float
) -> TurnNode | None:
    if not root.expanded:
        return None if root.episode.over else root
    nodes = root.below()
    seen = [node.text for node in nodes if node.expanded and node is not root]
    able = [
        node
        for node in nodes
        if not node.expanded
        and any(not child.episode.over for child in node.children)
        and all(apart(node.text, one) >= similar for one in seen)
    ]
    best = sorted(able, key=lambda node: -node.value)[:top]
    if not best:
        return None
    highest = best[0].value
    return best[rng.weighted([exp((node.value - highest) / temperature) for node in best])]


def apart(one: str, other: str) -> float:
    """The edit distance of two texts divided by the length of the longer one, from 0 to 1."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_distance(one, other)


def _turns(node: TurnNode) -> Sequence[Any]:
    return node.record.steps[node.step].turns if node.record is not None else ()


def _row(node: TurnNode, better: TurnNode, worse: TurnNode) -> Row:
    chosen, rejected = (_turns(child)[0] for child in (better, worse))
    episode, seat = node.episode, chosen.seat
    return {
        "prompt": [
            {"role": "system", "content": episode.game.rules_for(seat)},
            {"role": "user", "content": episode.prompt(seat, 0)},
        ],
        "chosen": [{"role": "assistant", "content": chosen.raw or chosen.text}],
        "rejected": [{"role": "assistant", "content": rejected.raw or rejected.text}],
        "gap": better.value - worse.value,
    }
