"""What this plugin gives: agents that can be named in a string, each over any model."""

from __future__ import annotations

from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec

AGENTS = (
    ("react", "react:ReAct", "ReAct: a thought before every move.", ()),
    ("bestof", "search.agents:BestOfN", "The best-scored of n moves.", ("fork",)),
    ("beam", "search.agents:BeamSearch", "Step-level beam search.", ("fork",)),
    ("treesearch", "search.agents:TreeSearch", "Best-first tree search.", ("fork",)),
    ("swesearch", "search.agents:SWESearch", "MCTS with a judge's words.", ("fork",)),
    ("bavt", "search.agents:BAVT", "Tree search that watches its budget.", ("fork",)),
    ("flare", "search.agents:FLARE", "Look-ahead, one move, plan anew.", ("fork",)),
    ("reflexion", "memory.reflexion:Reflexion", "Learns from what it writes after episodes.", ()),
    ("memrl", "memory.memrl:MemRL", "A memory that learns which entries help.", ()),
    ("rafa", "memory.rafa:RAFA", "Plans in a world it imagines and corrects.", ()),
    ("proagent", "kitchen.proagent:ProAgent", "Skills and a partner's intention.", ("fork",)),
    ("dylan", "teams.dylan:DyLAN", "Layers of members who rate each other.", ()),
    ("selforg", "teams.selforg:SelfOrg", "Members who choose whom they listen to.", ()),
    ("team", "teams.topologies:Topologies", "Five topologies at one budget of tokens.", ()),
    ("oneflow", "teams.oneflow:OneFlow", "Every role of a workflow, one conversation.", ()),
    ("spp", "teams.spp:SoloPerformance", "One model as several personas.", ()),
    ("sale", "routers.sale:StrategyAuction", "Models bid plans; the best bargain plays.", ()),
    ("knapsack", "routers.knapsack:Knapsack", "Buys the agents that are worth it.", ()),
    ("zcl-buyer", "routers.buyer:ZclBuyer", "Buys components by the knapsack's threshold.", ()),
    ("omit", "omit:Omit", "ReAct that leaves out what no longer helps.", ()),
    ("relay", "relay:Relay", "One agent opens, another finishes.", ()),
)
PLAYS = {"proagent": ("grid/Kitchen-v0",), "zcl-buyer": ("markets/Composer-v0",)}


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            name,
            f"palestra_adapters.{entry}",
            "scripted" if name == "zcl-buyer" else "llm",
            summary,
            plays=PLAYS.get(name, ("*",)),
            needs=needs,
        )
        for name, entry, summary, needs in AGENTS
    ]
