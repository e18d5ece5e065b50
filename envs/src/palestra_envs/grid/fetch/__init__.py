"""Fetch: find the mug that a user means by asking, recalling and searching."""
