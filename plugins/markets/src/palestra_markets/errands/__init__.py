"""A principal shops through an assistant who has preferences of their own."""
