"""Agents of Change: a team that analyses games and rewrites the prompt of its player.

Belle et al., "Agents of Change: Self-Evolving LLM Agents for Strategic Planning", 2025, whose game
is Catan (`games/Catan-v0`). An analyser reads games and says what was lost where; a researcher
turns that into a strategy; a coder rewrites the player's prompts; the player plays. An edit is kept
if it does better: by default only if the 95 % interval of the paired differences is above zero.
There the coder may also rewrite the player's code; here it writes prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from palestra import InvalidOption, Meta

from palestra_adapters.optimisers.search import (
    Search,
    Searching,
    Studio,
    Variant,
    WorkflowEpisode,
    interval,
)
from palestra_adapters.optimisers.symbolic import prompt_of, with_prompt
from palestra_adapters.workflows.steps import Step, Workflow, step_calls

ANALYSE = (
    "You are the analyser of a team that improves a player of this game. Its prompts:\n{prompts}"
    "\n\nIts games, the worst first:\n{games}\n\nSay which decisions cost it most, and which were "
    "good. Name what was seen, what was played, and what followed. At most eight sentences."
)
RESEARCH = (
    "You are the researcher of a team that improves a player of this game. The analyser reports:\n"
    "{analysis}\n\nEdits so far:\n{history}\n\nWhich strategy, from what is known of this game or "
    "of games like it, repairs these faults? Do not repeat an edit that failed. At most eight "
    "sentences."
)
CODE = (
    "You are the coder of a team that improves a player of this game. The step {name!r} of the "
    "player has this prompt:\n{prompt}\n\nThe analyser reports:\n{analysis}\n\nThe researcher "
    "advises:\n{strategy}\n\nWrite the new prompt of this step between <START> and <END>, complete "
    "and precise. Keep what works."
)


class AgentsOfChange(Search):
    """`rounds` edits, each from the best player so far; the last eight edits are remembered."""

    name = "agents-of-change"
    paper = "Agents of Change: Self-Evolving LLM Agents for Strategic Planning (2025)"

    def __init__(
        self,
        *,
        rounds: Annotated[int, Meta(ge=1, description="edits at most")] = 10,
        shown: Annotated[int, Meta(ge=1, description="games that the analyser reads")] = 3,
        keep: Annotated[
            Literal["interval", "mean"],
            Meta(description="what decides: the interval of paired differences, or their mean"),
        ] = "interval",
    ) -> None:
        if keep not in ("interval", "mean"):
            raise InvalidOption(f"keep must be interval or mean, not {keep!r}")
        self._rounds, self._shown, self._keep = rounds, shown, keep
        self._kept: Variant | None = None

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        best = self._kept = studio.add(start)
        yield from studio.play(best)
        history: list[str] = []
        for number in range(1, self._rounds + 1):
            edit = yield from self._edit(studio, best, history)
            try:
                studio.refuse_known(edit[1])
                made = studio.add(edit[1], [best], f"edit {number}", edit[0])
            except InvalidOption as error:
                history.append(f"edit {number}: {edit[0]} (not played: {error})")
                continue
            yield from studio.play(made)
            better = self.better(best.played, made.played)
            verdict = "kept" if better else "undone"
            history.append(
                f"edit {number}, {verdict}, {best.mean:.3f} became {made.mean:.3f}: {edit[0]}"
            )
            if better:
                best = self._kept = made

    def better(self, old: Sequence[WorkflowEpisode], new: Sequence[WorkflowEpisode]) -> bool:
        """Whether an edit is kept, by the returns on the same seeds."""
        pairs = zip(new, old, strict=True)
        gains = [after.returns - before.returns for after, before in pairs]
        if self._keep == "mean" or len(gains) < 2:
            return sum(gains) > 0
        gain = interval(gains)  # not a number around gains that are all alike
        return gain.value > 0 and not gain.low <= 0

    def _edit(
        self, studio: Studio, best: Variant, history: Sequence[str]
    ) -> Searching[tuple[str, Workflow]]:
        """The researcher's strategy in one line, and the player as the coder rewrote it."""
        asking = [step for step in best.workflow.steps if step_calls(step)]
        prompts = "\n".join(f"{step.name}: {prompt_of(step)}" for step in asking)
        worst = sorted(best.played, key=lambda one: one.returns)[: self._shown]
        games = "\n\n".join(f"Paid {one.returns:g}:\n{one.story}" for one in worst)
        analysis = (yield from studio.ask(ANALYSE.format(prompts=prompts, games=games))).text
        told = yield from studio.ask(
            RESEARCH.format(analysis=analysis, history="\n".join(history[-8:]) or "none")
        )
        steps: list[Step] = []
        for step in best.workflow.steps:
            if step in asking:
                asked = CODE.format(
                    name=step.name, prompt=prompt_of(step), analysis=analysis, strategy=told.text
                )
                written = (yield from studio.ask(asked)).text
                step = with_prompt(step, between(written))
            steps.append(step)
        changed = msgspec.structs.replace(best.workflow, steps=tuple(steps))
        return " ".join(told.text.split())[:300], changed

    def choose(self, studio: Studio) -> Variant:
        """The last player that was kept."""
        return self._kept or studio.best


def between(text: str) -> str:
    """What stands between <START> and <END>; empty if there is nothing."""
    return text.partition("<START>")[2].partition("<END>")[0].strip()
