"""How often one of k trials succeeds (pass@k), and how often all k do (pass^k).

Unbiased estimates from n trials of which c succeeded: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021,
arXiv:2107.03374) and C(c, k) / C(n, k) (Yao et al. 2024, arXiv:2406.12045).
"""

from __future__ import annotations

from math import comb

from palestra import InvalidOption


def pass_at_k(trials: int, successes: int, k: int) -> float:
    """Chance that at least one of `k` of these trials, drawn without replacement, succeeded."""
    _check(trials, successes, k)
    return 1 - comb(trials - successes, k) / comb(trials, k)


def pass_hat_k(trials: int, successes: int, k: int) -> float:
    """pass^k: chance that all of `k` of these trials, drawn without replacement, succeeded."""
    _check(trials, successes, k)
    return comb(successes, k) / comb(trials, k)


def _check(trials: int, successes: int, k: int) -> None:
    if not 0 <= successes <= trials:
        raise InvalidOption(f"successes must be from 0 to {trials}, not {successes}")
    if not 1 <= k <= trials:
        raise InvalidOption(f"k must be from 1 to the {trials} trials made, not {k}")
