"""Checks that what a game declares about chance, order, information and payoffs is so in play."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from palestra.kernel.episode import Episode
from palestra.kernel.rng import Rng
from palestra.testing.moves import within_bounds
from palestra.testing.parts import copy_part, different_parts, large_parts
from palestra.testing.privacy import spread
from palestra.testing.subject import (
    Failed,
    Subject,
    play_long,
    random_actions,
    require,
    same,
)

SEEDS = 3
GAMES = 30  # looked through for a seat that has not moved yet
STEPS = 60  # of an episode
LOOKS = 6  # positions of an episode in which parts of the state are exchanged
PARTS = 16  # of a position that are
WATCHING = 4  # seats that are compared
TRIED = 3  # moves of which somebody greedy or spiteful takes one


def chance_is_declared(subject: Subject) -> None:
    """In a `deterministic` game a step leads to the same, whatever random numbers come next."""
    game = subject.game
    if not game.deterministic:
        return
    for seed in range(SEEDS):
        episode = subject.episode(seed)
        for number in range(STEPS):
            if episode.over:
                break
            actions = random_actions(episode, Rng(STEPS * seed + number))
            one, two = (episode.fork(seed=2 * number + n) for n in (1, 2))
            one.act(actions)
            two.act(actions)
            other = _other(one, two)
            require(
                not other,
                f"seed {seed}, step {number}: `deterministic` is declared, and other random "
                f"numbers lead to {other}; set deterministic = False",
                "`deterministic` is declared and the rules draw random numbers",
            )
            episode.act(actions)


def _other(one: Episode, two: Episode) -> str:
    """In what the last step of two episodes differs; empty if it does not."""
    if one.state_key() != two.state_key():
        parts = [f"state.{part}" for part in different_parts(one.state, two.state)[:3]]
        return f"another {', '.join(parts) or 'state'}"
    alike = one.log[-1] == two.log[-1] and list(one.rewards) == list(two.rewards)
    return "" if alike else "other events or rewards"


def seats_move_as_declared(subject: Subject) -> None:
    """One seat at a time, or several at once, as `order` says; every seat moves in some game."""
    game, moved, most = subject.game, set[int](), 0
    for seed in range(GAMES):
        if seed >= SEEDS and len(moved) == game.num_players:
            break
        for number, actions in play_long(subject.episode(seed), Rng(seed), careful=True):
            moved, most = moved | set(actions), max(most, len(actions))
            require(
                len(actions) == 1 or game.order != "sequential",
                f"seed {seed}, step {number}: `order` is 'sequential', and seats {sorted(actions)} "
                "move at once; declare 'phased' or 'simultaneous'",
            )
            if number >= 10 * STEPS:
                break
    idle = sorted({*range(game.num_players)} - moved)
    require(not idle, f"seats {idle} had no move in {GAMES} games; are there {game.num_players}?")
    require(
        most > 1 or game.num_players == 1 or game.order != "simultaneous",
        "`order` is 'simultaneous', and one seat moves at a time; declare 'sequential'",
    )


def information_is_declared(subject: Subject) -> None:
    """With `perfect_information`, no seat sees a part of the state that others do not see."""
    game = subject.game
    if not game.perfect_information or game.num_players == 1:
        return
    for seed in range(SEEDS):
        for state, other, number in _pairs(subject, seed):
            seen = _seen(subject, state)
            for part in spread(list(large_parts(state)), PARTS, seed + number):
                changed = copy_part(game.clone(state), other, part)
                if changed is not None:
                    where = f"seed {seed}, step {number}"
                    _seen_by_all_or_none(subject, seen, changed, part, where)


def _pairs(subject: Subject, seed: int) -> Iterator[tuple[Any, Any, int]]:
    """Positions of two games, and their number."""
    one, two = subject.episode(seed), subject.episode(seed + 50)
    rng = Rng(seed)
    for number in range(LOOKS):
        if one.over or two.over:
            return
        yield one.state, two.state, number
        for episode in (one, two):
            episode.act(random_actions(episode, rng))


def _seen_by_all_or_none(
    subject: Subject, before: list[Any], changed: Any, part: str, where: str
) -> None:
    try:
        after = _seen(subject, changed)
    except Exception:  # the state makes no sense with this part of another
        return
    sees = [not same(*both) for both in zip(before, after, strict=True)]
    if any(sees) and not all(sees):
        yes, no = sees.index(True), sees.index(False)
        raise Failed(
            f"{where}: `perfect_information` is declared, and player {yes} sees state.{part}, "
            f"which player {no} does not; set perfect_information = False and write determinize()",
            "perfect_information is declared and something is hidden",
        )


def _seen(subject: Subject, state: Any) -> list[Any]:
    """What the first seats see in a state, whoever is to act."""
    game = subject.game
    views: list[Any] = [
        game.describe,
        game.scene,
        *([game.observe] if subject.has_array_view else []),
    ]
    seats = range(min(game.num_players, WATCHING))
    return [[view(state, seat) for view in views] for seat in seats]


def terms_are_declared(subject: Subject) -> None:
    """Rewards and costs have declared names, all finite; returns stay in bounds for who seeks."""
    game = subject.game
    for seed in range(SEEDS):
        for sign in (1, -1):
            episode, rng = subject.episode(seed), Rng(seed)
            for number in range(STEPS):
                if episode.over:
                    within_bounds(subject, episode)
                    break
                episode = _seeking(episode, rng, seed % game.num_players, sign)
                for kind, paid, names in (
                    ("reward", episode.step.rewards, game.reward_terms),
                    ("cost", episode.step.costs, game.cost_terms),
                ):
                    where = f"seed {seed}, step {number}: {kind}s"
                    odd = sorted({term for terms in paid.values() for term in terms} - {*names})
                    require(not odd, f"{where} {odd} are not among {kind}_terms {names}")
                    _are_finite(paid, where)


def _are_finite(paid: Mapping[int, Mapping[str, float]], where: str) -> None:
    endless = [
        f"{term} of player {seat} is {amount}"
        for seat, terms in paid.items()
        for term, amount in terms.items()
        if not math.isfinite(amount)
    ]
    require(not endless, f"{where} must be finite: {endless}")


def _seeking(episode: Episode, rng: Rng, seat: int, sign: int) -> Episode:
    """A step further, by random moves: of several those that pay one seat most, or least."""
    tried = [episode.fork() for _ in range(TRIED)]
    for ahead in tried:
        ahead.act(random_actions(ahead, rng))
    return max(tried, key=lambda ahead: sign * float(ahead.rewards[seat]))
