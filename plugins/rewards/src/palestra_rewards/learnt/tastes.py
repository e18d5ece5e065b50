"""MiCRo with a router: which taste decides a comparison depends on what it is about.

Shen et al., "MiCRo: Mixture Modeling and Context-aware Routing for Personalized Preference
Learning" (2025): the heads of a mixture share a network, and a router gives each context its own
mixture weights. `episodes.mixture.Mixture` is the form without contexts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, retrace

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import lines_of, named_terms
from palestra_rewards.learnt.networks import (
    descend,
    hashed_words,
    load_weights,
    network,
    predict_rows,
    tensor,
    torch_module,
    weights_of,
)

WORDS = 64  # columns that the words of a context are hashed to
Context = Callable[[EpisodeRecord, int], str]


def first_sight(record: EpisodeRecord, seat: int) -> str:
    """What the game tells a seat at the start of the episode."""
    start = next(iter(retrace(record)))
    return str(start.game.describe(start.state, seat))


class RoutedMixture:
    """Heads that score named terms by one network, and a router from a context to their weights.

    terms: names of reward terms. context: the text of a comparison's context, by default what a
    seat is told at the start. hidden: units of the heads' network; 0 for linear heads. `route` adds
    what is known about one person; without it the context alone decides.
    """

    def __init__(
        self,
        terms: Sequence[str],
        *,
        heads: int = 2,
        context: Context = first_sight,
        hidden: int = 0,
        steps: int = 400,
        rate: float = 0.05,
        seed: int = 0,
    ) -> None:
        if not terms or heads < 1:
            raise InvalidOption("a mixture needs terms, and one head or more")
        self.terms, self.context, self.heads = tuple(terms), context, heads
        self.steps, self.rate = steps, rate
        self.scores = network(len(self.terms), heads, hidden=hidden, seed=seed)
        self.router = network(WORDS, heads, hidden=0, seed=seed + 1)
        self.person: Floats = np.zeros(heads)  # log-weights of the current person's tastes

    def fit(self, better: Any, worse: Any, contexts: Sequence[str]) -> RoutedMixture:
        """Maximise the likelihood of pairs: by context, the mixture of the heads' chances.

        better, worse: shape (pairs, terms), what the two episodes of each pair earned by term, as
        `earned` returns it. contexts: one text per pair.
        """
        one, two = self._pairs(better, worse, contexts)
        rows = tensor(hashed_words(contexts, WORDS))

        def loss(_: int) -> Any:
            return -torch_module().logsumexp(self._joint(one, two, rows), dim=1).mean()

        descend([self.scores, self.router], loss, steps=self.steps, rate=self.rate, fade=True)
        return self

    def route(
        self, better: Any, worse: Any, contexts: Sequence[str], *, rate: float = 1.0
    ) -> Floats:
        """Learn about one person from their pairs, and return the person's log-weights, (heads,).

        By Hedge, a head gains `rate` times the log-probability that it gives each of the pairs,
        whatever the context; rate 1 is Bayes' rule for a person who has one taste.
        """
        one, two = self._pairs(better, worse, contexts)
        with torch_module().no_grad():
            gains = floats(self._log_chances(one, two).sum(dim=0).numpy())
        self.person = floats(rate * (gains - gains.max(initial=0.0)))
        return self.person

    def weights(self, contexts: Sequence[str]) -> Floats:
        """The heads' weights in these contexts for the current person, shape (contexts, heads)."""
        logits = predict_rows(self.router, hashed_words(contexts, WORDS)) + self.person
        scaled = np.exp(logits - logits.max(axis=1, keepdims=True))
        return floats(scaled / scaled.sum(axis=1, keepdims=True))

    def chance(self, better: Any, worse: Any, contexts: Sequence[str]) -> Floats:
        """The probability that the first of each pair is preferred, shape (pairs,)."""
        one, two = self._pairs(better, worse, contexts)
        with torch_module().no_grad():
            chances = np.exp(self._log_chances(one, two).numpy())
        return floats((self.weights(contexts) * chances).sum(axis=1))

    def __call__(self, record: EpisodeRecord) -> Floats:
        """What each turn adds to the score of its seat's terms so far, by the context's weights."""
        names, table = named_terms(record)
        columns = [names.index(term) if term in names else -1 for term in self.terms]
        own = np.where(np.array(columns) >= 0, table[:, columns], 0.0)
        paid = np.zeros(len(record.turns))
        for turns in lines_of(record):
            context = self.context(record, record.turns[turns[0]].seat)
            so_far = np.concatenate([np.zeros((1, own.shape[1])), own[turns].cumsum(axis=0)])
            worth = predict_rows(self.scores, so_far) @ self.weights([context])[0]
            paid[turns] = np.diff(worth)
        return paid

    def earned(self, record: EpisodeRecord, seat: int = 0) -> Floats:
        """What a seat earned in an episode by term, shape (terms,)."""
        names, table = named_terms(record)
        mine = [place for place, turn in enumerate(record.turns) if turn.seat == seat]
        found = dict(zip(names, table[mine].sum(axis=0), strict=True))
        return floats([found.get(term, 0.0) for term in self.terms])

    def _pairs(self, better: Any, worse: Any, contexts: Sequence[str]) -> tuple[Any, Any]:
        one, two = floats(better), floats(worse)
        wanted = (len(contexts), len(self.terms))
        if one.shape != wanted or two.shape != wanted:
            raise InvalidOption(
                f"better and worse must have shape {wanted}, one row per context, not {one.shape} "
                f"and {two.shape}"
            )
        return tensor(one), tensor(two)

    def _log_chances(self, one: Any, two: Any) -> Any:
        """Each head's log-probability of each pair, shape (pairs, heads)."""
        return torch_module().nn.functional.logsigmoid(self.scores(one) - self.scores(two))

    def _joint(self, one: Any, two: Any, contexts: Any) -> Any:
        return torch_module().log_softmax(self.router(contexts), dim=1) + self._log_chances(
            one, two
        )

    def state(self) -> dict[str, Any]:
        return {
            "scores": weights_of(self.scores),
            "router": weights_of(self.router),
            "person": self.person.tolist(),
        }

    def load(self, state: Any) -> None:
        load_weights(self.scores, state["scores"])
        load_weights(self.router, state["router"])
        self.person = floats(state["person"])
