"""Cars push a ball into goals."""
