"""Searches over workflows: each published optimiser of agents is one file with its own rule."""
