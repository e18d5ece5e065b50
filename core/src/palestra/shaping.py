"""Step shapers: rewards that a caller adds to, or uses instead of, the game's own.

`rewards=["env", "food-distance"]` pays the game's own terms and those of the shaper
`food-distance`; `rewards=["food-distance"]` only the latter. They do not affect outcomes, search
agents or the rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, Protocol, TypeVar, runtime_checkable

from palestra.agents.naming import parse_agent
from palestra.code_names import code_name, load_code
from palestra.kernel.episode import Episode, Snapshot
from palestra.kernel.errors import InvalidOption, UnknownName, show
from palestra.kernel.game import Game, Step, Terms, total
from palestra.kernel.lives import newcomers
from palestra.kernel.naming import construct, fit_arguments
from palestra.kernel.registry import registry, where_from
from palestra.kernel.specs import load_entry_point

OWN = "env"
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Transition:
    """One step as a shaper sees it, for one seat; `before` and `after` are read-only states.

    game: the rules. actions: by seat, what was played. seat: whom the shaper pays.
    over: whether the episode has ended.
    gamma: this step's discount for the seat: the learner's discount if the seat decides in `after`
        or the episode is over, and 1 if it waits for others.
    paid: the game's own reward terms of this step for the seat, by name.

    A seat's rewards are discounted once for each of its own turns, so that `gamma *
    potential(after) - potential(before)` adds up to an exact potential difference from own turn to
    own turn, however many seats move in between. See `potential_based` for ends from outside.
    """

    game: Game[Any, Any]
    before: Any
    actions: Mapping[int, Any]
    after: Any
    seat: int
    over: bool
    gamma: float
    paid: Mapping[str, float] | None = None


Shaper = Callable[[Transition], Mapping[str, float]]
AnyShaper = TypeVar("AnyShaper", bound=Callable[..., Any])


def potential_based(shaper: AnyShaper) -> AnyShaper:
    """Mark a step shaper that pays `gamma * potential(after) - potential(before)`, 0 after the end.

    It is called once more if an episode ends from outside, by a forfeit or a step limit: then
    nobody has moved, `over` is true, and it takes back the potential of the last state, so that the
    sum of its terms does not depend on what is played. Other shapers pay nothing there. `over` is
    also true for a seat that a new person takes: the sum is that of each person's terms. It is not
    called for a seat before the seat's first decision, so the sum is minus the potential there.
    """
    shaper.potential_based = True  # type: ignore[attr-defined]
    return shaper


def is_potential_based(shaper: Shaper) -> bool:
    return bool(getattr(getattr(shaper, "func", shaper), "potential_based", False))


def is_by_person(shaper: Shaper) -> bool:
    """Whether a shaper is to be told by `over` that a new person takes the seat (`by_person`)."""
    return bool(getattr(getattr(shaper, "func", shaper), "by_person", False))


@runtime_checkable
class Remembering(Protocol):
    """A step shaper that is a class: its instances keep state.

    Each episode object has one instance; `begin` returns the shaper of each new episode, and forks
    and snapshots use a `copy` of it.
    """

    def __call__(self, step: Transition) -> Mapping[str, float]: ...

    def begin(self) -> Remembering: ...

    def copy(self) -> Remembering: ...


def load_shaper(text: str | Shaper, more: Mapping[str, Any] | None = None) -> Shaper:
    """Make the step shaper that a string such as `food-distance` or `stages:first=0.5` names.

    It may also name code, as in `mine.py:near,weight=0.5` or `module:near`, or be the function
    of a `Transition` itself. `more` are options beside those in the string.
    """
    if not isinstance(text, str):
        return _checked(text)
    if code := code_name(text, registry().rewards):
        return _checked(load_code(code, "reward"), text)
    name, options, _ = parse_agent(text)
    options |= more or {}
    known = registry().rewards
    if name not in known:
        steps = [OWN, *(spec.name for spec in known.values() if spec.shape == "step")]
        raise UnknownName("reward", name, steps, where_from("rewards", name))
    if known[name].shape != "step":
        raise InvalidOption(
            f"reward {name!r} is made for whole {known[name].shape}s; only step shapers can pay "
            "while an episode runs"
        )
    found = load_entry_point(known[name].entry_point)
    if inspect.isclass(found):
        made: Shaper = construct(found, f"reward {name!r}", options)
        return made
    given = fit_arguments(found, f"reward {name!r}", options, leading=1)
    check_complete(found, f"reward {name!r}", given, leading=1)
    return partial(found, **given)


def _checked(shaper: Any, name: str = "") -> Shaper:
    """A shaper of the caller's own, whose answers are checked."""
    if not callable(shaper) or isinstance(shaper, type):
        raise InvalidOption(
            f"a reward is the name of a shaper or a function of a palestra.Transition, as in "
            f"rewards=['env', f], not {show(shaper)}; of a class give an instance"
        )
    name = name or reward_name(shaper)
    try:
        inspect.signature(shaper).bind(None)
    except TypeError as error:
        raise InvalidOption(
            f"reward {name!r} is called with one palestra.Transition: {error}"
        ) from None
    except ValueError:  # a builtin
        pass
    if isinstance(shaper, Remembering):
        return shaper

    @wraps(shaper, updated=())
    def checked(step: Transition) -> Mapping[str, float]:
        terms = shaper(step)
        if isinstance(terms, Mapping):
            return terms
        raise InvalidOption(
            f"reward {name!r} returned {show(terms)}; return a dictionary of amounts by name, as "
            "in {'near': 0.5}, which may be empty"
        )

    if is_potential_based(shaper):
        potential_based(checked)
    checked.by_person = is_by_person(shaper)  # type: ignore[attr-defined]
    return checked


def reward_name(reward: str | Shaper) -> str:
    """What a component of rewards is called on a record."""
    if isinstance(reward, str):
        return reward
    kind = reward if hasattr(reward, "__qualname__") else type(reward)
    return f"{kind.__module__}:{kind.__qualname__}"


def check_complete(
    make: Callable[..., Any], what: str, given: Mapping[str, Any], leading: int = 0
) -> None:
    """Raise `InvalidOption` if an option without a default is missing.

    The first `leading` arguments of `make` are no options.
    """
    parameters = list(inspect.signature(make).parameters.values())[leading:]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in VARIABLE]
    missing = [name for name in needed if name not in given]
    if missing:
        passed = ", ".join(f"{name}=…" for name in missing)
        raise InvalidOption(f"{what} needs {' and '.join(missing)}; pass {passed}")


def _add_amounts(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """Named amounts added up."""
    return {**one, **{name: one.get(name, 0.0) + value for name, value in other.items()}}


def _copies(shapers: Mapping[str, Shaper]) -> dict[str, Shaper]:
    return {n: s.copy() if isinstance(s, Remembering) else s for n, s in shapers.items()}


def check_gamma(gamma: float) -> float:
    """Return a valid discount; raises `InvalidOption` for any other."""
    if not 0 <= gamma <= 1:
        raise InvalidOption(f"gamma must be from 0 to 1, not {gamma}")
    return gamma


def open_episode(
    game: Game[Any, Any],
    seed: int | None = None,
    *,
    rewards: Sequence[str | Shaper] | None = None,
    gamma: float = 1.0,
    **settings: Any,
) -> Episode:
    """Open an episode with the rewards that `rewards` names: by default the game's own."""
    given = [rewards] if isinstance(rewards, str) or callable(rewards) else rewards
    names = tuple(given or (OWN,))
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
        rewards: Sequence[str | Shaper],
        gamma: float = 1.0,
        **settings: Any,
    ) -> None:
        self.rewards_from, self.gamma = tuple(map(reward_name, rewards)), check_gamma(gamma)
        self._loaded = {reward_name(one): load_shaper(one) for one in rewards if one != OWN}
        super().__init__(game, seed, **settings)

    def _clear(self, start: Any) -> None:
        super()._clear(start)
        self._playing: dict[str, Shaper] | None = None
        self._terms: tuple[Any, ...] = ()  # (all before, of this step), so that forks share them
        self._paid = [0.0] * self.game.num_players
        self._total = list(self._paid)
        self._named: Terms = {}
        self._begun: frozenset[int] = frozenset()  # seats whose person has decided something

    @property
    def _shapers(self) -> dict[str, Shaper]:
        """The shapers of this play-through; an episode that is never played begins none."""
        if self._playing is None:
            self._playing = {
                name: shaper.begin() if isinstance(shaper, Remembering) else shaper
                for name, shaper in self._loaded.items()
            }
        return self._playing

    def act(self, actions: Mapping[int, Any], notes: Any = None) -> None:
        before, turn = self.state, self.steps_played
        super().act(actions, notes)
        if self.steps_played == turn + 1 and self._history and self._extra is None:
            self._shape(before)

    def _welcome(self) -> None:
        """Nothing yet: newcomers begin when the step has been paid."""

    def forfeit(
        self, seat: int | Mapping[int, str], why: str = "forfeit", notes: Any = None
    ) -> None:
        lost = {seat} if isinstance(seat, int) else set(seat)
        asked = [other for other in self.to_act if other not in lost]
        super().forfeit(seat, why, notes)
        assert self._extra is not None
        self._paid = [0.0] * self.game.num_players  # instead of a step, not after one
        self._named = {}
        self._begun |= lost
        self._settle(asked, {p: {"forfeit": v} for p, v in self._extra.items() if v})

    def truncate(self, why: str = "stopped", notes: Any = None) -> None:
        if self.over:
            return
        asked = self.to_act
        super().truncate(why, notes)
        self._settle(asked, {})

    def _end(self, results: Sequence[Any], why: str) -> None:
        super()._end(results, why)
        assert self._ended is not None
        own = self._simulator.returns
        extra = self._extra or {}
        scores = tuple(value + extra.get(seat, 0.0) for seat, value in enumerate(own))
        self._ended = replace(self._ended, scores=scores)

    def _shape(self, before: Any) -> None:
        assert self._history is not None
        if self._terms and self._terms[2] == self.steps_played:
            return  # a repaired move was shaped already
        after, actions, to_act = self._simulator.state, self._history[1], self.to_act
        left = self._left()
        self._begun |= set(actions)
        terms: dict[int, dict[str, float]] = {}
        for seat in range(self.game.num_players):
            gamma = self.gamma if seat in to_act or not to_act else 1.0
            own = self._simulator.step.rewards.get(seat, {})
            step = Transition(self.game, before, actions, after, seat, not to_act, gamma, own)
            named: dict[str, float] = {}
            for name in self.rewards_from:
                if name == OWN:
                    named |= own
                    continue
                shaper = self._shapers[name]
                if is_potential_based(shaper) and seat not in self._begun:
                    continue
                ends = seat in left and (is_potential_based(shaper) or is_by_person(shaper))
                named |= shaper(replace(step, over=True) if ends else step)
            terms[seat] = named
        self._begun -= left
        self._paid, self._named = [0.0] * self.game.num_players, {}
        self._pay(terms)
        if self.game.has_newcomers:
            super()._welcome()

    def _left(self) -> set[int]:
        """The seats whose person was replaced by the last step: for them the episode is over."""
        if not self.game.has_newcomers:
            return set()
        return {seat for event in self.log[-1] for seat in newcomers(event)}

    def _settle(self, asked: Sequence[int], terms: Terms) -> None:
        """Shape an end from outside; `asked` are seats that were to move and did not.

        Their potential is discounted by `gamma`, as when their turn came, that of others by 1.
        """
        state = self._simulator.state
        ending = [s for s in self._shapers.values() if is_potential_based(s)]
        paid = {}
        for seat in range(self.game.num_players):
            weight = self.gamma if seat in asked else 1.0
            step = Transition(self.game, state, {}, state, seat, True, 1.0)
            named = dict(terms.get(seat, {}))
            for shaper in ending if seat in self._begun else ():
                named |= {name: weight * value for name, value in shaper(step).items()}
            paid[seat] = named
        self._pay(paid)

    def _pay(self, terms: Terms) -> None:
        """Keep the terms of one step of the history."""
        self._terms = (self._terms, terms, self.steps_played)
        paid = [total(terms[seat]) for seat in range(self.game.num_players)]
        self._paid = [a + b for a, b in zip(self._paid, paid, strict=True)]
        self._total = [a + b for a, b in zip(self._total, paid, strict=True)]
        self._named = {seat: _add_amounts(self._named.get(seat, {}), terms[seat]) for seat in terms}

    @property
    def rewards(self) -> Sequence[float]:
        """Rewards of the last step, including the shaping of a truncation after it."""
        return self._paid

    @property
    def step(self) -> Step:
        step = self._simulator.step
        return Step(self._named, step.costs, step.events) if self._terms else super().step

    @property
    def returns(self) -> Sequence[float]:
        return self._total

    def terms_by_step(self) -> list[Mapping[int, Mapping[str, float]]]:
        """Rewards of every shaped step so far, by seat and term."""
        found, link = [], self._terms
        while link:
            found.append(link[1])
            link = link[0]
        return found[::-1]

    def fork(self, seed: int | None = None) -> Episode:
        shapers = self._shapers
        twin = super().fork(seed)
        assert isinstance(twin, ShapedEpisode)
        if twin._playing is shapers:
            twin._playing = _copies(shapers)
        return twin

    def plain(self) -> Episode:
        twin = Episode.__new__(Episode)
        twin.__dict__.update(self.fork().__dict__)
        return twin

    def snapshot(self) -> Snapshot:
        paid = self._terms, self._paid, self._total, self._named, self._begun
        kept = (*paid, _copies(self._shapers))
        return replace(super().snapshot(), shaped=kept)

    def restore(self, snapshot: Snapshot) -> None:
        super().restore(snapshot)
        if snapshot.shaped is not None:
            *paid, shapers = snapshot.shaped
            self._terms, self._paid, self._total, self._named, self._begun = paid
            self._playing = _copies(shapers)


class RecordedRewards(ShapedEpisode):
    """An episode that pays what a record says, step by step, because its shapers are not installed.

    So no code is run that a record names.
    """

    def __init__(self, *given: Any, rewards: Sequence[str], terms: Sequence[Terms], **more: Any):
        self._recorded = terms
        super().__init__(*given, rewards=[OWN], **more)
        self.rewards_from = tuple(rewards)
        self._loaded = dict.fromkeys(rewards, lambda step: {})

    def _pay(self, terms: Terms) -> None:
        number = len(self.terms_by_step())
        known = self._recorded[number] if number < len(self._recorded) else {}
        super()._pay({seat: known.get(seat, {}) for seat in terms})


def open_recorded(
    game: Game[Any, Any], seed: int, *, rewards: Sequence[str], terms: Sequence[Terms], **more: Any
) -> Episode:
    """An episode with the rewards of a record; `terms` are what the record paid in each step."""
    if are_installed(rewards):
        return open_episode(game, seed, rewards=rewards, **more)
    return RecordedRewards(game, seed, rewards=rewards, terms=terms, **more)


def are_installed(rewards: Sequence[str]) -> bool:
    """Whether all components of rewards are those of the game and of plugins."""
    known = registry().rewards
    return all(name == OWN or parse_agent(name)[0] in known for name in rewards)
