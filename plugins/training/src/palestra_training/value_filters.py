"""Answers that did better than their position was worth: what DigiRL and Digi-Q imitate.

Both learn values with a network, as `value_networks` does. Without one, a value is the mean return
of the rollouts that came by a position, which is what a network tends to where positions come
again; those that differ in the game's counters alone are one (`Game.anchor`). Rollouts are compared
as in `text_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from palestra import Rng
from palestra.agents.models import Message

from palestra_training.exchanges import Exchange
from palestra_training.text_rows import (
    Row,
    Trajectory,
    groups_of,
    paid_by_answer,
    returns_from,
    said,
)

if TYPE_CHECKING:
    from palestra_training.value_networks import Critic  # it imports torch

CANDIDATES = 16  # answers of which the best is taken


def step_advantages(
    paid: Sequence[float], values: Sequence[float], fade: float = 0.5
) -> list[float]:
    """DigiRL's doubly robust advantage of each step h of H, from 1 on.

    A(h) = fade^(H-h) r + (1 - fade^(H-h)) (V(h+1) + r(h) - V(h)), where r is the whole return and
    the value after the last step is 0 (Bai et al. 2024, "DigiRL", section 4.3).

    paid: r(h). values: V(h) of the positions. fade: the paper's lambda.
    """
    total, last = sum(paid), len(paid) - 1
    after = [*values[1:], 0.0]
    weights = [fade ** (last - place) for place in range(len(paid))]
    return [
        weight * total + (1 - weight) * (later + own - now)
        for weight, later, own, now in zip(weights, after, paid, values, strict=True)
    ]


def filtered_rows(
    played: Sequence[Trajectory],
    *,
    fade: float = 0.5,
    least: float | None = None,
    values: Sequence[Sequence[float]] | None = None,
) -> Iterator[Row]:
    """DigiRL: of the rollouts worth more than their start's mean, the answers above a threshold.

    least: the threshold of `step_advantages`; by default 1 / H for H answers, as in the paper.
    values: of the positions of each rollout, as `value_networks.step_values` learns them; means
    over visits without it. A row an answer: "prompt", "completion".
    """
    learned = {id(one): own for one, own in zip(played, values or (), strict=bool(values))}
    for group in groups_of(played):
        means = _values(group)
        mean = sum(one.worth for one in group) / len(group)
        for one in group:
            if one.worth <= mean:
                continue
            known = learned.get(id(one)) or [means[_position(answer)] for answer in one.answers]
            found = step_advantages(paid_by_answer(one), known, fade)
            threshold = 1 / len(found) if least is None else least
            for place, advantage in enumerate(found):
                if advantage > threshold:
                    yield _row(one, place, advantage)


def best_legal_rows(
    played: Sequence[Trajectory], critic: Critic, *, least: float = 0.0, seed: int = 0
) -> Iterator[Row]:
    """Digi-Q with its networks: the answer with the highest Q at every position, if above V.

    Candidates are the answer that was given and others that were legal, `CANDIDATES` of them at the
    most (the paper samples so many from the policy); rollouts need answers with `legal`. A row a
    position that differs from the others of its start.
    """
    for group in groups_of(played):
        seen: set[str] = set()
        for one in group:
            for place, answer in enumerate(one.answers):
                if _position(answer) in seen:
                    continue
                seen.add(_position(answer))
                moves = [answer.turn.text, *_others(answer, seed)]
                worths = critic.worths(answer, moves)
                best = max(range(len(moves)), key=worths.__getitem__)
                better = worths[best] - critic.value(answer)
                if better > least:
                    reply = Message("assistant", moves[best]) if best else answer.reply
                    yield _row(one, place, better, reply)


def _others(answer: Exchange, seed: int) -> list[str]:
    others = [move for move in answer.legal if move != answer.turn.text]
    Rng.seeded(seed, len(others)).shuffle(others)
    return others[: CANDIDATES - 1]


def best_rows(played: Sequence[Trajectory], *, least: float = 0.0) -> Iterator[Row]:
    """Digi-Q: of the answers given at one position the best one, if better than the position.

    Q is the mean return of the rollouts after an answer, V after a position, and Q - V must be
    above `least` (Bai et al. 2025, "Digi-Q": best-of-N extraction, where A > 0). A row an answer.
    """
    for group in groups_of(played):
        values = _values(group)
        asked: dict[str, dict[str, list[tuple[float, Trajectory, int]]]] = {}
        for one, place, to_go in _answers(group):
            answer = one.answers[place]
            given = asked.setdefault(_position(answer), {}).setdefault(answer.turn.text, [])
            given.append((to_go, one, place))
        for key, answers in asked.items():
            worth = {text: sum(g[0] for g in given) / len(given) for text, given in answers.items()}
            best = max(worth, key=lambda text: worth[text])
            if worth[best] - values[key] > least:
                _, one, place = answers[best][0]
                yield _row(one, place, worth[best] - values[key])


def _answers(group: Sequence[Trajectory]) -> Iterator[tuple[Trajectory, int, float]]:
    """Each answer of each rollout, and the return from there on."""
    for one in group:
        for place, to_go in enumerate(returns_from(one)):
            yield one, place, to_go


def _values(group: Sequence[Trajectory]) -> dict[str, float]:
    """The mean return from each position on."""
    returns: dict[str, list[float]] = {}
    for one, place, to_go in _answers(group):
        returns.setdefault(_position(one.answers[place]), []).append(to_go)
    return {key: sum(found) / len(found) for key, found in returns.items()}


def _position(answer: Exchange) -> str:
    """What the decision depends on: the anchor, or the state's key where a record has none."""
    return answer.turn.anchor or answer.turn.state_key


def _row(one: Trajectory, place: int, advantage: float, reply: Message | None = None) -> Row:
    answer = one.answers[place]
    return {
        "prompt": said(answer.messages),
        "completion": said([reply or answer.reply]),
        **one.origin(),
        "worth": advantage,
    }
