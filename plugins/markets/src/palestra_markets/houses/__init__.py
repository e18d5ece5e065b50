"""Houses sold one by one to bidders with tastes and budgets."""
