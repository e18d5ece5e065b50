"""Worded optimisation problems: a story, its data, and the model that it means.

Each kind draws data from a generator, tells them in words (several tellings of each), and builds
the true model. Every one is feasible and bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from palestra import Rng

from palestra_tasks.combinatorial.linear import Linear

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Story:
    """One kind of worded problem.

    `tellings` are the same problem in other words; {name} stands for a number of the data.
    `clauses` are its parts, the objective last. `solution` is a program that models it.
    """

    name: str
    draw: Callable[[Rng, int], Data]
    model: Callable[[Data], Linear]
    tellings: tuple[str, ...]
    clauses: tuple[str, ...]
    solution: tuple[str, ...]  # the code of each clause


STORIES: dict[str, Story] = {}


def _add(story: Story) -> None:
    STORIES[story.name] = story


def _diet_data(rng: Rng, size: int) -> Data:
    foods, needs = size + 2, size
    content = [[rng.between(0, 9) for _ in range(needs)] for _ in range(foods)]
    for need in range(needs):
        content[need % foods][need] = rng.between(5, 9)
    return {
        "cost": [rng.between(2, 15) for _ in range(foods)],
        "content": content,
        "need": [rng.between(20, 60) for _ in range(needs)],
        "most": rng.between(12, 20) * size,
    }


def _diet(data: Data) -> Linear:
    model = Linear()
    foods = [model.variable(float(c), 0, data["most"]) for c in data["cost"]]
    for need, amount in enumerate(data["need"]):
        model.row({f: float(data["content"][i][need]) for i, f in enumerate(foods)}, amount)
    return model


_add(
    Story(
        "diet",
        _diet_data,
        _diet,
        (
            "A canteen mixes a meal from {len_cost} foods, of which any amount can be bought, "
            "parts of a unit too. A unit of food f costs cost[f] and has content[f][n] of nutrient "
            "n. The meal must have at least need[n] of every nutrient n, and at most {most} units "
            "of one food. What does the cheapest meal cost?",
            "Farm animals are fed from {len_cost} sacks. Sack f costs cost[f] a unit, and a unit "
            "brings content[f][n] of vitamin n; no vitamin may fall below need[n]. The farmer can "
            "carry {most} units of each sack. Fractions are fine. Find the lowest cost.",
        ),
        ("amounts of each food", "enough of every nutrient", "lowest cost"),
        (
            "for f in range(len(data['cost'])):\n"
            "    variable('x' + str(f), 0, data['most'], False)\n",
            "for n in range(len(data['need'])):\n"
            "    constraint({'x' + str(f): data['content'][f][n]\n"
            "                for f in range(len(data['cost']))}, '>=', data['need'][n])\n",
            "objective('min', {'x' + str(f): c for f, c in enumerate(data['cost'])})\n",
        ),
    )
)


def _production_data(rng: Rng, size: int) -> Data:
    products, machines = size + 1, size
    hours = [[rng.between(1, 9) for _ in range(machines)] for _ in range(products)]
    return {
        "profit": [rng.between(10, 60) for _ in range(products)],
        "hours": hours,
        "available": [rng.between(60, 140) for _ in range(machines)],
        "demand": [rng.between(4, 20) for _ in range(products)],
    }


def _production(data: Data) -> Linear:
    model = Linear("max")
    made = [
        model.variable(float(p), 0, d, whole=True)
        for p, d in zip(data["profit"], data["demand"], strict=True)
    ]
    for machine, hours in enumerate(data["available"]):
        model.row({m: float(data["hours"][i][machine]) for i, m in enumerate(made)}, high=hours)
    return model


_add(
    Story(
        "production",
        _production_data,
        _production,
        (
            "A workshop makes {len_profit} products. One piece of product p earns profit[p], takes "
            "hours[p][m] hours of machine m, and no more than demand[p] pieces can be sold. "
            "Machine m has available[m] hours. Only whole pieces are made. What is the highest "
            "profit?",
            "Next month's plan: whole pieces of {len_profit} articles, article p sold at a margin "
            "of profit[p] up to demand[p] pieces. Machine m is free for available[m] hours, of "
            "which a piece of article p uses hours[p][m]. Maximise the margin.",
        ),
        ("pieces of each product, up to its demand", "hours of every machine", "highest profit"),
        (
            "for p in range(len(data['profit'])):\n"
            "    variable('x' + str(p), 0, data['demand'][p], True)\n",
            "for m in range(len(data['available'])):\n"
            "    constraint({'x' + str(p): data['hours'][p][m]\n"
            "                for p in range(len(data['profit']))}, '<=', data['available'][m])\n",
            "objective('max', {'x' + str(p): v for p, v in enumerate(data['profit'])})\n",
        ),
    )
)


def _transport_data(rng: Rng, size: int) -> Data:
    plants, shops = size, size + 1
    demand = [rng.between(5, 25) for _ in range(shops)]
    share = -(-sum(demand) // plants)
    return {
        "supply": [share + rng.between(0, 10) for _ in range(plants)],
        "demand": demand,
        "cost": [[rng.between(1, 20) for _ in range(shops)] for _ in range(plants)],
    }


def _transport(data: Data) -> Linear:
    model = Linear()
    sent = [[model.variable(float(c)) for c in row] for row in data["cost"]]
    for plant, supply in enumerate(data["supply"]):
        model.row(dict.fromkeys(sent[plant], 1.0), high=supply)
    for shop, demand in enumerate(data["demand"]):
        model.row({row[shop]: 1.0 for row in sent}, demand)
    return model


_add(
    Story(
        "transport",
        _transport_data,
        _transport,
        (
            "{len_supply} plants deliver to {len_demand} shops. Plant p can send supply[p] tonnes, "
            "shop s must get at least demand[s], and a tonne from p to s costs cost[p][s]. What is "
            "the lowest cost of transport?",
            "Grain lies in {len_supply} silos, supply[p] tonnes in silo p, and {len_demand} mills "
            "ask for demand[s] tonnes each. Moving a tonne from silo p to mill s costs cost[p][s]. "
            "Serve all mills as cheaply as possible.",
        ),
        ("tonnes from each plant to each shop", "supplies", "demands", "lowest cost"),
        (
            "for p in range(len(data['supply'])):\n"
            "    for s in range(len(data['demand'])):\n"
            "        variable('x' + str(p) + 'to' + str(s), 0, None, False)\n",
            "for p in range(len(data['supply'])):\n"
            "    constraint({'x' + str(p) + 'to' + str(s): 1\n"
            "                for s in range(len(data['demand']))}, '<=', data['supply'][p])\n",
            "for s in range(len(data['demand'])):\n"
            "    constraint({'x' + str(p) + 'to' + str(s): 1\n"
            "                for p in range(len(data['supply']))}, '>=', data['demand'][s])\n",
            "objective('min', {'x' + str(p) + 'to' + str(s): c\n"
            "  for p, row in enumerate(data['cost']) for s, c in enumerate(row)})\n",
        ),
    )
)


def _inventory_data(rng: Rng, size: int) -> Data:
    months = size + 2
    return {
        "demand": [rng.between(10, 40) for _ in range(months)],
        "price": [rng.between(5, 15) for _ in range(months)],
        "setup": [rng.between(20, 90) for _ in range(months)],
        "capacity": 60,
        "holding": rng.between(1, 3),
    }


def _inventory(data: Data) -> Linear:
    model, months = Linear(), range(len(data["demand"]))
    made = [model.variable(float(p), 0, data["capacity"]) for p in data["price"]]
    stock = [model.variable(float(data["holding"])) for _ in months]
    runs = [model.switch(float(s)) for s in data["setup"]]
    for month in months:
        model.row({made[month]: 1.0, runs[month]: -float(data["capacity"])}, high=0)
        terms = {made[month]: 1.0, stock[month]: -1.0}
        if month:
            terms[stock[month - 1]] = 1.0
        model.row(terms, data["demand"][month], data["demand"][month])
    return model


_add(
    Story(
        "inventory",
        _inventory_data,
        _inventory,
        (
            "A plant plans {len_demand} months. In month t it must deliver demand[t] units. Making "
            "a unit then costs price[t]; a month in which anything is made costs setup[t] on top, "
            "and at most {capacity} units can be made. A unit left over at the end of a month, the "
            "last too, costs {holding} to store. The store is empty at first. Find the lowest "
            "cost.",
            "Orders of demand[t] units fall due in each of {len_demand} weeks t. A batch in week t "
            "costs setup[t] plus price[t] a unit and has {capacity} units at most; each unit kept "
            "over the end of a week costs {holding}. Nothing is in store at the start. How cheaply "
            "can all orders be met on time?",
        ),
        (
            "units made, units stored, and whether a month makes any",
            "making needs a setup",
            "what is stored balances",
            "lowest cost",
        ),
        (
            "for t in range(len(data['demand'])):\n"
            "    variable('m' + str(t), 0, data['capacity'], False)\n"
            "    variable('s' + str(t), 0, None, False)\n"
            "    variable('r' + str(t), 0, 1, True)\n",
            "for t in range(len(data['demand'])):\n"
            "    constraint({'m' + str(t): 1, 'r' + str(t): -data['capacity']}, '<=', 0)\n",
            "for t in range(len(data['demand'])):\n"
            "    terms = {'m' + str(t): 1, 's' + str(t): -1}\n"
            "    if t:\n"
            "        terms['s' + str(t - 1)] = 1\n"
            "    constraint(terms, '==', data['demand'][t])\n",
            "costs = {}\n"
            "for t in range(len(data['demand'])):\n"
            "    costs['m' + str(t)] = data['price'][t]\n"
            "    costs['s' + str(t)] = data['holding']\n"
            "    costs['r' + str(t)] = data['setup'][t]\n"
            "objective('min', costs)\n",
        ),
    )
)


def _staff_data(rng: Rng, size: int) -> Data:
    return {
        "need": [rng.between(2, 6 + size) for _ in range(7)],
        "wage": [rng.between(80, 120) for _ in range(7)],
    }


def _staff(data: Data) -> Linear:
    model = Linear()
    starts = [model.variable(float(w), whole=True) for w in data["wage"]]
    for day in range(7):
        model.row({starts[(day - back) % 7]: 1.0 for back in range(5)}, data["need"][day])
    return model


_add(
    Story(
        "staff",
        _staff_data,
        _staff,
        (
            "A ward is open all week. Nurses work five days in a row and then have two off, every "
            "week the same. Somebody whose five days begin on day d (0 … 6) is paid wage[d] a "
            "week. On day d at least need[d] must be at work. What is the lowest weekly pay?",
            "A call centre hires for rotas of five consecutive days, the week going round. A rota "
            "that starts on day d costs wage[d]; day d calls for need[d] people or more. Whole "
            "people only. Minimise the cost.",
        ),
        ("people who start on each day", "enough people every day", "lowest pay"),
        (
            "for d in range(7):\n    variable('x' + str(d), 0, None, True)\n",
            "for d in range(7):\n"
            "    constraint({'x' + str((d - k) % 7): 1 for k in range(5)},\n"
            "               '>=', data['need'][d])\n",
            "objective('min', {'x' + str(d): w for d, w in enumerate(data['wage'])})\n",
        ),
    )
)


def _blending_data(rng: Rng, size: int) -> Data:
    crudes = size + 2
    quality = [rng.between(70, 110) for _ in range(crudes)]
    return {
        "price": [rng.between(20, 60) for _ in range(crudes)],
        "quality": quality,
        "stock": [rng.between(20, 60) for _ in range(crudes)],
        "least": sum(quality) // crudes,
        "litres": rng.between(15, 19) * crudes // 2,
    }


def _blending(data: Data) -> Linear:
    model = Linear()
    used = [
        model.variable(float(p), 0, s) for p, s in zip(data["price"], data["stock"], strict=True)
    ]
    model.row(dict.fromkeys(used, 1.0), data["litres"], data["litres"])
    model.row({u: float(q - data["least"]) for u, q in zip(used, data["quality"], strict=True)}, 0)
    return model


_add(
    Story(
        "blending",
        _blending_data,
        _blending,
        (
            "{litres} litres of petrol are blended from {len_price} components. Component c costs "
            "price[c] a litre, has the octane number quality[c], and stock[c] litres of it are "
            "there. Octane numbers mix by volume, and the blend must have {least} or more. How "
            "cheaply can it be made?",
            "A roaster fills {litres} kilos of coffee from {len_price} beans. Bean c is graded "
            "quality[c] and costs price[c] a kilo; stock[c] kilos are in store. The average grade "
            "by weight must reach {least}. Find the cheapest blend.",
        ),
        ("litres of each component", "the amount", "the quality", "lowest cost"),
        (
            "for c in range(len(data['price'])):\n"
            "    variable('x' + str(c), 0, data['stock'][c], False)\n",
            "constraint({'x' + str(c): 1 for c in range(len(data['price']))}, '==', "
            "data['litres'])\n",
            "constraint({'x' + str(c): q - data['least'] for c, q in enumerate(data['quality'])}, "
            "'>=', 0)\n",
            "objective('min', {'x' + str(c): p for c, p in enumerate(data['price'])})\n",
        ),
    )
)


def _location_data(rng: Rng, size: int) -> Data:
    sites, towns = size + 1, size + 3
    return {
        "rent": [rng.between(40, 120) for _ in range(sites)],
        "trip": [[rng.between(2, 40) for _ in range(sites)] for _ in range(towns)],
        "most": max(2, sites - 1),
    }


def _location(data: Data) -> Linear:
    model = Linear()
    opened = [model.switch(float(r)) for r in data["rent"]]
    model.row(dict.fromkeys(opened, 1.0), high=data["most"])
    for town in data["trip"]:
        served = [model.switch(float(cost)) for cost in town]
        model.row(dict.fromkeys(served, 1.0), 1, 1)
        for one, site in zip(served, opened, strict=True):
            model.row({one: 1.0, site: -1.0}, high=0)
    return model


_add(
    Story(
        "depots",
        _location_data,
        _location,
        (
            "A carrier can rent up to {most} of {len_rent} depots, depot d for rent[d]. Each of "
            "{len_trip} towns is served from one rented depot; town t from depot d costs "
            "trip[t][d]. What is the lowest total cost?",
            "Clinics are to be opened at no more than {most} of {len_rent} sites; site d costs "
            "rent[d]. Every one of {len_trip} villages goes to one clinic, which costs trip[t][d] "
            "for village t and site d. Minimise all costs together.",
        ),
        (
            "which depots, and who serves a town",
            "no more depots than allowed",
            "every town by one rented depot",
            "lowest cost",
        ),
        (
            "for d in range(len(data['rent'])):\n"
            "    variable('o' + str(d), 0, 1, True)\n"
            "    for t in range(len(data['trip'])):\n"
            "        variable('x' + str(t) + 'by' + str(d), 0, 1, True)\n",
            "constraint({'o' + str(d): 1 for d in range(len(data['rent']))}, '<=', data['most'])\n",
            "for t in range(len(data['trip'])):\n"
            "    constraint({'x' + str(t) + 'by' + str(d): 1\n"
            "                for d in range(len(data['rent']))}, '==', 1)\n"
            "    for d in range(len(data['rent'])):\n"
            "        constraint({'x' + str(t) + 'by' + str(d): 1, 'o' + str(d): -1}, '<=', 0)\n",
            "costs = {'o' + str(d): r for d, r in enumerate(data['rent'])}\n"
            "for t, row in enumerate(data['trip']):\n"
            "    for d, c in enumerate(row):\n"
            "        costs['x' + str(t) + 'by' + str(d)] = c\n"
            "objective('min', costs)\n",
        ),
    )
)


def _cutting_data(rng: Rng, size: int) -> Data:
    lengths = sorted({rng.between(20, 70) for _ in range(size + 1)})
    return {
        "length": lengths,
        "need": [rng.between(2, 4) for _ in lengths],
        "bar": 100,
        "bars": sum(4 for _ in lengths),
    }


def _cutting(data: Data) -> Linear:
    model, kinds = Linear(), range(len(data["length"]))
    used = [model.switch(1.0) for _ in range(data["bars"])]
    cut = [[model.variable(0.0, 0, data["need"][k], whole=True) for k in kinds] for _ in used]
    for number, bar in enumerate(used):
        terms = {c: float(data["length"][k]) for k, c in enumerate(cut[number])}
        model.row({**terms, bar: -float(data["bar"])}, high=0)
        if number:
            model.row({used[number - 1]: 1.0, bar: -1.0}, 0)
    for kind in kinds:
        model.row({row[kind]: 1.0 for row in cut}, data["need"][kind])
    return model


_add(
    Story(
        "cutting",
        _cutting_data,
        _cutting,
        (
            "Pieces are cut from bars of {bar} centimetres: need[k] pieces of length[k] for each "
            "of {len_length} kinds k. {bars} bars are in store. How many bars must be cut at "
            "least?",
            "A joiner has {bars} planks of {bar} centimetres and must saw need[k] boards of "
            "length[k] centimetres, for {len_length} kinds k. Find the fewest planks.",
        ),
        ("bars, and pieces cut from each", "what fits on a bar", "enough pieces", "fewest bars"),
        (
            "for b in range(data['bars']):\n"
            "    variable('u' + str(b), 0, 1, True)\n"
            "    for k in range(len(data['length'])):\n"
            "        variable('x' + str(b) + 'of' + str(k), 0, data['need'][k], True)\n",
            "for b in range(data['bars']):\n"
            "    terms = {'x' + str(b) + 'of' + str(k): n for k, n in enumerate(data['length'])}\n"
            "    constraint({**terms, 'u' + str(b): -data['bar']}, '<=', 0)\n"
            "    if b:\n"
            "        constraint({'u' + str(b - 1): 1, 'u' + str(b): -1}, '>=', 0)\n",
            "for k in range(len(data['length'])):\n"
            "    constraint({'x' + str(b) + 'of' + str(k): 1 for b in range(data['bars'])}, "
            "'>=', data['need'][k])\n",
            "objective('min', {'u' + str(b): 1 for b in range(data['bars'])})\n",
        ),
    )
)
