"""Workers, a planner who sets tax rates, and the references both are measured against."""
