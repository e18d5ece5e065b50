"""Shops: an errand in a large catalogue, and a shelf on which one product is chosen."""
