"""Puzzles and planning."""
