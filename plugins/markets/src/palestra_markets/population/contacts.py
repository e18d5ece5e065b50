"""User-supplied contacts: pairs of people, a file of pairs, or a graph.

People are numbered from 0. Every pair meets every day, unless one of the two stays at home.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption
from palestra.kernel.errors import show
from palestra.quoting import printable

Pairs = tuple[tuple[int, int], ...]


def pairs_of(contacts: Any) -> Pairs:
    """Pairs of people from an array of shape (n, 2), a sequence of pairs, or a networkx graph.

    A graph's nodes are numbered in the order in which it lists them; directions are ignored.
    Raises `InvalidOption` for a multigraph and for any other type.
    """
    if hasattr(contacts, "edges") and hasattr(contacts, "nodes"):
        number = {node: place for place, node in enumerate(contacts.nodes)}
        if len(number) and contacts.is_multigraph():
            raise InvalidOption(
                "contacts must be a networkx Graph or DiGraph, not a multigraph, in which two "
                "people may meet twice; convert it with networkx.Graph"
            )
        both = {(number[edge[0]], number[edge[1]]) for edge in contacts.edges}
        return tuple(sorted({(min(pair), max(pair)) for pair in both}))
    rows = contacts.tolist() if isinstance(contacts, np.ndarray) else contacts
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise InvalidOption(
            f"contacts must be pairs of people, as in ((0, 1), (1, 2)), not {show(rows)}"
        )
    return tuple(tuple(row) if isinstance(row, Sequence) else row for row in rows)


def edges(contacts: Pairs | str, people: int) -> NDArray[np.int32]:
    """Both ends of every pair: an array of shape (2, n).

    Raises `InvalidOption` that names the file and the position of the first bad pair.
    """
    if isinstance(contacts, str):
        pairs, name = _read(Path(contacts))
    else:
        pairs, name = contacts, "contacts, pair {}"
    met: set[tuple[int, int]] = set()
    for at, pair in enumerate(pairs):
        where = name.format(at + 1)
        whole = isinstance(pair, tuple) and len(pair) == 2
        if not whole or not all(isinstance(one, int) for one in pair):
            raise InvalidOption(f"{where}: two whole numbers are needed, not {show(pair)}")
        one, other = pair
        if not (0 <= one < people and 0 <= other < people):
            raise InvalidOption(
                f"{where}: {show(pair)} names somebody who does not exist; people={people} are "
                f"numbered from 0 to {people - 1}"
            )
        if one == other:
            raise InvalidOption(f"{where}: {one} cannot meet themselves")
        key = (min(pair), max(pair))
        if key in met:
            raise InvalidOption(
                f"{where}: {one} and {other} are a pair already; give each pair once"
            )
        met.add(key)
    return np.array(pairs, np.int32).reshape(-1, 2).T.copy()


def _read(path: Path) -> tuple[Pairs, str]:
    """The pairs of a CSV file, one per line, with or without a header; and how to name a line."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, ValueError, csv.Error) as error:  # also of a name with a NUL
        raise InvalidOption(f"contacts: cannot read {printable(str(path))}: {error}") from None
    header = bool(rows) and not any(_is_whole(cell) for cell in rows[0])
    pairs = []
    for line, row in enumerate(rows[header:], 1 + header):
        if len(row) != 2 or not all(map(_is_whole, row)):
            raise InvalidOption(
                f"{path}, line {line}: two whole numbers are needed, as in 0,1, not "
                f"{','.join(row)!r}"
            )
        pairs.append((int(row[0]), int(row[1])))
    if not pairs:
        raise InvalidOption(f"{path} holds no pairs of people; write one per line, as in 0,1")
    return tuple(pairs), f"{path}, pair {{}}"


def _is_whole(cell: str) -> bool:
    return cell.strip().lstrip("-").isdigit()
