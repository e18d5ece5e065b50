"""CaPo: players agree on a plan of the whole team by talking, and revise it when there is progress.

"CaPo: Cooperative Plan Optimization for Efficient Embodied Multi-Agent Cooperation", 2024. The
first player designs the plan; each other one judges it by what it knows and may ask for a change;
the designer revises it until nobody does, or the talks are used up. Progress reopens the
discussion. Every message is a move of the game, so that talking costs what it costs there. The
wording is this package's own.

Left out: whoever agrees says nothing and acts at once, as a message would cost a move.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from palestra import Decision, Grammar, InvalidOption, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, one_line, story
from palestra_adapters.react import FORM, reason_alone
from palestra_adapters.texts import join_lines, refusal
from palestra_adapters.thinking import Thinking

PLAN, CHANGE = "Plan:", "Change:"
DESIGNER = 0
DESIGN = (
    "You design the team's plan. Write one line that begins with `Plan:` and says what each of "
    "{players} does now and after that."
)
JUDGE = (
    "{designer} proposes: {plan}\nIf this fits what you know, answer `Agree`. Else write one line "
    "that begins with `Change:` and says what should be otherwise, and why."
)
ASKED = "You proposed: {plan}\nAsked for:\n{changes}"
AGREED = "The team's plan: {plan}"


@dataclass(slots=True)
class Discussion:
    """What was said of the plan so far, as one player heard it."""

    plan: str = ""
    revisions: int = 0  # of this discussion, the first plan included
    changes: list[str] = field(default_factory=list)  # asked for since the last plan
    due: bool = True  # whether the designer is to speak
    plans: int = 0  # in the whole episode


@agent(
    "capo",
    kind="llm",
    plays=("text/Transport-v0", "text/Trash-v0"),
    summary="A team that agrees on a plan by talking, and revises it on progress.",
    paper=(
        "CaPo: Cooperative Plan Optimization for Efficient Embodied Multi-Agent Cooperation (2024)"
    ),
)
class CaPo(Adapter):
    """Talks about a common plan with the moves `Say` of a game, and else acts by it.

    A discussion has at most `talks` revisions of its first plan. It is reopened by an event of the
    kinds in `progress`. Seat 0 designs. The fact `phase` says what a turn was for: plan, change or
    act.
    """

    def __init__(
        self,
        *,
        talks: Annotated[int, Meta(ge=0, le=100, description="revisions in a discussion")] = 1,
        progress: Annotated[
            str, Meta(description="kinds of events that reopen the discussion, joined by +")
        ] = "brought",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._most, self._progress = talks, frozenset(progress.split("+"))
        self._judged = self.by_seat(int)  # plans that a player has judged

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        if not any(kind.__name__ == "Say" for kind in getattr(turn.game, "action_types", ())):
            raise InvalidOption(
                f"capo agrees on plans by talking, and {turn.env} has no move Say(text='…'); use "
                "the agent 'team', whose members talk outside the game"
            )
        talk = self._heard(turn)
        limit = longest_message(turn)
        said = ""
        if limit and turn.seat == DESIGNER and talk.due:
            said = yield from self._design(turn, talk, advice)
        elif limit and turn.seat != DESIGNER and talk.plans > self._judged_by(turn):
            self._judged[turn.episode_key, turn.seat] = talk.plans
            said = yield from self._judge(turn, talk, advice)
        if said:
            facts = {"phase": "plan" if turn.seat == DESIGNER else "change"}
            return Decision(text=f"Say(text={said[:limit]!r})", facts=facts)
        return (yield from self._act(turn, talk, advice))

    def _judged_by(self, turn: Turn) -> int:
        return self._judged.get((turn.episode_key, turn.seat), 0)

    def _heard(self, turn: Turn) -> Discussion:
        """The discussion as the transcript has it; who is asked again may have spoken in vain."""
        talk = Discussion()
        for event in turn.transcript:
            said = event.data.get("text", "") if event.kind == "message" else ""
            if said.startswith(PLAN) and event.data.get("player") == DESIGNER:
                talk.plan, talk.changes, talk.due = said.removeprefix(PLAN).strip(), [], False
                talk.revisions, talk.plans = talk.revisions + 1, talk.plans + 1
            elif said.startswith(CHANGE) and talk.plan:
                name = turn.game.players[event.data["player"]]
                talk.changes.append(f"{name}: {quote(said.removeprefix(CHANGE).strip())}")
                talk.due = talk.revisions <= self._most
            elif event.kind in self._progress:
                talk.revisions, talk.due = 0, True
        return talk

    def _design(self, turn: Turn, talk: Discussion, advice: str) -> Thinking[str]:
        order = DESIGN.format(players=", ".join(turn.game.players))
        asked = ""
        if talk.plan:
            changes = "\n".join(talk.changes) or "(nothing)"
            asked = ASKED.format(plan=quote(talk.plan), changes=changes)
        said = yield from self._reply(turn, advice, asked, order)
        plan = said.rpartition(PLAN)[2].strip()
        return f"{PLAN} {plan}" if plan else ""

    def _judge(self, turn: Turn, talk: Discussion, advice: str) -> Thinking[str]:
        order = JUDGE.format(designer=turn.game.players[DESIGNER], plan=quote(talk.plan))
        said = yield from self._reply(turn, advice, order)
        change = said.partition(CHANGE)[2].strip()
        return f"{CHANGE} {change}" if change and talk.revisions <= self._most else ""

    def _reply(self, turn: Turn, *parts: str) -> Thinking[str]:
        said = yield from self.consult(turn, join_lines(story(turn), *parts))
        return one_line(said)

    def _act(self, turn: Turn, talk: Discussion, advice: str) -> Thinking[Decision]:
        plan = AGREED.format(plan=quote(talk.plan)) if talk.plan else ""
        text = join_lines(story(turn), advice, plan, refusal(turn))
        messages = self.single(turn.game.rules_for(turn.seat), text, answer=FORM)
        decision = yield from reason_alone(self, turn, messages)
        decision.facts = {**decision.facts, "phase": "act"}
        return decision


def longest_message(turn: Turn) -> int:
    """The characters of a message to everybody that is legal now; 0 if nobody may speak."""
    if not isinstance(turn.legal, Grammar):
        return 0
    for option in turn.legal:
        if option.name == "Say":
            return int(getattr(option.fields["text"], "limit", 0))
    return 0
