"""Tasks assigned to agents of different strength and price by an auction of plans."""
