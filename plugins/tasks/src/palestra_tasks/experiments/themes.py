"""What projects are about: names, meanings and usual ranges of columns, and targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of numbers: its name, its unit, the usual range.

    `small` is the unit a thousand times as small, where one is in use.
    """

    name: str
    unit: str
    small: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Theme:
    """What rows are, and the columns and targets that they may have."""

    row: str  # what a row is about
    quantities: tuple[Quantity, ...]
    groups: Mapping[str, tuple[str, ...]]  # columns of categories and their levels
    dates: tuple[str, str]
    targets: Mapping[str, str]  # by kind of target


THEMES = (
    Theme(
        "a delivery",
        (
            Quantity("distance", "km", "m", 2.0, 60.0),
            Quantity("load", "kg", "g", 5.0, 400.0),
            Quantity("parcels", "dozens", "", 1.0, 12.0),
            Quantity("wait", "hours", "", 0.5, 6.0),
            Quantity("fee", "EUR", "", 4.0, 90.0),
            Quantity("climb", "km", "m", 0.1, 1.8),
            Quantity("stops", "tens", "", 1.0, 9.0),
            Quantity("van_age", "years", "", 1.0, 15.0),
        ),
        {
            "depot": ("north", "harbour", "airport", "mill"),
            "vehicle": ("bicycle", "van", "truck"),
            "goods": ("fresh", "glass", "books", "metal", "cloth"),
        },
        ("ordered", "loaded"),
        {"number": "minutes", "count": "complaints", "two": "late", "several": "rating"},
    ),
    Theme(
        "a field of a farm",
        (
            Quantity("area", "ha", "", 1.0, 40.0),
            Quantity("rain", "m", "mm", 0.2, 1.5),
            Quantity("slope", "degrees", "", 0.5, 14.0),
            Quantity("nitrogen", "kg", "g", 10.0, 220.0),
            Quantity("clay", "percent", "", 5.0, 60.0),
            Quantity("altitude", "km", "m", 0.1, 1.4),
            Quantity("seed_mass", "kg", "g", 8.0, 180.0),
            Quantity("hedge", "km", "m", 0.2, 5.0),
        ),
        {
            "crop": ("barley", "rape", "maize", "rye"),
            "soil": ("loam", "sand", "peat"),
            "owner": ("estate", "family", "village", "school", "abbey"),
        },
        ("sown", "inspected"),
        {"number": "yield_value", "count": "pests", "two": "blight", "several": "quality"},
    ),
    Theme(
        "a flat to let",
        (
            Quantity("floor_area", "square metres", "", 18.0, 160.0),
            Quantity("garden", "square metres", "", 5.0, 300.0),
            Quantity("to_station", "km", "m", 0.1, 8.0),
            Quantity("house_age", "years", "", 1.0, 120.0),
            Quantity("noise_level", "bel", "millibel", 2.0, 8.0),
            Quantity("heating", "MWh", "kWh", 2.0, 30.0),
            Quantity("deposit", "kEUR", "EUR", 0.5, 9.0),
            Quantity("income", "kEUR", "EUR", 1.0, 12.0),
        ),
        {
            "district": ("centre", "hill", "river", "docks"),
            "state": ("old", "renewed", "new"),
            "agent": ("adler", "boros", "chen", "duval", "elias"),
        },
        ("listed", "visited"),
        {"number": "rent", "count": "visits", "two": "vacant", "several": "class_of_energy"},
    ),
    Theme(
        "a day of a machine",
        (
            Quantity("pressure", "bar", "millibar", 1.0, 30.0),
            Quantity("speed", "m/s", "mm/s", 0.5, 12.0),
            Quantity("hours_run", "hours", "", 1.0, 24.0),
            Quantity("oil", "litres", "ml", 0.5, 20.0),
            Quantity("current", "A", "mA", 1.0, 45.0),
            Quantity("dust", "g", "mg", 0.1, 5.0),
            Quantity("wear", "mm", "", 0.05, 3.0),
            Quantity("batch_mass", "kg", "g", 20.0, 900.0),
        ),
        {
            "hall": ("east", "west", "annex", "cellar"),
            "shift": ("early", "late", "night"),
            "alloy": ("brass", "steel", "zinc", "tin", "lead"),
        },
        ("day", "serviced"),
        {"number": "energy", "count": "stoppages", "two": "defect", "several": "grade"},
    ),
)
