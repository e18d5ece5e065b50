"""The function that makes each market's plots from an `EpisodeRecord`."""

from __future__ import annotations

PLOTS = {
    "markets/DoubleAuction-v0": "palestra_markets.trading.plots:plots",
    "markets/Trading-v0": "palestra_markets.stocks.plots:plots",
    "markets/TaxEconomy-v0": "palestra_markets.taxes.plots:plots",
    "markets/Population-v0": "palestra_markets.population.plots:plots",
    "markets/Magentic-v0": "palestra_markets.magentic.plots:plots",
    "markets/SealedAuction-v0": "palestra_markets.auctions.plots:bids_and_revenue",
    "markets/PositionAuction-v0": "palestra_markets.auctions.plots:page_bids",
    "markets/ContentAuction-v0": "palestra_markets.auctions.plots:page_bids",
    "markets/HouseAuction-v0": "palestra_markets.houses.plots:plots",
    "markets/Hiring-v0": "palestra_markets.hiring.plots:plots",
    "markets/TaskAuction-v0": "palestra_markets.tasks.plots:plots",
    "markets/Screening-v0": "palestra_markets.screening.plots:plots",
    "markets/Composer-v0": "palestra_markets.composer.plots:plots",
    "markets/Shopping-v0": "palestra_markets.errands.plots:plots",
    "markets/Persuasion-v0": "palestra_markets.language.plots:products_by_round",
    "markets/Bargaining-v0": "palestra_markets.language.plots:proposals_by_round",
    "markets/PriceNegotiation-v0": "palestra_markets.language.plots:proposals_by_round",
}
