"""Worlds that make tasks, and teachers who make data."""
