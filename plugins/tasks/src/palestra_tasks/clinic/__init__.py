"""Simulated people in need: studies of agents, and no advice."""
