"""What this plugin gives: sites, worlds of tools and their reference agents, by id."""

from __future__ import annotations

from typing import Any

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec, EnvSpec, RendererSpec

SHOP = "web/Shop-v0"
SHELF = "web/Shelf-v0"


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
    ]


@hookimpl
def palestra_renderers() -> list[RendererSpec]:
    return [RendererSpec("web", "browser", "palestra_web.mirror:Mirror")]


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra_web.command import app as web

    app.add_typer(web, name="web")
