"""Typed tools that agents call by name, and a generated database behind them."""
