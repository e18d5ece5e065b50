"""ReAd: a planner's joint plan is refined by the advantage of each member's action.

Zhang et al., "Towards Efficient LLM Grounding for Embodied Multi-Agent Collaboration", 2024. A
critic is regressed on the returns of plans; the advantage of member i, given the actions of those
before, is Q(a1 … ai) - Q(a1 … ai-1), so that the advantages add up to that of the joint action. The
planner is asked again while an advantage (sequential) or the joint score (joint) is too low.

Left out: a critic network trained ahead on data of planners: here a regression learns while it
plays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import Decision, InvalidOption, Meta, Turn, agent
from palestra.quoting import disarm

from palestra_adapters.adapter import legal_move, rules_of, said_in
from palestra_adapters.similarity import features
from palestra_adapters.teams.whole import WholeTeam, example_order, names_of, read_orders
from palestra_adapters.thinking import Thinking, charge

WIDTH = 512  # numbers of a hashed text
PLAN = (
    "You plan for a team whose members all act now. What each of them sees:\n{seen}\n\n{feedback}"
    "Write one line a member with the action that it plays now, written as it is listed, as in\n"
    "{example}"
)
LOW = (
    "Your last plan was:\n{plan}\nThe action of {name} is expected to change the team's return by "
    "{gain:.3g}, given those before it. Plan it anew.\n"
)
JOINT = (
    "Your last plan was:\n{plan}\nIt is expected to change the team's return by {gain:.3g}. Plan "
    "anew.\n"
)
Critic = Callable[[str, Sequence[str]], float]


@dataclass
class Regression:
    """Ridge regression of returns on hashed words of a position and the actions taken so far.

    Each pair of a seat and its action is one more word, so that it learns what an action is worth.
    """

    ridge: float = 1.0
    rows: list[NDArray[np.float64]] = field(default_factory=list)
    goals: list[float] = field(default_factory=list)
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(WIDTH + 1))

    def __call__(self, seen: str, actions: Sequence[str]) -> float:
        return float(vector(seen, actions) @ self.weights)

    def add(self, seen: str, actions: Sequence[str], goal: float) -> None:
        """Keep the return that followed these actions."""
        self.rows.append(vector(seen, actions))
        self.goals.append(goal)

    def fit(self) -> None:
        """Fit all rows."""
        if self.rows:
            rows = np.array(self.rows)
            gram = rows.T @ rows + self.ridge * np.eye(WIDTH + 1)
            self.weights = np.linalg.solve(gram, rows.T @ np.array(self.goals))


def vector(seen: str, actions: Sequence[str]) -> NDArray[np.float64]:
    """A unit vector of the words that are seen, and one entry for each seat's action."""
    found = np.zeros(WIDTH + 1)
    for name, count in sorted(features(seen).items()):
        found[place(name)] += count
    norm = float(np.linalg.norm(found))
    if norm:
        found /= norm
    for seat, action in enumerate(actions):
        found[place(f"{seat} {action}")] += 1.0
    found[WIDTH] = 1.0
    return found


def place(name: str) -> int:
    """The entry of a word, the same in every process."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "little") % WIDTH


def advantages(critic: Critic, seen: str, actions: Sequence[str]) -> list[float]:
    """What each action adds, given those before it; they sum to Q(all) - Q(none)."""
    values = [critic(seen, actions[:count]) for count in range(len(actions) + 1)]
    return [after - before for before, after in pairwise(values)]


@dataclass(slots=True)
class Step:
    """A plan that was played: what was seen, the actions by seat, and the team's return so far."""

    seen: str
    actions: list[str]
    returns: float


@agent(
    "read",
    kind="llm",
    summary="Plans for a team, and plans again where an action's advantage is too low.",
    paper="Towards Efficient LLM Grounding for Embodied Multi-Agent Collaboration (2024)",
)
class ReAd(WholeTeam):
    """Plays all seats of a team together; give it every seat, as `mediator`.

    The critic is fitted after each episode to the returns to come of its own plans, every prefix of
    a plan being one row; until the first episode is over no plan is refined. critic (in Python): a
    function of what is seen and the actions so far. Decisions have the facts `advantage` and, at
    the first seat, `asked`, the number of plans.
    """

    def __init__(
        self,
        *,
        refine: Annotated[
            Literal["sequential", "joint"],
            Meta(description="whether every action must be good enough, or the plan as a whole"),
        ] = "sequential",
        least: Annotated[float, Meta(description="advantage below which it plans again")] = 0.0,
        tries: Annotated[int, Meta(ge=1, description="plans of one step")] = 3,
        critic: Annotated[
            Critic | None, Meta(description="a critic to use; None: one is fitted while it plays")
        ] = None,
        **settings: Any,
    ) -> None:
        if refine not in ("sequential", "joint"):
            raise InvalidOption(f"refine must be sequential or joint, not {refine!r}")
        super().__init__(**settings)
        self._refine, self._least, self._tries = refine, least, tries
        self._fixed_critic = critic
        self.regression = Regression()
        self._steps: dict[int, list[Step]] = {}
        self._turns: dict[int, list[Turn]] = {}

    @property
    def critic(self) -> Critic | None:
        """What judges plans; None before anything was learnt."""
        if self._fixed_critic is not None:
            return self._fixed_critic
        return self.regression if self.regression.rows else None

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        teams = self.teams(turns)
        plans: dict[int, dict[int, Decision]] = {key: {} for key in teams}
        spent = self.think_for(teams, lambda team: self._planned(team, plans[team[0].episode_id]))
        for key, team in teams.items():
            first = plans[key].setdefault(team[0].seat, spent[key])
            if first is not spent[key]:
                charge(first, spent[key])
        return [plans[turn.episode_id].get(turn.seat, Decision(text="")) for turn in turns]

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        """A plan for one seat, when another adapter wraps this one."""
        self.episode_of(turn)
        found: dict[int, Decision] = {}
        yield from self._planned([turn], found, advice)
        return found[turn.seat]

    def _planned(
        self, team: Sequence[Turn], found: dict[int, Decision], advice: str = ""
    ) -> Thinking[Decision]:
        """Plan, and plan again while the critic objects; fills `found` by seat."""
        names, rules = names_of(team), rules_of(team[0], advice)
        seen = "\n\n".join(f"{n}:\n{t.text}" for n, t in zip(names, team, strict=True))
        key, feedback, asked = positions(team), "", 0
        while not asked or (feedback and asked < self._tries):
            asked += 1
            text = PLAN.format(seen=seen, feedback=feedback, example=example_order(team))
            (reply,) = yield [self.ask(self.single(rules, text))]
            orders = read_orders(said_in(reply), names)
            moves = [legal_move(t, orders.get(n, "")) for n, t in zip(names, team, strict=True)]
            gains = self._gains(key, moves)
            feedback = self._objection(names, moves, gains)
        self._note(team, key, moves)
        for number, turn in enumerate(team):
            text = moves[number] or orders.get(names[number], "")
            facts: dict[str, Any] = {"advantage": gains[number]} if gains else {}
            if not number:
                facts["asked"] = asked
            found[turn.seat] = Decision(text=text, model=reply.model, facts=facts)
        return Decision(text="")

    def _gains(self, key: str, moves: Sequence[str | None]) -> list[float]:
        """The advantages of a plan; none where there is no critic or a move cannot be read."""
        legal = [move for move in moves if move is not None]
        if self.critic is None or len(legal) < len(moves):
            return []
        return advantages(self.critic, key, legal)

    def _objection(
        self, names: Sequence[str], moves: Sequence[str | None], gains: Sequence[float]
    ) -> str:
        """What the planner reads of its plan; empty if the plan is good enough."""
        if not gains:
            return ""
        pairs = zip(names, moves, strict=True)
        plan = "\n".join(f"{name}: {disarm(move or 'none')}" for name, move in pairs)
        if self._refine == "joint":
            low = sum(gains) < self._least
            return JOINT.format(plan=plan, gain=sum(gains)) if low else ""
        for name, gain in zip(names, gains, strict=True):
            if gain < self._least:
                return LOW.format(plan=plan, name=name, gain=gain)
        return ""

    def _note(self, team: Sequence[Turn], key: str, moves: Sequence[str | None]) -> None:
        episode = team[0].episode_id
        self._turns[episode] = list(team)
        legal = [move for move in moves if move is not None]
        if len(legal) == len(team):
            returns = sum(float(turn.returns) for turn in team)
            self._steps.setdefault(episode, []).append(Step(key, legal, returns))

    def forget(self, episode_key: int) -> None:
        super().forget(episode_key)
        episode = self.ended(episode_key)
        if episode is None:
            return
        team, steps = self._turns.pop(episode, []), self._steps.pop(episode, [])
        if team and steps:
            total = sum(float(turn.returns) for turn in team)
            for step in steps:
                for count in range(len(step.actions) + 1):
                    goal = total - step.returns
                    self.regression.add(step.seen, step.actions[:count], goal)
            self.regression.fit()


def positions(team: Sequence[Turn]) -> str:
    """What the whole team sees, without its steps so far."""
    lines = [re.sub(r"\b\d+ of \d+\b", "", turn.position) for turn in team]
    return "\n".join(lines)
