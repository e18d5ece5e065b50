"""Checks that people who join late, or take over a seat, learn nothing of what came before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction
from palestra.kernel.lives import NEWCOMER, newcomers
from palestra.kernel.rng import Rng
from palestra.testing.privacy import REVEALS
from palestra.testing.subject import (
    Skipped,
    Subject,
    play_long,
    random_actions,
    require,
    same,
    sight,
)

SEEDS = 12  # episodes looked at, fewer if many people join
JOINED = 30  # people who are looked at
STEPS = 30  # that one of them is followed for
PAST = ("events", "prompt")  # what a world without a past has none of


def newcomers_start_afresh(subject: Subject) -> None:
    """A newcomer's transcript begins with the event that seats them, and nothing tells the past.

    The past of a newcomer is removed, and in a second test sampled again: nothing that they see,
    then or later, may change. Newcomers who join the same position must read the same text,
    whatever led to it: what is handed down to them belongs in the position.
    """
    if not subject.game.has_newcomers:
        _nobody_joins(subject)
        raise Skipped("nobody takes a seat during the game")
    read: dict[Any, Any] = {}
    joined = 0
    for seed in range(SEEDS):
        episode = subject.episode(seed)
        acted: set[int] = set(episode.to_act)
        for number, _ in play_long(episode, Rng(seed), careful=True):
            if joined >= JOINED:
                return
            for place, event in enumerate(episode.log[-1]):
                for seat in newcomers(event):
                    where = f"seed {seed}, step {number}: player {seat} is new"
                    if seat not in acted:
                        _was_told_nothing(episode, seat, place, where)
                    _Newcomer(subject, episode, seat, where).look(read)
                    joined += 1
            acted |= set(episode.to_act)
    require(joined > 0, f"has_newcomers is true, and nobody joined in {seed + 1} games")


def _nobody_joins(subject: Subject) -> None:
    episode = subject.episode(0)
    for number, _ in play_long(episode, Rng(0)):
        told = [event for event in episode.log[-1] if event.kind == NEWCOMER]
        require(not told, f"step {number}: somebody joins; say so with has_newcomers")


def _was_told_nothing(episode: Episode, seat: int, place: int, where: str) -> None:
    """A seat that was empty so far was told nothing: who is to sit there may be listening."""
    told = [event for step in episode.log[1:-1] for event in step] + [*episode.log[-1][:place]]
    heard = [event.text for event in told if event.visible_to(seat)]
    require(
        not heard,
        f"{where} and could read what was before: {heard[:1]}; make it for those who were there: "
        "audience=only(…)",
    )


class _Newcomer:
    """One person who has just sat down."""

    def __init__(self, subject: Subject, episode: Episode, seat: int, where: str) -> None:
        self.subject, self.episode, self.seat, self.where = subject, episode, seat, where
        self.array = subject.has_array_view

    def look(self, read: dict[Any, Any]) -> None:
        """Hold what they see against other worlds, and against what others `read`."""
        transcript = self.episode.transcript(self.seat)
        require(
            bool(transcript) and self.seat in newcomers(transcript[0]),
            f"{self.where}, and the event that says so is not the first they read",
        )
        self._position_says_all(read)
        if self.episode.over:
            return
        state, game = self.episode.state, self.subject.game
        self._follow(state, "a world without a past", stop=())
        redrawn = game.determinize(state, self.seat, Rng(self.episode.steps_played))
        self._follow(redrawn, "a world with another past", stop=(REVEALS,))

    def _position_says_all(self, read: dict[Any, Any]) -> None:
        """What is told at the start follows from the position."""
        seen = sight(self.episode, self.seat, array=self.array)
        told = seen["events"]
        position = repr([seen[name] for name in seen if name not in PAST])
        before = read.setdefault((self.seat, position), told)
        require(
            same(before, told),
            f"{self.where} and reads {_first(told, before)}, and in the same position after "
            f"another past {_first(before, told)}; tell it before the event of the newcomer, or "
            "show it in the position",
        )

    def _follow(self, state: Any, world: str, *, stop: Sequence[str]) -> None:
        """See the same as in another world, up to an event of a kind in `stop`."""
        real, other = self.episode.fork(), self.subject.episode(0)
        other.load(state)
        starts = len(real.transcript(self.seat)), len(other.transcript(self.seat))
        life, rng = real.life(self.seat), Rng(self.episode.steps_played + 1)
        for step in range(STEPS):
            one, two = self._sights(real, other, starts)
            different = [name for name in one if not same(one[name], two[name])]
            require(
                not different,
                f"{self.where}, {step} steps later {', '.join(different)} tell what was before: in "
                f"{world} they see something else",
            )
            if real.over or real.to_act != other.to_act:
                return
            actions = random_actions(real, rng)
            try:
                other.act(actions)
            except InvalidAction:
                return  # another's move is not legal in the other world
            real.act(actions)
            told = [*real.log[-1], *other.log[-1]]
            shown = any(e.kind in stop and e.visible_to(self.seat) for e in told)
            if shown or real.life(self.seat) != life:
                return

    def _sights(
        self, real: Episode, other: Episode, starts: tuple[int, int]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the seat sees in both, of the transcripts what came after the start."""
        seen = []
        for episode, start in zip((real, other), starts, strict=True):
            one = sight(episode, self.seat, array=self.array)
            one["events"] = one["events"][start:]
            one["prompt"] = episode.prompt(self.seat, episode.cursor(self.seat))
            one["paid"] = round(episode.paid(self.seat, episode.life(self.seat)), 6)
            one["legal"] = episode.legal_text(self.seat) if self.seat in episode.to_act else ""
            seen.append(one)
        return seen[0], seen[1]


def _first(these: Sequence[Any], those: Sequence[Any]) -> str:
    """The first of these events that is not among those, or that there is none."""
    return next((repr(event[1]) for event in these if event not in those), "nothing of it")
