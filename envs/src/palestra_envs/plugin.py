"""What this plugin gives: the reference environments, by id."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec, EnvSpec, MetricSpec, RewardSpec


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return [
        EnvSpec(
            "grid/Foraging-v0",
            "palestra_envs.grid.foraging:Foraging",
            players=(1, 20),
            moves="simultaneous",
            payoffs="general",
            family="grid",
            tags=("cooperation", "competition", "partial-view", "chance"),
            paper="Albrecht and Ramamoorthy (2013); Christianos et al. (2020); "
            "Papoudakis et al. (2021)",
            splits={
                "8x8-2p-2f-coop": {"max_food": 2, "force_coop": True},
                "2s-8x8-2p-2f-coop": {"max_food": 2, "force_coop": True, "sight": 2},
                "10x10-3p-3f": {"rows": 10, "columns": 10, "num_players": 3},
                "2s-10x10-3p-3f": {"rows": 10, "columns": 10, "num_players": 3, "sight": 2},
                "15x15-3p-5f": {"rows": 15, "columns": 15, "num_players": 3, "max_food": 5},
                "15x15-4p-3f": {"rows": 15, "columns": 15, "num_players": 4},
                "15x15-4p-5f": {"rows": 15, "columns": 15, "num_players": 4, "max_food": 5},
            },
        ),
        EnvSpec(
            "text/Negotiation-v0",
            "palestra_envs.text.negotiation:Negotiation",
            players=(2, 2),
            moves="sequential",
            payoffs="general",
            family="text",
            tags=("negotiation", "hidden-information", "messages"),
            paper="Lewis et al. (2017), Deal or No Deal? End-to-End Learning of Negotiation "
            "Dialogues",
        ),
        EnvSpec(
            "text/Commons-v0",
            "palestra_envs.text.commons:Commons",
            players=(2, 10),
            moves="phased",
            payoffs="general",
            family="text",
            tags=("commons", "social-dilemma", "messages"),
            paper="Piatti et al. (2024), Cooperate or Collapse: Emergence of Sustainable "
            "Cooperation in a Society of LLM Agents",
        ),
        EnvSpec(
            "grid/Kitchen-v0",
            "palestra_envs.grid.kitchen:Kitchen",
            players=(1, 4),
            moves="simultaneous",
            payoffs="common",
            family="grid",
            tags=("cooperation", "coordination"),
            paper="Carroll et al. (2019), On the Utility of Learning about Humans for Human-AI "
            "Coordination",
            splits={
                "asymmetric-advantages": {"layout": "asymmetric_advantages"},
                "coordination-ring": {"layout": "coordination_ring"},
                "forced-coordination": {"layout": "forced_coordination"},
                "counter-circuit": {"layout": "counter_circuit"},
            },
        ),
    ]


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "forager",
            "palestra_envs.grid.foragers:Forager",
            "scripted",
            "Walks to the nearest food it can load, alone or with those it sees.",
            plays=("grid/Foraging-v0",),
            needs=("array",),
        ),
        AgentSpec(
            "negotiator",
            "palestra_envs.text.negotiators:Negotiator",
            "scripted",
            "Proposes splits and accepts good ones: style=fair|greedy|conceder.",
            plays=("text/Negotiation-v0",),
        ),
        AgentSpec(
            "harvester",
            "palestra_envs.text.harvesters:Harvester",
            "scripted",
            "Harvests by rule and says nothing: policy=sustainable|greedy|fixed.",
            plays=("text/Commons-v0",),
        ),
        AgentSpec(
            "cook",
            "palestra_envs.grid.cooks:Cook",
            "scripted",
            "Takes over what is to be done next, by shortest paths, and shares it with the others.",
            plays=("grid/Kitchen-v0",),
            needs=("array",),
        ),
    ]


@hookimpl
def palestra_rewards() -> list[RewardSpec]:
    return [
        RewardSpec(
            "food-distance",
            "palestra_envs.grid.shaping:food_distance",
            "step",
            "Potential-based: pays for coming nearer to the nearest food.",
            paper="Ng, Harada and Russell (1999), Policy invariance under reward transformations",
        )
    ]


@hookimpl
def palestra_metrics() -> list[MetricSpec]:
    return [
        MetricSpec(
            "total-gain",
            "palestra_envs.text.metrics:total_gain",
            "Returns of all seats together.",
            measures=("text/*",),
        ),
        MetricSpec(
            "equality",
            "palestra_envs.text.metrics:equality",
            "1 - Gini coefficient of returns.",
            measures=("text/*",),
        ),
        MetricSpec(
            "rounds-survived",
            "palestra_envs.text.metrics:rounds_survived",
            "Rounds harvested before the stock collapsed, or all of them.",
            unit="rounds",
            measures=("text/Commons-v0",),
        ),
        MetricSpec(
            "efficiency",
            "palestra_envs.text.metrics:efficiency",
            "Total gain over the most that can be caught sustainably.",
            measures=("text/Commons-v0",),
        ),
    ]
