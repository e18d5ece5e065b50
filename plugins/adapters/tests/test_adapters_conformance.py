"""Every agent of this plugin that a model alone makes, whatever that model writes."""

from palestra.kernel.registry import registry
from palestra.testing import agent_conformance

OWN = [spec for spec in registry().agents.values() if spec.entry_point.startswith("palestra_adap")]

test_those_that_play_anything = agent_conformance(
    "palestra_adapters",
    envs=("games/TicTacToe-v0", "games/KuhnPoker-v0"),
    agents=[spec.name for spec in OWN if spec.plays == ("*",)],
)
test_those_of_one_environment = agent_conformance(
    "palestra_adapters",
    envs=sorted({env for spec in OWN for env in spec.plays if "*" not in env}),
    agents=[spec.name for spec in OWN if spec.plays != ("*",)],
)
