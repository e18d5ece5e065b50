"""Cases decided one by one from noisy notes, where every note and every mistake has a price."""
