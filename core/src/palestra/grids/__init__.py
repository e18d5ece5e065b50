"""What grid games share; nothing else in the core uses it.

`compass` has the ways to move and to face; `levels` reads maps drawn in characters and reports
mistakes by line and column; `moving` makes the moves that do not collide, whichever seat a player
has, and measures distances for rules; `windows` and `sight` say what a player sees; `paths` finds
shortest ways for agents; `words` puts quantities and offsets into words. What rules use compiles,
for CPU and GPU.
"""
