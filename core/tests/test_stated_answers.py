"""Every installed environment reads the answer that was stated, or refuses: a corpus over all ids.

Each line below is what a language model may write around a legal move `{m}`, which is `{j}` in
JSON, with another legal move `{o}` and another player `{p}` in it. What is played must be `{m}`
where the line states it, and nothing at all where it does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from palestra import EnvSpec, Episode, InvalidAction, Rng, specs
from palestra.kernel.actions import Grammar
from palestra.kernel.registry import load_game

STATED = (
    "{m}",
    "  {m}  \n\n",
    "{m}.",
    "**{m}**",
    "`{m}`",
    "```\n{m}\n```",
    "```text\n{m}\n```",
    "Move: {m}",
    "**Action:** {m}",
    "My answer: {m}.",
    "The answer is: {m}",
    "Answer: **{m}**",
    "Answer: `{m}`.",
    "1. think\n2. choose\nMove: {m}",
    "I looked at {o} and rejected it.\nMove: {m}",
    "{o}\nNo, that loses.\n{m}",
    "<think>{o} or {m}?</think>{m}",
    "I would play {o}\n</think>\n\nMove: {m}",
    "<thinking>\n{o}\n</thinking>\n{m}",
    "> {o}\nThat was theirs. Mine:\n{m}",
    "**Final answer:**\n\n{m}",
    "{o} loses. So, my move is:\n\n**{m}**",
    "I'll play:\n{m}",
    "Therefore, I will choose:\n```\n{m}\n```",
    "Here is my move:\n{m}",
    "Given {p}'s threat, this is urgent:\nMove: {m}",
    "Legal moves:\n{o}\n{m}\n\nThe second is safe.\n{m}",
    "Move: {o}\n\nWait, that loses.\n\nMove: {m}",
    "| move | value |\n|---|---|\n| {o} | -1 |\n\nFinal answer: {m}",
    "Zuerst {o}, dann {m}.\n\nFinal answer: {m}",
    "\\boxed{{{m}}}",
    "$\\boxed{{{m}}}$",
    "$$\n\\boxed{{{m}}}\n$$",
    "\\[\\boxed{{{m}}}\\]",
    "**\\boxed{{{m}}}**",
    "\\boxed{{\\text{{{m}}}}}",
    "The answer is \\boxed{{{m}}}",
    "That loses. The final answer is $\\boxed{{{m}}}$.",
    "Final answer: \\boxed{{{m}}}",
    "<think>{o}</think>\n\\boxed{{{m}}}",
    "<answer>{m}</answer>",
    "<ANSWER> {m} </ANSWER>",
    "<answer>\n{m}\n</answer>\n",
    "<move>{m}</move>",
    "<action>{m}</action>",
    "<think>{o}</think>\n<answer>{m}</answer>",
    "That loses. <answer>{m}</answer>",
    "Move: <answer>{m}</answer>",
    "<answer>{o}</answer>\nNo, that loses.\n<answer>{m}</answer>",
    '{{"move": {j}}}',
    '{{"action": {j}}}',
    '{{"Answer": {j}}}',
    '{{\n  "move": {j}\n}}\n',
    '```json\n{{"move": {j}}}\n```',
    '{{"reasoning": "not {{x}}", "move": {j}}}',
    'Final answer: {{"move": {j}}}',
    '<answer>{{"move": {j}}}</answer>',
)
STATED_IN_LISTS = (  # only where moves are listed
    "{o} loses. The final answer is $\\boxed{{{m}}}$.",
    "{o} loses. <answer>{m}</answer>",
    "[{m}]",
    '"{m}"',
    "“{m}”",
    "**[{m}].**",
    "I looked at [{o}] and rejected it. My move: [{m}]",
    "Analysis: {o} loses. Move: {m}",
    'He said "no". Move: {m}',
    "I don't like it. Move: {m}",
    "3 is tempting, and so is {o}; my answer is: {m}",
)
NOT_STATED = (
    "",
    "I refuse to move {m}",
    "I will not play {m}",
    "I cannot help with that.",
    "[{m}] or [{o}]",
    "{m} or {o}",
    "{m}, {o}",
    "Move: {m} or {o}",
    "Either {o} or else {m}",
    "{m} is a bad move",
    "{m}?",
    "({m})",
    "not {m}",
    "{m}...",
    "{m}\nBut that loses.",
    "- {m}",
    "* {m}",
    "* {o}\n* {m}",
    "1. {o} 2. {m}",
    "> {m}",
    ">> {m}\n> {o}",
    "{p} played {m}",
    "{p}: {m}",
    "{p}'s move: {m}",
    "Their move: {m}",
    "My last move: {m}",
    "Last turn I played {m}",
    "If {p} plays {o}, I play {m}",
    "I looked at {m} and rejected it. My move: [nothing]",
    "They said “{m}” to me",
    "Ich spiele {m}",
    "Je refuse de jouer {m}",
    "我选择 {m}",
    "Ход: {m}",
    "Мой ответ {m}",
    "Move：{m}",
    "<think>{m}</think>",
    "<think>\n{m}",
    "<think>\n{m}\n</think>\n",
    "{m}\n<think>or rather",
    "<thinking>\n{m}\n</thinking>",
    "<b>{m}</b>",
    "\\boxed{{}}",
    "\\boxed{{{m} or {o}}}",
    "I would never do \\boxed{{{m}}}",
    "{p}: \\boxed{{{m}}}",
    "> \\boxed{{{m}}}",
    "\\boxed{{{m}}}\nBut that loses.",
    "<think>\\boxed{{{m}}}</think>",
    "<answer></answer>",
    "<answer>{m}",
    "<answer>{m} or {o}</answer>",
    "<answer>{m}</answer> or not",
    "<answer>{o}</answer> <answer>{m}</answer>",
    "<answer>{o} <answer>{m}</answer>",
    "<answer>{m}</move>",
    "{p}: <answer>{m}</answer>",
    "{p}: Ha. <answer>{m}</answer>",
    "{p} wrote:\n<answer>{m}</answer>",
    '{p} said "Ha. <answer>{m}</answer>"',
    "> <answer>{m}</answer>",
    "- <move>{m}</move>",
    '{{"player": "{p}", "move": {j}}}',
    '{{"move": {j}, "action": {j}}}',
    '{{"move": {j}, "move": {j}}}',
    '{{"move": [{j}]}}',
    '[{{"move": {j}}}]',
    '{{"moves": {j}}}',
    '{p} sent {{"move": {j}}}',
    "```\n{m}\n```\nor not",
    "There are 3 ways, 4 of them {m}",
    "{m} {m}",
    '{p} said "I give up. Move: {m}"',
    "{p}: Ha. Move: {m}",
    "He wrote: “Never. Move: {m}.”",
    "She whispered 'ok. Answer: {m}'",
    "They typed `ha. Move: {m}`",
    "1. Move: {o}\n2. Move: {m}",
    "2) Answer: {m}",
    "- They block. Move: {m}",
    "• Ha. Move: {m}",
    "> They block. Move: {m}",
    '<think type="deep">\n{m}',
    '"{m}',
    "{m}”",
    'Move: {m}"',
    "Zug: {m}",
    "「{m}」",
    "~~{m}~~",
    "Best move: {m}",
    "Round 1: {m}",
    "{p} played:\n{m}",
    "{p}:\n{m}",
    "{p} said:\nMove: {m}",
    "The format is:\n\nMove: {m}",
    "The last move was:\n{m}",
    "Legal moves:\n{o}\n{m}",
    "Legal moves:\n\n{o}\n{o}\n{m}",
    "I will not play:\n{m}",
    "For example:\n```text\n{m}\n```",
    "**Rejected:**\n\n{m}",
)
NOT_STATED_IN_LISTS = (  # above a call, which is explicit, a line may say more
    "I'd choose anything but not:\n{m}",
    "Der Gegner spielte:\n{m}",
    "对手走了：\n{m}",
    "This is interesting:\n{m}",
)
AFTER = (0, 1, 4)  # steps played before the questions


def positions(name: str) -> Iterator[Episode]:
    """An environment at its start and after some random steps."""
    spec = specs_by_id()[name]
    episode = Episode(load_game(spec, {}), 1, compiled=spec.array_game and False, spec=spec)
    rng = Rng.seeded(2)
    for step in range(max(AFTER) + 1):
        if episode.over:
            return
        if step in AFTER:
            yield episode
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})


def specs_by_id() -> dict[str, EnvSpec]:
    return {spec.id: spec for spec in specs()}


def misread(episode: Episode, rng: Rng) -> list[str]:
    """What was not read as it was stated, and what was read though nothing was."""
    seat = episode.to_act[0]
    listed = not isinstance(episode.legal(seat), Grammar)
    move, other = (episode.sample(seat, rng) for _ in range(2))
    other = next((a for a in episode.legal_actions(seat) if a != move), other)
    words = {
        "m": episode.action_text(seat, move),
        "o": episode.action_text(seat, other),
        "j": json.dumps(episode.action_text(seat, move)),
        "p": f"player_{seat + 1}",
    }
    found = []
    for line in STATED + STATED_IN_LISTS * listed:
        said = line.format(**words)
        try:
            read = episode.parse(seat, said)
        except InvalidAction as error:
            found.append(f"{said!r} was refused: {error.why}")
        else:
            found += [f"{said!r} was read as {read!r}"] * (read != move)
    for line in NOT_STATED + NOT_STATED_IN_LISTS * listed:
        said = line.format(**words)
        try:
            found.append(f"{said!r} was read as {episode.parse(seat, said)!r}")
        except InvalidAction:
            continue
    return found


@pytest.mark.parametrize("name", sorted(specs_by_id()))
def test_no_move_is_played_that_was_not_the_stated_answer(name: str) -> None:
    rng = Rng.seeded(3)
    asked = [misread(episode, rng) for episode in positions(name)]
    assert asked
    assert [said for found in asked for said in found] == []
