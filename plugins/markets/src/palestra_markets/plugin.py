"""What this plugin gives: markets, by id."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec, EnvSpec, MetricSpec

from palestra_markets.trading.schedules import PRESETS

DOUBLE_AUCTION = "markets/DoubleAuction-v0"
BARGAINING = "markets/Bargaining-v0"


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return [
        EnvSpec(
            DOUBLE_AUCTION,
            "palestra_markets.trading.double_auction:DoubleAuction",
            players=(2, 100),
            moves="sequential",
            payoffs="general",
            family="market",
            tags=("auction", "order-book", "hidden-information", "chance"),
            paper="Smith (1962), An Experimental Study of Competitive Market Behavior; Gode and "
            "Sunder (1993), Allocative Efficiency of Markets with Zero-Intelligence Traders",
            splits=PRESETS,
        ),
        EnvSpec(
            BARGAINING,
            "palestra_markets.language.bargaining:Bargaining",
            players=(2, 2),
            moves="sequential",
            payoffs="general",
            family="text",
            tags=("bargaining", "messages", "deterministic"),
            paper="Rubinstein (1982), Perfect equilibrium in a bargaining model; Shapira et al. "
            "(2024), GLEE: A Unified Framework and Benchmark for Language-based Economic "
            "Environments",
            splits={
                "one-shot": {"rounds": 1},
                "unbounded": {"unbounded": True, "rounds": 99},
                "incomplete": {"complete": False},
                "silent": {"messages": False},
            },
        ),
    ]


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "zi",
            "palestra_markets.trading.traders:ZeroIntelligence",
            "scripted",
            "Quotes random prices; constrained=true never loses money (ZI-C), false may (ZI-U).",
            plays=(DOUBLE_AUCTION,),
            needs=("array",),
        ),
        AgentSpec(
            "zip",
            "palestra_markets.trading.traders:Zip",
            "scripted",
            "Zero intelligence plus: quotes at a profit margin that learns from every quote.",
            plays=(DOUBLE_AUCTION,),
            needs=("array",),
        ),
        AgentSpec(
            "gd",
            "palestra_markets.trading.traders:GjerstadDickhaut",
            "scripted",
            "Gjerstad and Dickhaut: the best quote under beliefs from the last memory=5 trades.",
            plays=(DOUBLE_AUCTION,),
            needs=("array",),
        ),
        AgentSpec(
            "rubinstein",
            "palestra_markets.language.bargainers:Rubinstein",
            "solver",
            "Offers and accepts as in the subgame-perfect equilibrium.",
            plays=(BARGAINING,),
            needs=("array",),
        ),
        AgentSpec(
            "even-split",
            "palestra_markets.language.bargainers:EvenSplit",
            "scripted",
            "Proposes half each and accepts no less than half.",
            plays=(BARGAINING,),
            needs=("array",),
        ),
    ]


@hookimpl
def palestra_metrics() -> list[MetricSpec]:
    return [
        MetricSpec(
            "market-efficiency",
            "palestra_markets.trading.metrics:market_efficiency",
            "Surplus earned over the most that could be earned.",
            measures=(DOUBLE_AUCTION,),
        ),
        MetricSpec(
            "buyers-share",
            "palestra_markets.trading.metrics:buyers_share",
            "The buyers' part of the surplus.",
            measures=(DOUBLE_AUCTION,),
        ),
        MetricSpec(
            "price-error",
            "palestra_markets.trading.metrics:price_error",
            "Root mean square deviation from the equilibrium price, over that price.",
            measures=(DOUBLE_AUCTION,),
        ),
        MetricSpec(
            "deal-efficiency",
            "palestra_markets.language.metrics:deal_efficiency",
            "What both players got, over the sum there was to divide.",
            measures=(BARGAINING,),
        ),
        MetricSpec(
            "deal-fairness",
            "palestra_markets.language.metrics:deal_fairness",
            "1 - 4 (p - 1/2)^2, where p is the first player's part of what both got.",
            measures=(BARGAINING,),
        ),
        MetricSpec(
            "first-seat-gain",
            "palestra_markets.language.metrics:first_seat_gain",
            "What the first player got, over the sum.",
            measures=(BARGAINING,),
        ),
    ]
