"""What Harvest and Clean Up have in common: options, views, words and pictures."""
