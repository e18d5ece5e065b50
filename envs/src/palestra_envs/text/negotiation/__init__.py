"""Deal or No Deal: two players with private values divide a few items, and must agree."""
