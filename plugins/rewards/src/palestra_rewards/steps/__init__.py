"""Step shapers: rewards that are paid while an episode runs."""
