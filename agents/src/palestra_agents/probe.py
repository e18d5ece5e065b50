"""An agent that asks a second policy about every decision of a first.

Its answers are reported as facts of the decision: they do not change play, and no seat sees them.
Lookahead uses forks in which hidden facts and future chance are redrawn.
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

STREAM = 12  # random stream, separate from other agents of the same seed
LEAST = 1e-12  # lower bound of probabilities, to take logarithms
AS_GOOD = 1e-9
LIMIT = 1_000  # most steps in a continuation


@agent("probe", summary="Another agent, with a second policy asked about each of its decisions.")
class Probe(Agent):
    """Plays as `target`, and reports what the policy `by` says about every decision.

    The facts, as far as `by` reports their inputs, are: its `value` and `candidates`; `verdicts`,
    whether it rates no move higher than the one played; `ratio`, its probability of the move
    divided by that with which it was played (from its `strategy` and the decision's
    log-probability). With a `reference` policy, `implicit` is `beta` times the logarithm of the
    move's probability under `by` divided by that under the reference. With `tries`, `by` plays that
    many continuations from after the decision: `correctness` is the share that is won, `confidence`
    the share with the most frequent outcome, as in "Step Potential Advantage Estimation".

    Options that are not its own are the target's: `probe:random,by=minimax`.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="the agent that plays")] = "",
        by: Annotated[str | Agent, Meta(description="the policy that is asked")] = "",
        reference: Annotated[
            str | Agent, Meta(description="reference policy that `by` is compared with")
        ] = "",
        beta: Annotated[
            float, Meta(description="factor of the log-probability ratio `implicit`")
        ] = 1.0,
        tries: Annotated[
            int, Meta(ge=0, description="continuations played after every decision")
        ] = 0,
        player: Annotated[
            Agent | None, Meta(description="from Python: the agent that plays, instead of target")
        ] = None,
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
            move = _game_text(turn, decision)
            found = move_facts(move, decision, policy.facts)
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
        """The outcomes of continuations that `by` plays after a decision."""
        rng = turn.rng(self._seed, STREAM)
        ends: list[tuple[Any, float]] = []
        for number in range(1, self._tries + 1):
            twin = turn.fork(rng)
            try:
                action = decision.action
                if action is None:
                    action = twin.parse(turn.seat, decision.text or "")
            except InvalidAction:  # the move will be refused
                return {}
            decision.usage += self._finish(twin, {turn.seat: action}, rng, number)
            ends.append(_end(twin, turn.seat))
        if not ends:
            return {}
        commonest = Counter(end for end, _ in ends).most_common(1)[0][1]
        won = sum(right for _, right in ends)
        return {"confidence": commonest / len(ends), "correctness": won / len(ends)}

    def _finish(self, twin: Episode, actions: dict[int, Any], rng: Rng, number: int) -> Usage:
        """Play a fork to its end with `by` in every seat, starting with actions already chosen."""
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


def move_facts(move: str, decision: Decision, said: Mapping[str, Any]) -> dict[str, Any]:
    """A policy's facts about a move that was played."""
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


def _game_text(turn: Turn, decision: Decision) -> str:
    """A decision as the game writes it; text that is not a move is unchanged."""
    if decision.action is not None:
        return turn.action_text(decision.action)
    try:
        return turn.action_text(turn.parse(decision.text or ""))
    except InvalidAction:
        return decision.text or ""


def _action(twin: Episode, seat: int, decision: Decision, rng: Rng) -> Any:
    """The action of a decision; a random legal move if it is not valid."""
    if decision.action is not None:
        return decision.action
    try:
        return twin.parse(seat, decision.text or "")
    except InvalidAction:
        return twin.sample(seat, rng)


def _end(twin: Episode, seat: int) -> tuple[Any, float]:
    """The outcome of an episode for a seat, and its score: 1 for a win, 1/2 for a draw."""
    outcome = twin.outcome
    if outcome is None:
        return None, 0.0
    result = outcome.results[seat]
    score = round(float(outcome.scores[seat]), 9)
    return (result, score), {"win": 1.0, "draw": 0.5}.get(result, 0.0)
