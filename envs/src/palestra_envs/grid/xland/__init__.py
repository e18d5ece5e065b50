"""XLand on a grid: drawn worlds and objects, and goals that are formulas of what is where."""
