"""Gode and Sunder (1993): a budget alone makes traders without intelligence efficient."""

from __future__ import annotations

import palestra
from palestra_markets.trading.schedules import gode_sunder
from shown import runs, show, spread

AGENTS = ("zi:constrained=false", "zi")
PAPER = ((90.0, 99.9), (90.0, 99.2), (76.7, 99.0), (48.8, 98.2), (86.0, 97.1))
PERIODS = 10


def efficiency(market: int, agent: str, seed: int) -> float:
    """The share of the gains from trade that a market realises, in percent, mean of periods."""
    found = [
        palestra.measure(record)["market-efficiency"]
        for record in palestra.stream(
            "markets/DoubleAuction-v0",
            agents=[agent] * 12,
            episodes=PERIODS,
            seed=seed * PERIODS,
            **gode_sunder(market),
        )
    ]
    return 100 * sum(found) / len(found)


def main() -> None:
    """Print a row for each of the paper's five markets."""
    seeds = runs(__doc__)
    rows = []
    for market, paper in enumerate(PAPER, 1):
        cells: list[object] = [f"market {market}"]
        for agent, figure in zip(AGENTS, paper, strict=True):
            cells += [figure, spread(efficiency(market, agent, seed) for seed in seeds)]
        rows.append(cells)
    show(["efficiency, %", "ZI-U, paper", "here", "ZI-C, paper", "here"], rows)


if __name__ == "__main__":
    main()
