"""Trajectories in the form of AgentGym's AgentTraj, written and read.

Xi, Ding, Chen et al., "AgentGym: Evolving Large Language Model-based Agents across Diverse
Environments", 2024. A row is `{"item_id": NAME_INDEX, "conversations": [...]}`; a part of a
conversation is `{"from": "human" | "gpt", "loss": ..., "value": TEXT}`. People and "gpt" take
turns; loss is null where a person speaks, and says of an answer whether it is trained on. Rules
stand first, answered by "Ok.", which is not trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from palestra import InvalidOption

from palestra_training.text_rows import Row, Said, Trajectory, groups_of, said

ACCEPTED = "Ok."  # the answer to the rules
ROLES = {"human": "user", "gpt": "assistant"}


def agentgym_rows(
    played: Sequence[Trajectory], *, keep: int = 1, least: float | None = None
) -> Iterator[Row]:
    """The `keep` best rollouts of every start as rows of AgentTraj; those of a start in order.

    `item_id` is the environment's id with the seed. least: what is worth less is left out.
    """
    if keep < 1:
        raise InvalidOption(f"keep must be at least 1, not {keep}")
    for group in groups_of(played):
        for one in sorted(group, key=lambda one: -one.worth)[:keep]:
            if least is not None and one.worth < least:
                continue
            if not one.whole:
                raise InvalidOption(
                    "AgentGym's rows are whole conversations; leave --history out, or write "
                    "--rows imitate"
                )
            yield {
                "item_id": f"{one.record.env}_{one.record.seed}",
                "conversations": conversation(said(one.messages)),
            }


def conversation(messages: Said) -> list[dict[str, Any]]:
    """Messages as a conversation of AgentTraj, in which people and "gpt" take turns."""
    rules = [one["content"] for one in messages if one["role"] == "system"]
    parts: list[dict[str, Any]] = []
    if rules:
        parts += [_human("\n\n".join(rules)), {"from": "gpt", "loss": False, "value": ACCEPTED}]
    for one in messages:
        if one["role"] == "system":
            continue
        if one["role"] == "assistant":
            parts.append({"from": "gpt", "loss": True, "value": one["content"]})
        elif parts and parts[-1]["from"] == "human":
            parts[-1]["value"] += f"\n\n{one['content']}"
        else:
            parts.append(_human(one["content"]))
    return parts


def _human(text: str) -> dict[str, Any]:
    return {"from": "human", "loss": None, "value": text}


def read_agentgym_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Rows of AgentTraj as rows of "messages", which TRL reads; rows of AgentEval are left out.

    What stands before an answer that is not trained on, the rules, is a message of the system.
    """
    for row in rows:
        name = row.get("item_id")
        if not isinstance(name, str) or "conversations" not in row:
            raise InvalidOption(
                "a row of AgentTraj has 'item_id', a text, and 'conversations'; "
                f"this one has {', '.join(map(repr, row)) or 'nothing'}"
            )
        if row["conversations"] is not None:  # AgentEval has ids alone
            yield {"messages": messages_of(row["conversations"]), "item_id": name}


def messages_of(parts: Sequence[Mapping[str, Any]]) -> Said:
    """A conversation of AgentTraj as messages."""
    messages: Said = []
    for place, part in enumerate(parts):
        if part.get("from") not in ROLES or not isinstance(part.get("value"), str):
            raise InvalidOption(
                f"part {place} of a conversation must have 'from', human or gpt, and 'value', a "
                f"text; it is {dict(part)!r}"[:300]
            )
        untrained = part["from"] == "gpt" and not part.get("loss")
        if untrained and messages and messages[-1]["role"] == "user":
            messages[-1]["role"] = "system"
        else:
            messages.append({"role": ROLES[part["from"]], "content": part["value"]})
    return messages
