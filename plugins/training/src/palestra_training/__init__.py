"""Language models that learn by playing."""
