"""Signal foraging: players with partial knowledge find food together, speaking only in tokens."""
