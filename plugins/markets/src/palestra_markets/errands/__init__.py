"""A principal sends an assistant with leanings of their own to shop."""
