"""Typed tools that agents call by name, and a generated world of them."""
