"""Houses auctioned one by one to bidders with private tastes and budgets."""
