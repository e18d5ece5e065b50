"""Agents: how they are named, what they may spend, and the models behind them."""
