"""A customer service desk over linked records, and who works at it."""
