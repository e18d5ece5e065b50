"""Environments for Palestra; `plugin.py` registers them."""
