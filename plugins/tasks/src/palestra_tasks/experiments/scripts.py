"""Scripts of composed projects: the tools that a workspace offers, starters, and fixed pipelines.

Each pipeline below reads cells in one way, whatever the description of a project says.
"""

from __future__ import annotations

TOOLS = '''
import datetime
import math


def number(cell):
    """A cell as a number, or None if it is none."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def day(cell):
    """The number of a day that is written as 2021-01-31; the next day has the next number."""
    return datetime.date.fromisoformat(cell).toordinal()


def solve(table, right):
    """The solution of linear equations, by Gauss's elimination with pivots."""
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
        rest = sum([table[n][k] * found[k] for k in range(n + 1, size)])
        found[n] = (table[n][size] - rest) / table[n][n]
    return found


def dot(one, other):
    return sum([a * b for a, b in zip(one, other)])


def logistic(x):
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, x))))


def fit(table, targets, link="identity", ridge=0.1):
    """A function from features to the mean of the target, by (reweighted) least squares.

    link is "identity", "log" (of a Poisson mean) or "logit". Features are put on one scale, and
    ridge times their squared weights is added to the loss; a constant is always there.
    """
    columns = [[float(x) for x in column] for column in zip(*table)]
    means = [sum(column) / len(column) for column in columns]
    spreads = []
    for column, mean in zip(columns, means):
        spreads.append(math.sqrt(sum([(x - mean) ** 2 for x in column]) / len(column)) or 1.0)
    scaled = [[1.0] * len(targets)]
    for column, mean, spread in zip(columns, means, spreads):
        scaled.append([(x - mean) / spread for x in column])
    rows = list(zip(*scaled))
    size = len(scaled)
    average = sum(targets) / len(targets)
    weights, sums = [0.0] * size, [0.0] * len(rows)
    if link == "log":
        sums = [math.log((t + average) / 2 + 1e-6) for t in targets]
    for _ in range(1 if link == "identity" else 8):
        if link == "identity":
            slopes, wanted = [1.0] * len(rows), targets
        else:
            if link == "log":
                found = [math.exp(x) for x in sums]
                slopes = [max(f, 1e-6) for f in found]
            else:
                found = [logistic(x) for x in sums]
                slopes = [max(f * (1 - f), 1e-6) for f in found]
            wanted = [s + (t - f) / d for s, t, f, d in zip(sums, targets, found, slopes)]
        left = [[0.0] * size for _ in range(size)]
        right = []
        for n in range(size):
            heavy = [a * b for a, b in zip(scaled[n], slopes)]
            right.append(dot(heavy, wanted))
            for k in range(n, size):
                left[n][k] = left[k][n] = dot(heavy, scaled[k])
            left[n][n] += 1e-9 + (ridge if n else 0.0)
        weights = solve(left, right)
        sums = [max(-30.0, min(30.0, dot(weights, row))) for row in rows]

    def mean_of(features):
        total = weights[0]
        for w, x, mean, spread in zip(weights[1:], features, means, spreads):
            total += w * (x - mean) / spread
        if link == "identity":
            return total
        return math.exp(max(-30.0, min(30.0, total))) if link == "log" else logistic(total)

    return mean_of


def forecast(table, targets, asked, kind, measure):
    """Predictions from features, for a kind of target and a measure.

    kind is "number", "factor" (a positive number whose effects multiply), "count", "two" or
    "several" (classes); measure is "rmse", "mae", "error", "balanced" or "log".
    """
    if kind == "number":
        model = fit(table, targets)
        return [model(row) for row in asked]
    if kind == "factor":
        logs = [math.log(max(t, 1e-6)) for t in targets]
        model = fit(table, logs)
        free = max(1, len(targets) - len(table[0]) - 1)
        noise = sum([(model(row) - t) ** 2 for row, t in zip(table, logs)]) / free
        extra = noise / 2 if measure == "rmse" else 0.0
        return [math.exp(max(-30.0, min(26.0, model(row) + extra))) for row in asked]
    if kind == "count":
        model = fit(table, targets, "log", 1.0)
        means = [min(model(row), 1e6) for row in asked]
        return means if measure == "rmse" else [max(0.0, round(m - 1 / 3)) for m in means]
    steps = []
    for level in range(1, 2 if kind == "two" else 3):
        model = fit(table, [float(t >= level) for t in targets], "logit", 1.0)
        steps.append([model(row) for row in asked])
    if measure == "log":
        return steps[0]
    chances = []
    for row in zip(*steps):
        bounds = [1.0, *row, 0.0]
        chances.append([max(a - b, 0.0) for a, b in zip(bounds, bounds[1:])])
    totals = [max(sum(column), 1e-9) if measure == "balanced" else 1.0 for column in zip(*chances)]
    answers = []
    for row in chances:
        scores = [c / t for c, t in zip(row, totals)]
        answers.append(scores.index(max(scores)))
    return answers
'''.strip()

_STARTER = '''
def predict(rows, targets, queries):
    """Answer every query with {what}."""
    return [{value} for query in queries]
'''.strip()
_FREQUENT = ("the most frequent class", "max(sorted(set(targets)), key=targets.count)")
_MEAN = ("the mean of what is known", "sum(targets) / len(targets)")
_MEDIAN = ("the median of what is known", "sorted(targets)[len(targets) // 2]")
STARTERS = {
    measure: _STARTER.format(what=what, value=value)
    for measure, (what, value) in {
        "rmse": _MEAN,
        "mae": _MEDIAN,
        "error": _FREQUENT,
        "balanced": _FREQUENT,
        "log": _MEAN,
    }.items()
}

NUMERIC = '''
def predict(rows, targets, queries):
    """Use the columns of numbers as they stand; what is no number is the column's mean."""
    columns, means = [], []
    for n in range(len(rows[0])):
        found = [x for x in (number(row[n]) for row in rows) if x is not None]
        if len(found) > len(rows) / 2:
            columns.append(n)
            means.append(sum(found) / len(found))

    def features(row):
        cells = [number(row[n]) for n in columns]
        return [mean if x is None else x for x, mean in zip(cells, means)]

    table, asked = [features(row) for row in rows], [features(row) for row in queries]
    return forecast(table, targets, asked, "{kind}", "{measure}")
'''.strip()

# Clean and encode every column by what its cells look like: numbers are held within the first and
# last hundredth and gaps filled with the median, texts are one-hot, dates count days. Columns that
# are mostly empty in the queries are left out.
ENCODING = '''
def share(cells, test):
    return sum([test(x) for x in cells]) / len(cells)


def is_date(cell):
    return isinstance(cell, str) and len(cell) == 10 and cell[4] == cell[7] == "-"


def encoder(known, asked):
    """A function from a cell to its features, or None for a column that is left out."""
    if share(asked, lambda x: x is None) > 0.5:
        return None
    if share(known, is_date) == 1:
        return lambda cell: [day(cell)]
    if share(known, lambda x: number(x) is not None) > 0.5:
        found = sorted([number(x) for x in known if number(x) is not None])
        low, middle = found[len(found) // 100], found[len(found) // 2]
        high = found[-1 - len(found) // 100]

        def numeric(cell):
            value = number(cell)
            held = middle if value is None else min(max(value, low), high)
            return [held, float(value is None), *more(held, low)]

        return numeric
    levels = sorted(set([str(x) for x in known]))
    if len(levels) > 12:
        return None
    return lambda cell: [float(str(cell) == level) for level in levels[1:]]


def more(value, low):
    {more}


def predict(rows, targets, queries):
    """Fit all columns, each read by what its cells look like."""
    both = [[list(column) for column in zip(*part)] for part in (rows, queries)]
    encoders = [encoder(known, asked) for known, asked in zip(*both)]

    def features(row):
        return [x for cell, code in zip(row, encoders) if code for x in code(cell)]

    table, asked = [features(row) for row in rows], [features(row) for row in queries]
    return forecast(table, targets, asked, "{kind}", "{measure}")
'''.strip()
MORE = {
    "plain": "return []",
    "logs": "return [math.log(max(value - min(low, 0.0), 1e-3))]",
    "squares": "return [value * value]",
}


def fixed_pipelines(kind: str, measure: str) -> tuple[str, ...]:
    """Pipelines that read no description, for a kind of target and a measure."""
    return tuple(
        ENCODING.replace("{more}", more).replace("{kind}", kind).replace("{measure}", measure)
        for more in MORE.values()
    )


def numeric_script(kind: str, measure: str) -> str:
    """The regression on the columns of numbers."""
    return NUMERIC.replace("{kind}", kind).replace("{measure}", measure)
