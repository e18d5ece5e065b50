"""CM2: a checklist judged on cited evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import at_last

Verdict = tuple[bool, str]


@dataclass(frozen=True, slots=True)
class Item:
    """One yes/no question of a checklist.

    `judge` takes a record and returns a verdict and the evidence for it, as text. `after` names
    items that must be met before this one can count; `applies` says whether it counts at all.
    """

    name: str
    judge: Callable[[EpisodeRecord], Verdict]
    weight: float = 1.0
    after: tuple[str, ...] = ()
    applies: Callable[[EpisodeRecord], bool] = lambda record: True


@reward(
    "checklist",
    shape="episode",
    needs=("checklist",),
    paper=(
        "CM2: Reinforcement Learning with Checklist Rewards for Multi-Turn and Multi-Step"
        " Agentic Tool Use"
    ),
    check="test_prerequisites_evidence_and_order_of_a_checklist",
    cost="one judgement per item",
)
def checklist(
    record: EpisodeRecord,
    *,
    judge: Annotated[
        Sequence[Item], Meta(description="items of the checklist, each with what checks it")
    ],
) -> Floats:
    """Weighted share of a checklist's items that are met, with evidence cited.

    The share is paid on the last turn of each seat; `judge` is the list of items.

    An item without evidence, or with an unmet prerequisite, counts as not met. "CM2".
    """
    share = met_share(record, judge)
    return at_last(record, lambda _: share)


def met_share(record: EpisodeRecord, items: Sequence[Item]) -> float:
    """Total weight of the items met, divided by that of all that apply; 0 if none applies."""
    counted = [item for item in items if item.applies(record)]
    total = sum(item.weight for item in counted)
    met = {item.name for item in _met(record, items)}
    return sum(item.weight for item in counted if item.name in met) / total if total else 0.0


def _met(record: EpisodeRecord, items: Sequence[Item]) -> list[Item]:
    """The items that are met; prerequisites are judged first, whatever the order of the list."""
    known = {item.name: item for item in items}
    settled: dict[str, bool] = {}

    def settle(name: str, above: tuple[str, ...]) -> bool:
        if name not in known:
            raise InvalidOption(
                f"checklist item {above[-1]!r} names {name!r} in after=, but there is no such item"
            )
        if name in above:
            raise InvalidOption(
                f"the prerequisites of checklist items form a cycle: {' -> '.join((*above, name))}"
            )
        if name not in settled:
            first = all(settle(one, (*above, name)) for one in known[name].after)
            yes, evidence = known[name].judge(record) if first else (False, "")
            settled[name] = yes and bool(evidence.strip())
        return settled[name]

    return [item for item in items if settle(item.name, ())]
