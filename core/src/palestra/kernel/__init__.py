"""Rules, states, episodes and plugins: what everything else is built on."""
