"""What this plugin gives: markets, by id."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, EnvSpec, MetricSpec, RendererSpec

from palestra_markets.trading.schedules import PRESETS

DOUBLE_AUCTION = "markets/DoubleAuction-v0"
BARGAINING = "markets/Bargaining-v0"
NEGOTIATION = "markets/PriceNegotiation-v0"
PERSUASION = "markets/Persuasion-v0"
SEALED_AUCTION = "markets/SealedAuction-v0"
POSITION_AUCTION = "markets/PositionAuction-v0"
MAGENTIC = "markets/Magentic-v0"
TRADING = "markets/Trading-v0"
TAX_ECONOMY = "markets/TaxEconomy-v0"
HIRING = "markets/Hiring-v0"
CONTENT_AUCTION = "markets/ContentAuction-v0"
HOUSE_AUCTION = "markets/HouseAuction-v0"
POPULATION = "markets/Population-v0"
SCREENING = "markets/Screening-v0"
TASK_AUCTION = "markets/TaskAuction-v0"
COMPOSER = "markets/Composer-v0"
SHOPPING = "markets/Shopping-v0"
GLEE = (
    "Shapira et al. (2024), GLEE: A Unified Framework and Benchmark for Language-based Economic "
    "Environments"
)


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
            paper=f"Rubinstein (1982), Perfect equilibrium in a bargaining model; {GLEE}",
            splits={
                "one-shot": {"rounds": 1},
                "unbounded": {"unbounded": True, "rounds": 99},
                "incomplete": {"complete": False},
                "silent": {"messages": False},
            },
        ),
        EnvSpec(
            NEGOTIATION,
            "palestra_markets.language.price_negotiation:PriceNegotiation",
            players=(2, 2),
            moves="sequential",
            payoffs="general",
            family="text",
            tags=("bargaining", "messages", "deterministic"),
            paper=GLEE,
            splits={
                "one-shot": {"rounds": 1},
                "unbounded": {"unbounded": True, "rounds": 99},
                "incomplete": {"complete": False},
                "silent": {"messages": False},
            },
        ),
        EnvSpec(
            PERSUASION,
            "palestra_markets.language.persuasion:Persuasion",
            players=(2, 2),
            moves="sequential",
            payoffs="general",
            family="text",
            tags=("persuasion", "messages", "hidden-information", "chance"),
            paper=f"{GLEE}; Kamenica and Gentzkow (2011), Bayesian Persuasion",
            splits={
                "one-shot": {"rounds": 1},
                "myopic": {"myopic": True},
                "open-ended": {"continuation": 0.9, "rounds": 99},
                "incomplete": {"complete": False, "good_worth": None},
                "silent": {"messages": False},
            },
        ),
        EnvSpec(
            SEALED_AUCTION,
            "palestra_markets.auctions.sealed_auction:SealedAuction",
            players=(2, 20),
            moves="simultaneous",
            payoffs="general",
            family="market",
            tags=("auction", "hidden-information", "chance"),
            paper="Vickrey (1961), Counterspeculation, Auctions, and Competitive Sealed Tenders; "
            "Myerson (1981), Optimal Auction Design",
            splits={
                "first-price": {"format": "first-price"},
                "second-price": {"format": "second-price"},
                "all-pay": {"format": "all-pay"},
                "reserve": {"format": "second-price", "reserve": 50},
            },
        ),
        EnvSpec(
            POSITION_AUCTION,
            "palestra_markets.auctions.position_auction:PositionAuction",
            players=(2, 20),
            moves="simultaneous",
            payoffs="general",
            family="market",
            tags=("auction", "hidden-information", "chance"),
            paper="Edelman, Ostrovsky and Schwarz (2007), Internet Advertising and the "
            "Generalized Second-Price Auction",
            splits={
                "gsp": {"mechanism": "gsp"},
                "vcg": {"mechanism": "vcg"},
                "example": {"values": (10, 4, 2), "num_players": 3},
            },
        ),
        EnvSpec(
            MAGENTIC,
            "palestra_markets.magentic.marketplace:Magentic",
            players=(2, 300),
            moves="simultaneous",
            payoffs="general",
            observations=("text",),
            family="market",
            tags=("marketplace", "messages", "hidden-information", "chance"),
            paper="Bansal et al. (2025), Magentic Marketplace: An Open-Source Environment for "
            "Studying Agentic Markets",
            splits={
                "restaurants-small": {"num_players": 12, "customers": 3},
                "restaurants": {"num_players": 40, "customers": 10},
                "restaurants-large": {"num_players": 132, "customers": 33},
                "contractors": {"num_players": 40, "customers": 10, "trade": "contractors"},
                "injection": {"manipulation": "injection"},
            },
        ),
        EnvSpec(
            TRADING,
            "palestra_markets.stocks.trading:Trading",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="market",
            tags=("shares", "tools", "hidden-information", "chance"),
            paper="Chen et al. (2025), StockBench: Can LLM Agents Trade Stocks Profitably In "
            "Real-world Markets?; AlphaQuanter (2025), An End-to-End Tool-Orchestrated Agentic "
            "Reinforcement Learning Framework for Stock Trading",
            splits={
                "one-share": {"shares": 1},
                "stockbench": {"shares": 20, "days": 82, "questions": 40, "orders": 40},
                "free": {"fee": 0.0, "slippage": 0.0},
            },
        ),
        EnvSpec(
            TAX_ECONOMY,
            "palestra_markets.taxes.economy:TaxEconomy",
            players=(3, 101),
            moves="phased",
            payoffs="general",
            family="market",
            tags=("taxes", "leader-follower", "hidden-information", "chance"),
            paper="Karten et al. (2025), LLM Economist: Large Population Models and Mechanism "
            "Design in Multi-Agent Generative Simulacra; Saez (2001), Using Elasticities to "
            "Derive Optimal Income Tax Rates",
            splits={
                "elections": {"elections": True},
                "hundred": {"num_players": 101},
                "mixed": {"num_players": 11, "altruists": 3, "adversaries": 1},
            },
        ),
        EnvSpec(
            HIRING,
            "palestra_markets.hiring.hiring:Hiring",
            players=(2, 4),
            moves="phased",
            payoffs="general",
            family="market",
            tags=("principal-agent", "leader-follower", "hidden-information", "chance"),
            paper="Cacciamani, Castiglioni and Gatti (2023), Online Information Acquisition: "
            "Hiring Multiple Agents",
            splits={
                "one-expert": {"num_players": 2},
                "correlated": {"overlap": 0.5},
                "unverified": {"verified": False},
                "unknown": {"known": False, "rounds": 200},
            },
        ),
        EnvSpec(
            CONTENT_AUCTION,
            "palestra_markets.auctions.content_auction:ContentAuction",
            players=(2, 8),
            moves="simultaneous",
            payoffs="general",
            family="market",
            tags=("auction", "hidden-information", "chance"),
            paper="Position Auctions in AI-Generated Content (2025); Kempe and Mahdian (2008), "
            "A Cascade Model for Externalities in Sponsored Search",
            splits={
                f"{reader}-{way}": {"reader": reader, "mechanism": way}
                for reader in ("logit", "cascade")
                for way in ("vcg", "gsp", "myerson")
            },
        ),
        EnvSpec(
            HOUSE_AUCTION,
            "palestra_markets.houses.auction:HouseAuction",
            players=(2, 10),
            moves="phased",
            payoffs="general",
            family="market",
            tags=("auction", "personas", "hidden-information", "chance"),
            paper="HARBOR: Exploring Persona Dynamics in Multi-Agent Competition (2025)",
            splits={
                "english": {"format": "english"},
                "dutch": {"format": "dutch"},
                "first-price": {"format": "first-price"},
                "vickrey": {"format": "vickrey"},
                "known-rivals": {"knowledge": "full"},
            },
        ),
        EnvSpec(
            POPULATION,
            "palestra_markets.population.population:Population",
            players=(2, 5),
            moves="phased",
            payoffs="general",
            family="market",
            tags=("population", "epidemic", "labour", "hidden-information", "chance"),
            paper="Chopra et al. (2024), On the limits of agency in agent-based models",
            splits={
                "one-mind": {"num_players": 2},
                "city": {"people": 100_000},
                "metropolis": {"people": 8_400_000},
            },
        ),
        EnvSpec(
            SCREENING,
            "palestra_markets.screening.screening:Screening",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="market",
            tags=("evidence", "costs", "hidden-information", "chance"),
            paper="Bayesian Orchestration of Multi-LLM Agents for Cost-Aware Sequential "
            "Decision-Making (2025)",
            splits={
                "hire": {"theme": "hire", "cases": 1000},
                "triage": {"theme": "triage"},
                "fraud": {"theme": "fraud"},
                "biased": {"bias": 0.5},
            },
        ),
        EnvSpec(
            TASK_AUCTION,
            "palestra_markets.tasks.auction:TaskAuction",
            players=(2, 10),
            moves="phased",
            payoffs="general",
            family="market",
            tags=("auction", "plans", "hidden-information", "chance"),
            paper="Scaling Small Agents Through Strategy Auctions (2025); Che (1993), Design "
            "Competition through Multidimensional Auctions",
            splits={
                "first-score": {"second": False},
                "second-score": {"second": True},
                "one-shot": {"rebids": False},
            },
        ),
        EnvSpec(
            COMPOSER,
            "palestra_markets.composer.composer:Composer",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="market",
            tags=("knapsack", "trials", "hidden-information", "chance"),
            paper="Automated Composition of Agents: A Knapsack Approach for Agentic Component "
            "Selection (2025); Zhou, Chakrabarty and Lokose (2008), Budget Constrained Bidding in "
            "Keyword Auctions and Online Knapsack Problems",
            splits={
                "small-items": {"offers": 400, "budget": 3_000, "probes": 100, "trials": 1},
                "kinds": {"kinds": 8},
                "descriptions-only": {"trials": 0},
            },
        ),
        EnvSpec(
            SHOPPING,
            "palestra_markets.errands.shopping:Shopping",
            players=(2, 2),
            moves="phased",
            payoffs="general",
            family="market",
            tags=("principal-agent", "messages", "hidden-information", "chance"),
            paper="Of Models and Tin Men: A Behavioural Economics Study of Principal-Agent "
            "Problems in AI Alignment using Large-Language Models (2023)",
            splits={
                "blind": {"information": "none"},
                "prices": {"information": "prices"},
                "full": {"information": "full"},
                "aligned": {"leaning": 0.0},
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
        AgentSpec(
            "haggler",
            "palestra_markets.language.price_negotiators:Haggler",
            "solver",
            "Names and accepts prices as in the subgame-perfect equilibrium.",
            plays=(NEGOTIATION,),
            needs=("array",),
        ),
        AgentSpec(
            "fair-price",
            "palestra_markets.language.price_negotiators:FairPrice",
            "scripted",
            "Names the price halfway between both values and accepts nothing worse.",
            plays=(NEGOTIATION,),
            needs=("array",),
        ),
        AgentSpec(
            "persuader",
            "palestra_markets.language.persuaders:Persuader",
            "scripted",
            "The seller; policy=honest, always, commit (Kamenica and Gentzkow) or patient.",
            plays=(PERSUASION,),
            needs=("array",),
        ),
        AgentSpec(
            "shopper",
            "palestra_markets.language.persuaders:Shopper",
            "scripted",
            "The buyer; belief=learn, grim (until the first lie), prior (no advice) or obey.",
            plays=(PERSUASION,),
            needs=("array",),
        ),
        AgentSpec(
            "equilibrium-bidder",
            "palestra_markets.auctions.bidders:EquilibriumBidder",
            "solver",
            "Bids as in the symmetric equilibrium for values drawn evenly.",
            plays=(SEALED_AUCTION,),
            needs=("array",),
        ),
        AgentSpec(
            "truthful-bidder",
            "palestra_markets.auctions.bidders:TruthfulBidder",
            "scripted",
            "Bids share=1.0 of what it is worth to him.",
            plays=(SEALED_AUCTION, POSITION_AUCTION, CONTENT_AUCTION),
            needs=("array",),
        ),
        AgentSpec(
            "balanced-bidder",
            "palestra_markets.auctions.bidders:BalancedBidder",
            "scripted",
            "Balanced bidding for positions; revises in revise=0.5 of the rounds.",
            plays=(POSITION_AUCTION,),
            needs=("array",),
        ),
        AgentSpec(
            "market-customer",
            "palestra_markets.magentic.traders:MarketCustomer",
            "scripted",
            "A customer; policy=best reads everything and pays the cheapest, first the first.",
            plays=(MAGENTIC,),
        ),
        AgentSpec(
            "market-business",
            "palestra_markets.magentic.traders:MarketBusiness",
            "scripted",
            "A business that answers every request; quote=lowest or list.",
            plays=(MAGENTIC,),
        ),
        AgentSpec(
            "buy-and-hold",
            "palestra_markets.stocks.investors:BuyAndHold",
            "scripted",
            "Puts the same part of the cash into every share on the first day.",
            plays=(TRADING,),
            needs=("array",),
        ),
        AgentSpec(
            "momentum-trader",
            "palestra_markets.stocks.investors:MomentumTrader",
            "scripted",
            "Every every=5 days, holds the keep=2 shares that rose most over 20 days.",
            plays=(TRADING,),
            needs=("array",),
        ),
        AgentSpec(
            "contest-trader",
            "palestra_markets.stocks.contest:ContestTrader",
            "scripted",
            "ContestTrade: follows the keep=2 researchers that did best; contest=false: all.",
            plays=(TRADING,),
            needs=("array",),
        ),
        AgentSpec(
            "rational-worker",
            "palestra_markets.taxes.citizens:RationalWorker",
            "scripted",
            "Works the hours that serve it best, votes and, once elected, taxes for itself.",
            plays=(TAX_ECONOMY,),
            needs=("array",),
        ),
        AgentSpec(
            "fixed-planner",
            "palestra_markets.taxes.citizens:FixedPlanner",
            "scripted",
            "The same rates always: rate=20 in all brackets, or the federal ones.",
            plays=(TAX_ECONOMY,),
            needs=("array",),
        ),
        AgentSpec(
            "saez-planner",
            "palestra_markets.taxes.citizens:SaezPlanner",
            "solver",
            "Saez's optimal rates from the last incomes.",
            plays=(TAX_ECONOMY,),
            needs=("array",),
        ),
        AgentSpec(
            "stackelberg-planner",
            "palestra_markets.taxes.citizens:StackelbergPlanner",
            "solver",
            "The best rates of a grid of step=10 percents, by the workers' best answers.",
            plays=(TAX_ECONOMY,),
            needs=("array",),
        ),
        AgentSpec(
            "rational-expert",
            "palestra_markets.hiring.parties:RationalExpert",
            "solver",
            "Works and reports what pays best, as recommended and truly among equals.",
            plays=(HIRING,),
            needs=("array",),
        ),
        AgentSpec(
            "programme-principal",
            "palestra_markets.hiring.parties:ProgrammePrincipal",
            "solver",
            "Offers the best mechanism by linear programming.",
            plays=(HIRING,),
            needs=("array",),
        ),
        AgentSpec(
            "scoring-principal",
            "palestra_markets.hiring.parties:ScoringPrincipal",
            "solver",
            "The least pay by one rule=quadratic, logarithmic or spherical that is obeyed.",
            plays=(HIRING,),
            needs=("array",),
        ),
        AgentSpec(
            "exploring-principal",
            "palestra_markets.hiring.parties:ExploringPrincipal",
            "scripted",
            "Tries offers for T^(2/3) rounds, then commits to the best.",
            plays=(HIRING,),
            needs=("array",),
        ),
        AgentSpec(
            "house-bidder",
            "palestra_markets.houses.bidders:HouseBidder",
            "scripted",
            "Bids up to the value, shades first prices, and profiles rivals by their bids.",
            plays=(HOUSE_AUCTION,),
            needs=("array",),
        ),
        AgentSpec(
            "cautious-group",
            "palestra_markets.population.minds:CautiousGroup",
            "scripted",
            "Stays at home the more, fear=15 percent for each percent infectious.",
            plays=(POPULATION,),
            needs=("array",),
        ),
        AgentSpec(
            "threshold-government",
            "palestra_markets.population.minds:ThresholdGovernment",
            "scripted",
            "Closes closed=60 percent and pays stimulus=300 above threshold=2 percent infectious.",
            plays=(POPULATION,),
            needs=("array",),
        ),
        AgentSpec(
            "bayes-screener",
            "palestra_markets.screening.screeners:BayesScreener",
            "solver",
            "The least expected cost; buys notes where they are worth it.",
            plays=(SCREENING,),
            needs=("array",),
        ),
        AgentSpec(
            "confidence-screener",
            "palestra_markets.screening.screeners:ConfidenceScreener",
            "scripted",
            "Accepts above confidence=0.5 from the first note, whatever the prices.",
            plays=(SCREENING,),
            needs=("array",),
        ),
        AgentSpec(
            "task-bidder",
            "palestra_markets.tasks.bidders:TaskBidder",
            "scripted",
            "Asks for the cost of its best plan and margin=20 percent more.",
            plays=(TASK_AUCTION,),
            needs=("array",),
        ),
        AgentSpec(
            "greedy-buyer",
            "palestra_markets.composer.buyers:GreedyBuyer",
            "scripted",
            "Buys what is worth floor=1 times its price, by trials=0 of it or by its claim.",
            plays=(COMPOSER,),
            needs=("array",),
        ),
        AgentSpec(
            "trusting-principal",
            "palestra_markets.errands.parties:TrustingPrincipal",
            "scripted",
            "Promises bonus=0; buys the best it can see, or what is recommended.",
            plays=(SHOPPING,),
            needs=("array",),
        ),
        AgentSpec(
            "leaning-assistant",
            "palestra_markets.errands.parties:LeaningAssistant",
            "solver",
            "Recommends what serves itself; honest=false claims the best gain of it.",
            plays=(SHOPPING,),
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
        MetricSpec(
            "trade-efficiency",
            "palestra_markets.language.metrics:trade_efficiency",
            "1 where the product ends with whoever values it more, else 0.",
            measures=(NEGOTIATION,),
        ),
        MetricSpec(
            "trade-fairness",
            "palestra_markets.language.metrics:trade_fairness",
            "1 - 4 (s - 1/2)^2, where s is the seller's part of the gain from trade.",
            measures=(NEGOTIATION,),
        ),
        MetricSpec(
            "seller-gain",
            "palestra_markets.language.metrics:seller_gain",
            "What the seller was paid, over the gain from trade.",
            measures=(NEGOTIATION,),
        ),
        MetricSpec(
            "good-sold",
            "palestra_markets.language.metrics:good_sold",
            "The part of the good products that were bought: efficiency.",
            measures=(PERSUASION,),
        ),
        MetricSpec(
            "bad-unsold",
            "palestra_markets.language.metrics:bad_unsold",
            "The part of the bad products that were not bought: fairness.",
            measures=(PERSUASION,),
        ),
        MetricSpec(
            "sales-rate",
            "palestra_markets.language.metrics:sales_rate",
            "The part of all products that were bought: the seller's gain.",
            measures=(PERSUASION,),
        ),
        MetricSpec(
            "buyer-gain",
            "palestra_markets.language.metrics:buyer_gain",
            "What the buyer was paid, over what just the good products would have paid.",
            measures=(PERSUASION,),
        ),
        MetricSpec(
            "auction-revenue",
            "palestra_markets.auctions.metrics:auction_revenue",
            "What the seller was paid in a round, in the mean.",
            measures=(SEALED_AUCTION, POSITION_AUCTION, CONTENT_AUCTION),
        ),
        MetricSpec(
            "auction-efficiency",
            "palestra_markets.auctions.metrics:auction_efficiency",
            "What the winners value what they get at, over the most that anybody could.",
            measures=(SEALED_AUCTION, POSITION_AUCTION),
        ),
        MetricSpec(
            "welfare-ratio",
            "palestra_markets.magentic.metrics:welfare_ratio",
            "What the customers gained, over the most they could.",
            measures=(MAGENTIC,),
        ),
        MetricSpec(
            "first-proposal-share",
            "palestra_markets.magentic.metrics:first_proposal_share",
            "Payments with a choice that went to the proposal that arrived first.",
            measures=(MAGENTIC,),
        ),
        MetricSpec(
            "requests-met",
            "palestra_markets.magentic.metrics:requests_met",
            "The part of the customers whose request was met.",
            measures=(MAGENTIC,),
        ),
        MetricSpec(
            "total-return",
            "palestra_markets.stocks.metrics:total_return",
            "Wealth at the end over that at first, less 1.",
            measures=(TRADING,),
        ),
        MetricSpec(
            "max-drawdown",
            "palestra_markets.stocks.metrics:max_drawdown",
            "The largest fall of wealth from a peak, as a part of it.",
            measures=(TRADING,),
        ),
        MetricSpec(
            "sortino-ratio",
            "palestra_markets.stocks.metrics:sortino_ratio",
            "Annualised mean daily return over its downside deviation.",
            measures=(TRADING,),
        ),
        MetricSpec(
            "excess-return",
            "palestra_markets.stocks.metrics:excess_return",
            "The return less that of an equal sum held in every share, without costs.",
            measures=(TRADING,),
        ),
        MetricSpec(
            "social-welfare",
            "palestra_markets.taxes.metrics:social_welfare",
            "The workers' utility, a step and head.",
            measures=(TAX_ECONOMY,),
        ),
        MetricSpec(
            "income-gini",
            "palestra_markets.taxes.metrics:income_gini",
            "The Gini coefficient of incomes before taxes, in the mean of all steps.",
            measures=(TAX_ECONOMY,),
        ),
        MetricSpec(
            "tax-share",
            "palestra_markets.taxes.metrics:tax_share",
            "Taxes over incomes, in the mean of all steps.",
            measures=(TAX_ECONOMY,),
        ),
        MetricSpec(
            "obedience",
            "palestra_markets.hiring.metrics:obedience",
            "How often experts work at the level that was recommended.",
            measures=(HIRING,),
        ),
        MetricSpec(
            "truthfulness",
            "palestra_markets.hiring.metrics:truthfulness",
            "How often experts report the signal they saw.",
            measures=(HIRING,),
        ),
        MetricSpec(
            "principal-gain",
            "palestra_markets.hiring.metrics:principal_gain",
            "What the principal gains a round, over the value of a right decision.",
            measures=(HIRING,),
        ),
        MetricSpec(
            "page-efficiency",
            "palestra_markets.auctions.metrics:page_efficiency",
            "The worth of the clicks of all pages, over that of the best pages.",
            measures=(CONTENT_AUCTION,),
        ),
        MetricSpec(
            "house-efficiency",
            "palestra_markets.houses.metrics:house_efficiency",
            "What the houses are worth to who got them, over the most.",
            measures=(HOUSE_AUCTION,),
        ),
        MetricSpec(
            "profiling-accuracy",
            "palestra_markets.houses.metrics:profiling_accuracy",
            "How often a rival's favourite attribute was named.",
            measures=(HOUSE_AUCTION,),
        ),
        MetricSpec(
            "survival",
            "palestra_markets.houses.metrics:survival",
            "The part of the bidders who could still bid when the last house was offered.",
            measures=(HOUSE_AUCTION,),
        ),
        MetricSpec(
            "budget-spent",
            "palestra_markets.houses.metrics:budget_spent",
            "What was paid for all houses, over all budgets.",
            measures=(HOUSE_AUCTION,),
        ),
        MetricSpec(
            "attack-rate",
            "palestra_markets.population.metrics:attack_rate",
            "The part of all people who caught the illness.",
            measures=(POPULATION,),
        ),
        MetricSpec(
            "mean-unemployment",
            "palestra_markets.population.metrics:mean_unemployment",
            "The part of all adults without a job, in the mean of all weeks.",
            measures=(POPULATION,),
        ),
        MetricSpec(
            "peak-infectious",
            "palestra_markets.population.metrics:peak_infectious",
            "The largest part of all people who were infectious at the end of a week.",
            measures=(POPULATION,),
        ),
        MetricSpec(
            "cost-ratio",
            "palestra_markets.screening.metrics:cost_ratio",
            "What the cases cost, over what they cost the best policy on average.",
            measures=(SCREENING,),
        ),
        MetricSpec(
            "missed-share",
            "palestra_markets.screening.metrics:missed_share",
            "The part of the good cases that were rejected.",
            measures=(SCREENING,),
        ),
        MetricSpec(
            "parity-gap",
            "palestra_markets.screening.metrics:parity_gap",
            "The difference of the parts of both groups that are accepted.",
            measures=(SCREENING,),
        ),
        MetricSpec(
            "plan-success",
            "palestra_markets.tasks.metrics:plan_success",
            "The part of all tasks that succeeded.",
            measures=(TASK_AUCTION,),
        ),
        MetricSpec(
            "task-efficiency",
            "palestra_markets.tasks.metrics:task_efficiency",
            "What the winners' plans are worth less their costs, over the most.",
            measures=(TASK_AUCTION,),
        ),
        MetricSpec(
            "largest-share",
            "palestra_markets.tasks.metrics:largest_share",
            "The part of the tasks won by the largest agent.",
            measures=(TASK_AUCTION,),
        ),
        MetricSpec(
            "composition-ratio",
            "palestra_markets.composer.metrics:composition_ratio",
            "The value of what was bought, over the most that the budget could buy.",
            measures=(COMPOSER,),
        ),
        MetricSpec(
            "budget-used",
            "palestra_markets.composer.metrics:budget_used",
            "What was spent on components and trials, over the budget.",
            measures=(COMPOSER,),
        ),
        MetricSpec(
            "override-rate",
            "palestra_markets.errands.metrics:override_rate",
            "How often something else was recommended than the goal asks for.",
            measures=(SHOPPING,),
        ),
        MetricSpec(
            "principal-loss",
            "palestra_markets.errands.metrics:principal_loss",
            "What the principal missed of the best products a trip, bonuses apart.",
            measures=(SHOPPING,),
        ),
        MetricSpec(
            "claim-honesty",
            "palestra_markets.errands.metrics:claim_honesty",
            "How often the gain that was claimed is that of what was recommended.",
            measures=(SHOPPING,),
        ),
    ]


@hookimpl
def palestra_renderers() -> list[RendererSpec]:
    return [RendererSpec("*", "report", "palestra_markets.report.command:ReportRenderer")]


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra_markets.report.command import report_command

    app.command("report")(report_command)
