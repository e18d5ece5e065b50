"""XLand on a grid: worlds, objects and goals are drawn, and a goal is a formula of what is where."""
