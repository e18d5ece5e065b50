"""Engineering designs under constraints."""
