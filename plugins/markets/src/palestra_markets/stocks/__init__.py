"""Daily share trading: a seeded market, the user's own data, and reference investors."""
