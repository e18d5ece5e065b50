"""A planner for XLand: the fewest steps to make its goal true, from what it has seen so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

from numpy.typing import NDArray
from palestra import ScriptedAgent, Turn, agent
from palestra.grids.compass import EAST, NORTH, STAY
from palestra.grids.moving import NOWHERE, neighbour
from palestra.grids.paths import Route, routes
from palestra.grids.sight import clear_line

from palestra_envs.grid.xland.game import (
    DROP,
    GOAL,
    GRAB,
    HELD,
    MET,
    OPPOSITE,
    OWN_COLUMN,
    OWN_ROW,
    WINDOW,
    XLand,
)
from palestra_envs.grid.xland.options import (
    HOLD,
    NEAR,
    NONE,
    ON,
    OPTIONS,
    PARTS,
    SEE,
    TERMS,
    Term,
)

Option = tuple[Term, ...]  # terms to make true together
Place = tuple[int, int, tuple[int, ...]]  # own cell, item held or EMPTY, cells of all items
UNKNOWN, EMPTY = -1, -1
NO_FLOOR = -2  # under a wall
MOST_STATES = 20_000  # states that one plan searches
RECENT = 6  # steps for which a rival's last place counts as a danger


def options_of(obs: NDArray[Any]) -> list[Option]:
    """The options of the goal in an observation, one of which must be true.

    A negated goal is expanded to such options too (disjunctive normal form).
    """
    parts = obs[GOAL:WINDOW].reshape(OPTIONS, TERMS, PARTS).tolist()
    options = [tuple(tuple(term) for term in terms if term[0] != NONE) for terms in parts]
    options = [option for option in options if option]
    if obs[OPPOSITE]:
        options = [tuple(map(denial, chosen)) for chosen in product(*options)]
    return options


def denial(term: Term) -> Term:
    """The term that is true where this one is not."""
    kind, one, other, denied = term
    return kind, one, other, 1 - denied


class Beliefs:
    """A player's knowledge: everything in sight now, and what they last saw elsewhere."""

    def __init__(self, game: XLand, seat: int) -> None:
        cells = game.rows * game.columns
        self.game, self.seat, self.now = game, seat, 0
        self.cell, self.held, self.met = 0, EMPTY, False
        self.options: list[Option] = []
        self.walls = [0] * cells  # 0 also where nothing is known
        self.floor = [UNKNOWN] * cells  # a colour
        self.looked = [-1] * cells  # the turn in which a cell was last seen with what is on it
        self.lies = [UNKNOWN] * game.num_objects
        self.people: dict[int, tuple[int, int]] = {}  # by seat: cell, and the turn it was seen
        self.last = STAY, UNKNOWN  # the last action, and the cell before it
        self.plans: dict[tuple[Option, Place], list[int] | None] = {}
        self.known: tuple[Any, ...] = ()  # what the plans depend on

    # What is seen

    def update(self, obs: NDArray[Any], now: int) -> None:
        """Update the beliefs from the observation of a turn."""
        game, sight, side = self.game, self.game.sight, self.game.side
        row, column = int(obs[OWN_ROW]), int(obs[OWN_COLUMN])
        self.now, self.cell, self.held = now, game.at(row, column), int(obs[HELD]) - 1
        self.met, self.options = bool(obs[MET]), options_of(obs)
        walls, floor, players, objects = obs[WINDOW:].reshape(4, side * side).tolist()
        window = {}
        for at in range(side * side):
            r, c = row - sight + at // side, column - sight + at % side
            if 0 <= r < game.rows and 0 <= c < game.columns:
                window[game.at(r, c)] = at
                self.walls[game.at(r, c)] = walls[at]
                self.floor[game.at(r, c)] = NO_FLOOR if walls[at] else floor[at] - 1
        seen = {c: at for c, at in window.items() if clear_line(game.config, self, self.cell, c)}
        self.lies = [UNKNOWN if cell in seen else cell for cell in self.lies]
        self.people = {p: place for p, place in self.people.items() if place[0] not in seen}
        for cell, at in seen.items():
            self.looked[cell] = now
            if players[at] and players[at] - 1 != self.seat:
                self.people[players[at] - 1] = cell, now
            for item in range(game.num_objects):
                if objects[at] >> item & 1:
                    self.lies[item] = cell
        known = tuple(self.walls), tuple(self.floor), tuple(self.people.items())
        if known != self.known:
            self.known, self.plans = known, {}

    def here(self) -> Place:
        """Where the player is, what they hold, and where items lie."""
        lies = [UNKNOWN if item == self.held else cell for item, cell in enumerate(self.lies)]
        return self.cell, self.held, tuple(lies)

    def where(self, thing: int, place: Place) -> int:
        """The cell of a thing; UNKNOWN if it was never seen, or has left since."""
        cell, held, lies = place
        if thing == self.seat:
            return cell
        if thing < self.game.num_players:
            return self.people.get(thing, (UNKNOWN, 0))[0]
        item = thing - self.game.num_players
        return cell if item == held else lies[item]

    # What is true

    def fits(self, term: Term, place: Place) -> bool:
        """Whether a term, denial included, is true if all is where it is believed to be.

        No relation is true of things whose place is unknown.
        """
        kind, one, other, denied = term
        if kind == HOLD and one == self.seat:
            true = place[1] == other - self.game.num_players
        else:
            here = self.where(one, place)
            there = here if kind == ON else self.where(other, place)
            true = here != UNKNOWN != there and self._related(kind, here, there, other)
        return true != bool(denied)

    def _related(self, kind: int, here: int, there: int, other: int) -> bool:
        if kind == ON:
            return self.floor[here] == other
        if kind == HOLD:  # by another player; it might only lie under them
            return here == there
        columns = self.game.columns
        down = abs(here // columns - there // columns)
        across = abs(here % columns - there % columns)
        if kind == NEAR:
            return down + across <= 1
        close = max(down, across) <= self.game.sight
        return close and clear_line(self.game.config, self, here, there)

    def things(self, term: Term) -> tuple[int, ...]:
        """The things that a term is about."""
        return term[1:2] if term[0] == ON else term[1:3]

    def items(self, option: Option) -> set[int]:
        """The objects that an option is about."""
        first = self.game.num_players
        return {t - first for term in option for t in self.things(term) if t >= first}

    def fixed(self, term: Term) -> bool:
        """Whether only others could make a term true or false."""
        if term[0] == HOLD:
            return term[1] != self.seat
        return all(t < self.game.num_players and t != self.seat for t in self.things(term))

    def missing(self, option: Option) -> bool:
        """Whether an option is about something not seen yet, or not found where it was."""
        for term in option:
            if any(self.where(thing, self.here()) == UNKNOWN for thing in self.things(term)):
                return True
            kind, _, colour, denied = term
            if kind == ON and UNKNOWN in self.floor:
                known = [floor for floor in self.floor if floor >= 0]
                if not any((floor == colour) != bool(denied) for floor in known):
                    return True
        return False

    def doubt(self, option: Option) -> None:
        """Forget the places of unseen things in an option that seems true but is not."""
        for thing in {thing for term in option for thing in self.things(term)}:
            cell = self.where(thing, self.here())
            if cell != UNKNOWN and self.looked[cell] < self.now:
                if thing < self.game.num_players:
                    del self.people[thing]
                else:
                    self.lies[thing - self.game.num_players] = UNKNOWN

    # Ways

    def ways(self, cell: int) -> Iterable[tuple[int, int]]:
        """Moves and the cells they lead to, round walls and players in sight."""
        taken = {where for where, when in self.people.values() if when == self.now}
        return [(way, there) for way, there in self.steps(cell) if there not in taken]

    def steps(self, cell: int) -> Iterable[tuple[int, int]]:
        """Moves and the cells they lead to, round walls."""
        for way in range(NORTH, EAST + 1):
            there = neighbour(self.game.config, cell, way)
            if there != NOWHERE and not self.walls[there]:
                yield way, there

    def distances(self, start: int) -> dict[int, Route]:
        """The steps and the first move to every cell that can be walked to."""
        return routes(start, self.ways)


def plan(beliefs: Beliefs, option: Option) -> list[int] | None:
    """The fewest actions that make an option true, by breadth-first search; None if impossible.

    Others are assumed to stay where they are. Objects are put down only where that makes a term
    about them true, to walk away from them, or, to free one's hands, at once or beside another
    object in question.
    """
    start, plans = beliefs.here(), beliefs.plans
    if (option, start) not in plans:
        found = plans[option, start] = search(beliefs, option, start)
        place = start
        for step, action in enumerate(found or ()):
            place = dict(successors(beliefs, option, place))[action]
            plans[option, place] = found[step + 1 :] if found else None
    return plans[option, start]


def search(beliefs: Beliefs, option: Option, start: Place) -> list[int] | None:
    """Like `plan`, without the cache of earlier plans."""
    for term in option:
        lost = not term[3] and UNKNOWN in [beliefs.where(t, start) for t in beliefs.things(term)]
        if not beliefs.fits(term, start) and (lost or beliefs.fixed(term)):
            return None
    if all(beliefs.fits(term, start) for term in option):
        return []
    came: dict[Place, tuple[Place, int]] = {start: (start, STAY)}
    queue = deque([start])
    while queue and len(came) < MOST_STATES:
        place = queue.popleft()
        for action, then in successors(beliefs, option, place):
            if then in came:
                continue
            came[then] = place, action
            if all(beliefs.fits(term, then) for term in option):
                return actions_to(came, then)
            queue.append(then)
    return None


def actions_to(came: dict[Place, tuple[Place, int]], place: Place) -> list[int]:
    """The actions that led to a place."""
    actions = []
    while came[place][0] != place:
        place, action = came[place]
        actions.append(action)
    return actions[::-1]


def successors(beliefs: Beliefs, option: Option, place: Place) -> Iterable[tuple[int, Place]]:
    """Actions worth trying and the places they lead to."""
    cell, held, lies = place
    wanted = beliefs.items(option)
    for way, there in beliefs.ways(cell):
        yield way, (there, held, lies)
    if held == EMPTY:
        lying = [item for item, where in enumerate(lies) if where == cell]
        if wanted.intersection(lying):
            item = lying[0]  # grabbing takes the first object, whichever is wanted
            yield GRAB, (cell, item, (*lies[:item], UNKNOWN, *lies[item + 1 :]))
    else:
        then = cell, EMPTY, (*lies[:held], cell, *lies[held + 1 :])
        if worth_dropping(beliefs, option, wanted, then, held):
            yield DROP, then


def worth_dropping(
    beliefs: Beliefs, option: Option, wanted: set[int], then: Place, item: int
) -> bool:
    """Whether it may help to leave an object where it would lie now."""
    thing = beliefs.game.num_players + item
    about = [term for term in option if thing in beliefs.things(term)]
    leave = any(term[3] and beliefs.seat in beliefs.things(term) for term in about)
    if leave or any(beliefs.fits(term, then) for term in about):
        return True
    cell, _, lies = then
    if cell == beliefs.cell:
        return True
    columns = beliefs.game.columns
    return any(
        abs(cell // columns - there // columns) + abs(cell % columns - there % columns) <= 1
        for other, there in enumerate(lies)
        if other != item and other in wanted and there != UNKNOWN
    )


@agent("goal-seeker", kind="search", needs=("array",))
class GoalSeeker(ScriptedAgent[XLand]):
    """Plans the fewest steps to the nearest option of its goal, from what it has seen.

    It reads only its own array observations and remembers them. It plans the fewest steps to each
    option of its goal and follows the shortest plan, then stays. Where an option is about something
    it has not seen it looks for it, in the nearest cells it has not looked at and then in those it
    looked at longest ago. If only others can complete an option, it does its own part: it makes as
    many terms true as it can, and brings things to the players who should hold them. While its goal
    is true it follows players it should be near or see, takes what others should not hold, and
    keeps away from players who should not be near it or see it, on cells from which it reaches the
    most others first. After a blocked step, its next step is random with probability one half.
    """

    stream = 3

    def __init__(self, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self._beliefs: dict[tuple[int, int], Beliefs] = {}

    def forget(self, episode_key: int) -> None:
        self._beliefs = {k: beliefs for k, beliefs in self._beliefs.items() if k[0] != episode_key}

    def choose(self, turn: Turn[XLand]) -> int:
        key = (turn.episode_key, turn.seat)
        if turn.steps_played == 0 or key not in self._beliefs:
            self._beliefs[key] = Beliefs(turn.game, turn.seat)
        beliefs = self._beliefs[key]
        beliefs.update(turn.observation, turn.steps_played)
        action = guard(beliefs) if beliefs.met else seek(beliefs)
        tried, start = beliefs.last
        blocked = NORTH <= tried <= EAST and start == beliefs.cell
        if blocked and not beliefs.met and NORTH <= action <= EAST and self.rng.below(2):
            action = self.rng.choice([way for way in range(EAST + 1) if turn.mask[way]])
        beliefs.last = action, beliefs.cell
        return action


def seek(beliefs: Beliefs) -> int:
    """The next action of a player whose goal is not true."""
    plans = [(plan(beliefs, option), option) for option in beliefs.options]
    found = [(actions, option) for actions, option in plans if actions is not None]
    if found:
        actions, option = min(found, key=lambda way: len(way[0]))
        near = [term for term in dangers(beliefs, option) if term[0] == NEAR]
        if near and all(beliefs.fits(t, beliefs.here()) for t in option if t not in near):
            return evade(beliefs, option)
        if actions:
            return actions[0]
        beliefs.doubt(option)
    if any(beliefs.missing(option) for option in beliefs.options):
        return explore(beliefs)
    return own_part(beliefs)


def explore(beliefs: Beliefs) -> int:
    """A step towards the nearest cell not looked at yet, then the one looked at longest ago."""
    best, first = (True, beliefs.now, 0), STAY
    for cell, (steps, way) in beliefs.distances(beliefs.cell).items():
        looked = beliefs.looked[cell]
        key = (looked >= 0, looked if looked >= 0 else steps, steps)
        if key < best:
            best, first = key, way
    return first


def own_part(beliefs: Beliefs) -> int:
    """A step to make as many terms of an option true as one player can."""
    best, first = (0, 0), STAY
    for option in beliefs.options:
        for size in range(len(option), 0, -1):
            ways = [
                plan(beliefs, tuple(part for term in terms for part in own_terms(beliefs, term)))
                for terms in combinations(option, size)
            ]
            for actions in ways:
                if actions is not None and (-size, len(actions)) < best:
                    best, first = (-size, len(actions)), (actions or [STAY])[0]
    return first


def own_terms(beliefs: Beliefs, term: Term) -> Option:
    """What a player can do about a term: lay what another player should hold beside them."""
    kind, one, other, denied = term
    if kind == HOLD and not denied and one != beliefs.seat:
        return (NEAR, one, other, 0), (HOLD, beliefs.seat, other, 1)
    return (term,)


# Holding on


def guard(beliefs: Beliefs) -> int:
    """The next action of a player whose goal is true: stay, unless others could make it false."""
    here, me = beliefs.here(), beliefs.seat
    for option in beliefs.options:
        if not all(beliefs.fits(term, here) for term in option):
            continue
        if dangers(beliefs, option):
            return evade(beliefs, option)
        after = follow(beliefs, option)
        if after is not None:
            return after
        for kind, one, other, denied in option:
            if kind == HOLD and denied and one != me:
                kept = (*option, (HOLD, me, other, 0))
                for action in (plan(beliefs, kept) or [])[:1]:
                    then = dict(successors(beliefs, kept, here))[action]
                    if all(beliefs.fits(term, then) for term in option):
                        return action
    return STAY


def dangers(beliefs: Beliefs, option: Option) -> dict[Term, int]:
    """Terms that a recently seen player can falsify by coming near or seeing, with that player."""
    game, own, found = beliefs.game, {beliefs.seat}, {}
    if beliefs.held != EMPTY:
        own.add(game.num_players + beliefs.held)
    for term in option:
        kind, one, other, denied = term
        for mine, rival in ((one, other), (other, one)):
            _, when = beliefs.people.get(rival, (UNKNOWN, -RECENT))
            recent = beliefs.now - when < RECENT
            if kind in (NEAR, SEE) and denied and mine in own and recent:
                found[term] = rival
    return found


def follow(beliefs: Beliefs, option: Option) -> int | None:
    """A step after a player one should be near or see; None if there is no such player.

    Stepping towards the other's current cell keeps a player beside them wherever they go; if the
    other stays or comes the opposite way, both moves are cancelled.
    """
    _, held, lies = beliefs.here()
    for kind, one, other, denied in option:
        rival = other if one == beliefs.seat else one
        cell, when = beliefs.people.get(rival, (UNKNOWN, UNKNOWN))
        about = kind in (NEAR, SEE) and not denied and beliefs.seat in (one, other)
        if about and when == beliefs.now:
            away = beliefs.distances(cell)
            steps = [
                (away[there][0], way)
                for way, there in beliefs.steps(beliefs.cell)
                if there in away and all(beliefs.fits(t, (there, held, lies)) for t in option)
            ]
            return min(steps, default=(0, STAY))[1]
    return None


def evade(beliefs: Beliefs, option: Option) -> int:
    """A step to where an option is true, far from dangers and first to the most cells."""
    reach: dict[int, int] = {}
    for rival in set(dangers(beliefs, option).values()):
        where, when = beliefs.people[rival]
        for cell, (steps, _) in beliefs.distances(where).items():
            left = steps - (beliefs.now - when)
            reach[cell] = min(left, reach.get(cell, left))
    _, held, lies = beliefs.here()

    def worth(there: int) -> tuple[bool, int, int, int]:
        true = all(beliefs.fits(term, (there, held, lies)) for term in option)
        far = reach.get(there, len(beliefs.walls))
        first = sum(
            steps + 1 < reach.get(cell, len(beliefs.walls))
            for cell, (steps, _) in beliefs.distances(there).items()
        )
        return true, min(far, 3), first, far

    return max([(STAY, beliefs.cell), *beliefs.ways(beliefs.cell)], key=lambda w: worth(w[1]))[0]
