"""A batch with rewards from step shapers, called lane by lane or for all lanes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from palestra.engine.batch import Batch
from palestra.engine.lanes import check_actions, make_shared
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import InvalidOption, OutOfTurn
from palestra.shaping import (
    OWN,
    Remembering,
    Shaper,
    Transition,
    check_gamma,
    is_potential_based,
    load_shaper,
    reward_name,
)

Array = NDArray[Any]
Policy = Callable[[Array, Array], Any]  # observations and masks of some lanes to their actions
Terms = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Transitions:
    """One step of many lanes for one seat: the fields of `Transition` as arrays over lanes.

    `before` and `after` are structured arrays of states, one row per lane; `actions` is (lanes,
    seats), where the entries of seats that did not act are meaningless.
    """

    game: ArrayGame
    before: Array
    actions: Array
    after: Array
    seat: int
    over: NDArray[np.bool_]
    gamma: NDArray[np.float64]
    paid: Mapping[str, Array] = field(default_factory=dict)


@runtime_checkable
class BatchShaper(Protocol):
    """A step shaper that can shape all lanes in one call, if `batched` is true."""

    batched: bool

    def batch(self, steps: Transitions) -> Mapping[str, Array]: ...


class ShapedBatch(Batch):
    """A `Batch` whose rewards are those of step shapers, as `ShapedEpisode` pays them.

    `terms` holds the last step's rewards by name, each (N, P). Seats in `random_seats`,
    `scripted_seats` and `policies` are played inside the batch, and their steps are shaped too:
    what is paid before a lane's first turn is reported with that turn. A `BatchShaper` is called
    once for all lanes; any other has one instance per lane, and these share what lasts beyond an
    episode.
    """

    def __init__(
        self,
        game: ArrayGame,
        num_envs: int,
        *,
        rewards: Sequence[str | Shaper],
        gamma: float = 1.0,
        random_seats: Sequence[int] = (),
        scripted_seats: Sequence[int] = (),
        policies: Mapping[int, Policy] | None = None,
        max_steps: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(game, num_envs, max_steps=max_steps, **settings)
        make_shared(game, random_seats, scripted_seats)  # refuses seats that cannot
        self._shared["limit"] = 0  # enforced here: the end has to be shaped
        self._limit = max_steps
        given = [rewards] if isinstance(rewards, str) else rewards
        self.rewards_from = tuple(map(reward_name, given))
        self.gamma = check_gamma(gamma)
        self._loaded = {reward_name(one): load_shaper(one) for one in given if one != OWN}
        self._of_lane: list[dict[str, Shaper]] = [{} for _ in range(num_envs)]
        self._auto: dict[int, str | Policy] = {
            **dict.fromkeys(random_seats, "random"),
            **dict.fromkeys(scripted_seats, "scripted"),
            **(policies or {}),
        }
        shape = num_envs, game.num_players
        self.rewards, self.returns, self._final_returns = (np.zeros(shape) for _ in range(3))
        self.terms: Terms = {}
        self._later: Terms = {}  # paid before an episode's first turn
        self._fresh = np.zeros(num_envs, np.bool_)  # lanes reset since the last step
        self._begun = np.zeros(shape, np.bool_)  # seats that have decided in this episode

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "rewards": self.rewards, "returns": self.returns}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        super().__setstate__(kept)
        self.rewards, self.returns = kept["rewards"], kept["returns"]  # no views of the lanes

    def statistics(self) -> dict[str, Array]:
        return {**super().statistics(), "returns": self._final_returns}

    def hand_over(self, seats: Iterable[int]) -> None:
        for seat in seats:
            self._auto.pop(seat, None)

    def seat_policies(self, policies: Mapping[int, Policy]) -> None:
        """Let functions of observations and masks play these seats from now on."""
        self._auto |= policies

    def save(self, lanes: Any = slice(None)) -> Any:
        """A copy of some lanes with their shapers, for `load`."""
        return [
            (
                self.lanes[lane].copy(),
                _copies(self._of_lane[lane]),
                [values[lane].copy() for values in self._kept_rows()],
                [{name: paid[lane].copy() for name, paid in t.items()} for t in self._both()],
            )
            for lane in np.arange(self.num_envs)[lanes].tolist()
        ]

    def load(self, saved: Any, lanes: Any = slice(None)) -> None:
        chosen = np.arange(self.num_envs)[lanes].tolist()
        if len(saved) not in (1, len(chosen)):
            raise InvalidOption(f"{len(saved)} lanes were saved; they do not fit {len(chosen)}")
        for place, lane in enumerate(chosen):
            record, shapers, rows, named = saved[place % len(saved)]
            self.lanes[lane] = record
            self._of_lane[lane] = _copies(shapers)
            for values, row in zip(self._kept_rows(), rows, strict=True):
                values[lane] = row
            for terms, kept in zip(self._both(), named, strict=True):
                for name in {*terms, *kept}:
                    self._kept(terms, name)[lane] = kept.get(name, 0.0)
        self._started = True

    def _both(self) -> tuple[Terms, Terms]:
        return self.terms, self._later

    def _kept_rows(self) -> tuple[Array, ...]:
        """The arrays of a lane besides its record and its terms."""
        return self.rewards, self.returns, self._final_returns, self._fresh, self._begun

    # Playing

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        lanes: Array | Sequence[int] | None = None,
    ) -> Array:
        chosen = self._numbers(lanes)
        super().reset(seed, lanes)
        for terms in (self.terms, self._later):
            for paid in terms.values():
                paid[chosen] = 0.0
        self._begin(chosen)
        self._run_on(chosen)
        return self.observations

    def step(
        self, actions: Array | None = None, lanes: Array | Sequence[int] | None = None
    ) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        if not self._started:
            raise OutOfTurn("call reset() before step()")
        if actions is not None:
            shape = self.actions.shape
            self.actions[:] = check_actions(actions, shape, self.game.num_actions, self.acting)
        chosen = self._numbers(lanes)
        self._fresh[chosen] = False
        resetting = self.lanes["over"][chosen] != 0  # their actions are ignored
        for paid in self.terms.values():
            paid[chosen] = 0.0
        for name, paid in self._later.items():
            going = chosen[~resetting]
            self._kept(self.terms, name)[going] = paid[going]
            paid[chosen] = 0.0
        self._fill(chosen)
        self._move(chosen)
        self._run_on(chosen)
        self.rewards[chosen] = sum((paid[chosen] for paid in self.terms.values()), 0.0)
        infos = {"action_mask": self.masks, "acting": self.acting, "episode": self.statistics()}
        infos["reward_terms"] = self.terms
        return self.observations, self.rewards, self.terminations, self.truncations, infos

    def _numbers(self, lanes: Array | Sequence[int] | None) -> Array:
        everywhere = np.arange(self.num_envs)
        return everywhere if lanes is None else everywhere[np.asarray(lanes)]

    def _begin(self, lanes: Array) -> None:
        """Start the shapers of lanes that were reset."""
        self.returns[lanes] = 0.0
        self._fresh[lanes], self._begun[lanes] = True, False
        for lane in lanes.tolist():
            self._of_lane[lane] = {
                name: shaper.begin() if isinstance(shaper, Remembering) else shaper
                for name, shaper in self._loaded.items()
            }

    def _run_on(self, chosen: Array) -> None:
        """Play the seats played inside the batch until another seat is to act."""
        by_hand = np.array([seat not in self._auto for seat in range(self.game.num_players)])
        while self._auto:
            over = self.lanes["timestep"]["state"]["over"][chosen] != 0
            waiting = chosen[~over & ~(self.acting[chosen] & by_hand).any(axis=1)]
            if not waiting.size:
                return
            fresh = self._fresh[waiting]
            self._fill(waiting)
            for lanes, early in ((waiting[fresh], True), (waiting[~fresh], False)):
                if lanes.size:
                    self._move(lanes, early)

    def _fill(self, lanes: Array) -> None:
        """Write the actions of the seats that play by themselves."""
        if not self._auto:
            return
        given = self.actions[lanes].copy()
        for lane in lanes.tolist():
            self._driver.act_randomly(self.lanes, lane, lane + 1)
        by_hand = [seat for seat in range(self.game.num_players) if seat not in self._auto]
        self.actions[lanes[:, None], by_hand] = given[:, by_hand]
        for seat, how in self._auto.items():
            asked = lanes[self.acting[lanes, seat]]
            if how == "scripted":
                for lane in asked.tolist():
                    move = self.game.scripted(self.lanes["timestep"]["state"][lane], seat)
                    if 0 <= move < self.game.num_actions and self.masks[lane, seat, move]:
                        self.actions[lane, seat] = move
            elif callable(how) and asked.size:
                seen, masks = self.observations[asked, seat], self.masks[asked, seat]
                self.actions[asked, seat] = how(seen, masks)

    def _move(self, lanes: Array, early: bool = False) -> None:
        """Play one step of some lanes and pay for it; `early` if it is before their first turn."""
        over = self.lanes["over"][lanes] != 0
        states = self.lanes["timestep"]["state"]
        live = lanes[~over & (states["over"][lanes] == 0)]
        before, acting = states[live].copy(), self.acting[live].copy()
        actions, mistakes = self.actions[live].copy(), self.mistakes[live].copy()
        if early:
            self.play_early(lanes)
        else:
            super().step(None, lanes)
        if self.autoreset == "next_step":
            self._begin(lanes[over])
        after = self._ends(live, early)
        wrong = self.mistakes[live] > mistakes
        bad = wrong.any(axis=1)
        played = {
            "before": before[~bad],
            "actions": actions[~bad],
            "after": after["state"][~bad],
        }
        self._shape(live[~bad], acting[~bad], after["rewards"][~bad], **played)
        for place in np.flatnonzero(bad).tolist():
            lost = wrong[place]
            forfeits = sum(self._shared["forfeits"][0, lost])
            self._begun[live[place], lost] = True
            asked = acting[place] & ~lost
            self._settle(live[place], before[place], asked, {"forfeit": forfeits})
        if early:
            return
        cut = self._past_limit(live)
        for place in np.flatnonzero(np.isin(live, cut)).tolist():
            state = after["state"][place]
            self._settle(live[place], state, state["acting"] != 0, {})
        self._cut(cut)
        self._finish(lanes[~over])

    def _ends(self, live: Array, early: bool) -> Array:
        """The timesteps that a step led to, before any lane was reset."""
        after: Array = self.lanes["timestep"][live].copy()
        if self.autoreset == "same_step" and not early:
            ended = self.finished[live]
            after[ended] = self._finals[live[ended]]
        return after

    def _finish(self, live: Array) -> None:
        """Keep the returns of episodes that have ended; count anew for lanes that were reset."""
        ended = live[self.finished[live]]
        self._final_returns[ended] = self.returns[ended]
        if self.autoreset == "same_step":
            self._begin(ended)

    # Limits

    def _past_limit(self, live: Array) -> Array:
        if self._limit is None:
            return live[:0]
        going = ~self.finished[live] & (self.lanes["over"][live] == 0)
        return live[going & (self.lanes["length"][live] >= self._limit)]

    def _cut(self, cut: Array) -> None:
        """Truncate lanes at the batch's own limit, as the driver does: no seat acts any more."""
        if not cut.size:
            return
        state = self.lanes["timestep"]["state"]
        state["truncated"][cut], state["over"][cut], state["acting"][cut] = 1, 1, 0
        self._only(cut, lambda first, last: self._driver.observe(self.lanes, first, last))
        super().truncate(cut)

    def truncate(self, lanes: Array) -> None:
        """As in `Batch`; shapers are not told, just as with Gymnasium's `TimeLimit`."""
        super().truncate(lanes)
        self._finish(lanes)
        if self.autoreset == "same_step":
            self._run_on(lanes)

    # Paying

    def _shape(
        self, lanes: Array, acting: Array, own: Array, before: Array, actions: Array, after: Array
    ) -> None:
        """Pay for a step that was played in these lanes."""
        over = after["over"] != 0
        self._begun[lanes] |= acting
        for seat in range(self.game.num_players):
            counts = (after["acting"][:, seat] != 0) | over
            gamma = np.where(counts, self.gamma, 1.0)
            paid_own = dict(zip(self.game.reward_terms, own[:, seat].T, strict=False))
            steps = Transitions(self.game, before, actions, after, seat, over, gamma, paid_own)
            terms: Terms = {}
            for name in self.rewards_from:
                if name == OWN:
                    terms |= paid_own
                    continue
                shaper: Any = self._loaded[name]
                calls = np.ones(len(lanes), np.bool_)
                if is_potential_based(shaper):
                    calls = self._begun[lanes, seat]
                if isinstance(shaper, BatchShaper) and shaper.batched:
                    terms |= {n: np.where(calls, v, 0.0) for n, v in shaper.batch(steps).items()}
                else:
                    terms |= self._one_by_one(name, lanes, acting, steps, calls)
            for name, paid in terms.items():
                self._pay(name, lanes, seat, np.asarray(paid, np.float64))

    def _one_by_one(
        self, name: str, lanes: Array, acting: Array, steps: Transitions, calls: Array
    ) -> Terms:
        """A shaper's terms, each lane's from its own instance, where it is to be called."""
        found: Terms = {}
        for place in np.flatnonzero(calls).tolist():
            lane = int(lanes[place])
            moves = steps.actions[place]
            step = Transition(
                self.game,
                steps.before[place],
                {seat: int(moves[seat]) for seat in np.flatnonzero(acting[place]).tolist()},
                steps.after[place],
                steps.seat,
                bool(steps.over[place]),
                float(steps.gamma[place]),
                {term: float(paid[place]) for term, paid in steps.paid.items()},
            )
            for term, paid in self._of_lane[lane][name](step).items():
                found.setdefault(term, np.zeros(len(lanes)))[place] = paid
        return found

    def _settle(self, lane: int, state: Any, asked: Array, own: Mapping[str, Array]) -> None:
        """Pay for an end from outside, as `ShapedEpisode` does."""
        ending = [s for s in self._of_lane[lane].values() if is_potential_based(s)]
        one = np.array([lane])
        for seat in range(self.game.num_players):
            weight = self.gamma if asked[seat] else 1.0
            step = Transition(self.game, state, {}, state, seat, True, 1.0)
            for name, paid in own.items():
                self._pay(name, one, seat, paid[seat])
            for shaper in ending if self._begun[lane, seat] else ():
                for name, value in shaper(step).items():
                    self._pay(name, one, seat, weight * value)

    def _pay(self, name: str, lanes: Array, seat: int, paid: Any) -> None:
        self.returns[lanes, seat] += paid
        later = self._fresh[lanes]
        for terms, which in ((self.terms, ~later), (self._later, later)):
            if which.any():
                kept = self._kept(terms, name)
                kept[lanes[which], seat] += np.broadcast_to(paid, lanes.shape)[which]

    def _kept(self, terms: Terms, name: str) -> Array:
        return terms.setdefault(name, np.zeros(self.acting.shape))


def _copies(shapers: Mapping[str, Shaper]) -> dict[str, Shaper]:
    return {n: s.copy() if isinstance(s, Remembering) else s for n, s in shapers.items()}


def open_batch(
    game: ArrayGame,
    num_envs: int,
    *,
    rewards: Sequence[str | Shaper] | None = None,
    gamma: float = 1.0,
    **settings: Any,
) -> Batch:
    """A batch with the rewards that `rewards` names: by default the game's own, unnamed."""
    if rewards is None:
        return Batch(game, num_envs, **settings)
    return ShapedBatch(game, num_envs, rewards=rewards, gamma=gamma, **settings)
