"""Level-Based Foraging: players of different strength gather food that may take several of them."""
