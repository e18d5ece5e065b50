"""The problems, a module for each family; importing this package registers them all."""

from palestra_tasks.combinatorial.problems import (
    assigning,
    covering,
    graphs,
    packing,
    routing,
    scheduling,
)

__all__ = ["assigning", "covering", "graphs", "packing", "routing", "scheduling"]
