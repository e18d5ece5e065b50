"""Episode shapers: from one finished episode to rewards of its turns."""
