"""The ways to play an episode from existing code; each a thin layer on `Episode`."""
