"""Signal foraging: players who each know a part find food together, with nothing but tokens."""
