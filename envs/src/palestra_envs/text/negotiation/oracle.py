"""An expert that annotates the unfamiliar positions of a negotiator, to add them to its data.

Targeted data acquisition: play, find the turns at which the supervised model gives low probability
to what was done, ask an expert what should have been done there, add the answers to the data, train
again, and repeat (M. Kwon, S. Karamcheti, M.-F. Cuellar and D. Sadigh, "Targeted Data Acquisition
for Evolving Negotiation Agents", ICML 2021). There the expert is a person; here it is exact: it
knows both players' values and aims at the efficient split of the greatest product of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from palestra import EpisodeRecord, TextAction, Turn, retrace

from palestra_envs.text.negotiation.contexts import Items
from palestra_envs.text.negotiation.game import (
    Accept,
    Claim,
    Done,
    NegotiationState,
    Propose,
    value_of,
)


@dataclass(frozen=True, slots=True)
class Annotation:
    """A position, and what the expert would have done there."""

    prompt: str  # what the seat read
    said: str  # what it answered
    expert: str  # the expert's move, as text
    likelihood: float  # that the model gave to what was said


def best_split(state: NegotiationState) -> Items:
    """What player 0 takes under the split of the greatest product of values (Nash's solution).

    Of several, the one of the greatest sum; then the first in order of items.
    """
    splits = product(*(range(count + 1) for count in state.counts))
    return max(((a, b, c) for a, b, c in splits), key=lambda taken: _merit(state, taken))


def _merit(state: NegotiationState, taken: Items) -> tuple[int, int, Items]:
    first, second = values_of(state, taken)
    return first * second, first + second, (-taken[0], -taken[1], -taken[2])


def values_of(state: NegotiationState, taken: Items) -> tuple[int, int]:
    """What a split is worth to both, given what player 0 takes."""
    return value_of(taken, state.values[0]), value_of(rest_of(state, taken), state.values[1])


def rest_of(state: NegotiationState, taken: Items) -> Items:
    """What is left of the table."""
    books, hats, balls = (n - t for n, t in zip(state.counts, taken, strict=True))
    return books, hats, balls


def expert_move(game: Any, state: NegotiationState, seat: int) -> TextAction:
    """Accept what is worth at least the own part of the best split, or else propose that split."""
    first = best_split(state)
    own = first if seat == 0 else rest_of(state, first)
    offered = None
    if state.offer is not None and state.proposer != seat:
        offered = rest_of(state, state.offer.items)
    if state.claiming:
        mine = state.offer.items if state.offer is not None and offered is None else offered
        return Claim(*(mine or own))
    good = offered is not None and value_of(offered, state.values[seat]) >= value_of(
        own, state.values[seat]
    )
    if good:
        return Accept() if game.closing == "accept" else Done()
    return Propose(*own)


Likelihood = Callable[[Turn[Any], str], float]


def acquire(
    records: Iterable[EpisodeRecord], likelihood: Likelihood, *, below: float, seat: int = 0
) -> Iterator[Annotation]:
    """The turns of a seat that are unfamiliar to a model, each with the expert's move.

    likelihood: the probability that the supervised model gives to an answer, such as the mean over
    its tokens; it gets the turn and the answer. below: turns with a lower probability are
    annotated.
    """
    for record in records:
        steps = iter(record.steps)
        for episode in retrace(record):
            step = next(steps, None)
            if step is None or seat not in episode.to_act:
                continue
            said = next(str(t.text) for t in step.turns if t.seat == seat)
            chance = likelihood(Turn(episode, seat), said)
            if chance < below:
                move = expert_move(episode.game, episode.state, seat)
                expert = episode.game.action_text(episode.state, seat, move)
                yield Annotation(episode.prompt(seat, 0), said, expert, chance)
