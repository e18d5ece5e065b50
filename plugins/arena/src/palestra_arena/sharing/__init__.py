"""Records, policies and leaderboards as a plain folder, here or on the Hugging Face hub."""
