"""Sealed-bid auctions of one item and of positions on a page."""
