"""Magentic Marketplace (Bansal et al. 2025): agents trade as well as they can search."""

from __future__ import annotations

import palestra
from shown import runs, show, spread

MEASURES = ("welfare-ratio", "requests-met", "first-proposal-share")
EPISODES = 5


def measured(search: str, policy: str, seed: int) -> list[float]:
    """The means of the measures over markets of 10 customers and 30 businesses."""
    found = [
        palestra.measure(record)
        for record in palestra.stream(
            "markets/Magentic-v0",
            agents=[f"market-customer:policy={policy}"] * 10 + ["market-business"] * 30,
            customers=10,
            search=search,
            rounds=120,
            episodes=EPISODES,
            seed=seed * EPISODES,
        )
    ]
    return [sum(one[name] for one in found) / len(found) for name in MEASURES]


def main() -> None:
    """Print a row for each kind of search and of customer."""
    seeds = runs(__doc__)
    rows = []
    for search in ("simple", "filtered", "lexical", "optimal", "cheapest"):
        for policy in ("best", "first"):
            found = [measured(search, policy, seed) for seed in seeds]
            cells = [spread(column, 2) for column in zip(*found, strict=True)]
            rows.append([f"{search}, {policy}", *cells])
    show(["search, customers", *MEASURES], rows)


if __name__ == "__main__":
    main()
