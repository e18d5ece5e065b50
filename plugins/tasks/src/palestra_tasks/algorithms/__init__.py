"""Writing programs: an algorithm, a model, faster code."""
