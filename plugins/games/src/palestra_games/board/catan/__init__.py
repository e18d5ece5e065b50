"""Catan: settle an island, trade what it yields, and be the first to ten points."""
