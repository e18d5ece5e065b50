"""Delivery: robots bring orders through a city, and what counts is profit."""
