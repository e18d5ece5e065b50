"""Machine-learning engineering: programs that load data, fit, predict and submit."""
