"""A workflow as data: steps that ask, vote, reflect, debate, use a tool or recall.

A workflow is a directed graph without circles, written in order: a step reads only steps before
it. The move of the last step is played. Prompts are fields, so that a search can rewrite them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from palestra import InvalidOption, Meta
from palestra.files import UNREADABLE, read_file, write_bytes

MOST = 12  # steps of a workflow
Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9-]{0,30}$")]
Prompt = Annotated[str, Meta(max_length=4_000)]
Few = Annotated[int, Meta(ge=1, le=5)]
Samples = Annotated[int, Meta(ge=1, le=9)]
Heat = Annotated[float, Meta(ge=0.0, le=2.0)]

CRITIC = (
    "Check this answer step by step against the rules and the position. Say what is wrong with it. "
    "If nothing is, write only: no fault."
)
REVISE = "Take the critique into account, as far as it is right, and answer again."
ARGUE = "Weigh what the others say, then give your own answer."


class AskStep(msgspec.Struct, frozen=True, tag_field="kind", tag="ask", omit_defaults=True):
    """Ask the model `prompt` in a `role`, `samples` times; with `answers` it writes a move.

    Without `answers` it writes notes, such as a plan, which later steps read. Without `transcript`
    the model is shown the position alone, and of the episode so far what the steps it reads say.
    """

    name: Name
    prompt: Prompt = ""
    role: Prompt = ""
    reads: tuple[Name, ...] = ()
    answers: bool = True
    samples: Samples = 1
    temperature: Heat = 0.0
    transcript: bool = True


class VoteStep(msgspec.Struct, frozen=True, tag_field="kind", tag="vote", omit_defaults=True):
    """The most frequent legal move among the answers it reads; ties go to the first."""

    name: Name
    reads: tuple[Name, ...] = ()


class ReflectStep(msgspec.Struct, frozen=True, tag_field="kind", tag="reflect", omit_defaults=True):
    """A critic reads the last answer of the step it reads, and the answer is revised.

    It stops when the critic writes `no fault`, at the latest after `rounds` revisions.
    """

    name: Name
    reads: tuple[Name, ...] = ()
    critic: Prompt = CRITIC
    revise: Prompt = REVISE
    rounds: Few = 1


class DebateStep(msgspec.Struct, frozen=True, tag_field="kind", tag="debate", omit_defaults=True):
    """One member per role answers, all read each other and answer again; a vote decides.

    `prompt` is what they are asked from the second round on, when there are others to read.
    """

    name: Name
    roles: Annotated[tuple[Prompt, ...], Meta(min_length=2, max_length=6)]
    reads: tuple[Name, ...] = ()
    prompt: Prompt = ARGUE
    rounds: Few = 2
    temperature: Heat = 0.0


class ToolStep(msgspec.Struct, frozen=True, tag_field="kind", tag="tool", omit_defaults=True):
    """What a tool finds, for later steps to read; it asks no model.

    `lookahead`: the mean payoff of `playouts` random playouts after each legal move. `outcomes`:
    what the position would be after each legal move. Both look ahead on copies in which hidden
    state and future chance are sampled again, and the others move at random.
    """

    name: Name
    tool: Literal["lookahead", "outcomes"] = "lookahead"
    playouts: Annotated[int, Meta(ge=1, le=64)] = 8


class RecallStep(msgspec.Struct, frozen=True, tag_field="kind", tag="recall", omit_defaults=True):
    """The agent's last `shown` moves of this episode with the reasons it wrote for them."""

    name: Name
    shown: Annotated[int, Meta(ge=1, le=20)] = 3


Step: TypeAlias = AskStep | VoteStep | ReflectStep | DebateStep | ToolStep | RecallStep


class Workflow(msgspec.Struct, frozen=True):
    """Steps in order; `model` is the URI of the model that it was made for, if any."""

    steps: Annotated[tuple[Step, ...], Meta(min_length=1, max_length=MOST)]
    name: str = ""
    model: str = ""

    def step(self, name: str) -> Step:
        """The step of that name."""
        return next(step for step in self.steps if step.name == name)

    @property
    def key(self) -> str:
        """Equal for workflows that play alike: the steps without the workflow's name and model."""
        return msgspec.json.encode(self.steps).decode()

    @property
    def calls(self) -> int:
        """The most answers that one decision asks for."""
        return sum(map(step_calls, self.steps))


def reads_of(step: Step) -> tuple[str, ...]:
    """The names of the steps that a step reads."""
    return () if isinstance(step, ToolStep | RecallStep) else step.reads


def step_calls(step: Step) -> int:
    """The most answers that a step asks for."""
    if isinstance(step, AskStep):
        return step.samples
    if isinstance(step, ReflectStep):
        return 2 * step.rounds
    return len(step.roles) * step.rounds if isinstance(step, DebateStep) else 0


def decides(step: Step) -> bool:
    """Whether a step has a move that can be played, voted on or reflected on."""
    return not isinstance(step, ToolStep | RecallStep) and not (
        isinstance(step, AskStep) and not step.answers
    )


def check_workflow(workflow: Workflow) -> Workflow:
    """The workflow, if its fields and the links between its steps are in order.

    Raises `InvalidOption`, which names the step and says what is accepted.
    """
    try:
        workflow = msgspec.convert(msgspec.to_builtins(workflow), Workflow)
    except msgspec.ValidationError as error:
        raise InvalidOption(f"not a workflow: {error}") from error
    before: dict[str, Step] = {}
    for step in workflow.steps:
        _check_step(step, before)
        before[step.name] = step
    if not decides(workflow.steps[-1]):
        raise InvalidOption(
            f"the last step must answer with a move; {workflow.steps[-1].name!r} does not"
        )
    return workflow


def _check_step(step: Step, before: dict[str, Step]) -> None:
    if step.name in before:
        raise InvalidOption(f"two steps are called {step.name!r}; give every step its own name")
    for name in reads_of(step):
        if name not in before:
            raise InvalidOption(
                f"{step.name!r} reads {name!r}, which is no earlier step; "
                f"earlier steps: {', '.join(before) or 'none'}"
            )
    answers = [name for name in reads_of(step) if decides(before[name])]
    if isinstance(step, VoteStep) and not answers:
        raise InvalidOption(f"the vote {step.name!r} must read a step that answers with a move")
    if isinstance(step, ReflectStep) and len(answers) != 1:
        raise InvalidOption(
            f"{step.name!r} reflects on one answer; it reads {len(answers)} steps that answer"
        )


def read_workflow(path: str | Path) -> Workflow:
    """The workflow of a JSON file; raises `InvalidOption` if it is none."""
    try:
        return check_workflow(
            msgspec.json.decode(read_file(Path(path).expanduser()), type=Workflow)
        )
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(f"{path} is not a workflow: {error}") from error


def write_workflow(path: str | Path, workflow: Workflow) -> Path:
    """Write a workflow as JSON."""
    return write_bytes(path, msgspec.json.format(msgspec.json.encode(workflow)))


def answered_once() -> Workflow:
    """One answer with a thought before it: the workflow that searches start from."""
    return Workflow((AskStep("answer"),), "one answer")


def known_workflows() -> list[Workflow]:
    """Workflows from the literature, with which a search may begin.

    One thought and an answer; a vote of five answers (self-consistency, Wang et al. 2023); an
    answer revised after a critique (Self-Refine, Madaan et al. 2023); a debate (Du et al. 2023);
    a plan before the answer.
    """
    return [
        answered_once(),
        Workflow(
            (AskStep("answer", samples=5, temperature=0.8), VoteStep("vote", ("answer",))),
            "self-consistency",
        ),
        Workflow((AskStep("answer"), ReflectStep("reflect", ("answer",), rounds=2)), "self-refine"),
        Workflow(
            (
                DebateStep(
                    "debate",
                    ("You look for the move that gains most.", "You look for what can go wrong."),
                    temperature=0.8,
                ),
            ),
            "debate",
        ),
        Workflow(
            (
                AskStep("plan", "Write a plan in one or two sentences.", answers=False),
                AskStep("answer", "Follow the plan where it is right.", reads=("plan",)),
            ),
            "plan first",
        ),
    ]
