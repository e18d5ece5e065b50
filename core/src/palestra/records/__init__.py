"""Records of episodes, and numbers computed from them."""
