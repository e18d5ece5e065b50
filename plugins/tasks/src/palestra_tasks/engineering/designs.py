"""Classic problems of engineering design, with constraints and known best designs.

Each is a function of a few numbers that returns the objective and the constraints, which hold where
they are at most 0. `factors` scale loads, prices or limits, so that no two seeds have the same
numbers; with all factors 1 a problem is the published one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Values = Sequence[float]
Evaluated = tuple[float, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Design:
    """One problem of design, to minimise.

    `names` are those of its variables, `limits` names each constraint, `start` is a feasible
    design, `whole` the variables that are whole numbers, and `best` the published best objective
    with all factors 1. `source` says who published it.
    """

    name: str
    task: str
    names: tuple[str, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    limits: tuple[str, ...]
    evaluate: Callable[[Values, Values], Evaluated]
    factors: tuple[str, ...]
    start: tuple[float, ...]
    best: float
    source: str
    whole: tuple[int, ...] = ()


def three_bars(x: Values, f: Values) -> Evaluated:
    a, b = x
    load, stress, length = 2.0 * f[0], 2.0 * f[1], 100.0
    root = math.sqrt(2.0)
    below = root * a * a + 2 * a * b
    return (2 * root * a + b) * length, (
        (root * a + b) / below * load - stress,
        b / below * load - stress,
        load / (root * b + a) - stress,
    )


def spring(x: Values, f: Values) -> Evaluated:
    wire, coil, turns = x
    force = f[0]
    shear = (4 * coil * coil - wire * coil) / (12566 * (coil * wire**3 - wire**4))
    return (turns + 2) * coil * wire * wire, (
        1 - coil**3 * turns / (71785 * wire**4 * force),
        force * (shear + 1 / (5108 * wire * wire)) - 1,
        1 - 140.45 * wire / (coil * coil * turns),
        (wire + coil) / 1.5 - 1,
    )


def vessel(x: Values, f: Values) -> Evaluated:
    shell, head, radius, length = 0.0625 * x[0], 0.0625 * x[1], x[2], x[3]
    volume = 1_296_000.0 * f[0]
    cost = (
        0.6224 * shell * radius * length
        + 1.7781 * head * radius**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * radius
    )
    return cost, (
        0.0193 * radius * f[1] - shell,
        0.00954 * radius * f[1] - head,
        volume - math.pi * radius**2 * length - 4 / 3 * math.pi * radius**3,
        length - 240,
    )


def beam(x: Values, f: Values) -> Evaluated:
    weld, length, height, width = x
    load, arm = 6000.0 * f[0], 14.0
    young, shear_modulus = 30e6, 12e6
    primary = load / (math.sqrt(2) * weld * length)
    radius = math.sqrt(length**2 / 4 + ((weld + height) / 2) ** 2)
    polar = 2 * math.sqrt(2) * weld * length * (length**2 / 12 + ((weld + height) / 2) ** 2)
    secondary = load * (arm + length / 2) * radius / polar
    shear = math.sqrt(primary**2 + primary * secondary * length / radius + secondary**2)
    bending = 6 * load * arm / (width * height**2)
    deflection = 4 * load * arm**3 / (young * height**3 * width)
    side = height / (2 * arm) * math.sqrt(young / (4 * shear_modulus))
    buckling = 4.013 * young * math.sqrt(height**2 * width**6 / 36) / arm**2 * (1 - side)
    return 1.10471 * weld**2 * length + 0.04811 * height * width * (14 + length), (
        shear - 13_600 * f[1],
        bending - 30_000 * f[1],
        weld - width,
        0.10471 * weld**2 + 0.04811 * height * width * (14 + length) - 5,
        0.125 - weld,
        deflection - 0.25,
        load - buckling,
    )


def exchangers(x: Values, f: Values) -> Evaluated:
    a, b, c = (area / f[0] for area in x[:3])
    warm1, warm2, hot1, hot2, hot3 = x[3:]
    return x[0] + x[1] + x[2], (
        0.0025 * (warm1 + hot1) - 1,
        0.0025 * (warm2 + hot2 - warm1) - 1,
        0.01 * (hot3 - warm2) - 1,
        (833.33252 * warm1 + 100 * a - a * hot1 - 83_333.333) / 1e6,
        (1250 * warm2 + b * warm1 - b * hot2 - 1250 * warm1) / 1e6,
        (1_250_000 + c * warm2 - c * hot3 - 2500 * warm2) / 1e6,
    )


def brake(x: Values, f: Values) -> Evaluated:
    inner, outer, plate, force, surfaces = x[0], x[1], 0.5 * x[2], 10.0 * x[3], x[4]
    area = outer**2 - inner**2  # mm², without pi
    cubes = outer**3 - inner**3
    pressure = force / (math.pi * area)
    speed = 2 * math.pi * 250 * cubes / (90_000 * area)  # m/s at 250 turns a minute
    torque = 2 / 3 * 0.5 * force * surfaces * cubes / area / 1000  # N m
    stop = 55.0 * f[0] * math.pi * 250 / 30 / (torque + 3)
    return math.pi * area * plate * (surfaces + 1) * 7.8e-6, (
        inner + 20 - outer,
        (surfaces + 1) * (plate + 0.5) - 30,
        pressure - 1,
        pressure * speed - 10,
        speed - 10,
        stop - 15,
        1.5 * 40 - torque,
    )


def i_beam(x: Values, f: Values) -> Evaluated:
    height, width, web, flange = x
    clear = height - 2 * flange
    upright = web * clear**3 + 2 * width * flange * (4 * flange**2 + 3 * height * clear)
    sideways = clear * web**3 + 2 * flange * width**3
    inertia = (
        web * clear**3 / 12
        + width * flange**3 / 6
        + 2 * width * flange * ((height - flange) / 2) ** 2
    )
    return 5000 * f[0] / inertia, (
        2 * width * flange + web * clear - 300,
        f[0] * (180_000 * height / upright + 15_000 * width / sideways) - 6,
    )


def reducer(x: Values, f: Values) -> Evaluated:
    face, module, teeth, long1, long2, shaft1, shaft2 = x
    power = f[0]
    weight = (
        0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
        - 1.508 * face * (shaft1**2 + shaft2**2)
        + 7.4777 * (shaft1**3 + shaft2**3)
        + 0.7854 * (long1 * shaft1**2 + long2 * shaft2**2)
    )
    turning1 = math.sqrt((745 * power * long1 / (module * teeth)) ** 2 + 16.9e6 * power**2)
    turning2 = math.sqrt((745 * power * long2 / (module * teeth)) ** 2 + 157.5e6 * power**2)
    return weight, (
        27 * power / (face * module**2 * teeth) - 1,
        397.5 * power / (face * module**2 * teeth**2) - 1,
        1.93 * power * long1**3 / (module * teeth * shaft1**4) - 1,
        1.93 * power * long2**3 / (module * teeth * shaft2**4) - 1,
        turning1 / (110 * shaft1**3) - 1,
        turning2 / (85 * shaft2**3) - 1,
        module * teeth / 40 - 1,
        5 * module / face - 1,
        face / (12 * module) - 1,
        (1.5 * shaft1 + 1.9) / long1 - 1,
        (1.1 * shaft2 + 1.9) / long2 - 1,
    )


def cantilever(x: Values, f: Values) -> Evaluated:
    parts = (61, 37, 19, 7, 1)
    bent = sum(part / side**3 for part, side in zip(parts, x, strict=True))
    return 0.0624 * sum(x), (bent * f[0] - 1,)


def column(x: Values, f: Values) -> Evaluated:
    diameter, thickness = x
    load, strength, young, length = 2500.0 * f[0], 500.0, 0.85e6, 250.0
    euler = 8 * load * length**2 / (math.pi**3 * young * diameter * thickness)
    return 9.8 * diameter * thickness + 2 * diameter, (
        load / (math.pi * diameter * thickness * strength) - 1,
        euler / (diameter**2 + thickness**2) - 1,
    )


def corrugated_bulkhead(x: Values, f: Values) -> Evaluated:
    width, height, length, thick = x
    slope = math.sqrt(abs(length**2 - height**2))
    weight = 5.885 * thick * (width + length) / (width + slope)
    section = thick * height * (0.4 * width + length / 6)
    return weight, (
        8.94 * f[0] * (width + slope) - section,
        2.2 * (8.94 * f[0] * (width + slope)) ** (4 / 3)
        - thick * height**2 * (0.2 * width + length / 12),
        0.0156 * width + 0.15 - thick,
        0.0156 * length + 0.15 - thick,
        1.05 - thick,
        height - length,
    )


def gears(x: Values, f: Values) -> Evaluated:
    ratio = f[0] / 6.931
    return (ratio - x[0] * x[1] / (x[2] * x[3])) ** 2, ()


def controller(x: Values, f: Values) -> Evaluated:
    """The integral of time-weighted error after a step, of a PI controller on a slow plant."""
    gain, integral = x
    lag, delay, step = 10.0 * f[0], 20, 0.1
    level = total = cost = highest = 0.0
    sent = [0.0] * delay  # a dead time of 2 s
    for tick in range(600):
        error = 1.0 - level
        total += error * step
        sent.append(gain * (error + total / integral))
        level += step * (sent[tick] - level) / lag
        highest = max(highest, level)
        cost += tick * step * abs(error) * step
        if not abs(level) < 1e6:
            return 1e9, (1e9,)
    return cost, (highest - 1.1,)


DESIGNS = {
    design.name: design
    for design in (
        Design(
            "three-bar-truss",
            "Three bars carry a load; choose the cross-sections of the two outer bars (a) and of "
            "the middle one (b), in cm². Minimise the volume.",
            ("a", "b"),
            (0.01, 0.01),
            (1.0, 1.0),
            ("stress in bar 1", "stress in bar 2", "stress in bar 3"),
            three_bars,
            ("load", "allowed stress"),
            (1.0, 1.0),
            263.8958434,
            "Nowacki (1973); Ray and Liew (2003)",
        ),
        Design(
            "tension-spring",
            "A spring is wound from wire; choose the wire's and the coil's diameter, in inches, "
            "and the number of active coils. Minimise its weight.",
            ("wire", "coil", "coils"),
            (0.05, 0.25, 2.0),
            (2.0, 1.3, 15.0),
            ("deflection", "shear stress", "surge frequency", "outer diameter"),
            spring,
            ("force",),
            (0.07, 0.6, 14.0),
            0.012665233,
            "Belegundu (1982); Arora (1989)",
        ),
        Design(
            "pressure-vessel",
            "A cylinder with two round heads holds gas; choose the thickness of shell and heads, "
            "in sixteenths of an inch (whole numbers), its radius and its length, in inches. "
            "Minimise its cost.",
            ("shell", "head", "radius", "length"),
            (1, 1, 10.0, 10.0),
            (99, 99, 200.0, 200.0),
            ("shell too thin", "heads too thin", "volume too small", "too long"),
            vessel,
            ("volume", "pressure"),
            (24, 16, 60.0, 120.0),
            6059.714335,
            "Kannan and Kramer (1994)",
            (0, 1),
        ),
        Design(
            "welded-beam",
            "A beam is welded to a wall and carries a load at its end; choose the weld's "
            "thickness and length, and the beam's height and width, in inches. Minimise the cost.",
            ("weld", "length", "height", "width"),
            (0.1, 0.1, 0.1, 0.1),
            (2.0, 10.0, 10.0, 2.0),
            (
                "shear stress",
                "bending stress",
                "weld thicker than beam",
                "cost of the material",
                "weld too thin",
                "deflection",
                "buckling",
            ),
            beam,
            ("load", "strength"),
            (0.5, 5.0, 8.0, 0.5),
            1.724852309,
            "Rao (1996); Coello (2000)",
        ),
        Design(
            "speed-reducer",
            "A gearbox: choose face width, tooth module, number of teeth (whole), the lengths of "
            "two shafts between bearings and their diameters, in cm. Minimise the weight.",
            ("face", "module", "teeth", "length1", "length2", "diameter1", "diameter2"),
            (2.6, 0.7, 17, 7.3, 7.3, 2.9, 5.0),
            (3.6, 0.8, 28, 8.3, 8.3, 3.9, 5.5),
            (
                "tooth bending",
                "surface stress",
                "deflection of shaft 1",
                "deflection of shaft 2",
                "stress in shaft 1",
                "stress in shaft 2",
                "space",
                "narrow face",
                "wide face",
                "length of shaft 1",
                "length of shaft 2",
            ),
            reducer,
            ("power",),
            (3.6, 0.7, 18, 8.0, 8.0, 3.7, 5.4),
            2994.4710661,
            "Golinski (1970); Mezura and Coello (2005); both shafts here at least 7.3 long",
            (2,),
        ),
        Design(
            "heat-exchangers",
            "Three heat exchangers in a row warm a stream from 100 to 500 degrees Fahrenheit, each "
            "by a hot stream of its own; choose their areas, in square feet, the temperatures of "
            "the stream after the first two and of the three hot streams. Minimise the whole area.",
            ("area1", "area2", "area3", "warm1", "warm2", "hot1", "hot2", "hot3"),
            (100, 1000, 1000, 10, 10, 10, 10, 10),
            (10_000, 10_000, 10_000, 1000, 1000, 1000, 1000, 1000),
            (
                "heat of the first",
                "heat of the second",
                "heat of the third",
                "area of the first",
                "area of the second",
                "area of the third",
            ),
            exchangers,
            ("fouling",),
            (1000, 1500, 8000, 150, 250, 200, 290, 345),
            7049.24802,
            "Avriel and Williams (1971); Runarsson and Yao (2000)",
        ),
        Design(
            "disc-brake",
            "A brake of several discs stops a wheel; choose the inner and the outer radius of the "
            "discs, in mm, their thickness in halves of a mm, the force in tens of N and the "
            "number of surfaces, all whole numbers. Minimise the mass.",
            ("inner", "outer", "thickness", "force", "surfaces"),
            (60, 90, 2, 60, 2),
            (80, 110, 6, 100, 9),
            (
                "width of the discs",
                "length of the brake",
                "pressure",
                "pressure times speed",
                "speed",
                "time to stop",
                "torque",
            ),
            brake,
            ("inertia",),
            (64, 100, 4, 90, 6),
            0.3136566,
            "Osyczka (2002); Rao, Savsani and Vakharia (2011)",
            (0, 1, 2, 3, 4),
        ),
        Design(
            "i-beam",
            "A beam of I section bears a load; choose its height and width, and the thickness of "
            "web and flanges, in cm. Minimise the deflection.",
            ("height", "width", "web", "flange"),
            (10.0, 10.0, 0.9, 0.9),
            (80.0, 50.0, 5.0, 5.0),
            ("area of the section", "stress"),
            i_beam,
            ("load",),
            (74.0, 50.0, 1.5, 1.8),
            0.0130741,
            "Gold and Krishnamurty (1997); Gandomi, Yang and Alavi (2013)",
        ),
        Design(
            "cantilever",
            "A beam of five hollow square steps sticks out of a wall; choose the side of each "
            "step, in m. Minimise the weight.",
            ("s1", "s2", "s3", "s4", "s5"),
            (0.01,) * 5,
            (100.0,) * 5,
            ("deflection",),
            cantilever,
            ("load",),
            (8.0, 7.0, 6.0, 5.0, 4.0),
            1.3399563,
            "Fleury and Braibant (1986)",
        ),
        Design(
            "tubular-column",
            "A tube stands under a load; choose its mean diameter and its wall, in cm. Minimise "
            "the cost of material and construction.",
            ("diameter", "wall"),
            (2.0, 0.2),
            (14.0, 0.8),
            ("compression", "buckling"),
            column,
            ("load",),
            (10.0, 0.5),
            26.4994969,
            "Rao (1996); the design of Gandomi, Yang and Alavi (2013)",
        ),
        Design(
            "corrugated-bulkhead",
            "A ship's bulkhead of corrugated steel; choose the width, depth and length of a fold, "
            "in cm, and the plate's thickness. Minimise the weight.",
            ("width", "depth", "length", "plate"),
            (0.0, 0.0, 0.0, 0.0),
            (100.0, 100.0, 100.0, 5.0),
            (
                "section modulus",
                "moment of inertia",
                "plate for the width",
                "plate for the length",
                "plate too thin",
                "fold deeper than long",
            ),
            corrugated_bulkhead,
            ("pressure",),
            (57.0, 40.0, 60.0, 1.3),
            6.8429580,
            "Kvalie, Moe and Gisvold (1966)",
        ),
        Design(
            "gear-train",
            "Four gears turn a ratio: the first two's teeth over the last two's, all whole "
            "numbers. Minimise the squared difference from the ratio wanted.",
            ("a", "b", "c", "d"),
            (12,) * 4,
            (60,) * 4,
            (),
            gears,
            ("ratio, as a multiple of 1/6.931",),
            (20, 20, 50, 50),
            2.700857e-12,
            "Sandgren (1990)",
            (0, 1, 2, 3),
        ),
        Design(
            "pi-controller",
            "A heater with a dead time of 2 s and a lag of 10 s is controlled to a new set point; "
            "choose gain and integral time, in s. Minimise the time-weighted error over a minute; "
            "the level may overshoot by a tenth.",
            ("gain", "integral"),
            (0.01, 0.5),
            (20.0, 100.0),
            ("overshoot",),
            controller,
            ("lag",),
            (1.0, 20.0),
            0.0,
            "ours; no published best",
        ),
    )
}
