"""Which function makes the plots of which market: record in, plots out."""

from __future__ import annotations

PLOTS = {
    "markets/DoubleAuction-v0": "palestra_markets.trading.plots:plots",
    "markets/Trading-v0": "palestra_markets.stocks.plots:plots",
    "markets/TaxEconomy-v0": "palestra_markets.taxes.plots:plots",
    "markets/Population-v0": "palestra_markets.population.plots:plots",
    "markets/Magentic-v0": "palestra_markets.magentic.plots:plots",
    "markets/SealedAuction-v0": "palestra_markets.auctions.plots:sealed",
    "markets/PositionAuction-v0": "palestra_markets.auctions.plots:pages",
    "markets/ContentAuction-v0": "palestra_markets.auctions.plots:pages",
    "markets/HouseAuction-v0": "palestra_markets.houses.plots:plots",
    "markets/Hiring-v0": "palestra_markets.hiring.plots:plots",
    "markets/TaskAuction-v0": "palestra_markets.tasks.plots:plots",
    "markets/Screening-v0": "palestra_markets.screening.plots:plots",
    "markets/Composer-v0": "palestra_markets.composer.plots:plots",
    "markets/Shopping-v0": "palestra_markets.errands.plots:plots",
    "markets/Persuasion-v0": "palestra_markets.language.plots:persuasion",
    "markets/Bargaining-v0": "palestra_markets.language.plots:proposals",
    "markets/PriceNegotiation-v0": "palestra_markets.language.plots:proposals",
}
