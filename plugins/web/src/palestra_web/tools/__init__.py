"""Typed tools that agents call by name, on top of a generated database."""
