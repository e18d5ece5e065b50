"""Path finding: many players cross a map to goals of their own; each one reached brings another."""
