"""Sealed auctions of one thing and of positions."""
