"""An agent for signal foraging that spells what it knows, digit by digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from palestra import InvalidOption, ScriptedAgent, Turn, agent
from palestra.grids.compass import EAST, EASTWARD, MOVES, NORTH, SOUTH, SOUTHWARD, STAY, WEST

from palestra_envs.grid.signal_foraging.game import SignalForaging

Food = tuple[int, int, int]  # row, column, value or place in the order


def digits(game: SignalForaging) -> list[int]:
    """How many tokens a row, a column and a value take."""
    highest = game.num_foods if game.game == "order" else game.values
    counts = []
    for size in (game.rows, game.columns, highest):
        length = 1
        while game.vocabulary**length < size:
            length += 1
        counts.append(length)
    return counts


def spell(game: SignalForaging, food: Food) -> list[int]:
    """The tokens for a food: row, column, and value from 0, each highest digit first."""
    tokens = []
    for number, length in zip((food[0], food[1], food[2] - 1), digits(game), strict=True):
        places = reversed(range(length))
        tokens += [number // game.vocabulary**place % game.vocabulary for place in places]
    return tokens


def read(game: SignalForaging, tokens: Sequence[int]) -> Food:
    """The food that tokens of `spell` stand for."""
    numbers, start = [], 0
    for length in digits(game):
        number = 0
        for token in tokens[start : start + length]:
            number = number * game.vocabulary + token
        numbers.append(number)
        start += length
    return numbers[0], numbers[1], numbers[2] + 1


@dataclass
class Memory:
    """What a player knows of each food, and heard: by step, a token of each other player."""

    foods: dict[int, Food]
    heard: list[list[int]] = field(default_factory=list)
    waited: bool = False


@agent("speller", needs=("array",))
class Speller(ScriptedAgent[SignalForaging]):
    """Spells the food it knows, token by token, and walks to the most valuable food.

    Everybody stays until all messages are heard. It remembers what it heard, by episode and seat.
    Needs two tokens or more.
    """

    def __init__(self) -> None:
        super().__init__(seed=0)
        self._memories: dict[tuple[int, int], Memory] = {}

    def forget(self, episode_key: int) -> None:
        self._memories = {k: memory for k, memory in self._memories.items() if k[0] != episode_key}

    def choose(self, turn: Turn[SignalForaging]) -> int:
        game, seat, now = turn.game, turn.seat, turn.steps_played
        if game.vocabulary < 2:
            raise InvalidOption(
                f"the speller needs two tokens or more, not {game.vocabulary}; set vocabulary=2"
            )
        numbers, end = turn.observation.tolist(), 2 + 3 * game.num_foods
        foods: list[Food] = [(*numbers[at : at + 3],) for at in range(2, end, 3)]
        memory = self._memory(turn, foods)
        if now > 0:
            memory.heard.append([said - 1 for said in numbers[end + 2 :: 3]])
        length = sum(digits(game))
        speech = length * -(-game.num_foods // game.num_players)  # for who knows most
        if now < speech:
            food = seat + now // length * game.num_players
            known = memory.foods.get(food)
            return len(MOVES) * spell(game, known)[now % length] if known else STAY
        if now == speech == len(memory.heard):
            listen(game, memory, seat, length)
        here = numbers[0], numbers[1]
        for food in [food for food, (row, *_) in enumerate(foods) if row < 0]:
            if food in memory.foods and memory.foods[food][:2] == here:
                del memory.foods[food]  # it is no longer here
        return walk(game, memory, seat, here)

    def _memory(self, turn: Turn[SignalForaging], foods: Sequence[Food]) -> Memory:
        """What this seat remembers; at the start of an episode the food it knows."""
        game, key = turn.game, (turn.episode_key, turn.seat)
        if turn.steps_played == 0 or key not in self._memories:
            own = range(turn.seat, game.num_foods, game.num_players)
            self._memories[key] = Memory({food: foods[food] for food in own})
        return self._memories[key]


def listen(game: SignalForaging, memory: Memory, seat: int, length: int) -> None:
    """Take in what the others have spelled."""
    others = [other for other in range(game.num_players) if other != seat]
    for column, other in enumerate(others):
        tokens = [heard[column] for heard in memory.heard]
        for part, food in enumerate(range(other, game.num_foods, game.num_players)):
            memory.foods[food] = read(game, tokens[part * length : (part + 1) * length])


def walk(game: SignalForaging, memory: Memory, seat: int, here: tuple[int, int]) -> int:
    """A step to the next food, around other food on which all might meet.

    If other food blocks the only path, the first player waits once, so that the players do not
    stand on it together.
    """
    if not memory.foods:
        return STAY
    first = min if game.game == "order" else max
    row, column, worth = first(memory.foods.values(), key=lambda food: food[2])
    others = {food[:2] for food in memory.foods.values() if food[2] != worth}
    ways = []
    if row != here[0]:
        ways.append(SOUTH if row > here[0] else NORTH)
    if column != here[1]:
        ways.append(EAST if column > here[1] else WEST)
    for way in ways:
        if (here[0] + SOUTHWARD[way], here[1] + EASTWARD[way]) not in others:
            memory.waited = False
            return way
    if not ways or (seat == 0 and not memory.waited):
        memory.waited = True
        return STAY
    memory.waited = False
    return ways[0]
