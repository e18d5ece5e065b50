"""Travel desk: search tables with tools, and submit a trip plan that meets every wish.

A traveller's request names days, people, a budget and, by `level`, up to three more wishes. Some
tools search cities, flights, distances, places to stay, restaurants and attractions; others note
the plan, a day at a time or whole. `Done()` submits it; it is then checked and rewarded once. The
tables are drawn from the seed and always contain a plan that meets the request.

Checks and metrics are those of Xie et al., "TravelPlanner", 2024, and the reward is that of Zhu et
al., "Planner-R1: Reward Shaping Enables Efficient Agentic RL with Smaller LLMs", 2025. A plan that
has an entry for every day is paid

    l1 commonsense_micro + l2 commonsense_macro + l3 hard_micro + l4 hard_macro + l5 final,

where micro is the share of checks passed, macro whether all of a kind are passed, and final whether
all are. The weights l are all 1 in stage "dense"; in stage "mid" those of micro are 0; in stage
"sparse" only the last is 1. The option `weights` overrides them. Tables and names of tools are
ours.

Checked: plans written by hand that each break one rule, with micro and macro counted by hand; the
cheapest plan against an exhaustive search; a planner that only calls tools passes every check.

Left out: the benchmark's own tables and 1,225 requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
from palestra import (
    Event,
    Integer,
    Meta,
    Option,
    Outcome,
    Rng,
    Scene,
    Text,
    environment,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Lines, Part

from palestra_web.tools.answers import answer_part, call_table
from palestra_web.tools.declare import Call, Done, Parameter, Program, Tool
from palestra_web.tools.game import AllowPrograms, MaxCalls, Reply, ToolGame, ToolState
from palestra_web.travel.cheapest import cheapest
from palestra_web.travel.pictures import calendar, route, standing
from palestra_web.travel.plan import NONE, PlanDay, Verdict, judge
from palestra_web.travel.tables import (
    CITIES,
    LENGTHS,
    REGIONS,
    Request,
    TravelTables,
    draw_cities,
    draw_request,
    draw_tables,
    drive_cost,
    taxi_cost,
)

FIGURES = ("commonsense_micro", "commonsense_macro", "hard_micro", "hard_macro", "final")
STAGES = {
    "dense": (1.0, 1.0, 1.0, 1.0, 1.0),
    "mid": (0.0, 1.0, 0.0, 1.0, 1.0),
    "sparse": (0.0, 0.0, 0.0, 0.0, 1.0),
}
LAST_DAY = max(LENGTHS)
LAST_CALLS = 2  # in a picture
REDRAWS = 20  # attempts to redraw unknown rows until a plan within the budget exists
BUDGET = (105, 150)  # range of the budget, percent of the cheapest plan's cost

Weight = Annotated[float, Meta(ge=0, le=1e6)]

_CITY = Text(40, CITIES)
_ENTRY = Text(120, (NONE,))
_DAY = Parameter("day", Integer(1, LAST_DAY), "a day of the trip, from 1")
_OF_CITY = (Parameter("city", _CITY, "a city's name"),)
_BETWEEN = (Parameter("origin", _CITY, "where from"), Parameter("destination", _CITY, "where to"))
_MEALS = ("breakfast", "lunch", "dinner")

TOOLS = (
    Tool(
        "search_cities",
        "The cities of a region.",
        (Parameter("region", Text(40, REGIONS), "a region's name"),),
    ),
    Tool(
        "search_flights",
        "Flights between two cities on a day of the trip; prices are for one person.",
        (*_BETWEEN, _DAY),
    ),
    Tool(
        "search_distance",
        "Kilometres by road between two cities, and what driving and taxis cost all travellers.",
        _BETWEEN,
    ),
    Tool(
        "search_lodging",
        "Places to stay: price of a room and night, how many people a room takes, fewest nights, "
        "what is forbidden.",
        _OF_CITY,
    ),
    Tool("search_restaurants", "Restaurants: cuisines, price for one person.", _OF_CITY),
    Tool("search_attractions", "What there is to see in a city.", _OF_CITY),
    Tool(
        "note_day",
        "Note one day of the plan, instead of what was noted for it before.",
        (
            _DAY,
            Parameter("city", Text(80, CITIES), "a city, or 'from A to B' on a day of travel"),
            Parameter("transport", _ENTRY, "a flight's number, 'self-driving', 'taxi' or '-'"),
            *(Parameter(meal, _ENTRY, "'Name, City' or '-'") for meal in _MEALS),
            Parameter("attractions", Text(300, (NONE,)), "'Name, City', parted by ';', or '-'"),
            Parameter("lodging", _ENTRY, "'Name, City' of the night after, or '-'"),
        ),
        writes=True,
    ),
    Tool(
        "note_plan",
        "Note the whole plan at once, as a JSON list of days with the fields of note_day.",
        (Parameter("plan", Text(6000, ("[]",)), "JSON"),),
        writes=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Trip:
    """A request, and the tables to plan with."""

    request: Request
    tables: TravelTables
    witness: tuple[PlanDay, ...]  # the cheapest plan, which shows that the request can be met


@lru_cache(maxsize=256)
def draw_trip(days: int, level: str, seed: int) -> Trip:
    """The trip of a seed; nobody changes it."""
    rng = Rng.seeded(seed)
    request = draw_request(days, level, rng)
    tables = draw_tables(request, draw_cities(request, rng), rng)
    found = cheapest(request, tables)
    assert found is not None  # every city has what the request asks for
    budget = found.cost * rng.between(*BUDGET) // 100
    return Trip(replace(request, budget=budget), tables, found.plan)


@dataclass(slots=True, kw_only=True)
class TripState(ToolState):
    """The state of the travel desk."""

    trip: Trip
    noted: dict[int, PlanDay]  # the plan so far, by day from 1


@environment(
    "web/TravelDesk-v0",
    family="tools",
    tags=("tools", "planning", "hidden-information"),
    paper=(
        "Zhu et al. (2025), Planner-R1: Reward Shaping Enables Efficient Agentic RL with "
        "Smaller LLMs; Xie et al. (2024), TravelPlanner: A Benchmark for Real-World Planning "
        "with Language Agents"
    ),
    splits={
        "easy": {"level": "easy", "days": 3},
        "medium": {"level": "medium", "days": 5},
        "hard": {"level": "hard", "days": 7},
    },
)
@dataclass(frozen=True)
class TravelDesk(ToolGame[TripState]):
    """One player plans a trip: they search tables with tools and submit a plan.

    There are no numbered actions and no array observation: moves are `Call`, `Done` and, with
    `programs`, `Program`. The plan is rewarded once, on submission, with a weighted sum of five
    figures from 0 to 1.
    """

    days: Annotated[Literal[3, 5, 7], Meta(description="days of the trip; 1, 2 or 3 cities")] = 5
    level: Annotated[
        Literal["easy", "medium", "hard"],
        Meta(description="wishes besides the budget: none (easy), one (medium) or three (hard)"),
    ] = "medium"
    stage: Annotated[
        Literal["dense", "mid", "sparse"],
        Meta(
            description="which figures of a plan are rewarded: all (dense), all but the shares of "
            "checks passed (mid), or only whether every check is passed (sparse)"
        ),
    ] = "dense"
    weights: Annotated[
        tuple[Weight, Weight, Weight, Weight, Weight] | None,
        Meta(
            description="weights of commonsense_micro, commonsense_macro, hard_micro, hard_macro "
            "and final, instead of those of the stage"
        ),
    ] = None
    max_calls: MaxCalls = 150
    programs: AllowPrograms = False

    rules_text = """
        You plan a trip for a traveller. Find out what there is by calling tools, then note a plan.

        Write one call in every turn, such as search_lodging(city='Marlow'). The plan has one entry
        for every day, noted with note_day: where you are ('Marlow', or 'from Harrow to Marlow' on a
        day of travel), transport on days of travel, three meals and at least one attraction on the
        other days (meals and attractions on days of travel are free to you), and a place to stay
        every night but the last. Restaurants, attractions and places to stay are written
        'Name, City'; '-' is nothing. Name only what the tools have shown, in the city you are in;
        no restaurant and no attraction twice; start from home on day 1, visit as many different
        cities of the region as the traveller wants, and be home on the last day. Keep to the fewest
        nights of every place. Whoever drives their own car drives all the way. Rooms, cars (5
        people) and taxis (4 people) are paid for as many as you need. Every wish of the traveller
        must be met, the budget too. Write Done() to hand the plan in: this ends the game.
    """
    reward_terms = FIGURES
    action_types = (Call, Program, Done)
    closings = (Option(Done),)

    @property
    def lambdas(self) -> Mapping[str, float]:
        """The weight of each figure: l1 to l5 above."""
        return dict(zip(FIGURES, self.weights or STAGES[self.stage], strict=True))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, max(1e-9, sum(self.lambdas.values())))

    # The rules

    def initial_state(self, seed: int | None = None) -> TripState:
        start = check_seed(seed)
        return TripState(
            rng=Rng.seeded(start), trip=draw_trip(self.days, self.level, start), noted={}
        )

    def tools(self, state: TripState) -> tuple[Tool, ...]:
        return TOOLS

    def known_values(self, state: TripState) -> dict[str, tuple[str, ...]]:
        request = state.trip.request
        asked = any(
            made.call.tool == "search_cities" and not made.failed for made in state.calls_made
        )
        there = state.trip.tables.cities[request.region] if asked else ()
        cities = (request.origin, *there)
        places = dict.fromkeys(("origin", "destination", "city"), cities)
        return {"region": (request.region,), **places}

    def execute(self, state: TripState, tool: Tool, values: Mapping[str, Any]) -> Reply:
        if tool.name == "note_day":
            return self._note(state, [PlanDay(**values)], whole=False)
        if tool.name == "note_plan":
            return self._read_plan(state, values["plan"])
        rows = look_up(state.trip, tool.name, values)
        if rows is None:
            return Reply(error="nothing is known of that; search_cities(region=…) lists cities")
        return Reply(rows)

    def _read_plan(self, state: TripState, text: str) -> Reply:
        try:
            return self._note(state, msgspec.json.decode(text, type=list[PlanDay]), whole=True)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            return Reply(error=f"this is not a JSON list of days: {error}")

    def _note(self, state: TripState, days: Sequence[PlanDay], *, whole: bool) -> Reply:
        beyond = [day.day for day in days if not 1 <= day.day <= self.days]
        if beyond:
            return Reply(error=f"the trip has days 1 to {self.days}, and no day {beyond[0]}")
        if whole:
            state.noted = {}
        state.noted |= {day.day: day for day in days}
        missing = [day for day in range(1, self.days + 1) if day not in state.noted]
        return Reply({"noted": sorted(state.noted), "missing": missing})

    def verdict(self, state: TripState, *, draft: bool = False) -> Verdict:
        """The verdict on the submitted plan; before `Done()` there is none.

        draft: judge the plan in its current state instead, as if it were submitted now.
        """
        plan = [state.noted[day] for day in sorted(state.noted)]
        handed_in = plan if draft or state.closing is not None else None
        return judge(handed_in, state.trip.request, state.trip.tables)

    def record_facts(self, state: TripState) -> dict[str, Any]:
        """Facts for the record: the checks that the current plan passes, and the days it has.

        A plan that was not submitted before the calls ran out passes none. The stages are a
        complete plan, every commonsense check, and every wish.
        """
        found = self.verdict(state, draft=bool(self.to_act(state)))
        schema = [day in state.noted for day in range(1, self.days + 1)]
        checks = {
            "schema": schema if found.delivered or self.to_act(state) else [False] * self.days,
            "commonsense": list(found.commonsense.values()),
            "hard": list(found.hard.values()),
        }
        shares = [sum(passed) / len(passed) for passed in checks.values()]
        return {
            **super().record_facts(state),
            "progress": sum(shares) / len(shares),
            "checks": checks,
            "stages": [float(found.delivered), *shares[1:]],
        }

    def settle(self, state: TripState) -> tuple[dict[str, float], list[Event]]:
        verdict = self.verdict(state)
        figures = verdict.figures
        terms = {name: weight * figures[name] for name, weight in self.lambdas.items()}
        checks = {**verdict.commonsense, **verdict.hard}
        failed = [name for name, passed in checks.items() if not passed]
        text = f"The plan fails {', '.join(failed)}." if failed else "The plan passes every check."
        if not verdict.delivered:
            text = "No whole plan was delivered."
        data = {
            "figures": figures,
            "commonsense": dict(verdict.commonsense),
            "hard": dict(verdict.hard),
        }
        paid = {name: value for name, value in terms.items() if value}
        return paid, [Event("verdict", text, data)]

    def outcome(self, state: TripState) -> Outcome | None:
        if self.to_act(state):
            return None
        verdict = self.verdict(state)
        score = sum(self.lambdas[name] * verdict.figures[name] for name in FIGURES)
        passed = sum(verdict.commonsense.values()) + sum(verdict.hard.values())
        checks = len(verdict.commonsense) + len(verdict.hard)
        reason = f"{passed} of {checks} checks passed."
        return Outcome(("win" if verdict.final else "loss",), (score,), reason)

    def opening(self, state: TripState) -> Sequence[Event]:
        request = state.trip.request
        return [Event("request", str(request), asdict(request))]

    def determinize(self, state: TripState, seat: int, rng: Rng) -> TripState:
        """Redraw every row that no tool has shown, for the same cities.

        Of `REDRAWS` worlds the first is taken that has a plan within the budget; if there is none,
        the last.
        """
        copy = self.clone(state)
        for _ in range(REDRAWS):
            copy.trip, cost = _redraw_trip(state, rng)
            if cost <= state.trip.request.budget:
                break
        return copy

    # What the player sees

    def describe(self, state: TripState, seat: int) -> str:
        lines = [str(state.trip.request)]
        lines += [
            f"Noted for day {day}: {text_of(state.noted[day])}" for day in sorted(state.noted)
        ]
        lines.append(f"Calls made: {self.max_calls - self.calls_left(state)} of {self.max_calls}.")
        return "\n".join(lines)

    def scene(self, state: TripState, seat: int | None = None) -> Scene:
        """The route and the days of the plan, and the calls.

        A spectator sees all cities of the region, a route that would do (gold), and which checks
        the plan passes; a player the cities of their plan and the last answer.
        """
        trip, days = state.trip, state.trip.request.days
        plan = [state.noted[day] for day in sorted(state.noted)]
        caption = f"Calls made: {self.max_calls - self.calls_left(state)} of {self.max_calls}"
        request = Lines((str(trip.request),))
        if seat is not None:
            own: list[Part] = [route(trip.request.origin, (), plan, ()), request]
            own.insert(1, calendar(state.noted, days, None))
            if state.programs_run:  # a program reads what the player does not
                own.append(self.talk(state, seat))
            elif state.calls_made:
                own += [call_table(state.calls_made, 1), answer_part(state.calls_made[-1])]
            return Scene(caption, parts=tuple(own))
        cities = trip.tables.cities[trip.request.region]
        verdict = judge(plan, trip.request, trip.tables)
        parts: list[Part] = [
            route(trip.request.origin, cities, plan, trip.witness),
            calendar(state.noted, days, verdict),
            *([standing(plan, trip.request, trip.tables, verdict)] if plan else []),
        ]
        if state.calls_made:
            parts.append(call_table(state.calls_made, LAST_CALLS))
        return Scene(caption, parts=(*parts, request))


def text_of(day: PlanDay) -> str:
    """A day in one line, without entries that are empty."""
    named = ("transport", "breakfast", "attractions", "lunch", "dinner", "lodging")
    parts = [f"{name} {getattr(day, name)}" for name in named if getattr(day, name) != NONE]
    return "; ".join([day.city, *parts])


def look_up(trip: Trip, tool: str, values: Mapping[str, Any]) -> Any:
    """The answer of a tool that searches; None where the tables have no such entry."""
    tables, people = trip.tables, trip.request.people
    if tool == "search_cities":
        cities = tables.cities.get(values["region"])
        return None if cities is None else list(cities)
    if tool == "search_attractions":
        sights = tables.attractions.get(values["city"])
        return None if sights is None else list(sights)
    if tool == "search_distance":
        km = tables.distances.get((values["origin"], values["destination"]))
        if km is None:
            return None
        return {"km": km, "self-driving": drive_cost(km, people), "taxi": taxi_cost(km, people)}
    rows: Sequence[Any] | None
    if tool == "search_flights":
        rows = tables.flights.get((values["origin"], values["destination"], values["day"]))
    elif tool == "search_lodging":
        rows = tables.lodging.get(values["city"])
    else:
        rows = tables.restaurants.get(values["city"])
    return None if rows is None else [asdict(row) for row in rows]


def _redraw_trip(state: TripState, rng: Rng) -> tuple[Trip, int]:
    """A trip with other rows where no tool has shown any, and the cost of its cheapest plan."""
    request, shown = state.trip.request, state.trip.tables
    tables = draw_tables(request, shown.cities[request.region], rng)
    for made in state.calls_made:
        if not made.failed:
            _restore_shown_rows(shown, tables, made.call)
    found = cheapest(request, tables)
    assert found is not None  # every city has what the request asks for, whichever rows it has
    return Trip(request, tables, found.plan), found.cost


def _restore_shown_rows(true: TravelTables, drawn: TravelTables, made: Call) -> None:
    """Copy the rows that a call has shown into redrawn tables."""
    values: dict[str, Any] = made.values
    name = made.tool.removeprefix("search_")
    key: Any = values.get("city")
    if name == "flights":
        key = (values["origin"], values["destination"], values["day"])
    elif name == "distance":
        name, key = "distances", (values["origin"], values["destination"])
        drawn.distances[key[::-1]] = true.distances[key]
    elif name not in ("lodging", "restaurants", "attractions"):
        return
    getattr(drawn, name)[key] = getattr(true, name)[key]
