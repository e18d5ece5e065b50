"""Hanabi: build fireworks together, seeing every hand but your own."""
