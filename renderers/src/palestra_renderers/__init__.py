"""A Palestra plugin; see `plugin.py` for what it gives."""
