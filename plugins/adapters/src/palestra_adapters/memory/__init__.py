"""What an agent keeps from one episode to the next, and for how long."""
