"""Path finding: many players walk to goals of their own and get a new one after each."""
