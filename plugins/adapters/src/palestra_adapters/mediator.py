"""LLM-mediated guidance: from time to time, a language model overrides a team's policy.

Siedler and Gemp, "LLM-Mediated Guidance of MARL Systems", 2025. A controller says what the team
should do, by rule or in natural language; the mediator turns it into an order for each agent; an
agent obeys for some steps and then follows its own policy again. The policy may learn meanwhile:
its rewards and its algorithm do not change. Orders can be any actions of any environment;
`grid/Wildfire-v0` is one after the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from palestra import Agent, Decision, EpisodeRecord, Meta, Turn, agent, make_agent
from palestra.quoting import quote

from palestra_adapters.adapter import legal_move, rules_of, said_in
from palestra_adapters.teams.whole import WholeTeam, example_order, names_of, read_orders
from palestra_adapters.thinking import Thinking, charge

STRATEGY = (
    "You watch a team and help it as an experienced person would. In two sentences, say what the "
    "team should do next, and who should do what."
)
MEDIATE = (
    "You pass orders on to a team. Turn the strategy into one order for each member that needs "
    "one: an action that the member may play now, written as it is listed, which it repeats for "
    "{hold} moves. A member without an order goes on as it thinks best. Answer with one line a "
    "member, as in\n{example}"
)
RULE = "Each member follows the rule of the game:\n{orders}"


@agent(
    "mediator",
    kind="llm",
    summary="At intervals, a model gives orders that a team's members obey for some steps.",
    paper="LLM-Mediated Guidance of MARL Systems (2025)",
)
class Mediator(WholeTeam):
    """Seats play `policy`, but obey an order for `hold` decisions after each intervention.

    The model intervenes every `every` steps, from step `first` until before step `last`. It sees
    the positions of all seats that are to act and that this agent plays, so one agent should play
    all seats of a team. controller: with "language" the model writes a strategy first, with "rules"
    the game's scripted moves are the strategy; `strategy` replaces both. Decisions carry the fact
    `overridden`, and if it is true `own`, the action the policy would have played. An order that is
    illegal at its turn is ignored.
    """

    def __init__(
        self,
        *,
        policy: Annotated[str | Agent, Meta(description="the agent that plays without orders")] = (
            "random"
        ),
        controller: Annotated[
            Literal["language", "rules"], Meta(description="where the strategy comes from")
        ] = "language",
        strategy: Annotated[str, Meta(description="what the team should do, in words")] = "",
        every: Annotated[int, Meta(ge=1, description="steps between interventions")] = 10,
        hold: Annotated[int, Meta(ge=1, description="decisions for which an order is obeyed")] = 4,
        first: Annotated[int, Meta(ge=0, description="the first step with interventions")] = 0,
        last: Annotated[int | None, Meta(description="the step where interventions end")] = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.policy = make_agent(policy)
        self._controller, self._strategy = controller, strategy
        self._every, self._hold, self._first, self._last = every, hold, first, last
        self._orders: dict[tuple[int, int], tuple[str, int]] = {}  # the action, decisions left
        self._next: dict[int, int] = {}  # by episode: the step of the next intervention

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        own = list(self.policy.act(turns))
        teams = self.teams([turn for turn in turns if not turn.error])
        due = {key: team for key, team in teams.items() if self._is_due(key, team[0].steps_played)}
        said = self.think_for(due, self._ask_mediator)
        asked = {id(team[0]): said[key] for key, team in due.items()}
        for turn, decision in zip(turns, own, strict=True):
            if id(turn) in asked:
                charge(decision, asked[id(turn)])
        return [self._decide(turn, decision) for turn, decision in zip(turns, own, strict=True)]

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        """A decision for one seat, when another adapter wraps this one."""
        (own,) = self.policy.act([turn])
        if self._is_due(self.episode_of(turn), turn.steps_played):
            yield from self._ask_mediator([turn], advice)
        return self._decide(turn, own)

    def _is_due(self, episode: int, step: int) -> bool:
        if step < max(self._first, self._next.get(episode, 0)):
            return False
        if self._last is not None and step >= self._last:
            return False
        self._next[episode] = step + self._every
        return True

    def _ask_mediator(self, team: Sequence[Turn], advice: str = "") -> Thinking[Decision]:
        """Ask for a strategy and for orders, and remember the orders."""
        names = names_of(team)
        rules = rules_of(team[0], advice)
        seen = "\n\n".join(f"{n}:\n{turn.position}" for n, turn in zip(names, team, strict=True))
        strategy = self._strategy or self._by_rule(team)
        if not strategy:
            strategy = quote((yield from self.write(rules, f"{seen}\n\n{STRATEGY}")))
        order = MEDIATE.format(example=example_order(team), hold=self._hold)
        asked = self.single(rules, f"{seen}\n\nStrategy: {strategy}\n\n{order}")
        (reply,) = yield [self.ask(asked)]
        said = read_orders(said_in(reply), names)
        for name, turn in zip(names, team, strict=True):
            move = legal_move(turn, said.get(name, ""))
            if move is not None:
                self._orders[turn.episode_id, turn.seat] = move, self._hold
        return Decision(text=reply.text)

    def _by_rule(self, team: Sequence[Turn]) -> str:
        """The game's scripted moves as a strategy; empty if the controller is a model."""
        if self._controller != "rules":
            return ""
        moves = [(turn, turn.scripted_action()) for turn in team]
        lines = [
            f"{turn.game.players[turn.seat]}: {turn.action_text(move)}"
            for turn, move in moves
            if move >= 0
        ]
        return RULE.format(orders="\n".join(lines))

    def _decide(self, turn: Turn, own: Decision) -> Decision:
        """The order while it is in force and legal, or else the policy's own decision."""
        key = turn.episode_id, turn.seat
        order, left = self._orders.get(key, ("", 0))
        move = legal_move(turn, order) if left else None
        if left:
            self._orders[key] = order, left - 1
        if move is None:
            own.facts = {**own.facts, "overridden": False}
            return own
        would = own.text if own.action is None else turn.action_text(own.action)
        facts = {**own.facts, "overridden": True, "own": would}
        made = Decision(text=move, model=self.models[0].name, facts=facts)
        charge(made, own)
        return made

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        self.policy.reseed(seed)

    def forget(self, episode_key: int) -> None:
        super().forget(episode_key)
        self.policy.forget(episode_key)
        episode = self.ended(episode_key)
        self._next.pop(episode or 0, None)
        for key in [key for key in self._orders if key[0] == episode]:
            del self._orders[key]

    def close(self) -> None:
        super().close()
        self.policy.close()


def override_shares(records: Sequence[EpisodeRecord]) -> Mapping[str, float]:
    """The share of decisions that were overridden, by player; nan for players never mediated."""
    counts: dict[str, list[bool]] = {}
    for record in records:
        for turn in record.turns:
            own = counts.setdefault(record.players[turn.seat], [])
            if "overridden" in turn.facts:
                own.append(turn.facts["overridden"])
    return {name: sum(own) / len(own) if own else float("nan") for name, own in counts.items()}
