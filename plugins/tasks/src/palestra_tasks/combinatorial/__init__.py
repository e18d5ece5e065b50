"""Combinatorial problems: instances, verifiers, optima and bounds."""
