"""Proactive agent: watch somebody's events and offer help when it is wanted, and only then.

The player sees one event after another of a simulated person at work (coding, writing, daily
life). At each it offers one of several kinds of help or stays silent. A hidden need arises and
passes; the person accepts an offer that fits the need and rejects any other. An accepted need is
over.

After Lu, Yang, Qian et al., "Proactive Agent: Shifting LLM Agents from Reactive Responses to Active
Assistance", 2024: predictions of a task or of none at each event, judged by whether the user
accepts; recall, precision, accuracy, false-alarm rate and F1. An offer that is accepted is a true
positive, one that is rejected a false alarm. With `day` the person does several pieces of work by
turns, needs follow only from several events, and F1 over needs is paid (see `days`). Without it,
one event tells its need, which is a demonstration: silence while a need is there is a miss, and
otherwise correct, and a right decision pays 1 / events. Events and needs are drawn from templates
with a hidden chain, ours. This is a study of agents: nobody is watched.

Checked: silence has recall 0 and no false alarm; an agent that is told the needs has an F1 of 1;
measures against scikit-learn's; what follows from events, by enumeration.

Left out: events recorded from people, and the trained model that accepts or rejects offers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Rng,
    Scene,
    TextAction,
    environment,
    metric,
)
from palestra.kernel.rng import check_seed
from palestra.paragraphs import paragraphs
from palestra.scene import Grid, Part, Piece, mark_cells

from palestra_tasks.clinic import days
from palestra_tasks.clinic.days import (
    KINDS,
    NEEDS,
    OWN,
    SIZES,
    USED,
    WORKS,
    Day,
    Glimpse,
    draw_day,
    go_on,
    imagine_day,
    offer_help,
)
from palestra_tasks.desk import Final, Past, Reply, TaskGame, TaskState, solo
from palestra_tasks.spectating import spectated

COLUMNS = 12  # events in a picture

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
ANSWERS = {True: "accepted", False: "rejected"}
ARISES, PASSES, MISLEADING = 25, 15, 12  # percent
MOST_EVENTS = 200  # of a day: what is imagined takes time that grows with its square


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
    day: Day | None = None  # in place of the fields above


def f1_of(counts: tuple[int, int, int, int]) -> float:
    """The harmonic mean of precision and recall; 0 without a hit."""
    hits, false, missed, _ = counts
    return 2 * hits / (2 * hits + false + missed) if hits else 0.0


DAY_RULES = f"""
    This is a simulation for the study of agents. You assist somebody whom you watch at work. They
    ask for nothing; you see one event after another. They do several pieces of work by turns and
    take breaks between. With a chance of {days.STAYS} % the next event is of the same work or
    break as the last one, and otherwise of a work or a break, each as likely.

    Each piece of work has a usual order of events, which begins with its first event and goes on
    from where it was left. While something is needed in it, signs of that need come instead. Before
    each event of a work, a need arises in it in {days.ARISES} % of cases if nothing is needed
    there, each need as likely as the others; a need that is there passes by itself in
    {days.PASSES} %. Signs that come in an order may begin anywhere in it. Some events come by
    chance, whatever is needed, and change nothing. A sign may be part of the usual order or come
    with several needs.

    After each event offer help, as in Offer(help='KIND'), or stay silent with
    Offer(help='nothing'). They accept what is needed in the work of that event, and then need
    nothing there. Any other offer disturbs them and is rejected, also one that comes in a break or
    is for other work. You are paid F1 at the end: twice the offers accepted, divided by twice the
    offers accepted + the offers rejected + the needs that passed or are there at the end.
"""


@environment(
    "tasks/Proactive-v0",
    family="text",
    tags=("simulated-people", "hidden-information", "chance"),
    paper=(
        "Lu et al. (2024), Proactive Agent: Shifting LLM Agents from Reactive Responses to Active "
        "Assistance"
    ),
    splits={
        "coding": {"day": "none", "domain": "coding", "turns": 30},
        "writing": {"day": "none", "domain": "writing", "turns": 30},
        "daily-life": {"day": "none", "domain": "daily life", "turns": 30},
        **{
            f"{held}{size}": {"day": size, "ways": ways, "turns": 40}
            for held, ways in (("", "sets"), ("held-out-", "orders"))
            for size in SIZES
        },
    },
)
@dataclass(frozen=True)
class Proactive(TaskGame[WatchState]):
    """One player watches a simulated person's events and offers help, or stays silent.

    Action 0 is silence, actions 1 to 3 are the kinds of help in the order of the list. An
    observation is a float32 vector: for the last event, one number for each event of the domain in
    order, 1 for the one seen; then whether the last offer was accepted (1), rejected (-1) or not
    made, and the share of events left. A right decision pays 1 / events.

    With `day`, actions are silence and the kinds of help of all six works in order. The vector
    begins with each piece of work: its number, its usual order, the signs of its needs and all its
    signs (divided by the number of kinds; -1 where there is none). Then come the work of the last
    event, or a break, and its kind, 1 for the one seen. F1 is paid at the end.
    """

    domain: Annotated[
        Literal["coding", "writing", "daily life"], Meta(description="what the person does")
    ] = "coding"
    turns: Annotated[int, Meta(ge=1, le=1000, description="events in an episode")] = 40
    noise: Annotated[
        int, Meta(ge=0, le=100, description="chance in percent that an event misleads")
    ] = MISLEADING
    day: Annotated[
        Literal["none", "small", "medium", "large"],
        Meta(
            description="pieces of work in a day, in place of `domain`: 2 (small), 3 or 4; none: "
            "an event tells its need, a demonstration"
        ),
    ] = "medium"
    ways: Annotated[
        Literal["sets", "orders"],
        Meta(description="signs of a need in a day; orders: in an order that tells it, held out"),
    ] = "sets"

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
    reward_terms = ("right", "score")
    action_types = (Offer,)
    feature_bounds = (-1.0, 1.0)

    def validate(self) -> None:
        if self.day == "none" and self.ways != "sets":
            raise InvalidOption(
                f"ways={self.ways!r} is for a day; set day to small, medium or large"
            )
        if self.day != "none" and self.domain != "coding":
            raise InvalidOption(
                f"domain={self.domain!r} is not for a day, which has works of its own; "
                "set day='none'"
            )
        if self.day != "none" and self.turns > MOST_EVENTS:
            raise InvalidOption(
                f"turns={self.turns} is too long for a day; set turns to {MOST_EVENTS} at most"
            )

    def rules_for(self, seat: int) -> str:
        return super().rules_for(seat) if self.day == "none" else paragraphs(DAY_RULES)

    @property
    def pays_score(self) -> bool:  # type: ignore[override]
        return self.day != "none"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of help, without silence."""
        if self.day != "none":
            return tuple(help for _, helps in WORKS.values() for help in helps)
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
        if self.day != "none":
            works, harmless = SIZES[self.day]
            return works * (1 + OWN + harmless + 3 * NEEDS + USED) + works + 1 + KINDS + 2
        return len(self.events) + 2

    def initial_state(self, seed: int | None = None) -> WatchState:
        rng = Rng.seeded(check_seed(seed))
        state = WatchState(rng=rng, domain=self.domain, need="", event="")
        if self.day != "none":
            state.day = draw_day(self.day, self.ways, self.noise, rng)
            return state
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
        if state.day is not None:
            shares = f"Of the events of a work, {self.noise} % come by chance."
            return "\n".join([*map(str, state.day.ways), shares])
        return f"Help that you may offer: {', '.join(self.kinds)}."

    def notes(self, state: WatchState, seat: int) -> tuple[str, ...]:
        if state.day is not None:
            return tuple(
                f"Event {number}. {state.day.event(one)}{_answer(one, past)}"
                for number, (one, past) in enumerate(zip_longest(state.day.seen, state.past), 1)
            )
        return (f"Event {len(state.past) + 1}: the person {state.event}.",)

    def options(self, state: WatchState, seat: int) -> tuple[Option, ...]:
        kinds = self.kinds if state.day is None else state.day.helps
        return (Option(Offer, {"help": OneOf((SILENT, *kinds))}),)

    def respond(self, state: WatchState, seat: int, action: Any) -> Reply:
        if state.day is not None:
            return self._respond_in_day(state, state.day, action.help)
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

    def _respond_in_day(self, state: WatchState, day: Day, help: str) -> Reply:
        """Answer an offer or silence, and show the next event."""
        silent, accepted = help == SILENT, False
        if not silent:
            day, accepted = offer_help(day, help)
        text = "You stay silent." if silent else f"Your offer is {ANSWERS[accepted]}."
        if len(state.past) + 1 < self.turns:
            day = go_on(day, state.rng)
            text += f" Then {day.event(day.seen[-1])}."
        state.day = day
        return Reply(text, {"offer": "" if silent else help, "accepted": accepted})

    def settle(self, state: WatchState) -> Final:
        if state.day is not None:
            return _settled_day(state.day)
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
        if state.day is not None:
            left = 1 - len(state.past) / self.turns
            return [*_day_features(state.day), _last_answer(state), left]
        last = 0.0
        if state.past and state.past[-1].action != Offer(SILENT):
            last = 1.0 if "accepted" in state.past[-1].reply else -1.0
        seen = [float(event == state.event) for event in self.events]
        return [*seen, last, 1 - len(state.past) / self.turns]

    def record_facts(self, state: WatchState) -> dict[str, Any]:
        need = state.need if state.day is None else state.day.need
        return {"need": need, "progress": len(state.past) / self.turns}

    def determinize(self, state: WatchState, seat: int, rng: Rng) -> WatchState:
        """Draw what is needed from its chances given what was seen, and future chance anew.

        Without a day these are the chances given the last event alone.
        """
        copy = self.copy_for(state, seat)
        copy.rng = Rng.seeded(rng.word())
        if copy.day is not None:
            self.refuse_the_end(state)
            copy.day = imagine_day(copy.day, rng)
            return copy
        likely = [need for need, events in SCENES[self.domain].items() if state.event in events]
        copy.need = rng.choice(("", *self.kinds)) if rng.below(100) < 20 else likely[0]
        return copy

    def scene(self, state: WatchState, seat: int | None = None) -> Scene:
        """The help that was offered event by event, accepted or not, and the event of now."""
        number = min(len(state.past) + 1, self.turns)
        day = state.day
        now = day.event(day.seen[-1]) if day else f"the person {state.event}"
        caption = f"Event {number} of {self.turns}: {now}"
        return spectated(super().scene(state, seat), seat, caption)

    def picture(self, state: WatchState, seat: int | None) -> tuple[Part, ...]:
        """A column for each event: what was offered and whether it was accepted.

        A spectator sees what is needed now, as a target in the column of this event.
        """
        kinds = self.kinds if state.day is None else state.day.helps
        first = max(0, min(len(state.past) + 1, self.turns) - COLUMNS)
        now = len(state.past) - first
        columns = [*state.past[first:], *[None] * COLUMNS][: min(COLUMNS, self.turns)]
        cells = tuple(
            tuple(_offered(past, help, self._accepted(state, first + n))
                  for n, past in enumerate(columns))
            for help in (*kinds, SILENT)
        )  # fmt: skip
        need = state.need if state.day is None else state.day.need
        wanted = [(kinds.index(need), now)] if need in kinds else []
        marks = mark_cells("target", wanted if seat is None and not state.final else [])
        numbers = tuple(str(first + n + 1) for n in range(len(columns)))
        return (Grid(cells, (*kinds, "silence"), numbers, marks=marks),)

    def _accepted(self, state: WatchState, number: int) -> bool:
        """Whether the offer after an event was accepted."""
        if state.day is not None:
            return number < len(state.past) and state.day.seen[number].accepted
        return number < len(state.past) and "accepted" in state.past[number].reply


def _offered(past: Past | None, help: str, accepted: bool) -> Piece | None:
    """What a cell shows: an offer with its answer, or silence."""
    if past is None or past.action != Offer(help):
        return None
    if help == SILENT:
        return Piece("·", "silver", "disc", "silence")
    return (
        Piece("+", "green", label="accepted") if accepted else Piece("x", "red", label="rejected")
    )


def _answer(glimpse: Glimpse, past: Past | None) -> str:
    """What was offered after an event, and the answer."""
    if past is None or not (glimpse.accepted or glimpse.disturbed):
        return ""
    return f" (offered '{past.action.help}': {ANSWERS[glimpse.accepted]})"  # type: ignore[attr-defined]


def _settled_day(day: Day) -> Final:
    """The end of a day, which is worth F1 over needs."""
    hits, false, missed = day.counts
    facts: dict[str, Any] = {
        "counts": [hits, false, missed],
        "recall": hits / (hits + missed) if hits + missed else None,
        "precision": hits / (hits + false) if hits + false else None,
        "false_alarms": false / len(day.seen),
        "f1": f1_of((hits, false, missed, 0)) if hits + false + missed else 1.0,
    }
    reason = f"{hits} accepted, {false} rejected, {missed} needs without help."
    return solo(facts["f1"], reason, **facts)


def _day_features(day: Day) -> list[float]:
    """The ways of a person and the last event as numbers."""
    found: list[float] = []
    for way in day.ways:
        needs = [kind for need in way.needs for kind in (*need, -KINDS)[:3]]
        found.append(list(WORKS).index(way.work) / len(WORKS))
        found += [kind / KINDS for kind in (*way.usual, *needs, *way.signs)]
    last = day.seen[-1]
    found += [float(last.work == work) for work in range(-1, len(day.ways))]
    return [*found, *(float(last.kind == kind) for kind in range(KINDS))]


def _last_answer(state: WatchState) -> float:
    """1 if the last offer was accepted, -1 if it was rejected, 0 after silence."""
    if state.day is None or not state.past:
        return 0.0
    answered = state.day.seen[len(state.past) - 1]
    return float(answered.accepted) - float(answered.disturbed)


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
    """The share of events without a fitting need, in a day of all, with a rejected offer."""
    return _verdict(record).get("false_alarms")
