"""A run as a page with the market's own plots."""
