"""Every reference environment through the conformance kit."""

from palestra.testing import conformance

test_conformance = conformance(
    "palestra_envs",
    variants={
        "grid/Foraging-v0": {"sight": 2, "num_players": 3},
        "grid/Particles-v0": {"num_players": 4, "sight": 0.6},
        "grid/Kitchen-v0": {
            "layout": "random",
            "sight": 1,
            "num_players": 3,
            "cook_time": 2,
            "shaped": True,
        },
        "grid/Pursuit-v0": {"map": "random", "rows": 12, "columns": 14, "density": 0.3},
        "grid/Harvest-v0": {"map": "random"},
        "grid/CleanUp-v0": {"map": "random", "initial_waste": 0.3},
        "text/Commons-v0": {
            "num_players": 3,
            "allocation": "pro-rata",
            "universalise": True,
            "scenario": "pasture",
            "newcomer": 2,
        },
        "text/Transport-v0": {"num_players": 4, "rooms": 12, "things": 20, "containers": 4},
        "text/OrderKitchen-v0": {
            "num_players": 4,
            "planner": True,
            "arrivals": 2,
            "services": 2,
            "skills": "hidden",
        },
    },
)
