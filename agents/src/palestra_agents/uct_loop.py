"""UCT over the compiled rules of an array game of perfect information, one seat at a time.

This file is a template (see `palestra.engine.compiled.Template`): the names below are the game's
own functions and the engine's. `palestra_agents.array_tree` makes the arrays and says what their
fields mean.

States are not kept in the tree: each simulation copies the root's and plays the actions on its path
again, which takes a few steps, where the playout takes dozens.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import Any

CONFIG: Any
write_legal_mask: Any
settle: Any
pick: Any
play_out: Any
threefry: Any

ROOT, LEAF, SPARE = 0, 1, 2  # timesteps
TIMESTEPS = 3
WORD = 0xFFFFFFFF
NONE = -1


def simulate(
    timesteps: Any, words: Any, searches: Any, nodes: Any, edges: Any, path: Any, table: Any
) -> int:
    """Run simulations until `wanted` are done, or `edges` may not suffice for the next one.

    Returns how many are done. `words` are the timesteps' bytes as 32-bit integers.
    """
    search = searches[0]
    while search.done < search.wanted and search.edges + search.deepest + 2 <= len(edges):
        timesteps[LEAF] = timesteps[ROOT]
        search.random_bits = draw_bits(search, search.playouts)
        if search.chance:
            draw_future(timesteps[LEAF].state.rng, search)
        length = descend(timesteps[LEAF], words, search, nodes, edges, path, table)
        value_leaf(timesteps, search)
        for place in range(length):
            edge = edges[path[place]]
            node = nodes[edge.node]
            node.visits += 1
            edge.visits += 1
            edge.value += search.totals[node.seat]
        search.done += 1
    return int(search.done)


def draw_bits(search: Any, number: int) -> int:
    """The start of a stream of random moves, by its number in the current simulation.

    Playouts have the first numbers. No constant is passed: numba would compile a second copy of
    the function for it.
    """
    bits, _ = threefry(search.key[0], search.key[1], search.done, number)
    return int(bits & 0x7FFFFFFF)


def draw_future(rng: Any, search: Any) -> None:
    """Seed a state's generator anew, for what chance does in the current simulation."""
    rng[0], rng[1] = threefry(search.key[0], search.key[1], search.done, search.playouts + 1)
    rng[2] = 0


def descend(
    timestep: Any, words: Any, search: Any, nodes: Any, edges: Any, path: Any, table: Any
) -> int:
    """Play from the root to the first action of a new node; returns the edges on the path."""
    length = 0
    number = find_node(timestep, words, search, nodes, table)
    while True:
        node = nodes[number]
        new = node.visits == 0 and length > 0
        if node.tried < node.legal:
            chosen = add_edge(timestep, search, nodes, edges, number)
        else:
            chosen = best_edge(search, node, edges)
        path[length] = chosen
        length += 1
        edge = edges[chosen]
        timestep.actions[:] = NONE
        timestep.actions[node.seat] = edge.action
        settle(timestep)
        if new or length == search.depth or next_to_act(timestep.state) == NONE:
            return length
        if search.chance or edge.child == NONE:
            edge.child = find_node(timestep, words, search, nodes, table)
            search.deepest = max(search.deepest, length)
        number = int(edge.child)


def next_to_act(state: Any) -> int:
    """The seat to act, or NONE at the end."""
    for seat in range(len(state.acting)):
        if state.acting[seat]:
            return seat
    return NONE


def find_node(timestep: Any, words: Any, search: Any, nodes: Any, table: Any) -> int:
    """The number of the node of a state, which is added where no path has led to it before."""
    key = hash_state(words, search.first_word, search.end_word)
    slot = key & (len(table) - 1)
    while table[slot] > 0:
        if nodes[table[slot] - 1].key == key:
            return int(table[slot] - 1)
        slot = (slot + 1) & (len(table) - 1)
    node = nodes[search.nodes]
    node.key = key
    node.seat = next_to_act(timestep.state)
    node.first, node.tried, node.legal = NONE, 0, 1  # counted with the first edge
    search.nodes += 1
    table[slot] = search.nodes
    return int(search.nodes - 1)


def hash_state(words: Any, first: int, end: int) -> int:
    """A hash of 63 bits, from two of 32 bits: no product overflows 64 bits."""
    x, y = 0x3C6EF372, 0x1B873593
    for place in range(first, end):
        word = int(words[place]) & WORD
        x = ((x ^ word) * 0x45D9F3B) & WORD
        y = ((y ^ word) * 0x119DE1F3) & WORD
        x ^= x >> 16
        y ^= y >> 15
    return (x << 31) ^ y


def add_edge(timestep: Any, search: Any, nodes: Any, edges: Any, number: int) -> int:
    """Give a node an edge for an untried action, each as likely; returns the edge's number."""
    node = nodes[number]
    mask = timestep.mask[node.seat]
    mask[:] = 0
    write_legal_mask(CONFIG, timestep.state, node.seat, mask)
    if node.tried == 0:
        legal = 0
        for action in range(len(mask)):
            legal += 1 if mask[action] else 0
        node.legal = legal
    tried = node.first
    while tried != NONE:
        mask[edges[tried].action] = 0
        tried = edges[tried].next
    edge = edges[search.edges]
    edge.action = pick(search, timestep, node.seat)
    edge.node, edge.child, edge.next = number, NONE, node.first
    node.first = search.edges
    node.tried += 1
    search.edges += 1
    return int(search.edges - 1)


def best_edge(search: Any, node: Any, edges: Any) -> int:
    """The edge with the highest upper confidence bound; the lowest action of equal ones."""
    spread = max(search.high - search.low, 1e-9)
    scale = log(node.visits + 1)
    best, best_action, chosen = -inf, 0, NONE
    number = int(node.first)
    while number != NONE:
        edge = edges[number]
        mean = (edge.value / edge.visits - search.low) / spread
        bound = mean + search.c * sqrt(scale / edge.visits)
        if bound > best or (bound == best and edge.action < best_action):
            best, best_action, chosen = bound, int(edge.action), number
        number = int(edge.next)
    return chosen


def value_leaf(timesteps: Any, search: Any) -> None:
    """Write every seat's return to `totals`: the mean of random playouts unless it is the end."""
    search.totals[:] = 0.0
    ended = next_to_act(timesteps[LEAF].state) == NONE
    playouts = 1 if ended else search.playouts
    for number in range(playouts):
        timesteps[SPARE] = timesteps[LEAF]
        if not ended:
            play_out(timesteps[SPARE], draw_bits(search, number), search.depth)
        for seat in range(len(search.totals)):
            search.totals[seat] += timesteps[SPARE].returns[seat] / playouts
    if search.adapts:
        for seat in range(len(search.totals)):
            search.low = min(search.low, search.totals[seat])
            search.high = max(search.high, search.totals[seat])
