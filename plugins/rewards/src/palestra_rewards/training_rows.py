"""Training rows from records: answers to imitate, and pairs of answers to prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from palestra import EpisodeRecord, InvalidOption, retrace
from palestra.kernel.game import Game
from palestra.records.record import TurnRecord

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import lines_of
from palestra_rewards.facts import fact
from palestra_rewards.reading import task_name

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one role, in the conversational form that TRL and others read.

    `imitate` rows have "prompt" and "completion"; `prefer` rows "prompt", "chosen", "rejected" and
    "gap", how much more the chosen one is worth. All values but the gap are lists of messages.
    """

    imitate: list[Row] = field(default_factory=list)
    prefer: list[Row] = field(default_factory=list)


def prompts_of(
    record: EpisodeRecord, game: Game[Any, Any] | None = None
) -> list[list[dict[str, str]]]:
    """The messages that each turn answered, one list per turn.

    For a talk they are the recorded messages. For an episode of a game the record is replayed, and
    they are the rules, then everything the seat has seen, its position and its legal actions.
    game: the game, for a record without an environment id.
    """
    asked: dict[int, list[dict[str, str]]] = {}
    for event in record.events:
        if event.kind == "asked" and "line" in event.data:
            message = {"role": event.data["role"], "content": event.text}
            asked.setdefault(event.data["line"], []).append(message)
    if asked:
        return [asked[place] for place in range(len(record.turns))]
    return [
        [
            {"role": "system", "content": episode.game.rules_for(turn.seat)},
            {"role": "user", "content": episode.prompt(turn.seat, 0)},
        ]
        for episode, step in zip(retrace(record, game), record.steps, strict=False)
        for turn in step.turns
    ]


def role_rows(
    records: Sequence[EpisodeRecord],
    worth: Any,
    *,
    threshold: float = 0.0,
    gap: float = 0.0,
    game: Game[Any, Any] | None = None,
) -> dict[str, Rows]:
    """Rows by role, from a worth for every turn: MALT's and EPO's training sets.

    worth: one number per turn, in the order of the records' turns, such as the values of
    `estimate("malt", records)` or the scores of a reward model. Answers above `threshold` are to
    be imitated. Of two different answers to the same prompt, the one worth more is preferred if it
    is above the threshold, the other is not, and they differ by more than `gap`. With
    `threshold=-inf` the gap alone decides. Equal answers to one prompt are merged and get the mean
    of their worths. Roles are the tag `roles`, or the players' names. `game` is the game, for
    records without an environment id.

    Raises `InvalidOption` if there is not one worth per turn.
    """
    values = _one_a_turn(records, worth)
    asked: dict[tuple[str, str], list[dict[str, str]]] = {}
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    number = 0
    for record in records:
        roles = record.tags.get("roles") or record.players
        for turn, messages in zip(record.turns, prompts_of(record, game), strict=True):
            key = str(roles[turn.seat]), repr(messages)
            asked[key] = messages
            answers = found.setdefault(key, {})
            answers.setdefault(turn.raw or turn.text, []).append(float(values[number]))
            number += 1
    rows: dict[str, Rows] = {}
    for key, answers in found.items():
        means = {text: sum(worths) / len(worths) for text, worths in answers.items()}
        _add(rows.setdefault(key[0], Rows()), asked[key], means, threshold, gap)
    return rows


def rejection_rows(
    records: Sequence[EpisodeRecord],
    worth: Any,
    *,
    keep: int = 1,
    game: Game[Any, Any] | None = None,
) -> list[Row]:
    """The turns of the best rollouts of every task, to imitate: rejection sampling.

    worth: one number per turn, summed over each seat's turns, such as `shape("direction", …)` for
    the direction that the seat was given (the fact `direction`, which the adapter `directed`
    reports). Rollouts of one task by the same seat under the same direction are compared; the
    best `keep` of them give one row per turn. Ties go to the first.
    """
    if keep < 1:
        raise InvalidOption(f"keep must be at least 1, not {keep}")
    values, number = _one_a_turn(records, worth), 0
    groups: dict[tuple[str, int, str], list[tuple[float, int]]] = {}
    for place, record in enumerate(records):
        own = values[number : number + len(record.turns)]
        number += len(record.turns)
        for turns in lines_of(record):
            first = record.turns[turns[0]]
            key = task_name(record), first.seat, repr(first.facts.get("direction"))
            groups.setdefault(key, []).append((float(own[turns].sum()), place))
    rows: list[Row] = []
    for (_, seat, _), scored in groups.items():
        for _, place in sorted(scored, key=lambda one: -one[0])[:keep]:
            record = records[place]
            rows += [
                {"prompt": prompt, "completion": _said(turn)}
                for turn, prompt in zip(record.turns, prompts_of(record, game), strict=True)
                if turn.seat == seat
            ]
    return rows


def label_rows(
    records: Sequence[EpisodeRecord],
    worth: Any,
    *,
    threshold: float = 0.0,
    game: Game[Any, Any] | None = None,
) -> list[Row]:
    """One row per turn with a "label", true if it is worth more than `threshold`: KTO's form.

    worth: one number per turn, such as the verdicts of `shape("steve", records)`. Rows have
    "prompt", "completion" and "label", as TRL's `KTOTrainer` reads them.
    """
    values = _one_a_turn(records, worth)
    turns = [pair for record in records for pair in _turns_of(record, game)]
    return [
        {"prompt": prompt, "completion": _said(turn), "label": bool(value > threshold)}
        for (turn, prompt), value in zip(turns, values, strict=True)
    ]


def need_rows(records: Sequence[EpisodeRecord], *, game: Game[Any, Any] | None = None) -> list[Row]:
    """SMART's rows to imitate: steps tagged by whether they used a tool, without needless calls.

    A row has "prompt", "completion", "step" ("tool" if the turn called one, else "parametric") and
    "rationale", the answer without its last line. Turns whose calls were needless (the fact
    `needless`) are left out. Raises `InvalidOption` for records without the fact `calls`.
    """
    rows: list[Row] = []
    for record in records:
        made = fact(record, "calls")
        if made is None:
            raise InvalidOption(
                "need_rows reads the fact 'calls'; play in an environment that reports it, as "
                "docs/producers.md lists, or tag the records"
            )
        wasted = fact(record, "needless") or [0] * len(made)
        for (turn, prompt), calls, waste in zip(_turns_of(record, game), made, wasted, strict=True):
            if not waste:
                said, _, _ = (turn.raw or turn.text).strip().rpartition("\n")
                step = "tool" if calls else "parametric"
                row = {"prompt": prompt, "completion": _said(turn), "step": step}
                rows.append({**row, "rationale": said})
    return rows


def _turns_of(
    record: EpisodeRecord, game: Game[Any, Any] | None
) -> list[tuple[TurnRecord, list[dict[str, str]]]]:
    return list(zip(record.turns, prompts_of(record, game), strict=True))


def _said(turn: TurnRecord) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": turn.raw or turn.text}]


def _one_a_turn(records: Sequence[EpisodeRecord], worth: Any) -> Floats:
    values, turns = floats(worth), sum(len(record.turns) for record in records)
    if values.shape != (turns,):
        raise InvalidOption(
            f"worth must be one number for each of {turns} turns; got shape {values.shape}"
        )
    return values


def _add(
    rows: Rows, prompt: list[dict[str, str]], worth: dict[str, float], threshold: float, gap: float
) -> None:
    said = {text: [{"role": "assistant", "content": text}] for text in worth}
    good = [text for text in worth if worth[text] > threshold]
    rows.imitate.extend({"prompt": prompt, "completion": said[text]} for text in good)
    rest = [text for text in worth if text not in good] if threshold > float("-inf") else good
    for better, worse in product(good, rest):
        apart = worth[better] - worth[worse]
        if apart > gap:
            rows.prefer.append(
                {"prompt": prompt, "chosen": said[better], "rejected": said[worse], "gap": apart}
            )
