"""Slow functions to make faster, with generators of their arguments.

Each is correct and wasteful; `better` does the same with far fewer lines executed. On a `large`
argument `better` takes a quarter of a second of processor time or less, while the slow program, and
one that leaves its work to built-in functions, take several times the two seconds there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palestra import Rng


@dataclass(frozen=True, slots=True)
class Kernel:
    """A task of speed: what `solve` computes, a slow program, a better one, and arguments.

    `draw` takes a size.
    """

    name: str
    task: str
    slow: str
    better: str
    draw: Callable[[Rng, int], Any]
    large: Callable[[Rng], Any]


def _numbers(low: int, high: int) -> Callable[[Rng, int], Any]:
    return lambda rng, size: [rng.between(low, high) for _ in range(size)]


def _residues(rng: Rng, side: int) -> Any:
    return [[rng.below(10007) for _ in range(side)] for _ in range(side)]


def _edges(rng: Rng, size: int) -> Any:
    nodes = max(4, size // 3)
    return [nodes, [[rng.below(nodes), rng.below(nodes), rng.between(1, 20)] for _ in range(size)]]


def _words(rng: Rng, size: int) -> Any:
    return ["".join(rng.choice("abc") for _ in range(size // 2)) for _ in range(2)]


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel(
            "pairs",
            "solve(numbers) counts the pairs i < j with numbers[i] == numbers[j].",
            """
def solve(numbers):
    count = 0
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] == numbers[j]:
                count += 1
    return count
""",
            """
from collections import Counter
def solve(numbers):
    return sum(n * (n - 1) // 2 for n in Counter(numbers).values())
""",
            _numbers(0, 30),
            lambda rng: _numbers(0, 30)(rng, 150_000),
        ),
        Kernel(
            "best-stretch",
            "solve(numbers) is the largest sum of a stretch of neighbours, at least one of them.",
            """
def solve(numbers):
    best = numbers[0]
    for i in range(len(numbers)):
        for j in range(i, len(numbers)):
            total = 0
            for k in range(i, j + 1):
                total += numbers[k]
            if total > best:
                best = total
    return best
""",
            """
def solve(numbers):
    best = now = numbers[0]
    for n in numbers[1:]:
        now = max(n, now + n)
        best = max(best, now)
    return best
""",
            lambda rng, size: [rng.between(-20, 20) for _ in range(size // 2)],
            lambda rng: _numbers(-20, 20)(rng, 40_000),
        ),
        Kernel(
            "inversions",
            "solve(numbers) counts the pairs i < j with numbers[i] > numbers[j].",
            """
def solve(numbers):
    count = 0
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] > numbers[j]:
                count += 1
    return count
""",
            """
import bisect
def solve(numbers):
    seen, count = [], 0
    for n in reversed(numbers):
        count += bisect.bisect_left(seen, n)
        bisect.insort(seen, n)
    return count
""",
            _numbers(0, 1000),
            lambda rng: _numbers(0, 100_000)(rng, 60_000),
        ),
        Kernel(
            "common-subsequence",
            "solve(words) is the length of the longest common subsequence of its two words.",
            """
def solve(words):
    a, b = words
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1][j + 1] = table[i][j] + 1
            elif table[i][j + 1] > table[i + 1][j]:
                table[i + 1][j + 1] = table[i][j + 1]
            else:
                table[i + 1][j + 1] = table[i + 1][j]
    return table[len(a)][len(b)]
""",
            """
def solve(words):
    a, b = words
    where = {}
    for j, letter in enumerate(b):
        where[letter] = where.get(letter, 0) | 1 << j
    row, full = (1 << len(b)) - 1, (1 << len(b)) - 1
    for letter in a:
        match = row & where.get(letter, 0)
        row = (row + match | row - match) & full
    return len(b) - bin(row).count('1')
""",
            _words,
            lambda rng: _words(rng, 40_000),
        ),
        Kernel(
            "matrix-power",
            "solve(matrix) is its 64th power modulo 10007, as a list of rows.",
            """
def solve(matrix):
    n, power = len(matrix), matrix
    for _ in range(63):
        new = []
        for i in range(n):
            row = []
            for j in range(n):
                total = 0
                for k in range(n):
                    total += power[i][k] * matrix[k][j]
                row.append(total % 10007)
            new.append(row)
        power = new
    return power
""",
            """
def solve(matrix):
    power = matrix
    for _ in range(6):
        columns = list(zip(*power))
        power = [[sum(a * b for a, b in zip(row, col)) % 10007 for col in columns] for row in power]
    return power
""",
            lambda rng, size: _residues(rng, max(2, size // 20)),
            lambda rng: _residues(rng, 100),
        ),
        Kernel(
            "shortest-ways",
            "solve([n, edges]) lists the shortest distance from node 0 to each node along the "
            "directed edges [u, v, length]; -1 where there is no way.",
            """
def solve(graph):
    n, edges = graph
    far = [-1] * n
    far[0] = 0
    for _ in range(n):
        for u, v, length in edges:
            if far[u] >= 0:
                if far[v] < 0 or far[u] + length < far[v]:
                    far[v] = far[u] + length
    return far
""",
            """
import heapq
def solve(graph):
    n, edges = graph
    near = [[] for _ in range(n)]
    for u, v, length in edges:
        near[u].append((v, length))
    far, heap = [-1] * n, [(0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if far[u] < 0:
            far[u] = d
            for v, length in near[u]:
                heapq.heappush(heap, (d + length, v))
    return far
""",
            _edges,
            lambda rng: _edges(rng, 60_000),
        ),
        Kernel(
            "smoothing",
            "solve(numbers) replaces each number by the sum of those at most 10 places away.",
            """
def solve(numbers):
    out = []
    for i in range(len(numbers)):
        total = 0
        for j in range(len(numbers)):
            if abs(i - j) <= 10:
                total += numbers[j]
        out.append(total)
    return out
""",
            """
from itertools import accumulate
def solve(numbers):
    sums = [0, *accumulate(numbers)]
    n = len(numbers)
    return [sums[min(n, i + 11)] - sums[max(0, i - 10)] for i in range(n)]
""",
            _numbers(-50, 50),
            lambda rng: _numbers(-50, 50)(rng, 40_000),
        ),
        Kernel(
            "sieve",
            "solve(numbers) lists how many primes there are up to each number.",
            """
def solve(numbers):
    out = []
    for n in numbers:
        count = 0
        for p in range(2, n + 1):
            prime = True
            for d in range(2, p):
                if d * d > p:
                    break
                if p % d == 0:
                    prime = False
                    break
            if prime:
                count += 1
        out.append(count)
    return out
""",
            """
import bisect
def solve(numbers):
    top = max(numbers) + 1
    prime = [True] * (top + 1)
    for p in range(2, int(top ** 0.5) + 1):
        if prime[p]:
            prime[p * p::p] = [False] * len(prime[p * p::p])
    primes = [p for p in range(2, top + 1) if prime[p]]
    return [bisect.bisect_right(primes, n) for n in numbers]
""",
            lambda rng, size: [rng.between(2, 300) for _ in range(size // 8)],
            lambda rng: _numbers(2, 200_000)(rng, 2000),
        ),
    )
}
