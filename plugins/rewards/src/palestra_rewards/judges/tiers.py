"""Two tiers of judges over every step: rules of the environment first, then a model.

Li et al., "MagicGUI-RMS: A Multi-Agent Reward Model System for Self-Evolving GUI Agents via
Automated Feedback Reflux" (2026). The first tier checks each action against deterministic rules and
proposes a correction; the second reads the whole task and decides. What they find becomes
training data for the agent and for the reward model. There both tiers are trained models that see
pictures; here the first is rules and an expert agent, and the second any model that reads text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from palestra import Agent, EpisodeRecord, Meta, retrace, reward
from palestra.kernel.game import Game

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.expert import AskedExpert
from palestra_rewards.episodes.turns import lines_of
from palestra_rewards.judges.service import Judge, JudgeModel, ask, open_judge
from palestra_rewards.judges.showing import turn_texts
from palestra_rewards.training_rows import Row, prompts_of

REFUSED = "answers were refused as illegal"
NOTHING = "nothing changed"
BACK = "it leads back to where the seat has been"
ORDER = (
    "Task: {task}\n\nSo far:\n{before}\n\nPosition:\n{position}\n\nThe next action: {action}\n"
    "Rules say: {rules}.\n{fix}Weigh the whole task. Is this action right? Reply yes or no."
)


@dataclass(frozen=True, slots=True)
class Review:
    """Both tiers' verdicts on one turn of a record.

    `reason` says which rule the action breaks, "" for none. `corrected` is the expert's action if
    the action is wrong and the expert's differs, else "".
    """

    turn: int
    by_rules: bool
    reason: str
    right: bool
    corrected: str = ""


def review(
    record: EpisodeRecord,
    judge: Judge | str,
    *,
    task: str = "",
    expert: Agent | str | None = None,
    game: Game[Any, Any] | None = None,
    last: int = 4,
) -> list[Review]:
    """Judge every turn of a record by rules, and by a model that gets all turns in one batch.

    The rules: no answer was refused, and the seat's next decision is neither the same again nor one
    that it has faced before. `expert` is an agent that says what it would do at every turn. The
    model reads the task (by default the game's rules for the seat), the last `last` turns, the
    position, the action, and what the rules and the expert say; its verdict is final. game: the
    game, for a record without an environment id.
    """
    told = turn_texts(record)
    fixes = AskedExpert(expert, game=game)(record) if expert is not None else [""] * len(told)
    reasons, asked, number = rule_reasons(record), [], 0
    for episode, step in zip(retrace(record, game), record.steps, strict=False):
        for turn in step.turns:
            fix = fixes[number] if fixes[number] != turn.text else ""
            asked.append(
                ORDER.format(
                    task=task or episode.game.rules_for(turn.seat),
                    before="\n".join(told[max(number - last, 0) : number]),
                    position=episode.describe(turn.seat),
                    action=turn.text,
                    rules=reasons[number] or "no rule is broken",
                    fix=f"A correction could be: {fix}\n" if fix and reasons[number] else "",
                )
            )
            number += 1
    said = open_judge(judge).ask([ask(one, choices=("yes", "no"), max_tokens=8) for one in asked])
    return [
        Review(
            place,
            not reasons[place],
            reasons[place],
            said[place] == "yes",
            fixes[place] if said[place] == "no" and fixes[place] != turn.text else "",
        )
        for place, turn in enumerate(record.turns)
    ]


def rule_reasons(record: EpisodeRecord) -> list[str]:
    """Which rule each turn breaks, "" for none; the first tier.

    Decisions are the same where their anchors are (`Game.anchor`), whatever counters say.
    """
    keys = [turn.anchor or turn.state_key for turn in record.turns]
    found = [REFUSED if turn.errors else "" for turn in record.turns]
    for own in lines_of(record):
        for nth, (place, then) in enumerate(pairwise(own.tolist())):
            faced = {keys[one] for one in own[: nth + 1]}
            if not found[place] and keys[then] in faced:
                found[place] = NOTHING if keys[then] == keys[place] else BACK
    return found


def reflux(
    record: EpisodeRecord, reviews: Sequence[Review], *, game: Game[Any, Any] | None = None
) -> dict[str, list[Row]]:
    """Training rows from reviews, by who learns from them.

    "agent": the corrected action preferred to the one played, where a turn was wrong and a
    correction is known. "judge": turns on which the tiers disagree, with the prompt, the action and
    the verdict (`label`) of the second tier: the hard cases that the reward model is trained on.
    """
    rows: dict[str, list[Row]] = {"agent": [], "judge": []}
    prompts = prompts_of(record, game)
    for one in reviews:
        turn, prompt = record.turns[one.turn], prompts[one.turn]
        said = [{"role": "assistant", "content": turn.text}]
        if one.corrected:
            better = [{"role": "assistant", "content": one.corrected}]
            rows["agent"].append({"prompt": prompt, "chosen": better, "rejected": said})
        if one.by_rules != one.right:
            rows["judge"].append({"prompt": prompt, "completion": said, "label": one.right})
    return rows


@reward(
    "two-tiers",
    shape="episode",
    needs=("model judge",),
    paper=(
        "MagicGUI-RMS: A Multi-Agent Reward Model System for Self-Evolving GUI Agents via"
        " Automated Feedback Reflux (2026)"
    ),
    check="test_rules_are_checked_first_and_the_model_has_the_last_word",
    cost="one judgement per turn",
)
def two_tiers(
    record: EpisodeRecord,
    *,
    judge: JudgeModel,
    task: Annotated[str, Meta(description="the task; by default the game's rules")] = "",
    expert: Annotated[
        str | None, Meta(description="an agent that proposes corrections to the model")
    ] = None,
    game: Annotated[
        Game[Any, Any] | None, Meta(description="the game, if records name none")
    ] = None,
) -> Floats:
    """1 for each turn that a model judges right, given the verdict of rules on it, else 0.

    `judges.tiers.review` has the verdicts of both tiers, and `reflux` turns them into training
    rows. "MagicGUI-RMS" (2026).
    """
    return floats([one.right for one in review(record, judge, task=task, expert=expert, game=game)])
