"""Simulation games: who must trust may first pay to learn what the other will do."""
