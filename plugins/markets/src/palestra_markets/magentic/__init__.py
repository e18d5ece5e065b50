"""Magentic Marketplace: customers and businesses that search, write, propose and pay."""
