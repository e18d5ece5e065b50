"""Cases decided one by one from noisy notes; every note and every mistake has a price."""
