"""Rules, states, episodes and plugins, on which everything else is built."""
