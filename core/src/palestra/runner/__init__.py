"""Many episodes at once, with budgets, retries and run folders."""
