"""XLand on a grid: random worlds, objects and goals, which are formulas over relations."""
