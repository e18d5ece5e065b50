"""Proximal policy optimisation over the batch view: network, training, and the trained agent."""
