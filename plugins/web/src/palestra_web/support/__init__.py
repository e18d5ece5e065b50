"""A service desk with several people at it: customer, support agent, impostor, seller."""
