"""Steps of which functions are composed: what each does in words, a slow program and a better one.

A step works on the list `values` of numbers from 0 up. A map replaces each value, a filter keeps
some, a scan gives each place a new value by looking at many places, and a total ends the function.
A scan or a total has a slow program of two nested loops and a better one that grows as n or
n log n; `technique` is what the better one rests on. Scans and totals are products of their parts:
which places are looked at (earlier or later ones, windows, ranges, all), in which relation they
stand to the place, and how they are folded.

`$k` in a text is the number of a step, `n` the length of `values`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from string import Template
from typing import Literal

Kind = Literal["filter", "map", "scan", "total"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a composed function; `slow` and `better` are lines of Python inside of solve."""

    name: str
    kind: Kind
    says: str  # what it does, in words that no other step has
    slow: str
    better: str
    technique: str = ""  # of the better program
    rare: bool = False  # held out of training splits

    def lines(self, number: int, *, better: bool) -> str:
        return Template(self.better if better else self.slow).substitute(k=number).strip("\n")


def _plain(name: str, kind: Kind, says: str, line: str, *, rare: bool = False) -> Step:
    """A step that takes one line for each value, in both programs."""
    return Step(name=name, kind=kind, says=says, slow=line, better=line, rare=rare)


def _indented(text: str, depth: int) -> str:
    return text.strip("\n").replace("\n", "\n" + "    " * depth)


FILTERS = (
    _plain("thirds", "filter", "Drop the multiples of 3.", "values = [v for v in values if v % 3]"),
    _plain(
        "falls",
        "filter",
        "Drop each value that is less than half of the value directly before it.",
        "values = [v for i, v in enumerate(values) if not i or 2 * v >= values[i - 1]]",
    ),
    _plain(
        "residue",
        "filter",
        "Drop the values whose remainder by 4 is 1.",
        "values = [v for v in values if v % 4 != 1]",
        rare=True,
    ),
    _plain(
        "digit",
        "filter",
        "Drop the values whose last digit is below 3.",
        "values = [v for v in values if v % 10 > 2]",
        rare=True,
    ),
)

MODULUS = "m = len(values) // 2 + $k\n"
REMAINDER = "by m, where m is half of n, rounded down, plus $k."


def _map(name: str, says: str, expression: str, *, rare: bool = False) -> Step:
    line = f"{MODULUS}values = [{expression} for i, v in enumerate(values)]"
    return _plain(name, "map", f"{says} {REMAINDER}", line, rare=rare)


MAPS = (
    _map("remainder", "Replace each value by its remainder", "v % m"),
    _map("weighted", "Multiply each value by its place and take the remainder", "v * i % m"),
    _map(
        "difference",
        "Replace each value by its distance from the value before (the first by its distance from "
        "the last) and take the remainder",
        "abs(v - values[i - 1]) % m",
    ),
    _map("square", "Square each value and take the remainder", "v * v % m", rare=True),
    _map(
        "shifted",
        "Add to each value the value before it (to the first the last) and take the remainder",
        "(v + values[i - 1]) % m",
    ),
    _map(
        "bits",
        "Take the exclusive or of each value and its place and take the remainder",
        "(v ^ i) % m",
        rare=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Relation:
    """How another value w stands to a value v; equal keys say the same of both."""

    name: str
    says: str
    holds: str  # of w and v
    key: str  # of the value that is kept, as v
    wanted: str  # key of the values that stand so to v
    rare: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    """What is made of the places that are looked at."""

    name: str
    says: str
    add: str  # in the slow program, for a place j
    read: str  # in the better one, a value of `new`
    keep: str = ""
    rare: bool = False


RELATIONS = (
    Relation("equal", "hold the same value", "values[j] == values[i]", "v", "v"),
    Relation(
        "alike",
        "hold a value with the same remainder by $k",
        "values[j] % $k == values[i] % $k",
        "v % $k",
        "v % $k",
    ),
    Relation(
        "complement",
        "hold a value whose sum with its own is half of n, rounded down",
        "values[j] + values[i] == len(values) // 2",
        "v",
        "len(values) // 2 - v",
    ),
    Relation(
        "above", "hold a value that is larger by $k", "values[j] == values[i] + $k", "v", "v + $k",
        True,
    ),
    Relation(
        "multiple",
        "hold a value whose sum with its own is a multiple of $k",
        "(values[j] + values[i]) % $k == 0",
        "v % $k",
        "-v % $k",
        True,
    ),
)  # fmt: skip
FOLDS = (
    Fold(
        "count", "the number of {places} that {relation}",
        "found += 1", "seen.get({wanted}, 0)", "seen[{key}] = seen.get({key}, 0) + 1",
    ),
    Fold(
        "nearest", "the distance to the nearest of the {places} that {relation}, or 0",
        "found = min(found or abs(i - j), abs(i - j))",
        "i - seen.get({wanted}, i)", "seen[{key}] = i",
    ),
    Fold(
        "furthest", "the distance to the furthest of the {places} that {relation}, or 0",
        "found = max(found, abs(i - j))",
        "i - seen.get({wanted}, i)", "seen.setdefault({key}, i)",
    ),
    Fold(
        "distances", "the sum of the distances to the {places} that {relation}",
        "found += abs(i - j)", "i * many.get({wanted}, 0) - seen.get({wanted}, 0)",
        "seen[{key}] = seen.get({key}, 0) + i\nmany[{key}] = many.get({key}, 0) + 1", True,
    ),
)  # fmt: skip
SIDES = ("earlier", "later")
PLACES = {"earlier": "range(i)", "later": "range(i + 1, len(values))"}


def _slow_scan(places: str, condition: str, add: str, *, begin: str = "0") -> str:
    """Two nested loops; without a condition every place counts."""
    inner = f"if {condition}:\n    {add}" if condition else add
    return f"""
new = []
for i in range(len(values)):
    found = {begin}
    for j in {places}:
        {_indented(inner, 2)}
    new.append(found)
values = new
"""


def _turned(side: str, code: str) -> str:
    """A scan of earlier places, or of later ones by turning the list around."""
    body = code.strip("\n")
    return body if side == "earlier" else f"values.reverse()\n{body}\nvalues.reverse()"


def _keyed(side: str, relation: Relation, fold: Fold) -> Step:
    words = {"places": f"{side} places", "relation": relation.says}
    keys = {"key": relation.key, "wanted": relation.wanted}
    better = f"""
seen, many, new = {{}}, {{}}, []
for i, v in enumerate(values):
    new.append({fold.read.format(**keys)})
    {_indented(fold.keep.format(**keys), 1)}
values = new
"""
    return Step(
        name=f"{side}-{relation.name}-{fold.name}",
        kind="scan",
        says=f"Give each place {fold.says.format(**words)}.",
        slow=_slow_scan(PLACES[side], relation.holds, fold.add),
        better=_turned(side, better),
        technique="hashing",
        rare=relation.rare or fold.rare,
    )


ORDERS = {"smaller": "<", "larger": ">"}


def _order_count(sign: str) -> str:
    read = "bisect_left(order, v)" if sign == "<" else "len(order) - bisect_right(order, v)"
    return f"""
order, new = [], []
for v in values:
    new.append({read})
    insort(order, v)
values = new
"""


def _order_nearest(sign: str) -> str:
    return f"""
stack, new = [], []
for i, v in enumerate(values):
    while stack and not values[stack[-1]] {sign} v:
        stack.pop()
    new.append(i - stack[-1] if stack else 0)
    stack.append(i)
values = new
"""


def _order_sum(sign: str) -> str:
    """Sums by value in a Fenwick tree."""
    rank = "v" if sign == "<" else "top - v"
    return f"""
top = max(values, default=0)
tree, new = [0] * (top + 2), []
for v in values:
    at, found = {rank}, 0
    while at:
        found += tree[at]
        at &= at - 1
    new.append(found)
    at = {rank} + 1
    while at < len(tree):
        tree[at] += v
        at += at & -at
values = new
"""


def _order_next(sign: str) -> str:
    """The next value in order among those seen."""
    if sign == "<":
        at, read = "bisect_left(order, v)", "order[at - 1] if at else 0"
    else:
        at, read = "bisect_right(order, v)", "order[at] if at < len(order) else 0"
    return f"""
order, new = [], []
for v in values:
    at = {at}
    new.append({read})
    order.insert({"at" if sign == "<" else "bisect_left(order, v)"}, v)
values = new
"""


# Name, words, what the slow program adds for a place j, the better program, its technique
ORDER_FOLDS = (
    ("count", "the number of {places} that {value}", "found += 1", _order_count, "sorting"),
    (
        "nearest",
        "the distance to the nearest of the {places} that {value}, or 0",
        "found = min(found or abs(i - j), abs(i - j))",
        _order_nearest,
        "stack",
    ),
    (
        "sum",
        "the sum of the values at {places} that {value}",
        "found += values[j]",
        _order_sum,
        "tree",
    ),
    (
        "next",
        "the {next} value at {places} that {value}, or 0",
        "{next_add}",
        _order_next,
        "sorting",
    ),
)
NEXT = {
    "smaller": ("largest", "found = max(found, values[j])"),
    "larger": ("smallest", "found = min(found or values[j], values[j])"),
}


def _ordered(side: str, order: str) -> tuple[Step, ...]:
    sign, (closest, add_next) = ORDERS[order], NEXT[order]
    words = {"places": f"{side} places", "value": f"hold a {order} value", "next": closest}
    return tuple(
        Step(
            name=f"{side}-{order}-{name}",
            kind="scan",
            says=f"Give each place {says.format(**words)}.",
            slow=_slow_scan(
                PLACES[side], f"values[j] {sign} values[i]", add.format(next_add=add_next)
            ),
            better=_turned(side, code(sign)),
            technique=technique,
            rare=name == "next",
        )
        for name, says, add, code, technique in ORDER_FOLDS
    )


SUMMED = {"sum": ("the sum of the values", "v"), "odd": ("the number of odd values", "v % 2")}
WIDTH = "len(values) // 4"
WINDOWS = {
    "earlier": f"range(max(0, i - {WIDTH}), i + 1)",
    "later": f"range(i, min(len(values), i + {WIDTH} + 1))",
}
EXTREMES = {"largest": ("max", "<="), "smallest": ("min", ">=")}


def _window_says(side: str, what: str) -> str:
    return (
        f"Give each place {what} at that place and at the w places "
        f"{'before' if side == 'earlier' else 'after'} it, as far as there are so many, where "
        "w is a quarter of n, rounded down."
    )


def _window_sum(side: str, fold: str) -> Step:
    what, term = SUMMED[fold]
    better = f"""
w, sums = {WIDTH}, [0, *accumulate({term} for v in values)]
values = [sums[i + 1] - sums[max(0, i - w)] for i in range(len(values))]
"""
    add = f"found += {term.replace('v', 'values[j]')}"
    return Step(
        name=f"window-{side}-{fold}",
        kind="scan",
        says=_window_says(side, what),
        slow=_slow_scan(WINDOWS[side], "", add),
        better=_turned(side, better),
        technique="sums",
        rare=fold == "odd",
    )


def _window_extreme(side: str, fold: str) -> Step:
    pick, beaten = EXTREMES[fold]
    better = f"""
w, line, new = {WIDTH}, deque(), []
for i, v in enumerate(values):
    while line and values[line[-1]] {beaten} v:
        line.pop()
    line.append(i)
    if line[0] < i - w:
        line.popleft()
    new.append(values[line[0]])
values = new
"""
    return Step(
        name=f"window-{side}-{fold}",
        kind="scan",
        says=_window_says(side, f"the {fold} of the values"),
        slow=_slow_scan(WINDOWS[side], "", f"found = {pick}(found, values[j])", begin="values[i]"),
        better=_turned(side, better),
        technique="queue",
        rare=fold == "smallest",
    )


RANGE = (
    "Give each place {} at the places from its own to the one that its value names, modulo n, both "
    "included."
)
BETWEEN = "range(min(i, values[i] % len(values)), max(i, values[i] % len(values)) + 1)"
ENDS = "ends = [(min(i, v % len(values)), max(i, v % len(values)) + 1) for i, v in {}]"


def _range_sum(fold: str) -> Step:
    what, term = SUMMED[fold]
    better = f"""
sums = [0, *accumulate({term} for v in values)]
{ENDS.format("enumerate(values)")}
values = [sums[b] - sums[a] for a, b in ends]
"""
    return Step(
        name=f"range-{fold}",
        kind="scan",
        says=RANGE.format(what),
        slow=_slow_scan(BETWEEN, "", f"found += {term.replace('v', 'values[j]')}"),
        better=better,
        technique="sums",
        rare=fold == "odd",
    )


def _range_extreme(fold: str) -> Step:
    """The better program keeps the best of every 1, 2, 4, … neighbours."""
    pick, _ = EXTREMES[fold]
    better = f"""
{ENDS.format("enumerate(values)")}
rows = [values]
while 2 << len(rows) - 1 <= len(values):
    half = 1 << len(rows) - 1
    rows.append(list(map({pick}, rows[-1], rows[-1][half:])))
new = []
for a, b in ends:
    p = (b - a).bit_length() - 1
    new.append({pick}(rows[p][a], rows[p][b - (1 << p)]))
values = new
"""
    return Step(
        name=f"range-{fold}",
        kind="scan",
        says=RANGE.format(f"the {fold} of the values"),
        slow=_slow_scan(BETWEEN, "", f"found = {pick}(found, values[j])", begin="values[i]"),
        better=better,
        technique="doubling",
        rare=fold == "smallest",
    )


ALL = "range(len(values))"
OVERALL = (
    Step(
        name="all-smaller-count",
        kind="scan",
        says="Give each place the number of places, of all, that hold a smaller value.",
        slow=_slow_scan(ALL, "values[j] < values[i]", "found += 1"),
        better="order = sorted(values)\nvalues = [bisect_left(order, v) for v in values]",
        technique="sorting",
    ),
    Step(
        name="all-near-count",
        kind="scan",
        says="Give each place the number of places, of all, whose value is at most $k away.",
        slow=_slow_scan(ALL, "abs(values[j] - values[i]) <= $k", "found += 1"),
        better="""
order = sorted(values)
values = [bisect_right(order, v + $k) - bisect_left(order, v - $k) for v in values]
""",
        technique="sorting",
    ),
    Step(
        name="all-difference-sum",
        kind="scan",
        says="Give each place the sum of the differences, without sign, between its value and all.",
        slow=_slow_scan(ALL, "", "found += abs(values[j] - values[i])"),
        better="""
order = sorted(values)
sums, new = [0, *accumulate(order)], []
for v in values:
    at = bisect_left(order, v)
    new.append(sums[-1] - 2 * sums[at] - v * (len(order) - 2 * at))
values = new
""",
        technique="sorting",
        rare=True,
    ),
)

SCANS = (
    *(_keyed(side, relation, fold) for side, relation, fold in product(SIDES, RELATIONS, FOLDS)),
    *(step for side, order in product(SIDES, ORDERS) for step in _ordered(side, order)),
    *(_window_sum(side, fold) for side, fold in product(SIDES, SUMMED)),
    *(_window_extreme(side, fold) for side, fold in product(SIDES, EXTREMES)),
    *map(_range_sum, SUMMED),
    *map(_range_extreme, EXTREMES),
    *OVERALL,
)


# Totals over stretches of neighbours


@dataclass(frozen=True, slots=True)
class Combination:
    """What is made of the stretches that fulfil a condition."""

    name: str
    says: str
    add: str  # in the slow program, for a stretch from i to j
    fold: str  # in the better one, when the stretches that end at j begin at left or later
    keep: str  # what is kept of a place i with a key
    read: str  # and what is added where the key is met again, at j
    rare: bool = False


COMBINATIONS = (
    Combination(
        "count", "the number of stretches",
        "answer += 1", "answer += j - left + 1",
        "seen[key] = seen.get(key, 0) + 1", "answer += seen.get(key, 0)",
    ),
    Combination(
        "longest", "the length of the longest stretch",
        "answer = max(answer, j - i + 1)", "answer = max(answer, j - left + 1)",
        "seen.setdefault(key, j)", "answer = max(answer, j - seen.get(key, j))",
    ),
    Combination(
        "lengths", "the sum of the lengths of the stretches",
        "answer += j - i + 1", "answer += (j - left + 1) * (j - left + 2) // 2",
        "seen[key] = seen.get(key, 0) + j\n    many[key] = many.get(key, 0) + 1",
        "answer += j * many.get(key, 0) - seen.get(key, 0)", True,
    ),
)  # fmt: skip


def _slow_stretches(begin: str, grow: str, add: str) -> str:
    return f"""
answer = 0
for i in range(len(values)):
    {begin}
    for j in range(i, len(values)):
        {_indented(grow, 2)}
        {_indented(add, 2)}
"""


@dataclass(frozen=True, slots=True)
class SumCondition:
    """A condition on the sum of a term of each value; it holds where the key of the sum is 0."""

    name: str
    says: str
    term: str  # of a value v
    key: str  # of the sum, `total`
    rare: bool = False


SUM_CONDITIONS = (
    SumCondition("divisible", "whose sum is a multiple of $k", "v", "total % $k"),
    SumCondition("odd-even", "with as many odd as even values", "v % 2 * 2 - 1", "total"),
    SumCondition(
        "odd-multiple",
        "whose number of odd values is a multiple of $k",
        "v % 2",
        "total % $k",
        True,
    ),
)


def _stretch_sum(condition: SumCondition, combination: Combination) -> Step:
    term, key = condition.term, condition.key
    grow = f"v = values[j]\ntotal += {term}"
    slow = _slow_stretches("total = 0", grow, f"if {key} == 0:\n    {combination.add}")
    better = f"""
answer, total, key, j, seen, many = 0, 0, 0, 0, {{}}, {{}}
{combination.keep.replace("    ", "")}
for j, v in enumerate(values, 1):
    total += {term}
    key = {key}
    {combination.read}
    {combination.keep}
"""
    return Step(
        name=f"stretch-{condition.name}-{combination.name}",
        kind="total",
        says=f"The result is {combination.says} of neighbours {condition.says}.",
        slow=slow,
        better=better,
        technique="hashing",
        rare=condition.rare or combination.rare,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """A condition that holds for each part of a stretch for which it holds.

    So the first place of the longest such stretch that ends at j, `left`, only moves to the right.
    """

    name: str
    says: str
    begin: str  # of a stretch, in the slow program
    grow: str  # by a place j
    holds: str
    start: str  # of the better program
    move: str  # of left, for a place j with the value v
    rare: bool = False


NARROWINGS = (
    Narrowing(
        name="different",
        says="without a value twice",
        begin="seen, again = set(), False",
        grow="again = again or values[j] in seen\nseen.add(values[j])",
        holds="not again",
        start="last = {}",
        move="left = max(left, last.get(v, -1) + 1)\nlast[v] = j",
    ),
    Narrowing(
        name="light",
        says="with a sum of at most n",
        begin="total = 0",
        grow="total += values[j]",
        holds="total <= len(values)",
        start="total = 0",
        move="total += v\nwhile total > len(values):\n    total -= values[left]\n    left += 1",
    ),
    Narrowing(
        name="level",
        says="whose largest and smallest value differ by at most a quarter of n, rounded down",
        begin="low = high = values[i]",
        grow="low, high = min(low, values[j]), max(high, values[j])",
        holds="high - low <= len(values) // 4",
        start="low, high = deque(), deque()",
        move="while low and values[low[-1]] >= v:\n    low.pop()\nlow.append(j)\n"
        "while high and values[high[-1]] <= v:\n    high.pop()\nhigh.append(j)\n"
        "while values[high[0]] - values[low[0]] > len(values) // 4:\n    left += 1\n"
        "    if low[0] < left:\n        low.popleft()\n"
        "    if high[0] < left:\n        high.popleft()",
    ),
    Narrowing(
        name="few",
        says="with at most $k different values",
        begin="seen = set()",
        grow="seen.add(values[j])",
        holds="len(seen) <= $k",
        start="many = Counter()",
        move="many[v] += 1\nwhile len(many) > $k:\n    many[values[left]] -= 1\n"
        "    if not many[values[left]]:\n        del many[values[left]]\n    left += 1",
        rare=True,
    ),
)


def _stretch_narrowing(condition: Narrowing, combination: Combination) -> Step:
    better = f"""
answer, left = 0, 0
{condition.start}
for j, v in enumerate(values):
    {_indented(condition.move, 1)}
    {combination.fold}
"""
    return Step(
        name=f"stretch-{condition.name}-{combination.name}",
        kind="total",
        says=f"The result is {combination.says} of neighbours {condition.says}.",
        slow=_slow_stretches(
            condition.begin, condition.grow, f"if {condition.holds}:\n    {combination.add}"
        ),
        better=better,
        technique="pointers",
        rare=condition.rare or combination.rare,
    )


def _stretch_extreme(fold: str) -> Step:
    """The sum over stretches of their largest or smallest value."""
    pick, beaten = EXTREMES[fold]
    better = f"""
answer, now, stack = 0, 0, []
for v in values:
    many = 1
    while stack and stack[-1][0] {beaten} v:
        other, count = stack.pop()
        now, many = now - other * count, many + count
    stack.append((v, many))
    now += v * many
    answer += now
"""
    return Step(
        name=f"stretch-{fold}",
        kind="total",
        says=f"The result is the sum, over all stretches of neighbours, of their {fold} value.",
        slow=_slow_stretches(
            "best = values[i]", f"best = {pick}(best, values[j])", "answer += best"
        ),
        better=better,
        technique="stack",
        rare=fold == "smallest",
    )


# Totals over values chosen in their order

RISING = {"rising": ("<", "left", "v"), "not falling": ("<=", "right", "v + 1")}


def _slow_chosen(begin: str, condition: str, add: str, end: str) -> str:
    return f"""
best = []
for i in range(len(values)):
    found = {begin}
    for j in range(i):
        if {condition}:
            {add}
    best.append(found)
{end}
"""


def _chosen_longest(order: str) -> Step:
    sign, side, _ = RISING[order]
    better = f"""
ends = []
for v in values:
    at = bisect_{side}(ends, v)
    ends[at:at + 1] = [v]
answer = len(ends)
"""
    return Step(
        name=f"{order.replace(' ', '-')}-longest",
        kind="total",
        says=f"The result is the most values that can be chosen, in their order, so that they are "
        f"{order}.",
        slow=_slow_chosen(
            "1",
            f"values[j] {sign} values[i]",
            "found = max(found, best[j] + 1)",
            "answer = max(best, default=0)",
        ),
        better=better,
        technique="sorting",
        rare=order != "rising",
    )


def _chosen_sum(order: str) -> Step:
    """The better program keeps the best sums by last value in a Fenwick tree."""
    sign, _, rank = RISING[order]
    better = f"""
answer, tree = 0, [0] * (max(values, default=0) + 2)
for v in values:
    at, found = {rank}, v
    while at:
        found = max(found, tree[at] + v)
        at &= at - 1
    answer, at = max(answer, found), v + 1
    while at < len(tree) and tree[at] < found:
        tree[at] = found
        at += at & -at
"""
    return Step(
        name=f"{order.replace(' ', '-')}-sum",
        kind="total",
        says=f"The result is the largest sum of values that are chosen, in their order, so that "
        f"they are {order}.",
        slow=_slow_chosen(
            "values[i]",
            f"values[j] {sign} values[i]",
            "found = max(found, best[j] + values[i])",
            "answer = max(best, default=0)",
        ),
        better=better,
        technique="tree",
        rare=order != "rising",
    )


APART = Step(
    name="apart-sum",
    kind="total",
    says="The result is the largest sum of values at places that are all $k or more apart.",
    slow=_slow_chosen(
        "values[i]",
        "i - j >= $k",
        "found = max(found, best[j] + values[i])",
        "answer = max(best, default=0)",
    ),
    better="""
best, answer = [], 0
for i, v in enumerate(values):
    answer = max(answer, v + (best[i - $k] if i >= $k else 0))
    best.append(answer)
""",
    technique="sums",
)

TOTALS = (
    *(_stretch_sum(one, two) for one, two in product(SUM_CONDITIONS, COMBINATIONS)),
    *(_stretch_narrowing(one, two) for one, two in product(NARROWINGS, COMBINATIONS)),
    *map(_stretch_extreme, EXTREMES),
    *map(_chosen_longest, RISING),
    *map(_chosen_sum, RISING),
    APART,
)
STEPS = {step.name: step for step in (*FILTERS, *MAPS, *SCANS, *TOTALS)}
