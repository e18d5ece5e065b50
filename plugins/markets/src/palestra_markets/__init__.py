"""Economies that agents can live in; see `plugin.py` for what this plugin gives."""
