"""What this plugin gives: sites, worlds of tools and their reference agents, by id."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, EnvSpec, MetricSpec, RendererSpec

SHOP = "web/Shop-v0"
SHELF = "web/Shelf-v0"
SUPPORT_DESK = "web/SupportDesk-v0"
TRAVEL_DESK = "web/TravelDesk-v0"
TOOL_WORLD = "web/ToolWorld-v0"
WIDGETS = "web/Widgets-v0"
DESKTOP = "web/Desktop-v0"
CRM_DESK = "web/CRMDesk-v0"
CRM_CALLS = "web/CRMCalls-v0"
APP_WORLD = "web/AppWorld-v0"


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return [
        EnvSpec(
            SHOP,
            "palestra_web.shop.shop:Shop",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="web",
            tags=("web", "search", "hidden-information"),
            paper="Yao et al. (2022), WebShop: Towards Scalable Real-World Web Interaction with "
            "Grounded Language Agents; Yang et al. (2024), Towards Unified Alignment Between "
            "Agents, Humans, and Environment",
            splits={"held-out": {"catalogue_seed": 1}, "profile": {"profile": True}},
        ),
        EnvSpec(
            SHELF,
            "palestra_web.shop.shelf:ShelfChoice",
            players=(1, 2),
            moves="sequential",
            payoffs="general",
            family="web",
            tags=("web", "market", "choice", "hidden-information"),
            paper="Allouah et al. (2025), What Is Your AI Agent Buying? Evaluation, Biases, Model "
            "Dependence and Emerging Implications for Agentic E-Commerce",
            splits={trial: {"trial": trial} for trial in ("budget", "brand", "price", "rating")},
        ),
        EnvSpec(
            SUPPORT_DESK,
            "palestra_web.support.desk:SupportDesk",
            players=(2, 4),
            moves="sequential",
            payoffs="general",
            family="web",
            tags=("web", "messages", "simulated-user", "security", "hidden-information"),
            paper="Yao et al. (2024), tau-bench: A Benchmark for Tool-Agent-User Interaction in "
            "Real-World Domains",
            splits={
                "quiet": {"num_players": 2},
                "impostor": {"num_players": 3},
                "seller": {"num_players": 4},
            },
        ),
        EnvSpec(
            TRAVEL_DESK,
            "palestra_web.travel.desk:TravelDesk",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            observations=("text",),
            family="tools",
            tags=("tools", "planning", "hidden-information"),
            paper="Zhu et al. (2025), Planner-R1: Reward Shaping Enables Efficient Agentic RL with "
            "Smaller LLMs; Xie et al. (2024), TravelPlanner: A Benchmark for Real-World Planning "
            "with Language Agents",
            splits={
                "easy": {"level": "easy", "days": 3},
                "medium": {"level": "medium", "days": 5},
                "hard": {"level": "hard", "days": 7},
            },
        ),
        EnvSpec(
            TOOL_WORLD,
            "palestra_web.tools.world:ToolWorld",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            observations=("text",),
            family="tools",
            tags=("tools", "database", "robustness", "security", "hidden-information"),
            paper="Fang et al. (2025), Towards General Agentic Intelligence via Environment "
            "Scaling; Wang et al. (2025), Hell or High Water; Shi et al. (2025), Progent; Dong et "
            "al. (2025), SafeSearch",
            splits={
                "library": {"domains": 20, "discover": True},
                "outages": {"outages": "error"},
                "injection": {"injection": True},
                "guarded": {"injection": True, "policy": "task"},
                "search": {"task": "lookup"},
                "polluted": {"task": "lookup", "pollution": 1},
            },
        ),
        EnvSpec(
            WIDGETS,
            "palestra_web.widgets.site:Widgets",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="web",
            tags=("web", "forms", "hidden-information"),
            paper="Shi et al. (2017), World of Bits: An Open-Domain Platform for Web-Based Agents; "
            "Liu et al. (2018), Reinforcement Learning on Web Interfaces Using Workflow-Guided "
            "Exploration",
            splits={"train": {"widget": "train"}, "held-out": {"widget": "held-out"}},
        ),
        EnvSpec(
            DESKTOP,
            "palestra_web.desktop.site:Desktop",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="web",
            tags=("web", "gui", "hidden-information"),
            paper="Chen et al. (2025), OS-MAP: How Far Can Computer-Using Agents Go in Breadth and "
            "Depth?",
            splits={f"L{level}": {"level": level} for level in range(1, 6)},
        ),
        EnvSpec(
            CRM_DESK,
            "palestra_web.crm.desk:CRMDesk",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="web",
            tags=("web", "database", "hidden-information"),
            paper="Huang et al. (2025), CRMArena: Understanding the Capacity of LLM Agents to "
            "Perform Professional CRM Tasks in Realistic Environments",
            splits={"held-out": {"desk_seed": 1}},
        ),
        EnvSpec(
            CRM_CALLS,
            "palestra_web.crm.calls:CRMCalls",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            observations=("text",),
            family="tools",
            tags=("tools", "database", "hidden-information"),
            paper="Huang et al. (2025), CRMArena: Understanding the Capacity of LLM Agents to "
            "Perform Professional CRM Tasks in Realistic Environments",
            splits={"held-out": {"desk_seed": 1}},
        ),
        EnvSpec(
            APP_WORLD,
            "palestra_web.apps.site:AppWorld",
            players=(1, 1),
            moves="sequential",
            payoffs="general",
            family="web",
            tags=("web", "tools", "hidden-information"),
            paper="Trivedi et al. (2024), AppWorld: A Controllable World of Apps and People for "
            "Benchmarking Interactive Coding Agents; Chen et al. (2025), Reinforcement Learning "
            "for Long-Horizon Interactive LLM Agents",
        ),
    ]


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "rule-shopper",
            "palestra_web.shop.shoppers:RuleShopper",
            "scripted",
            "searches for the whole instruction and buys the first hit",
            (SHOP,),
        ),
        AgentSpec(
            "oracle-shopper",
            "palestra_web.shop.shoppers:OracleShopper",
            "solver",
            "knows the catalogue and buys what fits the instruction",
            (SHOP,),
        ),
        AgentSpec(
            "rational-buyer",
            "palestra_web.shop.shoppers:RationalBuyer",
            "solver",
            "buys what is asked for, the cheapest first; as a seller changes nothing",
            (SHELF,),
        ),
        AgentSpec(
            "simulated-customer",
            "palestra_web.support.people:SimulatedCustomer",
            "scripted",
            "says what it wants and gives its code when asked; sits in the first seat",
            (SUPPORT_DESK,),
        ),
        AgentSpec(
            "support-clerk",
            "palestra_web.support.people:SupportClerk",
            "scripted",
            "serves whoever writes, by the policy; trusting=true does without codes",
            (SUPPORT_DESK,),
        ),
        AgentSpec(
            "impostor",
            "palestra_web.support.people:Impostor",
            "scripted",
            "asks for something in another's name; sits in the third seat",
            (SUPPORT_DESK,),
        ),
        AgentSpec(
            "stock-keeper",
            "palestra_web.support.people:StockKeeper",
            "scripted",
            "restocks what the desk asks for; sits in the fourth seat",
            (SUPPORT_DESK,),
        ),
        AgentSpec(
            "travel-planner",
            "palestra_web.travel.planners:TravelPlanner",
            "solver",
            "Looks everything up through tools and hands in the cheapest plan that meets it all.",
            plays=(TRAVEL_DESK,),
        ),
        AgentSpec(
            "travel-greedy",
            "palestra_web.travel.planners:TravelGreedy",
            "scripted",
            "Takes what is rated best and does not count the money.",
            plays=(TRAVEL_DESK,),
        ),
        AgentSpec(
            "tool-solver",
            "palestra_web.tools.solvers:ToolSolver",
            "solver",
            "Plans on what tools take and return, and again when one fails; trust=majority or "
            "first (page found), obey=true does what notes say, replan=false tries the same again.",
            plays=(TOOL_WORLD,),
        ),
        AgentSpec(
            "widget-oracle",
            "palestra_web.widgets.oracle:WidgetOracle",
            "scripted",
            "solves every widget task from the text of its page",
            (WIDGETS,),
        ),
        AgentSpec(
            "desktop-clerk",
            "palestra_web.desktop.clerk:Clerk",
            "scripted",
            "does every job at the desktop by a script",
            (DESKTOP,),
        ),
        AgentSpec(
            "oracle-clerk",
            "palestra_web.crm.clerks:OracleClerk",
            "solver",
            "runs the query that each question calls for and answers with its cell",
            (CRM_DESK,),
        ),
        AgentSpec(
            "none-clerk",
            "palestra_web.crm.clerks:NoneClerk",
            "scripted",
            "answers every question with None",
            (CRM_DESK,),
        ),
        AgentSpec(
            "oracle-caller",
            "palestra_web.crm.callers:OracleCaller",
            "solver",
            "calls the tools that a question needs and compares what they return",
            (CRM_CALLS,),
        ),
        AgentSpec(
            "oracle-assistant",
            "palestra_web.apps.assistants:OracleAssistant",
            "scripted",
            "does every errand by reading pages and acting on them",
            (APP_WORLD,),
        ),
        AgentSpec(
            "idle-assistant",
            "palestra_web.apps.assistants:IdleAssistant",
            "scripted",
            "stops at once and changes nothing",
            (APP_WORLD,),
        ),
    ]


@hookimpl
def palestra_renderers() -> list[RendererSpec]:
    return [RendererSpec("web", "browser", "palestra_web.mirror:Mirror")]


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra_web.command import app as web

    app.add_typer(web, name="web")


@hookimpl
def palestra_metrics() -> list[MetricSpec]:
    return [
        MetricSpec(
            "plan-delivery",
            "palestra_web.travel.metrics:delivery",
            "1 if a plan for every day was handed in.",
            measures=(TRAVEL_DESK,),
        ),
        MetricSpec(
            "commonsense-micro",
            "palestra_web.travel.metrics:commonsense_micro",
            "The share of checks of common sense passed.",
            measures=(TRAVEL_DESK,),
        ),
        MetricSpec(
            "hard-micro",
            "palestra_web.travel.metrics:hard_micro",
            "The share of wishes met, the budget among them.",
            measures=(TRAVEL_DESK,),
        ),
        MetricSpec(
            "final-pass",
            "palestra_web.travel.metrics:final_pass",
            "1 if every check was passed.",
            measures=(TRAVEL_DESK,),
        ),
        MetricSpec(
            "task-success",
            "palestra_web.tools.metrics:success",
            "1 if all was done that was asked for and nothing else changed.",
            measures=(TOOL_WORLD,),
        ),
        MetricSpec(
            "task-utility",
            "palestra_web.tools.metrics:utility",
            "1 if all was done that was asked for, whatever else happened.",
            measures=(TOOL_WORLD,),
        ),
        MetricSpec(
            "attack-success",
            "palestra_web.tools.metrics:attack_success",
            "1 if what a planted instruction or a false page wanted came about.",
            measures=(TOOL_WORLD,),
        ),
        MetricSpec(
            "tool-errors",
            "palestra_web.tools.metrics:tool_errors",
            "Calls that were answered with an error.",
            unit="calls",
            measures=(TRAVEL_DESK, TOOL_WORLD, CRM_CALLS),
        ),
        MetricSpec(
            "wasted-calls",
            "palestra_web.tools.metrics:wasted_calls",
            "Calls that failed, or had been made with nothing changed since.",
            unit="calls",
            measures=(TOOL_WORLD,),
        ),
        MetricSpec(
            "repeated-call-rate",
            "palestra_web.tools.metrics:repeated_call_rate",
            "The share of calls that had been made with nothing changed since.",
            measures=(TOOL_WORLD,),
        ),
        MetricSpec(
            "desktop-level",
            "palestra_web.desktop.site:level_of",
            "the level of automation of an episode's job, 1 to 5",
            measures=(DESKTOP,),
        ),
        MetricSpec(
            "documentation-lookups",
            "palestra_web.apps.metrics:documentation_lookups",
            "Pages of documentation opened.",
            unit="pages",
            measures=(APP_WORLD,),
        ),
        MetricSpec(
            "refusals",
            "palestra_web.apps.metrics:refusals",
            "Forms that an app refused.",
            unit="forms",
            measures=(APP_WORLD,),
        ),
        MetricSpec(
            "gave-up",
            "palestra_web.apps.metrics:gave_up",
            "1 where the play was stopped right after a refusal, else 0.",
            measures=(APP_WORLD,),
        ),
        MetricSpec(
            "assumed-values",
            "palestra_web.apps.metrics:assumed_values",
            "Addresses, amounts, days and times typed that no page had shown.",
            unit="values",
            measures=(APP_WORLD,),
        ),
    ]
