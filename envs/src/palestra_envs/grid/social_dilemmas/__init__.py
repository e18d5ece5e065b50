"""The code shared by Harvest and Clean Up: options, views, words and pictures."""
