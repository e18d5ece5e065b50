"""Two-player economic games played in natural language, after GLEE."""
