"""Signal foraging: players with partial knowledge find food together, speaking only in tokens.

Food lies on a grid. Players see the three by three cells around them and know some of the food from
the start (food i is known to player i modulo their number). In every step each takes a step or
stays, and says one of `vocabulary` tokens, which mean nothing by themselves and which the others
hear a step later. Players do not block one another. Food on which all stand is taken:

    score     values are drawn without repeats from 1 to `values`; taking the food of the highest
              value pays all 1, other food nothing, and ends the episode
    order     food came in an order that only those who know it remember; it has to be taken in that
              order. Taking all pays all 1; wrong food ends the episode

From "From Grunts to Grammar: Emergent Language from Cooperative Foraging", 2025 (ScoreG and
TemporalG). `palestra_envs.grid.language` has the paper's measures of compositionality and
interchangeability. A protocol that spells place and value, the agent `speller`, needs exactly as
many steps as its message and then the longest way.

Checked: the steps of a speller against that sum; measures of language on languages whose values
are known.

Left out: measures of displacement and of cultural transmission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayState,
    Channel,
    Event,
    InvalidOption,
    Meta,
    Out,
    Piece,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.grids.compass import MOVES
from palestra.grids.moving import NOWHERE, neighbour
from palestra.grids.sight import sees
from palestra.rules import all_act, finish, randint, truncate
from palestra.scene import Saying, Talk

from palestra_envs.grid.walkers import Walkers

TOKENS = "ABCDEFGHIJ"
MAX_SIDE = 20
TAKEN = 4  # one in so many times another food is imagined to have been taken unseen


class SignalForagingState(ArrayState):
    """Players, what they said, and food."""

    cell: Annotated[NDArray[np.int32], Shape("num_players")]  # where each player stands
    said: Annotated[NDArray[np.int32], Shape("num_players")]  # 1 + each one's last token; 0 none
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # what each has been paid so far
    food: Annotated[NDArray[np.int32], Shape("num_foods")]  # where it lies, NOWHERE once taken
    worth: Annotated[NDArray[np.int32], Shape("num_foods")]  # its value, or its place in the order


@environment(
    "grid/SignalForaging-v0",
    family="grid",
    tags=("cooperation", "messages", "emergent-language", "partial-view"),
    paper="From Grunts to Grammar: Emergent Language from Cooperative Foraging (2025)",
    splits={
        "score": {"game": "score"},
        "order": {"game": "order", "max_steps": 40},
        "held-out-spelling": {"rows": 9, "columns": 9, "vocabulary": 3, "max_steps": 40},
    },
)
@dataclass(frozen=True)
class SignalForaging(Walkers[SignalForagingState]):
    """Players with partial knowledge find food together, and can only speak in tokens.

    Action 5 * t + m says token t and makes move m: 0 stay, 1 north, 2 south, 3 west, 4 east.

    An observation is an int16 vector: the player's own row and column; for each food its row, its
    column and its value (or its place in the order), -1 -1 0 for food that is neither known nor
    near, and value 0 for food near whose order is not known; for each other player by seat their
    row and column, -1 -1 if out of sight, and what they said last, one more than the token's
    number, 0 before the first step.

    All players are paid 1 for success.
    """

    rows: Annotated[int, Meta(ge=2, le=MAX_SIDE, description="rows of the grid")] = 5
    columns: Annotated[int, Meta(ge=2, le=MAX_SIDE, description="columns of the grid")] = 5
    num_players: Annotated[int, Meta(ge=2, le=4, description="number of players")] = 2
    sight: Annotated[
        int, Meta(ge=0, le=MAX_SIDE, description="cells a player sees in every direction")
    ] = 1
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 24
    game: Annotated[
        Literal["score", "order"],
        Meta(description="take the food of the highest value, or all food in the order it came"),
    ] = "score"
    num_foods: Annotated[int, Meta(ge=1, le=6, description="foods at the start")] = 2
    vocabulary: Annotated[
        int, Meta(ge=1, le=len(TOKENS), description="number of tokens that can be said")
    ] = 5
    values: Annotated[
        int, Meta(ge=1, le=20, description="the highest value that food can have (game='score')")
    ] = 5

    disguise_vocabulary = Vocabulary(  # the other name is taken by an option
        words=(
            "food",
            "token",
        ),
    )
    rules_text = """
        You and the other players look for food on a grid, and have only tokens to speak with.

        All players choose one action at the same time: a step ("north", "south", "west", "east") or
        "stay", and a token to say, as in "north B". Others hear your token in the next step,
        wherever they are. Tokens have no meaning but the one you give them. Players do not block
        one another. Food is taken when all players stand on it. Each player knows some of the food
        from the start, and no two know the same; other food is seen only from a cell beside it,
        diagonally too.
    """
    payoffs = "common"
    fixed_moves = True
    reward_terms = ("success",)

    def validate(self) -> None:
        if self.values < self.num_foods:
            raise InvalidOption(
                f"values must be at least num_foods, {self.num_foods}, so that no two foods are "
                f"alike, not {self.values}"
            )
        if self.num_cells < self.num_foods:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns have no room for {self.num_foods} "
                "foods; make the grid larger"
            )

    # Derived from the options

    @constant
    def ordered(self) -> bool:
        """Whether food has to be taken in order."""
        return self.game == "order"

    @property
    def num_actions(self) -> int:  # type: ignore[override]
        return len(MOVES) * self.vocabulary

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def observation_shape(self) -> tuple[int]:
        return (2 + 3 * self.num_foods + 3 * (self.num_players - 1),)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (-1.0, float(max(self.rows, self.columns, self.values, self.vocabulary)))

    # The rules

    @staticmethod
    def init_state(config: SignalForaging, state: SignalForagingState) -> None:
        cells = config.rows * config.columns
        highest = config.num_foods if config.ordered else config.values
        for food in range(config.num_foods):
            state.food[food] = NOWHERE
        for food in range(config.num_foods):
            cell, worth = randint(state, cells), 1 + randint(state, highest)
            while food_on(config, state, cell) != NOWHERE:
                cell = randint(state, cells)
            while is_used(state, food, worth):
                worth = 1 + randint(state, highest)
            state.food[food], state.worth[food] = cell, worth
        for seat in range(config.num_players):
            state.cell[seat] = randint(state, cells)
        all_act(state)

    @staticmethod
    def apply_actions(
        config: SignalForaging, state: SignalForagingState, actions: Any, out: Out
    ) -> None:
        together = True
        for seat in range(config.num_players):
            there = neighbour(config, state.cell[seat], actions[seat] % len(MOVES))
            if there != NOWHERE:
                state.cell[seat] = there
            state.said[seat] = 1 + actions[seat] // len(MOVES)
            together = together and state.cell[seat] == state.cell[0]
        food = food_on(config, state, state.cell[0])
        if together and food != NOWHERE:
            right, left = is_next(config, state, food), 0
            state.food[food] = NOWHERE
            for other in range(config.num_foods):
                left += state.food[other] != NOWHERE
            won = right and (left == 0 or not config.ordered)
            for seat in range(config.num_players):
                out.rewards[seat, 0] = 1.0 if won else 0.0
                state.earned[seat] += out.rewards[seat, 0]
            if won or not right:
                finish(state)
        if state.over == 0 and state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(
        config: SignalForaging, state: SignalForagingState, seat: int, mask: Any
    ) -> None:
        for action in range(config.num_actions):
            mask[action] = neighbour(config, state.cell[seat], action % len(MOVES)) != NOWHERE

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        others = self.num_players - 1
        return (
            Channel("own", 2, "the player's row and column"),
            Channel("foods", 3 * self.num_foods, "each food: row, column, value or order; -1 -1 0"),
            Channel(
                "others",
                3 * others,
                "each other player: row, column (-1 -1 if unseen), last token plus 1",
            ),
        )

    @staticmethod
    def write_observation(
        config: SignalForaging, state: SignalForagingState, seat: int, obs: Any
    ) -> None:
        """Write the observation; the class docstring gives the layout."""
        columns, at = config.columns, 2
        obs[0], obs[1] = state.cell[seat] // columns, state.cell[seat] % columns
        for food in range(config.num_foods):
            cell, known = state.food[food], food % config.num_players == seat
            obs[at], obs[at + 1] = -1, -1
            if cell != NOWHERE:
                near = sees(config, state, seat, cell)
                if known or near:
                    obs[at], obs[at + 1] = cell // columns, cell % columns
                if known or (near and not config.ordered):
                    obs[at + 2] = state.worth[food]
            at += 3
        for other in range(config.num_players):
            if other != seat:
                cell = state.cell[other]
                near = sees(config, state, seat, cell)
                obs[at] = cell // columns if near else -1
                obs[at + 1] = cell % columns if near else -1
                obs[at + 2] = state.said[other]
                at += 3

    def ending(self, state: SignalForagingState) -> str:
        if state.earned[0]:
            return "the food was found" if self.game == "score" else "all food was taken in order"
        return "other food was worth more" if self.game == "score" else "other food came before"

    # States

    def knows(self, seat: int, food: int) -> bool:
        """Whether a player knows a food from the start."""
        return food % self.num_players == seat

    def determinize(self, state: SignalForagingState, seat: int, rng: Rng) -> SignalForagingState:
        """Move and revalue food, and move players, that the player neither knows nor sees.

        Food that has to be taken in order, and that they do not know, may be gone: it is taken as
        soon as all players stand on it, and nobody is told.
        """
        self.refuse_the_end(state)
        imagined: SignalForagingState = self.clone(state)
        seen = self.visible(state, seat)
        hidden, cells = np.flatnonzero(~seen).tolist(), state.food.tolist()
        foods = set(range(self.num_foods))
        known = {food for food in foods if self.knows(seat, food)}
        near = {food for food in foods - known if cells[food] != NOWHERE and seen[cells[food]]}
        free = [cell for cell in hidden if cell not in {cells[food] for food in known}]
        away = sorted(foods - known - near)
        left = {food for food in known | near if cells[food] != NOWHERE}
        least = self._least_taken(state, known - left, len(left) + len(free))
        self._imagine_worths(imagined, near, away, least, rng)
        most = min([int(imagined.worth[food]) - 1 for food in left] + [self.num_foods - 1])
        taken = least
        while self.ordered and taken < min(most, state.turn) and rng.below(TAKEN) == 0:
            taken += 1
        for food in away:
            gone = self.ordered and imagined.worth[food] <= taken
            imagined.food[food] = NOWHERE if gone else free.pop(rng.below(len(free)))
        for other in range(self.num_players):
            if not seen[state.cell[other]]:
                imagined.cell[other] = rng.choice(hidden)
        return imagined

    def _least_taken(self, state: SignalForagingState, gone: set[int], places: int) -> int:
        """How many foods have been taken at least: up to those gone, and what has no place."""
        worths = [int(state.worth[food]) for food in gone]
        return max([0, *worths, self.num_foods - places])

    def _imagine_worths(
        self,
        imagined: SignalForagingState,
        near: set[int],
        away: Sequence[int],
        least: int,
        rng: Rng,
    ) -> None:
        """Draw values that a player does not know; what they see came after all that was taken."""
        highest = self.num_foods if self.ordered else self.values
        unknown = [*sorted(near), *away] if self.ordered else away
        used = {int(worth) for food, worth in enumerate(imagined.worth) if food not in unknown}
        worths = [worth for worth in range(1, highest + 1) if worth not in used]
        for food in unknown:
            worth = rng.choice([w for w in worths if w > least or food not in near])
            worths.remove(worth)
            imagined.worth[food] = worth

    # Words

    def rules_for(self, seat: int) -> str:
        aim = (
            f"Food has values from 1 to {self.values}, no two alike. If the food of the highest "
            "value is taken, every player is paid 1. Taking any food ends the episode."
        )
        if self.ordered:
            aim = (
                "Food has to be taken in the order in which it came, which only those who know it "
                "remember. When all has been taken so, every player is paid 1. Taking food before "
                "its turn ends the episode."
            )
        return "\n".join(
            [
                super().rules_for(seat),
                aim,
                f"Tokens are {', '.join(TOKENS[: self.vocabulary])}. There are {self.num_players} "
                f"players, {self.num_foods} foods, {self.rows} rows, row 1 the northernmost, and "
                f"{self.columns} columns, column 1 the westernmost. Food 1 is known to player_0, "
                "food 2 to player_1, and so on, round and round. Time is up after "
                f"{self.max_steps} steps.",
            ]
        )

    def describe(self, state: SignalForagingState, seat: int) -> str:
        """The observation in words, and how much time has passed."""
        numbers = self.seen(state, seat).tolist()
        own, lines = int(state.cell[seat]), [self.header(state, seat)]
        end = 2 + 3 * self.num_foods
        for food in range(self.num_foods):
            row, column, worth = numbers[2 + 3 * food : 5 + 3 * food]
            if row >= 0:
                lines.append(f"- {self._food_text(food, self.at(row, column), worth, own)}")
        others = [name for other, name in enumerate(self.players) if other != seat]
        for name, start in zip(others, range(end, len(numbers), 3), strict=True):
            row, column, said = numbers[start : start + 3]
            heard = f"said {TOKENS[said - 1]}" if said else "has said nothing yet"
            place = f" is {self.direction(own, self.at(row, column))}" if row >= 0 else ""
            lines.append(f"- {name}{f'{place} of you and' if place else ''} {heard}")
        return "\n".join(lines)

    def _food_text(self, food: int, cell: int, worth: int, own: int) -> str:
        way = self.direction(own, cell)
        place = "here" if way == "here" else f"{way} of you"
        text = f"food {food + 1} in {self.place_text(cell)}, {place}"
        if worth:
            text += f": it came as number {worth}" if self.ordered else f": value {worth}"
        return text

    def action_text(self, state: SignalForagingState, seat: int, action: int) -> str:
        return f"{MOVES[action % len(MOVES)]} {TOKENS[action // len(MOVES)]}"

    def legal_text(self, state: SignalForagingState, seat: int, moves: Mapping[str, int]) -> str:
        steps = dict.fromkeys(text.split()[0] for text in moves)
        tokens = ", ".join(TOKENS[: self.vocabulary])
        return f"one of {', '.join(steps)}, and a token of {tokens}, as in {next(iter(moves))}"

    def result_text(
        self, before: SignalForagingState, after: SignalForagingState, seat: int, action: int
    ) -> str:
        step, token = self.action_text(before, seat, action).split()
        return f"You {'stay' if step == 'stay' else f'move {step}'} and say {token}."

    def narrate(
        self,
        before: SignalForagingState | None,
        actions: Mapping[int, int],
        after: SignalForagingState,
    ) -> list[Event]:
        """As for all walkers; at the start, tell each player what food they know."""
        if before is not None:
            return super().narrate(before, actions, after)
        events = []
        for seat in range(self.num_players):
            foods = [food for food in range(self.num_foods) if self.knows(seat, food)]
            known = [[*self.place(after.food[food]), int(after.worth[food])] for food in foods]
            own = int(after.cell[seat])
            texts = [
                self._food_text(food, self.at(row, column), worth, own)
                for food, (row, column, worth) in zip(foods, known, strict=True)
            ]
            text = f"You know {'; '.join(texts)}." if texts else "You know no food."
            events.append(Event("start", text, {"player": seat, "foods": known}, only(seat)))
        return events

    # Pictures

    def scene(self, state: SignalForagingState, seat: int | None = None) -> Scene:
        """The grid; for a player what they know and see of it."""
        seen = None if seat is None else self.visible(state, seat)
        pieces = {}
        for food, cell in enumerate(state.food.tolist()):
            known = seat is None or self.knows(seat, food)
            if cell != NOWHERE and (known or seen is None or seen[cell]):
                worth = str(int(state.worth[food])) if known or not self.ordered else "?"
                pieces[cell] = Piece(
                    worth, "red", "tile", f"food {food + 1}, {worth}", "apple", badge=worth
                )
        for shown in self.seats_shown(state, seat):
            self.stand(pieces, int(state.cell[shown]), shown)
        talk = Talk(
            tuple(
                Saying(self.players[speaker], TOKENS[said - 1], speaker)
                for speaker, said in enumerate(state.said.tolist())
                if said
            )
        )
        return Scene(self.caption(state), parts=(self.grid(pieces, seen), talk))


def food_on(config: SignalForaging, state: SignalForagingState, cell: int) -> int:
    """The food on a cell; NOWHERE if there is none."""
    found = NOWHERE
    for food in range(config.num_foods):
        if state.food[food] == cell:
            found = food
    return found


def is_used(state: SignalForagingState, food: int, worth: int) -> bool:
    """Whether a food before this one has this value."""
    for other in range(food):
        if state.worth[other] == worth:
            return True
    return False


def is_next(config: SignalForaging, state: SignalForagingState, food: int) -> bool:
    """Whether a food is the one to take: of those left the highest, or the first that came."""
    for other in range(config.num_foods):
        if state.food[other] != NOWHERE and other != food:
            before = state.worth[other] < state.worth[food]
            if before == config.ordered:
                return False
    return True
