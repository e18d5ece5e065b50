"""Conversations that led to a decision, as episodes inside the record of the game.

A talk is an `EpisodeRecord` of its own: its seats are the roles of a pipeline or the members of a
discussion, its turns are what they said, and its events are the prompts they read. A decision
carries its talks as the fact `talks`. `settle` extracts them from the records of a run and adds the
value of their answers, which it finds by playing each answer in the game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import msgspec
from palestra import (
    Episode,
    EpisodeRecord,
    InvalidAction,
    InvalidOption,
    Rng,
    Turn,
    Usage,
    retrace,
    rollouts,
)
from palestra.agents.models import Message, Reply
from palestra.kernel.game import Game, Result
from palestra.records.record import EventRecord, OutcomeRecord, StepRecord, TurnRecord

from palestra_adapters.adapter import Adapter, legal_move, said_in
from palestra_adapters.react import FORM, can_hold, reason, write_step
from palestra_adapters.texts import join_paragraphs, refusal
from palestra_adapters.thinking import Thinking, together

STREAM = 0x7A1C  # keeps the random numbers of playouts apart from those of agents


@dataclass(frozen=True, slots=True)
class Utterance:
    """One utterance: the seat of the talk, the prompt it answers, its text and its usage.

    `move` is the legal move in it, in the game's notation; "" for an answer without a legal move;
    None for text that is not an answer.
    """

    seat: int
    asked: tuple[Message, ...]
    text: str
    move: str | None = None
    reply: Reply = field(default_factory=lambda: Reply(""))
    usage: Usage = field(default_factory=Usage)

    @property
    def key(self) -> str:
        """Equal where the same seat read the same prompt."""
        read = msgspec.json.encode([self.seat, self.asked])
        return blake2b(read, digest_size=16).hexdigest()


class Speaking(Adapter):
    """An adapter whose decisions result from talks between roles or members."""

    def say(
        self,
        turn: Turn,
        seat: int,
        asked: Sequence[Message],
        *,
        member: int = 0,
        temperature: float | None = None,
    ) -> Thinking[Utterance]:
        """The reply of a seat of the talk to a prompt."""
        number = member % len(self.models)
        (reply,) = yield [self.ask(asked, member=number, temperature=temperature)]
        return Utterance(seat, tuple(asked), said_in(reply), None, reply, reply.usage)

    def answer(
        self,
        turn: Turn,
        seat: int,
        asked: Sequence[Message],
        *,
        member: int = 0,
        temperature: float | None = None,
    ) -> Thinking[Utterance]:
        """A thought and a move, in the form of `react.FORM`."""
        number = member % len(self.models)
        held = can_hold(self, number)
        thinking = reason(self, turn, asked, held=held, member=number, temperature=temperature)
        usage = Usage()
        asks = next(thinking)
        while True:
            replies = yield asks
            usage = sum((reply.usage for reply in replies), usage)
            try:
                asks = thinking.send(replies)
            except StopIteration as end:
                step = end.value
                break
        text = write_step(step.thought, step.move)
        return Utterance(
            seat, tuple(asked), text, legal_move(turn, step.move) or "", step.reply, usage
        )

    def answers(
        self,
        turn: Turn,
        seat: int,
        asked: Sequence[tuple[str, str]],
        *,
        temperature: float | None = None,
    ) -> Thinking[list[Utterance]]:
        """An answer to each pair of rules and a question, all asked together.

        If the seat's last answer was refused, the questions end with why.
        """
        again = refusal(turn, "Your last answer")
        prompts = [self.single(rules, join_paragraphs(q, again), answer=FORM) for rules, q in asked]
        parts = [self.answer(turn, seat, one, temperature=temperature) for one in prompts]
        return (yield from together(parts))

    def talk_of(
        self, turn: Turn, players: Sequence[str], lines: Sequence[Utterance], **tags: Any
    ) -> EpisodeRecord:
        """Lines as a finished talk, as `write_talk` makes it."""
        return write_talk(type(self).__name__, turn, players, lines, **tags)


def write_talk(
    name: str, turn: Turn, players: Sequence[str], lines: Sequence[Utterance], **tags: Any
) -> EpisodeRecord:
    """Lines as a finished talk without rewards. Talks of one decision form one group.

    name: of the adapter. `moves` among the tags replaces the lines' own moves.
    """
    nothing = (0.0,) * len(players)
    return EpisodeRecord(
        env=f"{name}({turn.env})",
        seed=0,
        players=tuple(players),
        opening=_prompt(lines, 0),
        steps=[_step(lines, place) for place in range(len(lines))],
        outcome=score_outcome(nothing),
        returns=nothing,
        group=f"{turn.start_key}.{turn.sibling}.{turn.steps_played}.{turn.seat}.{turn.tries}",
        tags={"moves": [line.move for line in lines]} | tags,
    )


def _prompt(lines: Sequence[Utterance], place: int) -> list[EventRecord]:
    """The messages that a line answers, as events that only its seat sees."""
    if place >= len(lines):
        return []
    line = lines[place]
    return [
        EventRecord("asked", m.content, {"line": place, "role": m.role}, [line.seat])
        for m in line.asked
    ]


def _step(lines: Sequence[Utterance], place: int) -> StepRecord:
    line = lines[place]
    turn = TurnRecord(
        seat=line.seat,
        action=line.text,
        text=line.text,
        raw=line.text,
        model=line.reply.model,
        logprob=line.reply.logprob,
        tokens=line.reply.tokens,
        usage=line.usage,
        state_key=line.key,
    )
    return StepRecord([turn], events=_prompt(lines, place + 1))


def score_outcome(paid: tuple[float, ...]) -> OutcomeRecord:
    """The outcome of a talk: each seat's pay as its score."""
    results: list[Result] = ["score"] * len(paid)
    return OutcomeRecord(tuple(results), paid)


def talks_of(records: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    """The talks of all decisions of these records, without rewards."""
    return [talk for record in records for turn in record.turns for talk in _talks(turn)]


def _talks(turn: TurnRecord) -> list[EpisodeRecord]:
    return [
        msgspec.convert(talk, EpisodeRecord, strict=False) for talk in turn.facts.get("talks", ())
    ]


# Values of answers


def settle(
    records: Sequence[EpisodeRecord],
    *,
    game: Game[Any, Any] | None = None,
    agents: Any = None,
    playouts: int = 8,
    seed: int = 0,
) -> list[EpisodeRecord]:
    """The talks of a run's records, with the values of their answers in the game.

    An answer's value is what its seat is paid from that turn on if the answer is played. The
    others' moves of that step are those of the record, and chance is the episode's own. If the game
    continues, `agents` (as in `palestra.play`) play `playouts` continuations, by default with
    random moves. An answer without a legal move is worth the payoff of a forfeit. Values are paid
    to all seats of the talk at the step of the answer, and are in the tag "process", one per turn,
    0 for text that is not an answer.

    game: the game, for records without an environment id. The tag "of" is the record's tag `id`,
    or else its number. Raises `InvalidOption` if the records hold no talks.
    """
    if playouts < 1:
        raise InvalidOption(f"playouts must be at least 1, not {playouts}")
    found = [
        talk for record in records for talk in _settle_talk(record, game, agents, playouts, seed)
    ]
    if not found:
        raise InvalidOption(
            "no turn of these records has talks; they are the fact 'talks' of decisions by score, "
            "malt, comas, redteam and dylan"
        )
    return found


def _settle_talk(
    record: EpisodeRecord, game: Game[Any, Any] | None, agents: Any, playouts: int, seed: int
) -> list[EpisodeRecord]:
    if not talks_of([record]):
        return []
    talks: list[EpisodeRecord] = []
    for number, (episode, step) in enumerate(
        zip(retrace(record, game), record.steps, strict=False)
    ):
        for turn in step.turns:
            others = {t.seat: t.text for t in step.turns if t.seat != turn.seat}
            worths: dict[str, float] = {}
            for talk in _talks(turn):
                for move in talk.tags["moves"]:
                    if move is not None and move not in worths:
                        rng = Rng.seeded(seed, stream=STREAM + number)
                        worths[move] = _worth(
                            episode, turn.seat, move, others, agents, playouts, rng
                        )
                talks.append(_paid(talk, record, worths, len(talks)))
    return talks


def _worth(
    episode: Episode,
    seat: int,
    move: str,
    others: Mapping[int, str],
    agents: Any,
    playouts: int,
    rng: Rng,
) -> float:
    """The seat's expected payoff from here on if it plays this move."""
    twin, before = episode.fork(), float(episode.returns[seat])
    try:
        actions = {seat: twin.parse(seat, move)}
    except InvalidAction:
        twin.forfeit(seat)
    else:
        actions |= {other: twin.parse(other, text) for other, text in others.items()}
        twin.act(actions)
    if twin.over:
        return float(twin.returns[seat]) - before
    if agents is not None:
        ends = rollouts(twin.game, agents=agents, n=playouts, start=twin, seed=rng.word())
        total = sum(record.returns[seat] for record in ends)
    else:
        total = sum(float(twin.fork(rng.word()).playout(rng)[seat]) for _ in range(playouts))
    return total / playouts - before


def _paid(
    talk: EpisodeRecord, record: EpisodeRecord, worths: Mapping[str, float], number: int
) -> EpisodeRecord:
    """A talk with the values of its answers paid to all of its seats."""
    seats, of = range(len(talk.players)), str(record.tags.get("id", record.number))
    moves = talk.tags["moves"]
    process = [0.0 if move is None else worths[move] for move in moves]
    steps = [
        step
        if move is None
        else msgspec.structs.replace(
            step, rewards={seat: {"answer": worths[move]} for seat in seats}
        )
        for step, move in zip(talk.steps, moves, strict=True)
    ]
    paid = (sum(process),) * len(talk.players)
    return msgspec.structs.replace(
        talk,
        steps=steps,
        outcome=score_outcome(paid),
        returns=paid,
        number=number,
        tags=talk.tags | {"of": of, "id": f"{of}/{number}", "process": process},
    )
