"""The live page of a run: boards being played, standings and curves, on loopback."""
