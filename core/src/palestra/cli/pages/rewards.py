"""A page for each reward: shapers of steps and episodes, and estimators of groups."""

from __future__ import annotations

import inspect

from palestra.cli.pages.markdown import cell, code, options_table, plain, section, table
from palestra.kernel.registry import registry
from palestra.kernel.specs import RewardSpec, load_entry_point


def pages() -> dict[str, str]:
    """The text of a page for each installed reward, and of an index, by file name."""
    rewards = [reward for _, reward in sorted(registry().rewards.items())]
    return {**{f"{r.name}.md": page(r) for r in rewards}, "README.md": index(rewards)}


SHAPES = {
    "step": "Step shapers, which pay while an episode is played",
    "episode": "Episode shapers, which read a finished episode",
    "group": "Group estimators, which compare episodes of the same start",
}


def index(rewards: list[RewardSpec]) -> str:
    lines = ["# Rewards and credit", "", "Written by `palestra pages --of rewards`.", ""]
    for shape, title in SHAPES.items():
        rows = [
            (f"[`{r.name}`]({r.name}.md)", cell(r.summary), cell(r.paper) or "-")
            for r in rewards
            if r.shape == shape
        ]
        lines += section(title, table(("name", "what", "paper"), rows))
    return "\n".join(lines)


def page(reward: RewardSpec) -> str:
    """One shaper or estimator: what it pays, what it needs, and its options."""
    facts = [
        ("shape", reward.shape),
        ("needs", ", ".join(reward.needs)),
        ("paper", plain(reward.paper)),
        ("from", code(reward.entry_point)),
    ]
    return "\n".join(
        [
            f"# {reward.name}",
            "",
            inspect.getdoc(load_entry_point(reward.entry_point)) or reward.summary,
            "",
            *section("Facts", table(("fact", "value"), [fact for fact in facts if fact[1]])),
            *section("Options", options_table(reward.options)),
        ]
    )
