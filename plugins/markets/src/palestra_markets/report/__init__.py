"""A run as an HTML page with the market's own plots."""
