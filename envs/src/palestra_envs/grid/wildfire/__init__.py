"""A wildfire in the wind, fought by planes."""
