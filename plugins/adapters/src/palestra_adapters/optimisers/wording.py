"""How workflows are described to a model, and how those that it writes are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from palestra import InvalidOption

from palestra_adapters.workflows.steps import Workflow, check_workflow

LANGUAGE = """\
An agent plays the game by a workflow: a list of steps that is run for every move. A step reads only
steps before it, by their names. The move of the last step is played. The kinds of steps:
- ask: asks a model. Fields: prompt, role, reads (names), answers (true: it writes a thought and a
  move; false: notes for later steps), samples (1 to 9 answers), temperature (0 to 2).
- vote: the most frequent legal move among the answers of the steps in reads.
- reflect: a critic reads the one answer in reads and it is revised. Fields: critic and revise
  (prompts), rounds (1 to 5).
- debate: members with roles (2 to 6 texts) answer, read each other and answer again, then vote.
  Fields: roles, prompt, reads, rounds (1 to 5), temperature.
- tool: looks ahead without a model. Field tool: "lookahead" (mean payoff of random playouts after
  each legal move, field playouts, 1 to 64) or "outcomes" (the position after each legal move).
- recall: the agent's last moves of this episode and its reasons. Field: shown (1 to 20).
Every model that is asked is also shown the rules, what it has seen of the episode, and its legal
moves. A name has lower-case letters, digits and hyphens. At most 12 steps."""
FORM = """\
Write one JSON object: {"note": "what you change and why", "name": "…", "steps": [{"kind": "ask",
"name": "answer", "prompt": "…"}, …]}. Write nothing after it."""
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


class Proposal(msgspec.Struct, frozen=True):
    """A workflow as a model writes it."""

    steps: msgspec.Raw
    name: str = ""
    note: str = ""


def as_text(workflow: Workflow) -> str:
    """A workflow as the model reads and writes it."""
    own = {"name": workflow.name, "steps": workflow.steps}
    return msgspec.json.format(msgspec.json.encode(own), indent=1).decode()


def stated_json(text: str) -> str:
    """The JSON object that a reply ends with, in a fence or bare.

    Raises `InvalidOption` if it ends with none.
    """
    fenced = _FENCED.findall(text)
    if fenced:
        return str(fenced[-1]).strip()
    start, end = text.find("{"), text.rfind("}")
    if not 0 <= start < end:
        raise InvalidOption("no JSON object was found; write one JSON object and nothing after it")
    return text[start : end + 1]


def read_proposal(text: str) -> tuple[str, Workflow]:
    """The note and the workflow of a reply; raises `InvalidOption` that says what is wrong."""
    try:
        read = msgspec.json.decode(stated_json(text), type=Proposal)
        steps = msgspec.json.encode({"name": read.name, "steps": read.steps})
        return read.note, check_workflow(msgspec.json.decode(steps, type=Workflow))
    except msgspec.MsgspecError as error:
        raise InvalidOption(f"not a workflow: {error}") from error


def bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
