"""Shops: an errand in a large catalogue, and a shelf of eight products."""
