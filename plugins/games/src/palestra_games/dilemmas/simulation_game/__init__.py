"""Simulation games: a player who must trust may first pay to learn what the other will do."""
