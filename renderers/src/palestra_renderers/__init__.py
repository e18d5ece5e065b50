"""Renderers for Palestra; `plugin.py` registers them."""
