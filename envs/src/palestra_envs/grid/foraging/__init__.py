"""Level-Based Foraging: players of different strength gather food, together or alone."""
