"""Ways to combine a game's named terms and costs, other than adding them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import lines_of, named_terms


@reward(
    "direction",
    shape="episode",
    needs=("direction",),
    paper="Directional Preference Alignment (2024)",
    check="test_directions_have_unit_length_and_trace_the_front",
)
def direction(
    record: EpisodeRecord,
    *,
    towards: Annotated[
        Mapping[str, float], Meta(description="a vector of length 1 over named terms")
    ],
) -> Floats:
    """Named reward terms weighted by a vector of length 1.

    Each turn gets the dot product of its reward vector and a unit vector over named terms.

    Haoxiang Wang et al., "Arithmetic Control of LLMs: Directional Preference Alignment" (2024).
    """
    length = sum(value**2 for value in towards.values()) ** 0.5
    if abs(length - 1) > 1e-6:
        raise InvalidOption(f"a direction must have length 1; this one has {length:.4g}")
    return weighted_sum(record, towards)


def weighted_sum(record: EpisodeRecord, weights: Mapping[str, float]) -> Floats:
    """The sum of a turn's named terms, each times its weight; terms not named weigh 0."""
    names, table = named_terms(record)
    return floats(table @ floats([weights.get(name, 0.0) for name in names]))


@reward(
    "krc",
    shape="episode",
    paper="Lucy-SKG: Learning to Play Rocket League Efficiently (2023)",
    check="test_krc_is_high_only_where_all_components_are",
)
def krc(
    record: EpisodeRecord,
    *,
    parts: Annotated[Sequence[str], Meta(description="names of the terms; all by default")] = (),
) -> Floats:
    """Signed geometric mean of named reward terms.

    Kinesthetic reward combination of named terms: see `combine`; of all terms by default.
    """
    names, table = named_terms(record)
    chosen = [names.index(part) for part in parts if part in names] if parts else slice(None)
    return combine(table[:, chosen])


def combine(components: Any) -> Floats:
    """`(product of |r_i|)^(1/n)`, positive only where all are: shape (turns, n) to (turns,).

    A signed geometric mean instead of a sum: high only where every component is. Moschopoulos
    et al., "Lucy-SKG: Learning to Play Rocket League Efficiently" (2023).
    """
    table = floats(components)
    if not table.shape[1]:
        return np.zeros(table.shape[0])
    size = np.exp(np.log(np.maximum(np.abs(table), 1e-300)).mean(axis=1))
    size = np.where((table == 0).any(axis=1), 0.0, size)
    return np.where((table > 0).all(axis=1), size, -size)


@reward(
    "time-preferences",
    shape="episode",
    needs=("discounts",),
    paper=(
        "Consistent Aggregation of Objectives with Diverse Time Preferences Requires Non-"
        "Markovian Rewards (2023)"
    ),
    check="test_returns_are_sums_of_individually_discounted_returns",
)
def time_preferences(
    record: EpisodeRecord,
    *,
    gammas: Annotated[Mapping[str, float], Meta(description="a discount for each named term")],
    weights: Annotated[
        Mapping[str, float] | None, Meta(description="a weight for each named term; 1 by default")
    ] = None,
    gamma: Annotated[float, Meta(gt=0, le=1, description="the learner's discount")] = 0.99,
) -> Floats:
    """Named terms, each with a discount of its own, as one reward.

    The reward is for a learner whose discount is `gamma`.

    At a seat's turn t, term i weighs `w_i * (gamma_i / gamma)^t`, a factor that depends on time and
    not on the state alone; the return under `gamma` is then the sum of the terms' own returns.
    Pitis, "Consistent Aggregation of Objectives with Diverse Time Preferences" (2023).
    """
    if not 0 < gamma <= 1 or not all(0 <= one <= 1 for one in gammas.values()):
        raise InvalidOption("discounts must be from 0 to 1, and the learner's above 0")
    names, table = named_terms(record)
    start = floats([(weights or {}).get(name, 1.0) for name in names])
    ratio = floats([gammas.get(name, gamma) for name in names]) / gamma
    paid = np.empty(len(record.turns))
    for turns in lines_of(record):
        factors = start * ratio ** np.arange(turns.size)[:, None]
        paid[turns] = (table[turns] * factors).sum(axis=1)
    return paid


class Lagrangian:
    """Weights of terms from bounded multipliers that hold each term's mean at its target point.

    Each update moves the multiplier of term i by `rate * (mean r_i - point_i)`, kept from -bound
    to bound; its weight is 1 - multiplier, so that a term past its point loses weight. Moskovitz
    et al., "Confronting Reward Model Overoptimization with Constrained RLHF" (2023).
    """

    def __init__(
        self, points: Mapping[str, float], *, rate: float = 0.1, bound: float = 1.0
    ) -> None:
        if rate <= 0 or bound <= 0:
            raise InvalidOption(f"rate and bound must be above 0, not {rate} and {bound}")
        self.points, self.rate, self.bound = dict(points), rate, bound
        self.multipliers = dict.fromkeys(points, 0.0)

    @property
    def weights(self) -> dict[str, float]:
        """1 - multiplier: from 1 - bound to 1 + bound."""
        return {name: 1 - value for name, value in self.multipliers.items()}

    def update(self, means: Mapping[str, float]) -> None:
        for name, point in self.points.items():
            moved = self.multipliers[name] + self.rate * (means[name] - point)
            self.multipliers[name] = min(max(moved, -self.bound), self.bound)

    def __call__(self, record: EpisodeRecord) -> Floats:
        return weighted_sum(record, self.weights)

    def state(self) -> dict[str, float]:
        return dict(self.multipliers)

    def load(self, state: Mapping[str, float]) -> None:
        self.multipliers = {name: float(state[name]) for name in self.points}


def proxy_points(
    evaluate: Callable[[Mapping[str, float]], float],
    start: Mapping[str, float],
    *,
    spread: float = 0.1,
    budget: int = 60,
) -> tuple[dict[str, float], float]:
    """Search for the point of each term beyond which more of it no longer helps.

    Returns the points and the score there. evaluate: returns the true score of a policy trained
    under a `Lagrangian` with these points, such as a short run judged by people or by a better
    model; called at most `budget` times. start: the first points; the rest of the first simplex
    lies `spread` of their size away (`spread` itself for a point at 0). The search is Nelder-Mead,
    as in Moskovitz et al. (2023), who search within one run.
    """
    from scipy.optimize import minimize

    names, first = list(start), floats(list(start.values()))
    if not names or spread <= 0 or budget <= len(names):
        raise InvalidOption(
            "proxy_points needs one starting point or more, a spread above 0, and a budget of more "
            "evaluations than there are terms"
        )
    simplex = np.vstack([first, first + np.diag(np.where(first, np.abs(first), 1.0) * spread)])
    found = minimize(
        lambda points: -evaluate(dict(zip(names, points.tolist(), strict=True))),
        first,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "maxfev": budget, "xatol": 1e-6, "fatol": 1e-9},
    )
    return dict(zip(names, found.x.tolist(), strict=True)), -float(found.fun)


@reward(
    "lagrangian",
    shape="episode",
    needs=("multipliers",),
    paper="Confronting Reward Model Overoptimization with Constrained RLHF (2023)",
    check="test_multipliers_hold_a_term_at_its_point",
)
def lagrangian(
    record: EpisodeRecord,
    *,
    weights: Annotated[
        Lagrangian | Mapping[str, float],
        Meta(description="weights by term, or a Lagrangian that sets them"),
    ],
) -> Floats:
    """Named terms weighted by multipliers that hold the mean of each at its target.

    `weights` is a `Lagrangian`, whose current weights are used, or a mapping of weights by term.
    """
    return weighted_sum(record, weights.weights if isinstance(weights, Lagrangian) else weights)
