"""Grid worlds: many players, partial views, simultaneous moves."""
