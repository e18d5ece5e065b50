"""What this plugin gives: agents that can be named in a string, each over any model."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec

AGENTS = (
    ("react", "react:ReAct", "ReAct: a thought before every move.", ()),
    ("bestof", "search.agents:BestOfN", "The best-scored of n moves.", ("fork",)),
    ("beam", "search.agents:BeamSearch", "Step-level beam search.", ("fork",)),
    ("treesearch", "search.agents:TreeSearch", "Best-first tree search.", ("fork",)),
    ("swesearch", "search.agents:SWESearch", "MCTS with a judge's words.", ("fork",)),
    ("bavt", "search.agents:BAVT", "Tree search that watches its budget.", ("fork",)),
    ("flare", "search.agents:FLARE", "Look-ahead, one move, plan anew.", ("fork",)),
)


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(name, f"palestra_adapters.{entry}", "llm", summary, needs=needs)
        for name, entry, summary, needs in AGENTS
    ]
