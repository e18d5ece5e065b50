"""A shared resource: harvest in secret, then talk, and what was left regrows."""
