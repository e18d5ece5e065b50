"""Web and GUI simulations for Palestra."""
