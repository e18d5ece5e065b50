"""Rewards for a judge that is trained to reason before it prefers one of two answers.

Zhang et al., "R1-Reward: Training Multimodal Reward Model Through Stable Reinforcement Learning"
(2025), for texts. The reward and the form are those of the authors' released verifier.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from palestra import InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.judges.service import Judge, ask, open_judge

FORM = re.compile(r"<think>.*?</think><answer>.*?</answer>", re.DOTALL)
ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
ORDER = (
    "Task: {task}\n\nAnswer 1:\n{one}\n\nAnswer 2:\n{two}\n\n"
    "Which answer is better? Reason between "
    "<think> and </think>, then write the number between <answer> and </answer>."
)
AGREES = (
    "This reasoning compares answer 1 with answer 2:\n{thought}\n\nThe verdict is that answer "
    "{choice} is better. Does the reasoning lead to this verdict? Reply yes or no."
)


def order(task: str, one: str, two: str) -> str:
    """The question to the judge that is trained."""
    return ORDER.format(task=task, one=one, two=two)


def well_formed(reply: str) -> bool:
    """Whether a reply is one thought and one answer in their tags, with nothing around them."""
    single = reply.count("<think>") == 1 and reply.count("<answer>") == 1
    return single and FORM.fullmatch(reply.strip()) is not None


def read_choice(reply: str) -> tuple[str, int | None]:
    """The thought and the choice, 1 or 2, of a reply; None where it states no single choice.

    The choice is what stands between the tags of the answer, or the whole reply without them.
    """
    said = ANSWER.findall(reply)
    answer = (said[0] if said else reply).strip()
    thought = reply.split("<answer>")[0] if said else ""
    thought = thought.replace("<think>", "").replace("</think>", "").strip()
    return thought, int(answer) if answer in ("1", "2") and len(said) < 2 else None


def judge_rewards(
    replies: Sequence[str],
    better: Sequence[int],
    *,
    consistency: Judge | str | None = None,
) -> Floats:
    """A reward for each reply of a judge in training: `result (1 + consistency / 2) + form / 2`.

    better: which answer is truly better, 1 or 2. `result` is 1 for the right choice, and `form` 1
    for a `well_formed` reply. `consistency` is 1 if another model, asked about all right replies in
    one batch, finds that the thought leads to the choice, -1 if it finds that it does not, and 0
    without that model. So consistency counts only for what is right. Shape (replies,).
    """
    if len(replies) != len(better) or not set(better) <= {1, 2}:
        raise InvalidOption("judge_rewards needs one better answer, 1 or 2, for each reply")
    read = [read_choice(reply) for reply in replies]
    paid = [0.5 * well_formed(reply) for reply in replies]
    right = [place for place, (_, choice) in enumerate(read) if choice == better[place]]
    agreed = dict.fromkeys(right, 0)
    if consistency is not None and right:
        asked = [
            ask(
                AGREES.format(thought=read[place][0], choice=read[place][1]),
                choices=("yes", "no"),
                max_tokens=8,
            )
            for place in right
        ]
        said = open_judge(consistency).ask(asked)
        agreed = {
            place: 1 if reply == "yes" else -1 for place, reply in zip(right, said, strict=True)
        }
    for place in right:
        paid[place] += 1 + 0.5 * agreed[place]
    return floats(paid)
