"""Trading shares day by day: a seeded market, the user's own data, and the investors."""
