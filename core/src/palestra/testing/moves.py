"""Checks that all ways of asking for legal moves agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from palestra.kernel.array_game import ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction
from palestra.kernel.game import Outcome
from palestra.kernel.rng import Rng
from palestra.testing.subject import (
    Subject,
    play_long,
    play_on,
    random_actions,
    require,
    same,
    somebody_looks,
)

NONSENSE = ("", "\0", "I have no idea.", "(((((", "Propose(", "🤷" * 50, "x" * 20_000, "-1", "None")
LEAST_ENDS, MOST_ENDS = 5, 20  # games that are played to their end
ENOUGH = 300  # steps of them all, after which the least number will do
MOST_CHECKED = 64  # actions of one position that are looked at one by one


def masks_agree(subject: Subject) -> None:
    """Mask, `legal`, `check`, `sample` and `parse` accept the same moves, and texts round-trip."""
    for seed in range(3):
        episode, rng = subject.episode(seed), Rng(seed)
        for number, _ in play_on(episode, rng, 12, careful=seed == 2):
            for seat in episode.to_act:
                agree(subject, episode, seat, rng, f"seed {seed}, step {number}, player {seat}")


def agree(subject: Subject, episode: Episode, seat: int, rng: Rng, where: str) -> None:
    """Raise `Failed` where mask, `check`, `sample` and `parse` disagree about a seat's moves."""
    game, state = subject.game, episode.state
    if subject.has_array_view:
        mask = game.action_mask(state, seat)
        require(mask.dtype == np.int8, f"{where}: the mask is {mask.dtype}, not int8")
        require(len(mask) == game.action_space(seat).n, f"{where}: the mask has a wrong length")
        require(bool(mask.any()), f"{where}: is to act and has no legal move")
        require(same(mask, episode.action_mask(seat)), f"{where}: the episode's mask differs")
        for index in _some(len(mask), rng):
            allowed = mask[index]
            action = game.action_of(index)
            require(_legal(subject, state, seat, action) == bool(allowed), _odd(where, action))
            if allowed:
                require(game.index_of(action) == index, f"{where}: index_of({action!r}) ≠ {index}")
                _round_trip(subject, state, seat, action, where)
    for action in (game.sample(state, seat, Rng(n)) for n in range(5)):
        require(_legal(subject, state, seat, action), f"{where}: sampled illegal {action!r}")
        _round_trip(subject, state, seat, action, where)


def _some(count: int, rng: Rng) -> list[int]:
    """All of few actions, else as many drawn by lot: a check may take as long as a mask."""
    if count <= MOST_CHECKED:
        return list(range(count))
    return [rng.below(count) for _ in range(MOST_CHECKED)]


def _odd(where: str, action: object) -> str:
    return f"{where}: mask and check disagree about {action!r}"


def _legal(subject: Subject, state: Any, seat: int, action: Any) -> bool:
    try:
        subject.game.check(state, seat, action)
    except InvalidAction:
        return False
    return True


def _round_trip(subject: Subject, state: Any, seat: int, action: Any, where: str) -> None:
    text = subject.game.action_text(state, seat, action)
    try:
        read = subject.game.parse(state, seat, text)
    except InvalidAction as error:
        read = error
    require(read == action, f"{where}: {action!r} is written {text!r} and read back as {read!r}")
    require(
        subject.game.action_text(state, seat, read) == text,
        f"{where}: {text!r} is read and written differently",
    )
    if isinstance(subject.game, ArrayGame) and subject.game.fixed_moves:
        (listed,) = subject.game.written_moves(state, seat, [action])
        require(
            listed == text,
            f"{where}: {action!r} is listed as {listed!r} and written {text!r}: fixed_moves "
            "promises that action_text makes no use of the state",
        )


def nonsense_is_refused(subject: Subject) -> None:
    """Unreadable text raises `InvalidAction` naming what is legal, and changes nothing."""
    episode = subject.episode(0)
    seat = episode.to_act[0]
    before = subject.game.state_key(episode.state)
    for text in NONSENSE:
        try:
            episode.parse(seat, text)
        except InvalidAction as error:
            require(bool(error.legal), f"the error for {text[:20]!r} does not say what is legal")
        else:
            require(not text.strip(), f"{text[:40]!r} was read as a move")
    _prose_is_not_searched(subject, episode, seat)
    require(subject.game.state_key(episode.state) == before, "reading text changed the state")


def _prose_is_not_searched(subject: Subject, episode: Episode, seat: int) -> None:
    """A sentence that mentions a legal move states none."""
    for number in range(3):
        move = subject.game.sample(episode.state, seat, Rng(number))
        written = subject.game.action_text(episode.state, seat, move)
        text = f"I might consider {written} if it were not so bad for me."
        try:
            read = episode.parse(seat, text)
        except InvalidAction:
            continue
        require(
            read != move,
            f"parse() takes {written!r} out of the sentence {text!r}; read an answer that is a "
            "move, and refuse one that mentions it",
        )


def scripts_play_legal_moves(subject: Subject) -> None:
    """The game's own script answers with a legal action's number, or -1; so does its no-operation.

    In batches an illegal action of a script is replaced by a random one without a word.
    """
    game = subject.game
    scripted = isinstance(game, ArrayGame) and game.has_script
    for seed in range(3):
        episode, rng = subject.episode(seed), Rng(seed)
        for number in range(60):
            if episode.over:
                break
            actions = random_actions(episode, rng)
            for seat in episode.to_act:
                where = f"seed {seed}, step {number}, player {seat}"
                idle = episode.noop(seat)
                fine = idle is None or _legal(subject, episode.state, seat, idle)
                require(fine, f"{where}: noop() gives {idle!r}, which is not legal")
                if not scripted:
                    continue
                chosen = game.scripted(episode.state, seat)
                fine = chosen == -1 or _legal(subject, episode.state, seat, chosen)
                require(fine, f"{where}: scripted_action() gives {chosen}, which is not legal")
                if chosen >= 0 and rng.below(2):
                    actions[seat] = chosen
            episode.act(actions)


def illegal_moves_never_pay(subject: Subject) -> None:
    """Under every policy an illegal move is counted; a forfeit never pays the one who forfeits."""
    for policy in ("random", "forfeit"):
        episode = subject.episode(1, invalid=policy)
        seat = episode.to_act[0]
        actions = {p: subject.game.sample(episode.state, p, Rng(1)) for p in episode.to_act}
        actions[seat] = Illegal()
        episode.act(actions)
        require(episode.mistakes[seat] == 1, f"policy {policy!r} does not count the mistake")
        if policy == "forfeit":
            require(episode.over, "a forfeit does not end the episode")
            require(episode.rewards[seat] <= 0, "a forfeit pays the one who forfeits")
            outcome = episode.outcome
            require(
                outcome is not None and outcome.results[seat] == "forfeit",
                "a forfeit is not in the outcome",
            )


class Illegal:
    """An action no game knows."""


def ends_are_told(subject: Subject) -> None:
    """No outcome while moves are asked for; at the end there is one, with a score a seat."""
    steps = 0
    for seed in range(MOST_ENDS):
        if seed >= LEAST_ENDS and steps >= ENOUGH:
            break
        episode = subject.episode(seed)
        for number, _ in play_long(episode, Rng(seed), careful=seed % 2 == 1):
            steps += 1
            if not episode.over:
                require(episode.outcome is None, f"step {number}: an outcome before the end")
        require(episode.over, f"seed {seed}: not over after 2,000 random steps")
        for number in range(subject.game.num_players):
            somebody_looks(episode, number)
        outcome = episode.outcome
        require(outcome is not None, f"seed {seed}: over without an outcome")
        assert outcome is not None
        seats = subject.game.num_players
        require(len(outcome.results) == len(outcome.scores) == seats, "not one result a seat")
        _results_agree_with_returns(subject, episode, outcome)
        within_bounds(subject, episode)


def _results_agree_with_returns(subject: Subject, episode: Episode, outcome: Outcome) -> None:
    """In a zero-sum game nobody who has lost is paid more than somebody who has won."""
    if subject.game.payoffs != "zero-sum":
        return
    paid = list(zip(outcome.results, episode.returns, outcome.scores, strict=True))
    won = [(returned, score) for result, returned, score in paid if result == "win"]
    lost = [(returned, score) for result, returned, score in paid if result == "loss"]
    for what, place in (("returns", 0), ("scores", 1)):
        best = max((one[place] for one in lost), default=-np.inf)
        worst = min((one[place] for one in won), default=np.inf)
        require(
            best <= worst,
            f"seed {episode.seed}: results {outcome.results} contradict the {what} "
            f"{[one[1 + place] for one in paid]}: a loser has {best:g}, a winner {worst:g}",
        )


def within_bounds(subject: Subject, episode: Episode) -> None:
    """Raise `Failed` if an episode's returns contradict what the game declares."""
    low, high = subject.game.payoff_bounds
    returns = list(episode.returns)
    worst, best = min(returns), max(returns)
    where = f"seed {episode.seed}, after step {episode.steps_played}"
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    require(
        low - slack <= worst and best <= high + slack,
        f"returns {returns} leave the declared payoff_bounds {(low, high)} ({where})",
    )
    if subject.game.payoffs == "zero-sum":
        require(abs(sum(returns)) < 1e-6, f"declared zero-sum, but returns are {returns} ({where})")
    if subject.game.payoffs == "common":
        require(
            best - worst < 1e-6, f"declared common payoffs, but returns are {returns} ({where})"
        )


def numbers_stay_in_space(subject: Subject) -> None:
    """Every observation lies in its declared space."""
    if not subject.has_array_view:
        return
    is_array_game = isinstance(subject.game, ArrayGame)
    for seed in range(3):
        episode = subject.episode(seed)
        for number, _ in play_on(episode, Rng(seed), 60, careful=seed == 2):
            for seat in range(subject.game.num_players):
                seen, space = episode.observation(seat), subject.game.observation_space(seat)
                require(
                    seen in space,
                    f"seed {seed}, step {number}: {seen!r} is not in {space}",
                )
                if is_array_game:
                    direct = subject.game.observe(episode.state, seat)
                    require(same(seen, direct), f"step {number}: observe() and the episode differ")
