"""Fruit collection: eat all fruit on a small grid; each fruit pays in a reward term of its own."""
