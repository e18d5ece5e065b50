"""AutoLibra: named metrics from free-form comments on episodes, and what the metrics miss.

"AutoLibra: Agent Metric Induction from Open-Ended Feedback" (2025).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Floats
from palestra_rewards.judges.scale import Scale
from palestra_rewards.judges.service import Judge, ask
from palestra_rewards.judges.showing import as_text

LEVELS = ("bad", "absent", "good")
LINE = re.compile(r"^[^\S\n]*+([+-])[^\S\n]*+(.+)", re.MULTILINE)
ALIKE = 0.5  # least cosine of words at which two behaviours count as the same


class Aspect(NamedTuple):
    """A behaviour that a comment on an episode mentions; `sign` is 1 for praise, -1 for blame."""

    behaviour: str
    sign: int
    episode: int


class Metric(NamedTuple):
    """A behaviour with good and bad examples; its name is its first mention."""

    name: str
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()

    @property
    def examples(self) -> tuple[str, ...]:
        return self.good + self.bad or (self.name,)


def read_comments(judge: Judge, comments: Sequence[str]) -> list[Aspect]:
    """The behaviours that a model finds in each comment; comment i is about episode i."""
    order = (
        "Comment on an agent: {}\nList the behaviours it praises or blames, one per line, each "
        "with + (praise) or - (blame) before it."
    )
    replies = judge.ask([ask(order.format(comment), max_tokens=128) for comment in comments])
    return [
        Aspect(behaviour.rstrip(), 1 if sign == "+" else -1, episode)
        for episode, reply in enumerate(replies)
        for sign, behaviour in LINE.findall(reply)
    ]


def induce(aspects: Sequence[Aspect], count: int) -> list[Metric]:
    """Cluster behaviours by their words into `count` metrics, with average linkage."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if not 1 <= count <= len(aspects):
        raise InvalidOption(f"count must be from 1 to {len(aspects)} (aspects), not {count}")
    if len(aspects) == 1:
        labels = np.ones(1)
    else:
        apart = 1 - likeness([one.behaviour for one in aspects])
        tree = linkage(apart[np.triu_indices(len(aspects), 1)], "average")
        labels = fcluster(tree, count, "maxclust")
    clusters = [
        [a for a, label in zip(aspects, labels, strict=True) if label == one]
        for one in dict.fromkeys(labels.tolist())
    ]
    return [
        Metric(
            members[0].behaviour,
            tuple(dict.fromkeys(a.behaviour for a in members if a.sign > 0)),
            tuple(dict.fromkeys(a.behaviour for a in members if a.sign < 0)),
        )
        for members in clusters
    ]


def likeness(texts: Sequence[str]) -> Floats:
    """Cosines of word counts weighted by rarity (TF-IDF), shape (texts, texts)."""
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    known = {word: place for place, word in enumerate(sorted({w for ws in words for w in ws}))}
    table = np.zeros((len(texts), len(known)))
    for row, said in enumerate(words):
        for word in said:
            table[row, known[word]] += 1
    table *= np.log((1 + len(texts)) / (1 + (table > 0).sum(axis=0))) + 1
    length = np.linalg.norm(table, axis=1, keepdims=True)
    table /= np.where(length > 0, length, 1)
    return np.clip(table @ table.T, 0.0, 1.0)


def rate(judge: Judge, metrics: Sequence[Metric], records: Sequence[EpisodeRecord]) -> Floats:
    """1, -1 or 0 (does not occur) for every metric of every episode: (records, metrics)."""
    scales = [Scale(_question(metric), LEVELS) for metric in metrics]
    said = judge.ask([s.request(as_text(record)) for record in records for s in scales])
    signs = [LEVELS.index(level) - 1.0 for level in said]
    return np.array(signs).reshape(len(records), len(metrics))


def _question(metric: Metric) -> str:
    question = [f"How did the agent do at this: {metric.name}?"]
    question += [f"Examples done well: {'; '.join(metric.good)}."] if metric.good else []
    question += [f"Examples done badly: {'; '.join(metric.bad)}."] if metric.bad else []
    return " ".join(question)


def coverage_and_redundancy(
    aspects: Sequence[Aspect], metrics: Sequence[Metric], ratings: Floats
) -> tuple[float, float]:
    """The share of aspects that some rating covers, and the share of ratings that match no aspect.

    An aspect and a rating match if episode and sign are equal and the behaviour resembles an
    example of the metric.
    """
    if not aspects or not metrics:
        raise InvalidOption("coverage needs at least one aspect and one metric")
    same = _alike(aspects, metrics)
    signs = np.array([one.sign for one in aspects], dtype=np.float64)
    episodes = np.array([one.episode for one in aspects], dtype=np.int64)
    said = same & (ratings[episodes] == signs[:, None])
    traits = np.argwhere(ratings != 0)
    bare = [not said[episodes == e, m].any() for e, m in traits]
    return float(said.any(axis=1).mean()), float(np.mean(bare)) if bare else 0.0


def _alike(aspects: Sequence[Aspect], metrics: Sequence[Metric]) -> np.ndarray:
    """Which aspects resemble an example of which metric, shape (aspects, metrics)."""
    examples = [(place, text) for place, m in enumerate(metrics) for text in m.examples]
    cosines = likeness([a.behaviour for a in aspects] + [text for _, text in examples])
    near = cosines[: len(aspects), len(aspects) :] >= ALIKE
    owner = np.array([place for place, _ in examples])
    return np.stack([near[:, owner == m].any(axis=1) for m in range(len(metrics))], axis=1)


def best_metrics(
    judge: Judge, aspects: Sequence[Aspect], records: Sequence[EpisodeRecord], *, most: int = 10
) -> list[Metric]:
    """The set of at most `most` metrics with the greatest coverage minus redundancy."""

    def value(metrics: list[Metric]) -> float:
        coverage, redundancy = coverage_and_redundancy(
            aspects, metrics, rate(judge, metrics, records)
        )
        return coverage - redundancy

    if not aspects or most < 1:
        raise InvalidOption("best_metrics needs at least one aspect, and most must be at least 1")
    tried = [induce(aspects, n) for n in range(1, min(most, len(aspects)) + 1)]
    distinct = [tried[0], *(b for a, b in pairwise(tried) if a != b)]
    return max(distinct, key=value)
