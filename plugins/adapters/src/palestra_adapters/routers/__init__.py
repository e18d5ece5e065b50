"""Choosing who plays: by auction, or by buying what is worth its price."""
