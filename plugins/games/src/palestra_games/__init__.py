"""Games for Palestra; `plugin.py` registers them."""
