"""Collaboration maze: each player sees a part of a map, and all must agree on every step."""
