"""Behaviour that a temporal formula specifies, and an agent that keeps to it."""
