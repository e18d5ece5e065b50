"""Chess, with the rules of the FIDE Laws of Chess (2023)."""
