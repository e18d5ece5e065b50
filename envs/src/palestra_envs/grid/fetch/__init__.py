"""Fetch: find the one mug that a user means, by asking, remembering and going there."""
