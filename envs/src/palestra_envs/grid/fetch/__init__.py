"""Fetch: find the one mug that a user means among several, by asking, remembering and going there."""
