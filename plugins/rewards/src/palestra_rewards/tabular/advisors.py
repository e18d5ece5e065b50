"""Multi-Advisor: advisors value actions by rewards of their own; an aggregator sums the values."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.tabular.mdp import Mdp

PLANNING = ("egocentric", "agnostic", "empathic")


def advise(mdp: Mdp, parts: Any, *, planning: str = "empathic") -> Floats:
    """Action values of every advisor, of the shape of `parts`: (states, actions, advisors).

    An advisor assumes that later actions are its own best ("egocentric"), uniform over the open
    ones ("agnostic"), or best by the sum of all advisors ("empathic"). The empathic values sum to
    the optimal values of the summed reward; the egocentric values sum to at least as much. Laroche
    et al., "Multi-Advisor Reinforcement Learning" (2017).
    """
    given = floats(parts)
    if planning not in PLANNING:
        raise InvalidOption(f"planning must be one of {', '.join(PLANNING)}, not {planning!r}")
    if given.ndim != 3 or given.shape[:2] != mdp.open.shape:
        raise InvalidOption(f"parts must have shape {(*mdp.open.shape, 'n')}, not {given.shape}")
    each = [given[:, :, advisor] for advisor in range(given.shape[2])]
    if planning == "egocentric":
        worth = [np.where(mdp.open, mdp.best(part)[1], 0.0) for part in each]
    else:
        even = mdp.open / np.maximum(mdp.open.sum(axis=1, keepdims=True), 1)
        policy = even if planning == "agnostic" else mdp.best(given.sum(axis=2))[0]
        worth = [mdp.evaluate(policy, part)[1] for part in each]
    return np.stack(worth, axis=2)
