"""Workers, a planner who sets tax rates, and reference agents for both."""
