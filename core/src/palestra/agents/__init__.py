"""Who decides: agents, their names, their budgets and the models behind them."""
