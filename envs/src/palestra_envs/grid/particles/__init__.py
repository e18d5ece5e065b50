"""Particles: players are discs that move on a plane, in four scenarios."""
