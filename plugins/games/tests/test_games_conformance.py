"""Every game through the conformance kit."""

from palestra.testing import conformance

test_conformance = conformance(
    "palestra_games",
    variants={
        "games/Codenames-v0": {"num_players": 6},
        "games/DonorGame-v0": {"num_players": 4, "rounds": 2, "generations": 4},
        "games/Norms-v0": {"num_players": 5, "topics": 2, "generations": 5, "replaced": 0.5},
        "games/PlanPath-v0": {"num_players": 2},
        "games/Sanctions-v0": {"reputation": False, "selection": False},
        "games/SimulationGame-v0": {"grain": 4},
    },
)
