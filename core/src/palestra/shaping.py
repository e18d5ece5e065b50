"""Step shapers: rewards a caller names beside, or instead of, the game's own.

`rewards=["env", "food-distance"]` pays the game's own terms and those of the shaper of that name;
`rewards=["food-distance"]` only the latter. Outcomes, search agents and the rules never see them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from palestra.kernel.episode import Episode, Snapshot
from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.game import Game, Step, total
from palestra.kernel.naming import construct, parse_agent
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point

OWN = "env"


@dataclass(frozen=True, slots=True)
class Transition:
    """One step as a shaper sees it, for one seat; `before` and `after` are states to read only.

    `gamma` is what this step discounts for the seat: the learner's discount where the seat decides
    in `after` or the episode is over, and 1 where it waits for others. A seat's rewards are
    discounted once for each of its own turns, so that `gamma * potential(after) -
    potential(before)` adds up to an exact potential difference from own turn to own turn, however
    many seats move in between.
    """

    game: Game[Any, Any]
    before: Any
    actions: Mapping[int, Any]
    after: Any
    seat: int
    over: bool
    gamma: float


Shaper = Callable[[Transition], Mapping[str, float]]


@runtime_checkable
class Remembering(Protocol):
    """A step shaper that is a class: its instances remember what they have seen.

    One instance belongs to one episode object; each play-through is shaped by what `begin`
    returns at its start, each fork and snapshot by a `copy` of that.
    """

    def __call__(self, step: Transition) -> Mapping[str, float]: ...

    def begin(self) -> Remembering: ...

    def copy(self) -> Remembering: ...


def load_shaper(text: str) -> Shaper:
    """The step shaper a name such as `food-distance` or `stages:first=0.5` asks for."""
    name, options, _ = parse_agent(text)
    known = registry().rewards
    if name not in known:
        steps = [OWN, *(spec.name for spec in known.values() if spec.shape == "step")]
        raise UnknownName("reward", name, steps)
    if known[name].shape != "step":
        raise InvalidOption(
            f"reward {name!r} is made for whole {known[name].shape}s; only step shapers can pay "
            "while an episode runs"
        )
    found = load_entry_point(known[name].entry_point)
    if inspect.isclass(found):
        made: Shaper = construct(found, f"reward {name!r}", options)
        return made
    return partial(found, **options)


def _copied(shapers: Mapping[str, Shaper]) -> dict[str, Shaper]:
    return {n: s.copy() if isinstance(s, Remembering) else s for n, s in shapers.items()}


def open_episode(
    game: Game[Any, Any],
    seed: int | None = None,
    *,
    rewards: Sequence[str] | None = None,
    gamma: float = 1.0,
    **settings: Any,
) -> Episode:
    """An episode that pays what `rewards` names: by default the game's own terms."""
    names = (rewards,) if isinstance(rewards, str) else tuple(rewards or (OWN,))
    if names == (OWN,):
        return Episode(game, seed, **settings)
    return ShapedEpisode(game, seed, rewards=names, gamma=gamma, **settings)


class ShapedEpisode(Episode):
    """An episode whose rewards are composed, in the order named, from shapers and the game's own.

    `gamma` is the learner's discount of each of its own turns, which potential-based shapers need.
    """

    def __init__(
        self,
        game: Game[Any, Any],
        seed: int | None = None,
        *,
        rewards: Sequence[str],
        gamma: float = 1.0,
        **settings: Any,
    ) -> None:
        if not 0 <= gamma <= 1:
            raise InvalidOption(f"gamma must be from 0 to 1, not {gamma}")
        self.rewards_from, self.gamma = tuple(rewards), gamma
        self._loaded = {name: load_shaper(name) for name in rewards if name != OWN}
        super().__init__(game, seed, **settings)

    def _clear(self, start: Any) -> None:
        super()._clear(start)
        self._shapers: dict[str, Shaper] = {
            name: shaper.begin() if isinstance(shaper, Remembering) else shaper
            for name, shaper in self._loaded.items()
        }
        self._terms: tuple[Any, ...] = ()  # (all before, of this step), so that forks share them
        self._paid = [0.0] * self.game.num_players
        self._total = list(self._paid)

    def act(self, actions: Mapping[int, Any], notes: Any = None) -> None:
        before, turn = self.state, self.turn
        super().act(actions, notes)
        if self.turn == turn + 1 and self._history and self._extra is None:
            self._shape(before)

    def _shape(self, before: Any) -> None:
        assert self._history is not None
        if self._terms and self._terms[2] == self.turn:
            return  # a repaired move was shaped already
        after, actions, to_act = self._simulator.state, self._history[1], self.to_act
        terms: dict[int, dict[str, float]] = {}
        for seat in range(self.game.num_players):
            gamma = self.gamma if seat in to_act or not to_act else 1.0
            step = Transition(self.game, before, actions, after, seat, not to_act, gamma)
            named: dict[str, float] = {}
            for name in self.rewards_from:
                own = self._simulator.step.rewards.get(seat, {}) if name == OWN else None
                named |= self._shapers[name](step) if own is None else own
            terms[seat] = named
        self._terms = (self._terms, terms, self.turn)
        self._paid = [total(terms[seat]) for seat in range(self.game.num_players)]
        self._total = [a + b for a, b in zip(self._total, self._paid, strict=True)]

    @property
    def rewards(self) -> Sequence[float]:
        return self._paid if self._extra is None else super().rewards

    @property
    def step(self) -> Step:
        if self._extra is not None or not self._terms:
            return super().step
        step = self._simulator.step
        return Step(self._terms[1], step.costs, step.events)

    @property
    def returns(self) -> Sequence[float]:
        if self._extra is None:
            return self._total
        return [value + self._extra[p] for p, value in enumerate(self._total)]

    def terms_by_step(self) -> list[Mapping[int, Mapping[str, float]]]:
        """What every shaped step so far paid, by seat and term."""
        found, link = [], self._terms
        while link:
            found.append(link[1])
            link = link[0]
        return found[::-1]

    def fork(self, seed: int | None = None) -> Episode:
        twin = super().fork(seed)
        assert isinstance(twin, ShapedEpisode)
        if twin._shapers is self._shapers:
            twin._shapers = _copied(self._shapers)
        return twin

    def plain(self) -> Episode:
        twin = Episode.__new__(Episode)
        twin.__dict__.update(self.fork().__dict__)
        return twin

    def snapshot(self) -> Snapshot:
        kept = (self._terms, self._paid, self._total, _copied(self._shapers))
        return replace(super().snapshot(), shaped=kept)

    def restore(self, snapshot: Snapshot) -> None:
        super().restore(snapshot)
        if snapshot.shaped is not None:
            self._terms, self._paid, self._total, shapers = snapshot.shaped
            self._shapers = _copied(shapers)
