"""Delivery: robots deliver orders in a city and are paid by profit."""
