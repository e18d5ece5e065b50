"""Particles: players as discs on a plane who push themselves about; four scenarios."""
