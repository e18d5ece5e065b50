"""Code that grid games share; nothing else in the core uses it.

`compass` has the directions to move and to face; `levels` reads maps drawn in characters and
reports errors by line and column; `moving` resolves simultaneous moves without collisions,
independently of the order of seats, and measures distances for rules; `windows` and `sight` say
what a player sees; `paths` finds shortest paths for agents; `words` puts quantities and offsets
into words. What rules use compiles, for CPU and GPU.
"""
