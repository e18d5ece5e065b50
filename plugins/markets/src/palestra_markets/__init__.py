"""Economic environments for agents; `plugin.py` registers them."""
