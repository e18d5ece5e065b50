"""Training scripts: what a workspace starts with, and better ones."""

from __future__ import annotations

STARTER = '''
def predict(rows, targets, queries):
    """Answer every query with the mean of what is known, or the class that is most frequent."""
    mean = sum(targets) / len(targets)
    if set(targets) <= {0, 1}:
        mean = 1 if mean > 0.5 else 0
    return [mean for query in queries]
'''.strip()

_LEAST_SQUARES = '''
import math


def expand(row):
    {features}


def solve(table, right):
    """Gauss's elimination with pivots."""
    size = len(right)
    table = [list(line) + [value] for line, value in zip(table, right)]
    for n in range(size):
        best = max(range(n, size), key=lambda k: abs(table[k][n]))
        table[n], table[best] = table[best], table[n]
        for k in range(n + 1, size):
            factor = table[k][n] / table[n][n]
            table[k] = [a - factor * b for a, b in zip(table[k], table[n])]
    found = [0.0] * size
    for n in reversed(range(size)):
        rest = sum(table[n][k] * found[k] for k in range(n + 1, size))
        found[n] = (table[n][size] - rest) / table[n][n]
    return found


def predict(rows, targets, queries):
    """Least squares."""
    known = [expand(row) for row in rows]
    columns = list(zip(*known))
    table = [[sum(x * y for x, y in zip(a, b)) for b in columns] for a in columns]
    for n in range(len(table)):
        table[n][n] += 1e-8
    right = [sum(x * t for x, t in zip(a, targets)) for a in columns]
    weights = solve(table, right)
    found = [sum(w * x for w, x in zip(weights, expand(query))) for query in queries]
    if set(targets) <= {{0, 1}}:
        return [1 if value > 0.5 else 0 for value in found]
    return found
'''.strip()

LINEAR = _LEAST_SQUARES.format(features="return [1.0] + [float(x) for x in row]")
QUADRATIC = _LEAST_SQUARES.format(
    features=(
        "line = [1.0] + [float(x) for x in row]\n"
        "    return [a * b for n, a in enumerate(line) for b in line[n:]]"
    )
)
SEASONAL = _LEAST_SQUARES.format(
    features=(
        "turn = 2 * math.pi * row[0] / 12\n"
        "    return [1.0, float(row[0]), math.sin(turn), math.cos(turn)]"
    )
)
NEIGHBOURS = '''
def predict(rows, targets, queries):
    """The mean, or the most frequent class, of the five nearest rows."""
    found = []
    for query in queries:
        far = [sum((a - b) ** 2 for a, b in zip(row, query)) for row in rows]
        near = sorted(range(len(rows)), key=lambda n: far[n])[:5]
        found.append(sum(targets[n] for n in near) / 5)
    if set(targets) <= {0, 1}:
        return [1 if value > 0.5 else 0 for value in found]
    return found
'''.strip()
