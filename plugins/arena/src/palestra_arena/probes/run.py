"""Asking a probe set of an agent, with every answer stored so that a killed run resumes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from palestra import EpisodeRecord, InvalidOption, UnknownName, iter_records, stream
from palestra.agents.budget import Usage
from palestra.agents.fitting import check_agents
from palestra.agents.making import Lasting
from palestra.runner.run_folder import FINISHED

from palestra_arena.probes.asking import Choices, ProbeGame, Replies
from palestra_arena.probes.items import Item, ProbeSet, Question


class Answer(msgspec.Struct, frozen=True):
    """What one question got.

    chosen: the number of the option in its item, or None if the answer was refused or free. text:
    a free reply, or what was said instead of an answer. weights: the probability of every option of
    the item, if the agent reports them (`mode=score`); else 1 for the option chosen.
    """

    item: Item
    arm: str
    order: tuple[int, ...]
    repeat: int
    chosen: int | None
    text: str = ""
    refused: bool = False
    weights: tuple[float, ...] = ()
    usage: Usage = Usage()

    @property
    def first(self) -> bool:
        """Whether the option listed first was chosen."""
        return self.chosen is not None and self.order[0] == self.chosen


def ask(
    probes: ProbeSet,
    agent: Any,
    out: str | Path | None = None,
    *,
    samples: int = 1,
    arms: Sequence[str] = (),
    invalid: str = "forfeit",
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> list[Answer]:
    """Ask every item, in every order of its options, and return the answers in order of questions.

    agent: a name such as `llm:vllm:…`, `random` or `react:llm:local:`, an `Agent`, or a function of
    a turn. samples: how often each question is asked in each order. arms: those of the set to be
    asked; all by default. invalid: what follows an answer that cannot be read; "forfeit" counts it
    as refused, "retry:1" asks again first. out: a folder for the records; resume=True asks only
    what is missing there, which may be more samples. Questions that ended in an error have no
    answer, and a RuntimeWarning says how many there are. progress: called with questions answered
    and questions in all. Other settings are those of `palestra.stream`: budgets, live, hooks, ….
    """
    if samples < 1:
        raise InvalidOption(f"samples must be at least 1, not {samples}")
    if resume and out is None:
        raise InvalidOption("resume=True continues in a folder; say which: out=…")
    for arm in arms:
        if arm not in probes.arms:
            raise UnknownName(f"arm of {probes.name}", arm, probes.arms)
    games = [
        (arm, game)
        for arm in arms or probes.arms
        for game in (Choices.of(probes, arm, samples), Replies.of(probes, arm, samples))
        if game.questions
    ]
    total = sum(len(game.questions) for _, game in games)
    if isinstance(agent, str):
        check_agents([agent], games[0][1])
    found: dict[tuple[int, int], Answer] = {}
    lasting = Lasting(agent)
    try:
        for number, (arm, game) in enumerate(games):
            folder = None if out is None else folder_of(out, arm, game)
            records = _records(game, lasting, folder, resume, invalid, settings)
            for record in records:
                found[number, record.number] = _answer(game, arm, record)
                if progress is not None:
                    progress(len(found), total)
    finally:
        lasting.close_for_good()
    if len(found) < total:
        warnings.warn(
            f"{total - len(found)} of {total} questions ended in an error and have no answer; see "
            "errors.jsonl in the folder of the run, and ask them again with resume=True",
            RuntimeWarning,
            stacklevel=2,
        )
    return [found[key] for key in sorted(found)]


def folder_of(out: str | Path, arm: str, game: ProbeGame) -> Path:
    """Where the records of one arm and one kind of item are."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", arm) or "arm"
    if plain != arm:
        plain += f"-{blake2b(arm.encode(), digest_size=3).hexdigest()}"
    return Path(out) / f"{plain}-{type(game).__name__.lower()}"


def _records(
    game: ProbeGame,
    agent: Any,
    folder: Path | None,
    resume: bool,
    invalid: str,
    settings: Mapping[str, Any],
) -> Iterator[EpisodeRecord]:
    """The records kept before, then those of what is missing."""
    asked, seen = len(game.questions), set()
    if folder is not None and resume and (folder / FINISHED).exists():
        for record in iter_records(folder / FINISHED, running=True):
            if record.number < asked and record.number not in seen:
                seen.add(record.number)
                yield record
    for record in stream(
        game, agents=[agent], episodes=asked, out=folder, resume=resume, invalid=invalid, **settings
    ):
        if not record.error:
            yield record


def _answer(game: ProbeGame, arm: str, record: EpisodeRecord) -> Answer:
    """The answer that a record holds."""
    question = game.questions[record.number]
    facts = (question.item, arm, question.order, question.repeat)
    if not record.turns:
        return Answer(*facts, None, refused=True)
    turn = record.turns[-1]
    if turn.status not in ("ok", "retried"):
        said = next((a.raw for a in reversed(turn.refused) if a.raw), turn.raw) or ""
        return Answer(*facts, None, said, refused=True, usage=turn.spent)
    if isinstance(game, Replies):
        return Answer(*facts, None, turn.action["text"], usage=turn.spent)
    chosen = question.order[turn.action]
    weights = _weights(question, turn.facts.get("strategy"), chosen)
    return Answer(*facts, chosen, turn.raw or "", weights=weights, usage=turn.spent)


def _weights(question: Question, strategy: Any, chosen: int) -> tuple[float, ...]:
    """The probability of every option of the item, in the item's own numbering."""
    options = range(len(question.order))
    if isinstance(strategy, dict) and set(strategy) == set(question.labels):
        by_option = {
            option: float(strategy[label])
            for label, option in zip(question.labels, question.order, strict=True)
        }
        return tuple(by_option[option] for option in options)
    return tuple(float(option == chosen) for option in options)
