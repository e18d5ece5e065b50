"""Plots of shopping for somebody else: how often goals are overridden, and the gains."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.errands.metrics import trips
from palestra_markets.report.plot import Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """By trip: the share of overrides so far, and the gain claimed, made and possible."""
    made = trips(record)
    over = accumulate(trip["advice"] != trip["best"] for trip in made)
    shares = [100 * n / at for at, n in enumerate(over, 1)]
    gains = {
        "claimed": [trip["claim"] for trip in made],
        "had": [trip["worths"][t] if (t := trip["bought"]) >= 0 else 0 for trip in made],
        "possible": [trip["worths"][trip["best"]] for trip in made],
    }
    return [
        Plot("Goals overridden", [over_time("share so far", shares, start=1)], "trip", "percent"),
        Plot(
            "Gains of the principal",
            [over_time(name, row, "step", 1) for name, row in gains.items()], "trip", "money",
        ),
    ]  # fmt: skip
