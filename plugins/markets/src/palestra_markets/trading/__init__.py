"""Trading on an order book."""
