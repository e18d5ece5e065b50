"""MiCRo: several tastes learnt from one set of preferences, and weighted for each person.

Shen et al., "MiCRo: Mixture Modeling and Context-aware Routing for Personalized Preference
Learning" (2025), with heads that are linear in features where the paper puts them on a language
model; `learnt.tastes.RoutedMixture` has a network, and weights that depend on the context. First a
mixture of Bradley-Terry heads is fitted to the pairs of unknown people; then a few
pairs of one person set the weights of the heads, by Hedge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, Rng, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import Scores, named_terms, scores_of


class Mixture:
    """`heads` linear rewards over named terms, and the weight of each head for the current person.

    `weights` has shape (heads, terms). `shares`, shape (heads,), says how common each taste is;
    `routed` holds the current person's weights, at first the shares. `likelihood` has the
    penalised log-likelihood after every round of the fit; it never falls. `state` is plain JSON.
    """

    def __init__(self, terms: Sequence[str], *, heads: int = 2, ridge: float = 1e-2) -> None:
        if not terms or heads < 1 or ridge <= 0:
            raise InvalidOption("a mixture needs terms, one head or more, and a ridge above 0")
        self.terms, self.ridge = tuple(terms), ridge
        self.weights: Floats = np.zeros((heads, len(self.terms)))
        self.shares: Floats = np.full(heads, 1 / heads)
        self.routed: Floats = self.shares
        self.likelihood: list[float] = []

    def fit(self, better: Any, worse: Any, *, rounds: int = 50, seed: int = 0) -> Mixture:
        """Fit heads and shares to pairs by expectation maximisation.

        better, worse: shape (pairs, terms), what the two episodes of each pair earned by term, as
        `earned` returns it. The first heads are drawn from `seed`.
        """
        from scipy.optimize import minimize

        apart = self._pairs(better, worse)
        rng = Rng.seeded(seed)
        drawn = [rng.word() / 2**31 - 1 for _ in range(self.weights.size)]
        self.weights, self.likelihood = floats(drawn).reshape(self.weights.shape), []
        self.shares = np.full(len(self.weights), 1 / len(self.weights))
        for _ in range(rounds):
            joint = np.log(self.shares) + self._log_chances(apart)
            top = joint.max(axis=1, keepdims=True)
            total = top[:, 0] + np.log(np.exp(joint - top).sum(axis=1))
            owned = np.exp(joint - total[:, None])
            penalty = self.ridge * float((self.weights**2).sum()) / 2
            self.likelihood.append(float(total.sum()) - penalty)
            self.shares = np.maximum(owned.mean(axis=0), 1e-12)
            for head, share in enumerate(owned.T):

                def loss(weights: Floats, share: Floats = share) -> tuple[float, Floats]:
                    gap = apart @ weights
                    pull = -share / (1 + np.exp(np.clip(gap, -500, 500)))
                    value = share @ np.logaddexp(0, -gap) + self.ridge * weights @ weights / 2
                    return float(value), apart.T @ pull + self.ridge * weights

                found = minimize(loss, self.weights[head], jac=True, method="L-BFGS-B")
                self.weights[head] = found.x
        self.shares = self.shares / self.shares.sum()
        self.routed = self.shares
        return self

    def route(self, better: Any, worse: Any, *, rate: float = 1.0) -> Floats:
        """Set and return the heads' weights for one person, from that person's pairs; (heads,).

        Hedge starts from the shares. A head loses `-log` of the probability it gives each pair,
        and its weight falls by the exponential of `rate` times that; rate 1 is Bayes' rule.
        """
        gains = self._log_chances(self._pairs(better, worse)).sum(axis=0)
        logs = np.log(self.shares) + rate * gains
        scaled = np.exp(logs - logs.max())
        self.routed = floats(scaled / scaled.sum())
        return self.routed

    def __call__(self, record: EpisodeRecord) -> Floats:
        """Each turn's named terms, weighted by the routed mean of the heads."""
        names, table = named_terms(record)
        mean = dict(zip(self.terms, self.routed @ self.weights, strict=True))
        return floats(table @ floats([mean.get(name, 0.0) for name in names]))

    def earned(self, record: EpisodeRecord, seat: int = 0) -> Floats:
        """What a seat earned in an episode by term, shape (terms,)."""
        names, table = named_terms(record)
        own = [place for place, turn in enumerate(record.turns) if turn.seat == seat]
        found = dict(zip(names, table[own].sum(axis=0), strict=True))
        return floats([found.get(term, 0.0) for term in self.terms])

    def _pairs(self, better: Any, worse: Any) -> Floats:
        one, two = floats(better), floats(worse)
        if one.shape != two.shape or one.ndim != 2 or one.shape[1] != len(self.terms):
            raise InvalidOption(
                f"better and worse must have shape (pairs, {len(self.terms)}), not {one.shape} and "
                f"{two.shape}"
            )
        return one - two

    def _log_chances(self, apart: Floats) -> Floats:
        """Each head's log-probability of each pair, shape (pairs, heads)."""
        return floats(-np.logaddexp(0, -(apart @ self.weights.T)))

    def state(self) -> dict[str, Any]:
        return {
            "terms": list(self.terms),
            "weights": self.weights.tolist(),
            "shares": self.shares.tolist(),
            "routed": self.routed.tolist(),
        }

    def load(self, state: Any) -> None:
        self.terms = tuple(state["terms"])
        self.weights, self.shares = floats(state["weights"]), floats(state["shares"])
        self.routed = floats(state["routed"])


@reward(
    "micro",
    shape="episode",
    needs=("mixture",),
    paper=(
        "MiCRo: Mixture Modeling and Context-aware Routing for Personalized Preference "
        "Learning (2025)"
    ),
    check="test_two_tastes_are_found_in_one_set_and_a_person_is_routed_to_theirs",
)
def micro(
    record: EpisodeRecord,
    *,
    scores: Annotated[
        Scores,
        Meta(description="a fitted Mixture or RoutedMixture"),
    ],
) -> Floats:
    """Named terms, weighted by the tastes of one person.

    The tastes are the heads of a fitted `Mixture`, or of a `RoutedMixture`, in which the context
    decides too. Call `route` with a few of the person's pairs first, to set how much each head
    counts. Shen et al., "MiCRo" (2025).
    """
    return scores_of(record, scores, "micro")
