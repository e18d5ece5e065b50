"""Multi-Advisor's aggregator: an agent that plays the action whose summed values are largest."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from palestra import (
    EpisodeRecord,
    InvalidOption,
    Meta,
    ScriptedAgent,
    Turn,
    UnknownName,
    agent,
)
from palestra.files import UNREADABLE, is_file, read_json, write_text
from palestra.kernel.errors import show
from palestra.kernel.specs import load_entry_point
from palestra.records.record import as_json, retrace

from palestra_rewards.tabular.advisors import PLANNING
from palestra_rewards.tabular.mdp import action_key

View = Callable[[Turn, str], object]
NEAR = 1e-12  # sums this close are equal


def whole(turn: Turn, term: str) -> object:
    """The whole state as the seat sees it, the same for every advisor."""
    return turn.anchor().hex()


class Transition(NamedTuple):
    """A seat's turn and the next: for each advisor, the state seen, reward and next state."""

    seen: tuple[str, ...]
    action: str
    paid: tuple[float, ...]
    after: tuple[str, ...] | None  # None after the seat's last turn
    open: tuple[str, ...]


class Advisors:
    """Action values of one advisor for every reward term, learnt from recorded play.

    An advisor sees the result of `view`, a function of (turn, term) or its name "module:function";
    by default the whole state of the seat. Its only reward is its own term. `planning` says which
    later actions it assumes, as in the paper: its own best ("egocentric"), random ones
    ("agnostic"), or the best by the sum of all advisors ("empathic"). `weights` are the advisors'
    factors in that sum. Laroche et al., "Multi-Advisor Reinforcement Learning" (2017), with tables
    instead of networks.
    """

    def __init__(
        self,
        terms: Sequence[str],
        *,
        planning: str = "empathic",
        gamma: float = 0.9,
        view: str | View = "",
        weights: Mapping[str, float] | None = None,
    ) -> None:
        if planning not in PLANNING:
            raise UnknownName("planning", planning, PLANNING)
        if not terms or not 0 <= gamma < 1:
            raise InvalidOption(
                f"name at least one reward term and a gamma from 0 to below 1, not {gamma}"
            )
        unknown = sorted(set(weights or {}) - set(terms))
        if unknown:
            raise UnknownName("term", unknown[0], list(terms))
        self.terms, self.planning, self.gamma = tuple(terms), planning, gamma
        self.view = view if isinstance(view, str) else ""
        found: View = whole
        if view:
            found = load_entry_point(view) if isinstance(view, str) else view
        self._view = found
        self.weights = {term: float((weights or {}).get(term, 1.0)) for term in self.terms}
        self.values: list[dict[str, dict[str, float]]] = [{} for _ in self.terms]
        self._moves: list[Transition] = []

    def learn(
        self,
        records: Sequence[EpisodeRecord],
        *,
        seats: Collection[int] | None = None,
        sweeps: int = 200,
    ) -> Advisors:
        """Compute all values again from all turns seen so far, these records included.

        A value is the mean, over all turns at which the advisor saw the same state and the same
        action was played, of its reward plus `gamma` times its planned value of the next turn.
        Every sweep updates all values at once; it stops when none changes. Records are replayed, so
        their environments must be installed. Returns this object.
        """
        for record in records:
            self._moves += self._read(record, seats)
        for _ in range(sweeps):
            if not self._sweep():
                break
        return self

    def sees(self, turn: Turn) -> tuple[str, ...]:
        return tuple(json.dumps(as_json(self._view(turn, term))) for term in self.terms)

    def sums(self, seen: Sequence[str], actions: Sequence[str]) -> list[float]:
        """The weighted sum over advisors of every action's value; unseen actions count 0."""
        known = [values.get(key, {}) for values, key in zip(self.values, seen, strict=True)]
        weights = [self.weights[term] for term in self.terms]
        return [
            sum(w * one.get(action, 0.0) for w, one in zip(weights, known, strict=True))
            for action in actions
        ]

    def _read(self, record: EpisodeRecord, seats: Collection[int] | None) -> Iterator[Transition]:
        """Every seat's own turns, each with its rewards until the seat's next turn."""
        held: dict[int, tuple[tuple[str, ...], str, np.ndarray]] = {}
        for episode, step in zip(retrace(record), [*record.steps, None], strict=False):
            for seat in episode.to_act:
                if seats is None or seat in seats:
                    turn = Turn(episode, seat)
                    seen = self.sees(turn)
                    if seat in held:
                        yield _transition(held.pop(seat), seen, _open(turn))
                    chosen = [] if step is None else [t for t in step.turns if t.seat == seat]
                    if chosen:
                        paid = np.zeros(len(self.terms))
                        held[seat] = (seen, action_key(chosen[0].action), paid)
            for seat, named in step.rewards.items() if step is not None else ():
                if seat in held:
                    held[seat][2][:] += [named.get(term, 0.0) for term in self.terms]
        for last in held.values():
            yield _transition(last, None, ())

    def _sweep(self) -> bool:
        """Update all values once; returns whether any has changed."""
        totals: list[dict[tuple[str, str], list[float]]] = [{} for _ in self.terms]
        for move in self._moves:
            ahead = self._ahead(move)
            for place in range(len(self.terms)):
                target = move.paid[place] + self.gamma * ahead[place]
                cell = totals[place].setdefault((move.seen[place], move.action), [0.0, 0.0])
                cell[0] += target
                cell[1] += 1
        change = 0.0
        for values, cells in zip(self.values, totals, strict=True):
            for (key, action), (total, often) in cells.items():
                known = values.setdefault(key, {})
                fresh = total / often
                change = max(change, abs(fresh - known.get(action, np.inf)))
                known[action] = fresh
        return change > NEAR

    def _ahead(self, move: Transition) -> list[float]:
        """Each advisor's value of the next turn."""
        if move.after is None or not move.open:
            return [0.0] * len(self.terms)
        own = [
            [values.get(key, {}).get(action, 0.0) for action in move.open]
            for values, key in zip(self.values, move.after, strict=True)
        ]
        if self.planning == "egocentric":
            return [max(one) for one in own]
        if self.planning == "agnostic":
            return [sum(one) / len(one) for one in own]
        best = int(np.argmax(self.sums(move.after, move.open)))
        return [one[best] for one in own]

    def save(self, path: str | Path) -> None:
        """Write the learnt values to a JSON file for the agent `multi-advisor`."""
        kept = {
            "terms": self.terms,
            "planning": self.planning,
            "gamma": self.gamma,
            "view": self.view,
            "weights": self.weights,
            "values": self.values,
        }
        write_text(Path(path), json.dumps(kept))

    @classmethod
    def read(cls, path: str | Path, view: str | View = "") -> Advisors:
        """Read a file of `save`; pass `view` if the advisors' view was not given by name."""
        file = Path(path)
        if not is_file(file):
            raise InvalidOption(
                f"there are no advisors at {show(str(file))}; write them with Advisors.save"
            )
        try:
            kept = read_json(file, dict[str, Any])
            found = cls(
                kept["terms"],
                planning=kept["planning"],
                gamma=kept["gamma"],
                view=view or kept["view"],
                weights=kept["weights"],
            )
            found.values = list(kept["values"])
        except (OSError, *UNREADABLE) as error:
            raise InvalidOption(f"{file} holds no advisors of Advisors.save: {error}") from error
        return found


def _transition(
    held: tuple[tuple[str, ...], str, np.ndarray],
    after: tuple[str, ...] | None,
    actions: Sequence[str],
) -> Transition:
    seen, action, paid = held
    return Transition(seen, action, tuple(paid.tolist()), after, tuple(actions))


def _open(turn: Turn) -> list[str]:
    return [action_key(as_json(action)) for action in turn.legal_actions]


@agent(
    "multi-advisor",
    kind="learned",
    summary="Plays the largest sum of its advisors' values: multi-advisor:<file>.",
)
class MultiAdvisor(ScriptedAgent):
    """Plays the action with the largest sum of values over advisors, one for each reward term.

    `target` is a file that `Advisors.save` wrote. Ties are broken at random. With probability
    `epsilon` any legal action is played, so that advisors also see actions they would not choose.
    Laroche et al., "Multi-Advisor Reinforcement Learning" (2017): aggregation by the sum, with all
    three kinds of planning.
    """

    stream = 0xAD71

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="file of the advisors")] = "",
        epsilon: Annotated[
            float, Meta(ge=0, le=1, description="probability of playing a random action")
        ] = 0.0,
        seed: int | None = None,
        advisors: Annotated[
            Advisors | None, Meta(description="from Python: the advisors, instead of target")
        ] = None,
    ) -> None:
        super().__init__(seed=seed)
        if advisors is None and not target:
            raise InvalidOption("name the file of the advisors, as in multi-advisor:advisors.json")
        self.advisors = Advisors.read(target) if advisors is None else advisors
        self.epsilon = epsilon

    def choose(self, turn: Turn) -> Any:
        actions = turn.legal_actions
        if not actions or self.rng.random() < self.epsilon:
            return turn.sample(self.rng)
        named = [action_key(as_json(action)) for action in actions]
        sums = self.advisors.sums(self.advisors.sees(turn), named)
        best = [
            action for action, value in zip(actions, sums, strict=True) if value >= max(sums) - 1e-9
        ]
        return best[self.rng.below(len(best))]
