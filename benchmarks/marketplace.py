"""The Magentic Marketplace with 300 scripted agents: their actions a second, and the optimum."""

from __future__ import annotations

import palestra
from palestra import Episode, Turn
from palestra_markets.magentic.marketplace import Magentic
from palestra_markets.magentic.traders import MarketBusiness, MarketCustomer
from timing import Row, limit, rate

CUSTOMERS, BUSINESSES = 75, 225


def work() -> int:
    """One episode driven by hand, without a record; returns how many actions were played."""
    game = Magentic(
        num_players=CUSTOMERS + BUSINESSES, customers=CUSTOMERS, search="optimal", rounds=300
    )
    episode, played = Episode(game, 0), 0
    agents = [MarketCustomer()] * CUSTOMERS + [MarketBusiness()] * BUSINESSES
    while not episode.over:
        moves = {seat: agents[seat].choose(Turn(episode, seat)) for seat in episode.to_act}
        episode.act(moves)
        played += len(moves)
    return played


def recorded() -> int:
    """The same through the runner, with the whole record."""
    agents = ["market-customer"] * CUSTOMERS + ["market-business"] * BUSINESSES
    (record,) = palestra.play(
        "markets/Magentic-v0", agents=agents, customers=CUSTOMERS, search="optimal", rounds=300
    )
    assert palestra.measure(record)["welfare-ratio"] == 1
    return len(record.turns)


def actions_a_second() -> Row:
    """At least 5,000 actions a second with 300 agents, on one core."""
    return limit("Magentic, 300 agents: 5,000 actions", 5e3 / rate(work), at_most=1.0, unit="s")


def recorded_actions_a_second() -> Row:
    return limit(
        "Magentic, 300 agents: 5,000 actions, recorded", 5e3 / rate(recorded), at_most=2.0, unit="s"
    )


MEASURES = (actions_a_second, recorded_actions_a_second)
