"""Economic games of words for two, after GLEE."""
