"""Things of a house that a team carries to one room."""
