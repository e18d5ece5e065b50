"""A principal sends an assistant with leanings of his own to shop."""
