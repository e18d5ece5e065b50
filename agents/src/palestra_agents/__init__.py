"""Agents for Palestra; `plugin.py` registers them."""
