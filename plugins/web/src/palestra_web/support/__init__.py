"""A service desk shared by a customer, a support agent, an impostor and a seller."""
