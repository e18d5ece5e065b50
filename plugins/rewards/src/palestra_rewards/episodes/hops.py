"""Robo-Dopamine: progress estimated from hops in three ways, paid as potential-based shaping.

A hop from one state to another is the progress between them as a share of what was left (or, for
a step back, of what had been reached), from -1 to 1. A hop model estimates it for any two states;
three chains of its answers (step by step, from the start, from the goal) are averaged.
Tan et al., "Robo-Dopamine: General Process Reward Modeling for High-Precision Robotic
Manipulation" (2025), with states in words where the paper has pictures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, retrace, reward
from palestra.kernel.game import Game

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.judges.service import Judge, ask, open_judge
from palestra_rewards.options import Discount
from palestra_rewards.people import people_of
from palestra_rewards.reading import turn_rewards

PERCENT = re.compile(r"<\s*score\s*>\s*([+-]?\d{1,9})\s*%?\s*<\s*/\s*score\s*>", re.IGNORECASE)
ORDER = """You judge progress on a task. Decide whether AFTER is nearer to the goal than BEFORE.

Task: {task}

REFERENCE START (the task just begins):
{start}

REFERENCE END (the task is done):
{goal}

BEFORE:
{before}

AFTER:
{after}

Estimate how far BEFORE and AFTER are on the way from START to END, then compare them. If AFTER is \
better, say what share of the way that was left from BEFORE to END it covers. If AFTER is worse, \
say with a minus what share of the way from START to BEFORE was lost. If they are as far, or you \
cannot tell, the answer is 0. Ignore what has nothing to do with the task.
Answer with one line, a whole number from -100 to +100 with a percent sign between tags, as in \
<score>+25%</score>."""


class Pair(NamedTuple):
    """Two states to compare, with the start and the goal of the task; all in words."""

    start: str
    goal: str
    before: str
    after: str


HopModel = Callable[[Sequence[Pair]], Sequence[float]]


def hop(before: float, after: float) -> float:
    """The hop between two states of known progress, from 0 to 1."""
    for one in (before, after):
        if not 0 <= one <= 1:
            raise InvalidOption(f"progress must be from 0 to 1, not {one}")
    if after == before:
        return 0.0
    return (after - before) / (1 - before if after > before else before)


def advance(progress: float, by: float) -> float:
    """Progress after a hop: a share of what is left, or of what was reached."""
    return progress + by * (1 - progress if by >= 0 else progress)


def fuse_progress(steps: Any, forward: Any, backward: Any) -> Floats:
    """Progress after each of n steps, from 0 to 1: the mean of three estimates of it.

    All of shape (n,): `steps` are hops from each state to the next, which are chained; `forward`
    hops from the start to each state, which are its progress; `backward` hops from the goal to
    each, which are progress minus 1.
    """
    chained, ahead, back = floats(steps), floats(forward), floats(backward)
    if not chained.shape == ahead.shape == back.shape or chained.ndim != 1:
        raise InvalidOption("steps, forward and backward must have one hop per step each")
    if chained.size and max(np.abs(hops).max() for hops in (chained, ahead, back)) > 1:
        raise InvalidOption("hops must be from -1 to 1")
    progress, now = np.empty(chained.size), 0.0
    for place, one in enumerate(chained):
        progress[place] = now = advance(now, float(one))
    whole = (progress + np.clip(ahead, 0, 1) + np.clip(1 + back, 0, 1)) / 3
    return floats(whole)


class JudgedHops:
    """A hop model that asks a language model, as the paper does; unreadable answers count as 0."""

    def __init__(self, judge: Judge | str, *, task: str) -> None:
        self.judge, self.task = open_judge(judge), task

    def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        asked = [
            ask(
                ORDER.format(
                    task=self.task,
                    start=pair.start,
                    goal=pair.goal,
                    before=pair.before,
                    after=pair.after,
                ),
                max_tokens=64,
            )
            for pair in pairs
        ]
        return [read_hop(reply) for reply in self.judge.ask(asked)]


def read_hop(text: str) -> float:
    """The percentage in the last score tag as a share, clipped to [-1, 1]; 0 if there is none."""
    found = PERCENT.findall(text)
    return min(1.0, max(-1.0, int(found[-1]) / 100)) if found else 0.0


class ExpertHops:
    """A hop model from one expert episode; a state has the progress of the most similar one in it.

    The similarity of two states is the Jaccard index of their sets of words. Hops are rounded to
    multiples of 1 / `bins`, like the labels of the paper's training set. This is one-shot
    adaptation without training: `goal` is the expert's last state.
    """

    def __init__(self, states: Sequence[str], *, bins: int = 100) -> None:
        if len(states) < 2 or bins < 1:
            raise InvalidOption(
                "an expert's episode needs two states or more, and bins must be above 0"
            )
        self.states, self.bins = list(states), bins
        self._words = [_words(state) for state in states]

    @property
    def goal(self) -> str:
        return self.states[-1]

    def progress(self, state: str) -> float:
        """From 0 at the expert's first state to 1 at its last; ties go to the earliest state."""
        words = _words(state)
        alike = [len(words & own) / max(len(words | own), 1) for own in self._words]
        return int(np.argmax(alike)) / (len(self.states) - 1)

    def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        found = [hop(self.progress(pair.before), self.progress(pair.after)) for pair in pairs]
        return [round(one * self.bins) / self.bins for one in found]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def states_in_words(
    record: EpisodeRecord, seat: int, game: Game[Any, Any] | None = None
) -> list[str]:
    """The game's description of the seat's position before each of its turns and at the end."""
    episodes, found = retrace(record, game), []
    now = next(episodes)
    for step in record.steps:
        if any(turn.seat == seat for turn in step.turns):
            found.append(now.describe(seat))
        now = next(episodes)
    return [*found, now.describe(seat)]


@reward(
    "robo-dopamine",
    shape="episode",
    needs=("hops",),
    paper=(
        "Robo-Dopamine: General Process Reward Modeling for High-Precision Robotic Manipulation "
        "(2025)"
    ),
    check="test_shaping_by_fused_progress_adds_the_same_to_every_way",
    cost="three judgements per turn",
)
def robo_dopamine(
    record: EpisodeRecord,
    *,
    hops: Annotated[
        HopModel | Judge | str,
        Meta(description="a model of hops, or a judge that compares before and after"),
    ],
    goal: Annotated[str, Meta(description="the state to reach, in words")] = "",
    task: Annotated[str, Meta(description="the task, as a judge is told it")] = "Reach the goal.",
    gamma: Discount = 1.0,
    game: Annotated[
        Game[Any, Any] | None, Meta(description="the game, if records name none")
    ] = None,
) -> Floats:
    """Each turn's reward plus the change in progress, averaged over three chains of hops.

    A turn gets `reward + gamma * progress after - progress before`. Progress counts as 0 before
    the first turn and after the last, so the discounted shaping sums to 0 over every trajectory
    and the optimal policy stays the same. `hops` is a hop model, or a judge that is asked for
    hops; it sees the game's description of the state to the seat. `goal` may be left out for an
    `ExpertHops`. `game` is for records without an environment id. Pictures, and training the hop
    model on them, are not supported.
    """
    model: Any = JudgedHops(hops, task=task) if isinstance(hops, Judge | str) else hops
    goal = goal or getattr(model, "goal", "")
    if not goal:
        raise InvalidOption("robo-dopamine needs goal=…: the state to be reached, in words")
    paid = turn_rewards(record)
    told: dict[int, list[str]] = {}  # by seat, the states that none of its people have had yet
    for person in people_of(record):
        left = told.get(person.seat) or states_in_words(record, person.seat, game)
        turns = person.turns
        states, told[person.seat] = left[: turns.size + 1], left[turns.size :]
        after = progress_along(states, goal, model)
        after[-1] = 0.0
        before = np.concatenate(([0.0], after[:-1]))
        paid[turns] += gamma * after - before
    return paid


def progress_along(states: Sequence[str], goal: str, model: HopModel) -> Floats:
    """The fused progress of every state but the first; calls the model once for all pairs."""
    start, later = states[0], states[1:]
    pairs = [Pair(start, goal, a, b) for a, b in zip(states, later, strict=False)]
    pairs += [Pair(start, goal, start, state) for state in later]
    pairs += [Pair(start, goal, goal, state) for state in later]
    hops = floats(list(model(pairs))).reshape(3, len(later))
    return fuse_progress(*hops)
