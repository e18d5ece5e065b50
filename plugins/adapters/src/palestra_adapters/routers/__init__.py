"""Choosing which agent plays: by auction, by buying under a budget, or by mode."""
