"""What grid games need and should not write again; nothing else in the core uses it.

`levels` reads maps drawn in characters and says where one is wrong, by line and column. `moving`
makes the moves that do not collide, whichever seat a player has, and measures ways for rules.
`windows` and `sight` say what a player sees; `paths` finds shortest ways for agents; `words` puts
numbers and places into words. What is used by rules compiles, for CPU and GPU.
"""
