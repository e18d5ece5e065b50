"""The words that widget tasks are made of."""

from __future__ import annotations

WORDS = (
    *("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "harbor", "island", "jungle"),
    *("kettle", "lagoon", "meadow", "nectar", "orchid", "pebble", "quarry", "ripple", "saddle"),
    *("timber", "umbra", "valley", "willow", "xenon", "yonder", "zephyr", "anchor", "bramble"),
    *("copper", "dagger", "engine", "feather", "garnet", "hammer", "indigo", "jasper", "kernel"),
    *("lantern", "marble", "needle", "oyster", "pillow", "quiver", "ribbon", "silver", "tunnel"),
)
NAMES = (
    *("Ada", "Bruno", "Clara", "Dmitri", "Elena", "Farid", "Greta", "Hiro", "Ines", "Jonas"),
    *("Keiko", "Leon", "Maya", "Nils", "Olga", "Pedro", "Quinn", "Rosa", "Samir", "Tilda"),
    *("Uma", "Viktor", "Wanda", "Xavier", "Yara", "Zoltan"),
)
SURNAMES = (
    *("Abbott", "Becker", "Castro", "Dubois", "Eriksen", "Fischer", "Garcia", "Hansen", "Ivanova"),
    *("Jensen", "Kowalski", "Lindgren", "Moreau", "Novak", "Okafor", "Petrov", "Rossi", "Sato"),
)
CITIES = (
    *("Anchorage", "Boston", "Chicago", "Denver", "El Paso", "Fargo", "Houston", "Juneau"),
    *("Memphis", "Oakland", "Phoenix", "Seattle", "Tucson", "Wichita"),
)
COUNTRIES = (
    *("Albania", "Algeria", "Andorra", "Angola", "Argentina", "Armenia", "Belarus", "Belgium"),
    *("Belize", "Bolivia", "Botswana", "Brazil", "Bulgaria", "Cameroon", "Canada", "Colombia"),
    *("Croatia", "Cyprus", "Ethiopia", "Finland", "Georgia", "Germany", "Grenada", "Guatemala"),
    *("Malawi", "Malaysia", "Maldives", "Mali", "Malta", "Mauritius", "Morocco", "Mozambique"),
)
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
SYNONYMS = (
    ("big", "huge"),
    ("small", "tiny"),
    ("fast", "rapid"),
    ("wicked", "evil"),
    ("happy", "glad"),
    ("sad", "gloomy"),
    ("wealthy", "rich"),
    ("silent", "quiet"),
    ("start", "begin"),
    ("finish", "end"),
    ("clever", "smart"),
    ("sick", "ill"),
)
SHAPES = {"triangle": 3, "square": 4, "pentagon": 5, "hexagon": 6, "heptagon": 7, "octagon": 8}
COLOURS = ("red", "green", "blue", "yellow", "black", "purple")
SIZES = ("small", "large")
SYMBOLS = ("♥", "♣", "☂", "☼", "♪", "✿", "☘", "❄")
DISHES = (
    *("pumpkin soup", "bean salad", "onion tart", "rice bowl", "mushroom pie", "fish stew"),
    *("apple crumble", "lemon sorbet", "goat cheese toast", "noodle broth"),
)
GENRES = ("action", "comedy", "drama", "horror", "musical", "western")
LOREM = (
    *("lorem", "ipsum", "dolor", "amet", "elit", "sed", "tempor", "magna", "aliqua", "enim"),
    *("minim", "veniam", "quis", "nostrud", "ullamco", "laboris", "nisi", "aliquip", "commodo"),
    *("duis", "aute", "irure", "velit", "esse", "cillum", "fugiat", "nulla", "sint", "culpa"),
)
