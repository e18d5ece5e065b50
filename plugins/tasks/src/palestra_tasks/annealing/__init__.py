"""Simulated annealing whose proposals are a policy."""
