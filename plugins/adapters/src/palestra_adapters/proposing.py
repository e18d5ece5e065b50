"""Candidate moves: all legal moves if they are few, or else samples from the model."""

from __future__ import annotations

from palestra import Turn
from palestra.phrasing.wording import answer_form

from palestra_adapters.adapter import Adapter, legal_move
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

HEAT = 0.8


def propose(
    agent: Adapter, turn: Turn, count: int, *, feedback: str = "", seen: tuple[str, ...] = ()
) -> Thinking[list[str]]:
    """Up to `count` different legal moves that are not in `seen`, the most frequent first.

    They are sampled from the model at the agent's temperature (0.8 if that is 0) and counted. A
    model may repeat itself, so there can be fewer; there is at least one if any listed move is
    left.
    """
    listed = [move for move in turn.legal_texts if move not in seen]
    if listed and len(listed) <= count:
        return listed
    text = join_lines(turn.position, feedback)
    messages = agent.single(
        turn.game.rules_for(turn.seat), text, answer=answer_form(turn.game, turn.seat)
    )
    heat = agent.temperature or HEAT
    replies = yield [agent.move(turn, messages, temperature=heat) for _ in range(count)]
    votes: dict[str, int] = {}
    for reply in replies:
        move = legal_move(turn, reply.text)
        if move is not None and move not in seen:
            votes[move] = votes.get(move, 0) + 1
    found = sorted(votes, key=lambda move: -votes[move])
    return found or listed[:1]
