"""How array games run: compiled, in batches, on a GPU."""
