"""A customer service desk over linked records, and the agents that work there."""
