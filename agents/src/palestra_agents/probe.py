"""Asking a second policy about every decision of a first, while the game goes on.

What it says is reported as facts of the decision: nothing is played otherwise, and no seat sees it.
Whatever looks ahead does so on forks in which hidden facts and future chance are drawn anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Annotated, Any

from palestra import (
    Agent,
    Decision,
    Episode,
    InvalidAction,
    InvalidOption,
    Meta,
    Turn,
    agent,
    make_agent,
)
from palestra.agents.budget import Usage
from palestra.kernel.rng import Rng

STREAM = 12  # of random numbers, apart from other agents of the same seed
LEAST = 1e-12  # a chance of 0 still has this one
AS_GOOD = 1e-9
LIMIT = 1_000  # steps of an end that is played


@agent("probe", summary="Another agent, about whose every decision a second policy is asked.")
class Probe(Agent):
    """Plays as `target`, and reports what the policy `by` says of every decision.

    Facts, where `by` reports what they take: its `value` and `candidates`; `verdicts`, whether no
    move it weighed is better than the one played; `ratio`, its probability of the move over that
    with which it was played (its `strategy` and the decision's log-probability). With a `reference`
    policy, `implicit`: `beta` times the logarithm of the move's probability by `by` over that by
    the reference. With `tries`, `by` plays so many ends from after the decision: `correctness` is
    the share that is won, `confidence` the share that ends as most do, as in "Step Potential
    Advantage Estimation".

    Options that are not its own are the target's: `probe:random,by=minimax`.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="the agent that plays")] = "",
        by: Annotated[str | Agent, Meta(description="the policy that is asked")] = "",
        reference: Annotated[
            str | Agent, Meta(description="the policy that `by` is compared with")
        ] = "",
        beta: Annotated[float, Meta(description="weight of the logarithm of chances")] = 1.0,
        tries: Annotated[int, Meta(ge=0, description="ends played after every decision")] = 0,
        player: Agent | None = None,
        **options: Any,
    ) -> None:
        if not by or not (target or player):
            raise InvalidOption("probe needs an agent and a policy: probe:random,by=minimax")
        self._player = player or make_agent(target, **options)
        self._by = make_agent(by)
        self._reference = make_agent(reference) if reference else None
        self._beta, self._tries, self._seed = beta, tries, 0

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        decisions = self._player.act(turns)
        said = self._by.act(turns)
        compared = self._reference.act(turns) if self._reference else [Decision()] * len(turns)
        for turn, decision, policy, reference in zip(turns, decisions, said, compared, strict=True):
            move = _written(turn, decision)
            found = judged(move, decision, policy.facts)
            found |= self._implicit(move, policy.facts, reference.facts)
            found |= self._ends(turn, decision)
            decision.facts = {**decision.facts, **found}
            decision.usage = decision.usage + policy.usage + reference.usage
        return decisions

    def _implicit(
        self, move: str, policy: Mapping[str, Any], reference: Mapping[str, Any]
    ) -> dict[str, float]:
        if "strategy" not in policy or "strategy" not in reference:
            return {}
        chances = [max(facts["strategy"].get(move, 0.0), LEAST) for facts in (policy, reference)]
        return {"implicit": self._beta * log(chances[0] / chances[1])}

    def _ends(self, turn: Turn, decision: Decision) -> dict[str, float]:
        """How ends go that `by` plays after a decision."""
        rng = turn.rng(self._seed, STREAM)
        ends: list[tuple[Any, float]] = []
        for number in range(1, self._tries + 1):
            twin = turn.fork(rng)
            try:
                action = decision.action
                if action is None:
                    action = twin.parse(turn.seat, decision.text or "")
            except InvalidAction:  # it will be refused
                return {}
            decision.usage += self._finish(twin, {turn.seat: action}, rng, number)
            ends.append(_end(twin, turn.seat))
        if not ends:
            return {}
        commonest = Counter(end for end, _ in ends).most_common(1)[0][1]
        won = sum(right for _, right in ends)
        return {"confidence": commonest / len(ends), "correctness": won / len(ends)}

    def _finish(self, twin: Episode, actions: dict[int, Any], rng: Rng, number: int) -> Usage:
        """Play a fork to its end, everybody as `by`, from the actions that are chosen already."""
        used, keys = Usage(), set[int]()
        for _ in range(LIMIT):
            for seat in twin.to_act:
                if seat not in actions:
                    turn = Turn(twin, seat, sibling=number)
                    (decision,) = self._by.act([turn])
                    keys.add(turn.episode_key)
                    used += decision.usage
                    actions[seat] = _action(twin, seat, decision, rng)
            twin.act(actions)
            if twin.over:
                break
            actions = {}
        for key in keys:
            self._by.forget(key)
        return used

    def reseed(self, seed: int) -> None:
        self._seed = seed
        self._player.reseed(seed)
        for number, other in enumerate(self._others(), 1):
            other.reseed(seed + number)

    def forget(self, episode_key: int) -> None:
        for one in (self._player, *self._others()):
            one.forget(episode_key)

    def close(self) -> None:
        for one in (self._player, *self._others()):
            one.close()

    def _others(self) -> list[Agent]:
        return [self._by, *([self._reference] if self._reference else [])]


def judged(move: str, decision: Decision, said: Mapping[str, Any]) -> dict[str, Any]:
    """What a policy's facts say of a move that was played."""
    found: dict[str, Any] = {}
    if "value" in said:
        found["value"] = said["value"]
    if isinstance(said.get("candidates"), Mapping):
        worth = said["candidates"]
        found["verdicts"] = move in worth and worth[move] >= max(worth.values()) - AS_GOOD
        found["candidates"] = worth
    if "strategy" in said and decision.logprob is not None:
        found["ratio"] = said["strategy"].get(move, 0.0) / exp(decision.logprob)
    return found


def _written(turn: Turn, decision: Decision) -> str:
    """A decision as the game writes it; the text as it is where it is no move."""
    if decision.action is not None:
        return turn.action_text(decision.action)
    try:
        return turn.action_text(turn.parse(decision.text or ""))
    except InvalidAction:
        return decision.text or ""


def _action(twin: Episode, seat: int, decision: Decision, rng: Rng) -> Any:
    """What a decision plays; a random legal move where that is none."""
    if decision.action is not None:
        return decision.action
    try:
        return twin.parse(seat, decision.text or "")
    except InvalidAction:
        return twin.sample(seat, rng)


def _end(twin: Episode, seat: int) -> tuple[Any, float]:
    """How an episode ended for a seat, and how far it is won: 1, or 1/2 for a draw."""
    outcome = twin.outcome
    if outcome is None:
        return None, 0.0
    result = outcome.results[seat]
    score = round(float(outcome.scores[seat]), 9)
    return (result, score), {"win": 1.0, "draw": 0.5}.get(result, 0.0)
