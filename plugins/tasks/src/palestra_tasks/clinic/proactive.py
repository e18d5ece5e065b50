"""Proactive agent: watch somebody's events and offer help when it is wanted, and only then.

The player sees one event after another of a simulated person at work (coding, writing, daily
life). At each it offers one of several kinds of help or stays silent. A hidden need arises and
passes; the person accepts an offer that fits the need and rejects any other. An accepted need is
over.

After Lu, Yang, Qian et al., "Proactive Agent: Shifting LLM Agents from Reactive Responses to Active
Assistance", 2024: predictions of a task or of none at each event, judged by whether the user
accepts; recall, precision, accuracy, false-alarm rate and F1. An offer that is accepted is a true
positive, one that is rejected a false alarm; silence while a need is there is a miss, and otherwise
correct. Events and needs are drawn from templates with a hidden chain, ours. A right decision pays
1 / events. This is a study of agents: nobody is watched.

Checked: silence has recall 0 and no false alarm; an agent that is told the needs has an F1 of 1;
measures against scikit-learn's.

Left out: events recorded from people, and the trained model that accepts or rejects offers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    Meta,
    OneOf,
    Option,
    Rng,
    ScriptedAgent,
    TextAction,
    Turn,
    agent,
    environment,
    metric,
)
from palestra.kernel.rng import check_seed

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, solo

# By domain and need: what is offered, and events that come with it. The need "" is none.
SCENES: dict[str, dict[str, tuple[str, ...]]] = {
    "coding": {
        "": (
            "types a new function",
            "scrolls through a file",
            "switches to the chat window",
            "commits a change",
            "renames a variable",
        ),
        "fix the error": (
            "runs the tests, which fail with a TypeError",
            "copies an error message",
            "searches the web for a traceback",
            "undoes the last change and runs the tests again",
        ),
        "look up the interface": (
            "opens the documentation of a library",
            "hovers over a call and waits",
            "deletes the same argument for the third time",
            "opens a library's source",
        ),
        "write the tests": (
            "opens an empty test file",
            "counts the functions without a test",
            "copies the signature of a function into a test file",
        ),
    },
    "writing": {
        "": (
            "types a paragraph",
            "changes the font",
            "saves the document",
            "reads mail",
            "moves a heading",
        ),
        "find a source": (
            "writes '[citation needed]'",
            "searches for a quotation",
            "opens three articles side by side",
        ),
        "shorten the text": (
            "looks at the number of words and sighs",
            "selects a paragraph, deletes it and undoes that",
            "opens the rule on length of the journal",
        ),
        "translate a passage": (
            "pastes a passage in another language",
            "opens a dictionary",
            "writes to a friend who speaks the language",
        ),
    },
    "daily life": {
        "": (
            "listens to music",
            "looks at photographs",
            "sets an alarm",
            "waters the plants",
            "reads the news",
        ),
        "plan the journey": (
            "looks at a map of a far town",
            "checks the weather for Saturday in two places",
            "compares two trains",
        ),
        "order groceries": (
            "opens the fridge and closes it again",
            "reads a recipe for four",
            "writes 'milk?' on a note",
        ),
        "arrange the meeting": (
            "opens the calendar of next week",
            "reads a message that asks 'when?'",
            "writes two dates and deletes both",
        ),
    },
}
SILENT = "nothing"
ARISES, PASSES, MISLEADING = 25, 15, 12  # percent


class Offer(TextAction, frozen=True):
    """Offer help of one kind, or nothing."""

    help: str


@dataclass(frozen=True, slots=True)
class Moment:
    """An event, and the need behind it."""

    event: str
    need: str


@dataclass(slots=True, kw_only=True)
class WatchState(TaskState):
    """The state of a watch."""

    domain: str
    need: str  # of the person now; "" for none
    event: str  # the event that was seen last
    counts: tuple[int, int, int, int] = (0, 0, 0, 0)  # hits, false alarms, misses, silences


def f1_of(counts: tuple[int, int, int, int]) -> float:
    """The harmonic mean of precision and recall; 0 without a hit."""
    hits, false, missed, _ = counts
    return 2 * hits / (2 * hits + false + missed) if hits else 0.0


@environment(
    "tasks/Proactive-v0",
    family="text",
    tags=("simulated-people", "hidden-information", "chance"),
    paper=(
        "Lu et al. (2024), Proactive Agent: Shifting LLM Agents from Reactive Responses to Active "
        "Assistance"
    ),
    splits={
        "coding": {"domain": "coding"},
        "writing": {"domain": "writing"},
        "daily-life": {"domain": "daily life"},
    },
)
@dataclass(frozen=True)
class Proactive(TaskGame[WatchState]):
    """One player watches a simulated person's events and offers help, or stays silent.

    Action 0 is silence, actions 1 to 3 are the kinds of help in the order of the list. An
    observation is a float32 vector: for the last event, one number for each event of the domain in
    order, 1 for the one seen; then whether the last offer was accepted (1), rejected (-1) or not
    made, and the share of events left. A right decision pays 1 / events.
    """

    domain: Annotated[
        Literal["coding", "writing", "daily life"], Meta(description="what the person does")
    ] = "coding"
    turns: Annotated[int, Meta(ge=1, le=1000, description="events in an episode")] = 30
    noise: Annotated[
        int, Meta(ge=0, le=100, description="chance in percent that an event misleads")
    ] = MISLEADING

    rules_text = """
        This is a simulation for the study of agents. You assist somebody whom you watch at work.
        They ask for nothing; you see one event after another.

        After each event offer help, as in Offer(help='fix the error'), or stay silent with
        Offer(help='nothing'). They accept what they need now, and then need nothing; any other
        offer disturbs them and is rejected. A need arises, lasts for some events and passes; some
        events mislead. Help that is accepted is right, and so is silence while nothing is needed.
        You are paid the share of your decisions that are right.
    """
    deterministic = False
    pays_score = False
    reward_terms = ("right",)
    action_types = (Offer,)
    feature_bounds = (-1.0, 1.0)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of help, without silence."""
        return tuple(need for need in SCENES[self.domain] if need)

    @property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        return tuple(Offer(help) for help in (SILENT, *self.kinds))

    @property
    def events(self) -> tuple[str, ...]:
        """Every event of the domain, in order."""
        return tuple(event for events in SCENES[self.domain].values() for event in events)

    @property
    def num_features(self) -> int:
        return len(self.events) + 2

    def initial_state(self, seed: int | None = None) -> WatchState:
        rng = Rng.seeded(check_seed(seed))
        state = WatchState(rng=rng, domain=self.domain, need="", event="")
        self._go_on(state)
        return state

    def _go_on(self, state: WatchState) -> None:
        """The need changes, and an event is seen."""
        rng = state.rng
        if state.need and rng.below(100) < PASSES:
            state.need = ""
        elif not state.need and rng.below(100) < ARISES:
            state.need = rng.choice(self.kinds)
        shown = state.need
        if rng.below(100) < self.noise:
            shown = rng.choice(("", *self.kinds))
        state.event = rng.choice(SCENES[self.domain][shown])

    def statement(self, state: WatchState, seat: int) -> str:
        return f"Help that you may offer: {', '.join(self.kinds)}."

    def notes(self, state: WatchState, seat: int) -> tuple[str, ...]:
        return (f"Event {len(state.past) + 1}: the person {state.event}.",)

    def options(self, state: WatchState, seat: int) -> tuple[Option, ...]:
        return (Option(Offer, {"help": OneOf((SILENT, *self.kinds))}),)

    def respond(self, state: WatchState, seat: int, action: Any) -> Reply:
        need, silent = state.need, action.help == SILENT
        accepted = action.help == need
        outcome = (0 if accepted else 1) if not silent else (2 if need else 3)
        state.counts = tuple(n + (at == outcome) for at, n in enumerate(state.counts))  # type: ignore[assignment]
        if accepted:
            state.need = ""
        right = outcome in (0, 3)
        text = "You stay silent." if silent else "Your offer is rejected."
        text = "Your offer is accepted." if accepted else text
        facts = {"need": need, "offer": "" if silent else action.help, "accepted": accepted}
        self._go_on(state)
        if len(state.past) + 1 < self.turns:
            text += f" Then the person {state.event}."
        shown = {key: facts[key] for key in ("offer", "accepted")}
        return Reply(text, shown, {"right": 1 / self.turns} if right else {})

    def settle(self, state: WatchState) -> Final:
        hits, false, missed, silences = state.counts
        total = sum(state.counts)
        facts: dict[str, Any] = {
            "counts": list(state.counts),
            "recall": hits / (hits + missed) if hits + missed else None,
            "precision": hits / (hits + false) if hits + false else None,
            "false_alarms": false / (false + silences) if false + silences else None,
            "f1": f1_of(state.counts),
        }
        reason = f"{hits} accepted, {false} rejected, {missed} needs missed, {silences} quiet."
        return solo((hits + silences) / total, reason, **facts)

    def features(self, state: WatchState, seat: int) -> list[float]:
        last = 0.0
        if state.past and state.past[-1].action != Offer(SILENT):
            last = 1.0 if "accepted" in state.past[-1].reply else -1.0
        seen = [float(event == state.event) for event in self.events]
        return [*seen, last, 1 - len(state.past) / self.turns]

    def record_facts(self, state: WatchState) -> dict[str, Any]:
        return {"need": state.need, "progress": len(state.past) / self.turns}

    def determinize(self, state: WatchState, seat: int, rng: Rng) -> WatchState:
        """Draw the need from its chances given the last event alone, and future chance anew."""
        copy = self.copy_for(state, seat)
        copy.rng = Rng.seeded(rng.word())
        likely = [need for need, events in SCENES[self.domain].items() if state.event in events]
        copy.need = rng.choice(("", *self.kinds)) if rng.below(100) < 20 else likely[0]
        return copy


@agent("proactive-matching", kind="scripted")
class MatchingHelper(ScriptedAgent[Proactive]):
    """Offers what fits the last event, which now and then misleads."""

    def choose(self, turn: Turn[Proactive]) -> Offer:
        event = turn.game.events[int(turn.observation[:-2].argmax())]
        for need, events in SCENES[turn.game.domain].items():
            if event in events:
                return Offer(need or SILENT)
        return Offer(SILENT)


@agent("proactive-silent", kind="scripted")
class SilentHelper(ScriptedAgent[Proactive]):
    """Never offers anything."""

    def choose(self, turn: Turn[Proactive]) -> Offer:
        return Offer(SILENT)


@agent("proactive-eager", kind="scripted")
class EagerHelper(ScriptedAgent[Proactive]):
    """Always offers something, whatever happens."""

    def choose(self, turn: Turn[Proactive]) -> Offer:
        return Offer(self.rng.choice(turn.game.kinds))


def _verdict(record: EpisodeRecord) -> dict[str, Any]:
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    return dict(found[-1]) if found else {}


@metric("proactive-f1", measures=("tasks/Proactive-v0",), bounds=(0.0, 1.0), better="higher")
def f1(record: EpisodeRecord) -> float | None:
    """F1 of offers that were accepted."""
    return _verdict(record).get("f1")


@metric(
    "proactive-false-alarms", measures=("tasks/Proactive-v0",), bounds=(0.0, 1.0), better="lower"
)
def false_alarms(record: EpisodeRecord) -> float | None:
    """The share of events without a fitting need at which something was offered."""
    return _verdict(record).get("false_alarms")
