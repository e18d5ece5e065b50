"""The entries, by shape; one table a module."""
