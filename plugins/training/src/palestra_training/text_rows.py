"""Rows of messages to learn from, out of records: what to imitate and what to prefer.

In the forms that TRL reads: "messages", "prompt" with "completion", or "prompt" with "chosen" and
"rejected"; each also says which episode, seat and agent it is from. Rollouts are compared where
environment, options, seed and seat are the same, and the agents at the other seats.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from palestra import EpisodeRecord, InvalidOption, Rng
from palestra.agents.models import Message
from palestra.kernel.lives import newcomers

from palestra_training.crediting import Credit
from palestra_training.exchanges import Exchange, exchanges

Row = dict[str, Any]
Said = list[dict[str, str]]


@dataclass(frozen=True)
class Trajectory:
    """What one seat was asked and answered in an episode, and what the whole of it is worth.

    worth: its return, or the sum of its turns' advantages where `credit` gives them by step.
    whole: whether each question has all that was said before it.
    """

    record: EpisodeRecord
    seat: int
    answers: list[Exchange]
    worth: float
    credit: dict[int, float] | None = None
    whole: bool = True

    @property
    def agent(self) -> str:
        """The name of the agent at the seat."""
        return self.record.agents[self.seat]

    @property
    def messages(self) -> list[Message]:
        """The last question, with all that was said before it, and its answer."""
        return [*self.answers[-1].messages, self.answers[-1].reply]

    def worth_at(self, place: int) -> float:
        """What one answer is worth: its turn's advantage, or the whole's."""
        return self.worth if self.credit is None else self.credit[self.answers[place].step]

    def origin(self) -> Row:
        """Which environment, seed, episode, seat and agent it is from, as columns of a row."""
        return {
            "env": self.record.env,
            "seed": self.record.seed,
            "episode": self.record.number,
            "seat": self.seat,
            "agent": self.agent,
        }


Answered = tuple[Trajectory, int]  # and which of its answers


class Pair(NamedTuple):
    """Two answers to one question, and what they are worth."""

    worths: tuple[float, float]
    better: Answered
    worse: Answered

    @property
    def gap(self) -> float:
        """How much more the better answer is worth."""
        return self.worths[0] - self.worths[1]


def trajectories(
    records: Sequence[EpisodeRecord],
    *,
    agents: Collection[str] = (),
    credit: Sequence[Credit] | None = None,
    prompt: str = "chat",
    history: str = "conversation",
    refused: bool = False,
    thoughts: bool = False,
    legal: bool = False,
) -> list[Trajectory]:
    """Each seat of each record that answered something; episodes that failed are left out.

    agents: only their seats; all by default. credit: one mapping a record, as `palestra_credit`
    gives it. refused: answers that were refused are part of the conversation. thoughts: prompts ask
    for a thought before the move. legal: answers have the legal moves of their turns. A seat that a
    game gives to a new person has a trajectory for each.
    """
    found = []
    for place, record in enumerate(records):
        if record.error:
            continue
        people: dict[tuple[int, int], list[Exchange]] = {}
        said = exchanges(
            record,
            prompt=prompt,
            history=history,
            as_said=True,
            refused=refused,
            thoughts=thoughts,
            legal=legal,
        )
        for one in said:
            if not agents or record.agents[one.seat] in agents:
                people.setdefault((one.seat, one.life), []).append(one)
        for (seat, _), answers in people.items():
            given = None
            worth = _paid(record, seat, answers[0].life)
            if credit is not None:
                steps = {one.step for one in answers}
                given = {step: credit[place][seat, step] for step in sorted(steps)}
                worth = sum(given.values())
            whole = history == "conversation"
            found.append(Trajectory(record, seat, answers, worth, given, whole))
    return found


def paid_by_answer(one: Trajectory) -> list[float]:
    """What the seat was paid from each answer to the next; what came before is the first's."""
    starts = [answer.step for answer in one.answers]
    ends = [*starts[1:], len(one.record.steps)]
    return [
        sum(sum(s.rewards.get(one.seat, {}).values()) for s in one.record.steps[start:end])
        for start, end in zip([0, *starts[1:]], ends, strict=True)
    ]


def returns_from(one: Trajectory) -> list[float]:
    """What the seat was paid from each answer on."""
    paid = paid_by_answer(one)
    return [sum(paid[place:]) for place in range(len(paid))]


def imitation_rows(
    played: Sequence[Trajectory], *, keep: int = 1, least: float | None = None
) -> Iterator[Row]:
    """Rejection sampling: the `keep` best rollouts of every start, the first of equals.

    A row a conversation ("messages"); or a row an answer ("prompt", "completion") where questions
    stand alone. least: what is worth less is left out. Use trajectories without refused answers:
    what was refused is not to be imitated.
    """
    if keep < 1:
        raise InvalidOption(f"keep must be at least 1, not {keep}")
    for group in groups_of(played):
        best = sorted(group, key=lambda one: -one.worth)[:keep]
        for one in best:
            if least is not None and one.worth < least:
                continue
            more = {**one.origin(), "worth": one.worth}
            if one.whole:
                yield {"messages": said(one.messages), **more}
                continue
            for answer in one.answers:
                yield {
                    "prompt": said(answer.messages),
                    "completion": said([answer.reply]),
                    **more,
                }


def preference_rows(
    played: Sequence[Trajectory],
    *,
    expert: Collection[str] = (),
    gap: float = 0.0,
    most: int | None = None,
    draws: int | None = None,
    seed: int = 0,
    scores: tuple[float, float] = (0.0, 1.0),
    whole: bool = True,
) -> Iterator[Row]:
    """Of two rollouts of one start, the one that is worth more by over `gap`: DPO's pairs.

    The prompt is all that both have in common up to the first answer in which they differ; pairs
    that part elsewhere, by chance or by what another seat did, are none. whole: "chosen" and
    "rejected" are all that followed, other seats' messages included (Song et al. 2024, "ETO");
    else the one answer, worth the mean of its turns in all rollouts that gave it there. expert:
    agents whose rollouts alone are chosen, over those of others, as ETO prefers an expert's to
    what the learner explored. most: so many pairs of every start, those furthest apart. draws:
    instead, so many pairs of every start, each drawn in proportion to the cube of its gap, so that
    a pair may come again (Wang et al. 2025, "ScoreFlow"); seed: for these draws. scores: what is
    worth the first scores 0, what is worth the second 1; rows have the scores of both sides.
    """
    _check_pairing(most, draws, scores)
    rng = Rng.seeded(seed)
    for group in groups_of(played):
        pairs = _whole_pairs(group, expert) if whole else _answer_pairs(group, expert)
        far = sorted((pair for pair in pairs if pair.gap > gap), key=lambda pair: -pair.gap)
        if draws is not None and far:
            cubes = [pair.gap**3 for pair in far]
            kept = [far[rng.weighted(cubes)] for _ in range(draws)]
        else:
            kept = far[:most]
        for pair in kept:
            yield _preference(pair, scores, whole)


def _check_pairing(most: int | None, draws: int | None, scores: tuple[float, float]) -> None:
    if most is not None and draws is not None:
        raise InvalidOption("pairs are the furthest apart or drawn; give most or draws, not both")
    if draws is not None and draws < 1:
        raise InvalidOption(f"draws must be at least 1, not {draws}")
    if not scores[0] < scores[1]:
        raise InvalidOption(f"scores are between a low and a higher worth, not {scores}")


def _preference(pair: Pair, scores: tuple[float, float], whole: bool) -> Row:
    """The row of a pair; worths are scaled to scores."""
    one, place = pair.better
    low, high = scores
    chosen, rejected = ((worth - low) / (high - low) for worth in pair.worths)
    return {
        "prompt": said(one.answers[place].messages),
        "chosen": said(_rest(*pair.better, whole)),
        "rejected": said(_rest(*pair.worse, whole)),
        "gap": pair.gap,
        "chosen_score": chosen,
        "rejected_score": rejected,
        **one.origin(),
        "rejected_agent": pair.worse[0].agent,
    }


def _whole_pairs(group: Sequence[Trajectory], expert: Collection[str]) -> Iterator[Pair]:
    for better in group:
        for worse in group:
            place = _parting(better, worse) if _may_win(better, worse, expert) else None
            if place is not None:
                yield Pair((better.worth, worse.worth), (better, place), (worse, place))


def _answer_pairs(group: Sequence[Trajectory], expert: Collection[str]) -> Iterator[Pair]:
    """Different answers to one question; the same answer is worth its mean over the rollouts."""
    asked: dict[tuple[Message, ...], dict[Message, list[Answered]]] = {}
    for one in group:
        for place, answer in enumerate(one.answers):
            given = asked.setdefault(answer.messages, {}).setdefault(answer.reply, [])
            given.append((one, place))
    for answers in asked.values():
        means = {
            reply: sum(one.worth_at(place) for one, place in given) / len(given)
            for reply, given in answers.items()
        }
        for mine, given in answers.items():
            for other, against in answers.items():
                found = [
                    (better, worse)
                    for better in given
                    for worse in against
                    if mine != other and _may_win(better[0], worse[0], expert)
                ]
                for better, worse in found[:1]:
                    yield Pair((means[mine], means[other]), better, worse)


def _may_win(better: Trajectory, worse: Trajectory, expert: Collection[str]) -> bool:
    return not expert or (better.agent in expert and worse.agent not in expert)


def correction_rows(played: Sequence[Trajectory], *, least: float | None = None) -> Iterator[Row]:
    """Answers after a mistake that was refused, the mistake and its refusal in the prompt.

    Fu et al. (2025), "AgentRefine": an agent learns to put right what it did wrong, and the wrong
    turns themselves are not learned. From the first refusal on, every answer that was played is a
    row. Use trajectories with refused answers.
    """
    for one in played:
        if least is not None and one.worth < least:
            continue
        wrong = False
        for answer in one.answers:
            wrong |= answer.refused
            own = answer.turn.status in ("ok", "retried") and not answer.refused
            if wrong and own:
                yield {
                    "prompt": said(answer.messages),
                    "completion": said([answer.reply]),
                    **one.origin(),
                    "corrected": answer.turn.status == "retried",
                    "worth": one.worth,
                }


def said(messages: Sequence[Message]) -> Said:
    """Messages as rows have them: a role and a content each."""
    return [{"role": message.role, "content": message.content} for message in messages]


def groups_of(played: Sequence[Trajectory]) -> list[list[Trajectory]]:
    """Trajectories that are compared: of one start and seat, with the same agents elsewhere."""
    groups: dict[tuple[Any, ...], list[Trajectory]] = {}
    for one in played:
        record = one.record
        options = msgspec.json.encode(record.options, order="sorted")
        others = tuple(name for seat, name in enumerate(record.agents) if seat != one.seat)
        alike = (record.env, options, record.seed, one.seat, one.answers[0].life, others)
        groups.setdefault(alike, []).append(one)
    return list(groups.values())


def _paid(record: EpisodeRecord, seat: int, life: int) -> float:
    """What a person was paid at a seat; it was theirs from the step after they joined."""
    joined = [
        n + 1 for n, step in enumerate(record.steps) for e in step.events if seat in newcomers(e)
    ]
    if not joined:
        return record.returns[seat]
    bounds = [0, *joined, len(record.steps)]
    own = record.steps[bounds[life] : bounds[life + 1]]
    return sum(sum(step.rewards.get(seat, {}).values()) for step in own)


def _parting(one: Trajectory, other: Trajectory) -> int | None:
    """The place of the answer in which two differ, both having been asked the same until then."""
    for place, (mine, theirs) in enumerate(zip(one.answers, other.answers, strict=False)):
        if mine.messages != theirs.messages:
            return None
        if mine.reply != theirs.reply:
            return place
    return None


def _rest(one: Trajectory, place: int, whole: bool) -> list[Message]:
    if not whole or not one.whole:
        return [one.answers[place].reply]
    return one.messages[len(one.answers[place].messages) :]
