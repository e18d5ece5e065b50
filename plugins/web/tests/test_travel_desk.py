"""The travel desk: every check by a plan that breaks it alone, rewards counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import msgspec
import palestra
import pytest
from palestra import Rng
from palestra_web.tools.declare import Call, Done, call
from palestra_web.travel.cheapest import cheapest
from palestra_web.travel.desk import FIGURES, TravelDesk, Trip
from palestra_web.travel.plan import PlanDay, cost, entry_of, judge
from palestra_web.travel.tables import (
    Flight,
    Lodging,
    Request,
    Restaurant,
    TravelTables,
    draw_cities,
    draw_request,
    draw_tables,
)


def house(name: str, city: str, **other: Any) -> Lodging:
    facts = {"room_type": "entire room", "minimum_nights": 2, "forbids": ()} | other
    return Lodging(name, city, price=40, max_occupancy=2, rating=3, **facts)


def eatery(name: str, city: str, cuisine: str, price: int = 10) -> Restaurant:
    return Restaurant(name, city, (cuisine,), price, 3)


def roads(**km: int) -> dict[tuple[str, str], int]:
    found = {}
    for name, distance in km.items():
        one, other = name.split("_")
        found[one, other] = found[other, one] = distance
    return found


TABLES = TravelTables(
    {"Land": ("Aton", "Bton")},
    {
        ("Home", "Aton", 1): (Flight("F1", "Home", "Aton", 1, "08:00", 50),),
        ("Aton", "Bton", 3): (Flight("F3", "Aton", "Bton", 3, "08:00", 60),),
        ("Bton", "Home", 5): (Flight("F5", "Bton", "Home", 5, "08:00", 70),),
    },
    roads(Home_Aton=100, Aton_Bton=200, Bton_Home=300),
    {
        "Aton": (
            house("Inn", "Aton"),
            house("Long", "Aton", minimum_nights=3),
            house("Strict", "Aton", forbids=("smoking", "pets")),
            house("Dorm", "Aton", room_type="shared room"),
        ),
        "Bton": (house("Inn", "Bton"),),
    },
    {
        "Aton": (
            eatery("Wok", "Aton", "Chinese"),
            eatery("Two", "Aton", "Indian"),
            eatery("Three", "Aton", "Indian"),
            eatery("Four", "Aton", "Mexican"),
            eatery("Gold", "Aton", "Mexican", 100),
        ),
        "Bton": (
            eatery("Chez", "Bton", "French"),
            eatery("Two", "Bton", "Indian"),
            eatery("Three", "Bton", "Indian"),
        ),
    },
    {"Aton": ("Tower", "Park"), "Bton": ("Tower", "Park")},
)
# flights 2 x (50 + 60 + 70) = 360; a room for two, 4 nights x 40 = 160; meals 2 x 6 x 10 = 120
COST = 640
REQUEST = Request(
    "Home", "Land", 2, 5, 2, COST + 100, "smoking", "entire room", ("Chinese", "French"),
    "no self-driving",
)  # fmt: skip
PLAN = (
    PlanDay(1, "from Home to Aton", "F1", lodging="Inn, Aton"),
    PlanDay(2, "Aton", "-", "Wok, Aton", "Tower, Aton", "Two, Aton", "Three, Aton", "Inn, Aton"),
    PlanDay(3, "from Aton to Bton", "F3", lodging="Inn, Bton"),
    PlanDay(4, "Bton", "-", "Chez, Bton", "Tower, Bton", "Two, Bton", "Three, Bton", "Inn, Bton"),
    PlanDay(5, "from Bton to Home", "F5"),
)


def changed(days: dict[int, dict[str, str]]) -> list[PlanDay]:
    """The plan with some fields of some days (from 1) changed."""
    return [msgspec.structs.replace(day, **days.get(day.day, {})) for day in PLAN]


def sleeping(name: str) -> list[PlanDay]:
    return changed({1: {"lodging": f"{name}, Aton"}, 2: {"lodging": f"{name}, Aton"}})


BROKEN = {
    "within_sandbox": changed({2: {"lunch": "Nowhere, Aton"}}),
    "complete_information": changed({2: {"dinner": "-"}}),
    "within_current_city": changed({2: {"attractions": "Park, Bton"}}),
    "reasonable_route": changed({5: {"city": "from Bton to Aton", "transport": "taxi"}}),
    "diverse_restaurants": changed({2: {"dinner": "Two, Aton"}}),
    "diverse_attractions": changed({2: {"attractions": "Park, Aton; Park, Aton"}}),
    "minimum_nights": sleeping("Long"),
    "budget": changed({2: {"dinner": "Gold, Aton"}}),
    "house_rule": sleeping("Strict"),
    "room_type": sleeping("Dorm"),
    "cuisines": changed({2: {"breakfast": "Four, Aton"}}),
    "transport": changed({day: {"transport": "self-driving"} for day in (1, 3, 5)}),
}
GATES = ("within_sandbox", "complete_information")


def test_the_plan_made_by_hand_passes_and_costs_what_was_counted() -> None:
    verdict = judge(PLAN, REQUEST, TABLES)
    assert verdict.final
    assert cost(PLAN, REQUEST, TABLES) == COST
    assert judge(PLAN, replace(REQUEST, budget=COST), TABLES).final
    assert not judge(PLAN, replace(REQUEST, budget=COST - 1), TABLES).final


@pytest.mark.parametrize("name", BROKEN)
def test_a_plan_that_breaks_one_rule_fails_that_check_alone(name: str) -> None:
    verdict = judge(BROKEN[name], REQUEST, TABLES)
    failed = [n for n, passed in {**verdict.commonsense, **verdict.hard}.items() if not passed]
    # wishes are not even looked at where something is missing or made up
    assert failed == ([name, *verdict.hard] if name in GATES else [name])


def test_whoever_drives_drives_all_the_way() -> None:
    free = replace(REQUEST, transport="")
    mixed = judge(changed({3: {"transport": "self-driving"}}), free, TABLES)
    assert [name for name, passed in mixed.commonsense.items() if not passed] == [
        "non_conflicting_transport"
    ]
    assert all(mixed.hard.values())
    assert "transport" not in mixed.hard
    assert judge(BROKEN["transport"], free, TABLES).final


def test_cars_taxis_and_rooms_are_paid_for_as_many_as_are_needed() -> None:
    six = replace(REQUEST, people=6)
    driving = BROKEN["transport"]
    # two cars: 2 x (5 + 10 + 15); three rooms, 4 nights: 480; meals 6 x 60
    assert cost(driving, six, TABLES) == 60 + 480 + 360
    taxis = changed({day: {"transport": "taxi"} for day in (1, 3, 5)})
    assert cost(taxis, six, TABLES) == 2 * 600 + 480 + 360


@pytest.mark.parametrize(
    ("broken", "figures"),
    [
        ("", (1, 1, 1, 1, 1)),
        ("room_type", (1, 1, 4 / 5, 0, 0)),
        ("diverse_restaurants", (7 / 8, 0, 1, 1, 0)),
        ("within_sandbox", (7 / 8, 0, 0, 0, 0)),
    ],
)
@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({"stage": "dense"}, (1, 1, 1, 1, 1)),
        ({"stage": "mid"}, (0, 1, 0, 1, 1)),
        ({"stage": "sparse"}, (0, 0, 0, 0, 1)),
        ({"weights": (0.5, 0, 2, 0, 1)}, (0.5, 0, 2, 0, 1)),
    ],
)
def test_the_dial_weighs_figures_counted_by_hand(
    broken: str, figures: tuple[float, ...], options: dict[str, Any], weights: tuple[float, ...]
) -> None:
    game = TravelDesk(days=5, **options)
    state = game.initial_state(0)
    state.trip = Trip(REQUEST, TABLES, PLAN)
    plan = BROKEN.get(broken, list(PLAN))
    for day in plan:
        game.step(state, {0: call("note_day", **msgspec.to_builtins(day))})
    step = game.step(state, {0: Done()})
    due = {n: w * f for n, w, f in zip(FIGURES, weights, figures, strict=True) if w * f}
    assert step.rewards.get(0, {}) == pytest.approx(due)
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.results == ("win" if not broken else "loss",)


def test_nothing_is_paid_for_a_plan_with_a_day_missing_or_never_handed_in() -> None:
    verdict = judge(PLAN[:4], REQUEST, TABLES)
    assert not verdict.delivered
    assert set(verdict.figures.values()) == {0}
    game = TravelDesk(max_calls=5)
    state = game.initial_state(1)
    for day in state.trip.witness:
        step = game.step(state, {0: call("note_day", **msgspec.to_builtins(day))})
    assert game.to_act(state) == ()
    assert not step.rewards


@pytest.mark.parametrize("seed", range(4))
def test_the_cheapest_plan_is_the_cheapest_of_all_that_pass(seed: int) -> None:
    """Against every route, way, house and choice of meals, told apart by the checks alone."""
    rng = Rng.seeded(seed)
    request = replace(draw_request(3, "hard", rng), budget=10**9)
    tables = draw_tables(request, draw_cities(request, rng), rng)
    least = min(
        cost(plan, request, tables)
        for plan in plans_of_three_days(request, tables)
        if judge(plan, request, tables).final
    )
    found = cheapest(request, tables)
    assert found is not None
    assert found.cost == cost(found.plan, request, tables) == least
    assert judge(found.plan, request, tables).final


def plans_of_three_days(request: Request, tables: TravelTables) -> Any:
    for city in tables.cities[request.region]:
        there, back = (request.origin, city), (city, request.origin)
        out = ["taxi", "self-driving", *(f.number for f in tables.flights[*there, 1])]
        home = ["taxi", "self-driving", *(f.number for f in tables.flights[*back, 3])]
        sight = entry_of(tables.attractions[city][0], city)
        eateries = sorted(tables.restaurants[city], key=lambda r: r.name)
        menus = [m for m in permutations(eateries, 3) if list(m) == sorted(m, key=lambda r: r.name)]
        for way, other, bed, menu in product(out, home, tables.lodging[city], menus):
            place, meals = entry_of(bed.name, city), [entry_of(r.name, city) for r in menu]
            yield (
                PlanDay(1, f"from {request.origin} to {city}", way, lodging=place),
                PlanDay(2, city, "-", meals[0], sight, meals[1], meals[2], place),
                PlanDay(3, f"from {city} to {request.origin}", other),
            )


@pytest.mark.parametrize(("level", "days"), [("easy", 3), ("medium", 5), ("hard", 7)])
def test_the_planner_passes_every_check_by_calling_tools_alone(level: str, days: int) -> None:
    options = {"level": level, "days": days}
    planned = palestra.play("web/TravelDesk-v0", agents=["travel-planner"], episodes=20, **options)
    assert [palestra.measure(r)["success"] for r in planned] == [1.0] * 20
    assert not any(event.kind == "error" for record in planned for event in record.events)
    greedy = palestra.play("web/TravelDesk-v0", agents=["travel-greedy"], episodes=20, **options)
    figures = [palestra.measure(record) for record in greedy]
    assert all(f["plan-delivery"] == f["commonsense-micro"] == 1 for f in figures)
    assert sum(f["success"] for f in figures) < 10


def test_the_witness_is_within_the_budget() -> None:
    game = TravelDesk(level="hard", days=7)
    for seed in range(30):
        trip = game.initial_state(seed).trip
        assert judge(trip.witness, trip.request, trip.tables).final


def test_the_plan_can_be_noted_as_json_too() -> None:
    game = TravelDesk()
    state = game.initial_state(3)
    plan = json.dumps([msgspec.to_builtins(day) for day in state.trip.witness])
    step = game.step(state, {0: call("note_plan", plan=plan)})
    assert step.events[0].data["result"] == {"noted": [1, 2, 3, 4, 5], "missing": []}
    assert game.step(state, {0: Done()}).rewards[0]["final"] == 1


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (call("note_plan", plan="{"), "not a JSON list of days"),
        (call("note_plan", plan="[" * 3000), "not a JSON list of days"),
        (call("note_plan", plan='[{"day": 1}]'), "not a JSON list of days"),
        (call("note_plan", plan='[{"day": 9, "city": "X"}]'), "no day 9"),
        (call("search_lodging", city="Atlantis"), "nothing is known"),
        (call("search_lodging", city=3), "city must be a string"),
        (call("search_lodging"), "argument 'city' is missing"),
        (call("search_lodging", town="X"), "unknown argument 'town'"),
        (call("search_flights", origin="A", destination="B", day=99), "day must be from 1 to 7"),
    ],
)
def test_a_wrong_value_is_answered_and_changes_nothing(made: Call, told: str) -> None:
    game = TravelDesk()
    state = game.initial_state(0)
    step = game.step(state, {0: made})
    assert told in step.events[0].text
    assert state.noted == {}
    assert state.calls_made[0].failed


def test_what_was_shown_stays_when_the_rest_is_drawn_anew() -> None:
    game = TravelDesk()
    state = game.initial_state(5)
    (city, *_) = state.trip.tables.cities[state.trip.request.region]
    asked = call("search_lodging", city=city)
    game.step(state, {0: asked})
    other = game.determinize(state, 0, Rng(8))
    assert other.trip.tables.lodging[city] == state.trip.tables.lodging[city]
    assert other.trip.tables.restaurants != state.trip.tables.restaurants
    assert judge(other.trip.witness, other.trip.request, other.trip.tables).final


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"days": 4}, "days must be 3 or 5 or 7, not 4"),
        ({"level": "brutal"}, "level must be 'easy'"),
        ({"stage": "late"}, "stage must be 'dense'"),
        ({"weights": (1, 2)}, "weights must be a list of 5 items"),
        ({"max_calls": 0}, "max_calls must be an integer from 1 to 10000, not 0"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], told: str) -> None:
    with pytest.raises(palestra.InvalidOption, match=told):
        TravelDesk(**options)


@pytest.mark.parametrize(("level", "days"), [("easy", 3), ("medium", 5), ("hard", 3)])
def test_a_trip_over_the_budget_is_imagined_before_the_true_one(
    level: str, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palestra_web.travel.desk.REDRAWS", 1)
    game, over = TravelDesk(level=level, days=days), 0
    for seed in range(24):
        state = game.initial_state(seed)
        trip = game.determinize(state, 0, Rng(seed)).trip
        assert trip.tables.lodging != state.trip.tables.lodging
        over += cost(trip.witness, trip.request, trip.tables) > trip.request.budget
    assert over > 0
