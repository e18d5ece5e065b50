"""Text turns: prompt, parse, act, with life-cycle hooks listening, against TextArena.

Every game that both have and that starts offline there is played by the same script. These of ours
are in TextArena too, but did not start with version 0.7.4, Python 3.11 and no network: Chess and
StagHunt (a syntax error before Python 3.12), Hangman, Wordle and Codenames (word lists to
download), TwentyQuestions (a key for a model), CarDealer (a file that is not in the package).
"""

from __future__ import annotations

import contextlib
import io
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import palestra
from palestra.runner.listeners import Listeners
from timing import Row, compare, limit

EPISODES = 60
SECONDS = 0.1  # a work of the shared games goes on until it has lasted so long


class Counter:
    """A listener that does next to nothing, so that hooks are on."""

    def __init__(self) -> None:
        self.steps = 0

    @palestra.hookimpl
    def palestra_stepped(self, episode: Any) -> None:
        self.steps += 1


def our_turns(env: str, lines: tuple[str, ...], episodes: int = EPISODES) -> Any:
    """Scripted text play of one of our games: every turn reads its prompt and is parsed."""
    episode = palestra.make(env, view="episode", invalid="random")
    hooks = Listeners([Counter()])

    def play() -> int:
        turns = 0
        for seed in range(episodes):
            episode.reset(seed)
            since = [0] * len(episode.players)
            while episode.to_act:
                actions = {}
                for seat in episode.to_act:
                    episode.prompt(seat, since[seat])
                    since[seat] = episode.cursor(seat)
                    actions[seat] = read(episode, seat, lines)
                    turns += 1
                episode.act(actions)
                hooks.stepped(episode=episode)
        return turns

    return play


def read(episode: Any, seat: int, lines: tuple[str, ...]) -> Any:
    """The first of the script's lines that is legal now."""
    for line in lines:
        try:
            return episode.parse(seat, line)
        except palestra.InvalidAction:
            continue
    raise AssertionError(f"none of {lines} is legal")


def their_turns(env_id: str, text: str) -> Any:
    """TextArena with its default wrappers, both players saying one line."""
    import textarena

    with contextlib.redirect_stdout(io.StringIO()):
        env = textarena.make(env_id)

    def play() -> int:
        turns = 0
        for seed in range(EPISODES // 4):
            env.reset(num_players=2, seed=seed)
            done = False
            while not done:
                env.get_observation()
                done, _ = env.step(action=text)
                turns += 1
            env.close()
        return turns

    return play


NEGOTIATION = ("Say(text='I would like the books.')",)
COMMONS = ("Harvest(amount=10)", "Pass()")
PEERS = (
    ("IteratedPrisonersDilemma-v0", "[Cooperate]"),
    ("SimpleNegotiation-v0", "I would like to trade."),
)


def negotiation_against_dilemma() -> Row:
    return _against("text/Negotiation-v0", NEGOTIATION, *PEERS[0])


def negotiation_against_negotiation() -> Row:
    return _against("text/Negotiation-v0", NEGOTIATION, *PEERS[1])


def commons_against_dilemma() -> Row:
    return _against("text/Commons-v0", COMMONS, *PEERS[0])


def commons_against_negotiation() -> Row:
    return _against("text/Commons-v0", COMMONS, *PEERS[1])


def _against(ours: str, lines: tuple[str, ...], theirs: str, text: str) -> Row:
    return compare(
        f"{ours}, text turns",
        our_turns(ours, lines),
        their_turns(theirs, text),
        target=1,
        unit="turns/s",
        against=f"TextArena {theirs}",
    )


# The games that both have


@dataclass(frozen=True)
class Shared:
    """A game of ours, TextArena's, and one script in either's words.

    Turn k plays line k, going around, and an episode lasts `most` turns at most. Where that line
    is not legal we play the next of the script that is, or the first legal move where there is
    none; there it counts as a turn all the same.
    """

    ours: str
    lines: tuple[str, ...]
    theirs: str
    their_lines: tuple[str, ...]
    seats: int = 2  # there
    most: int = 40
    options: dict[str, Any] = field(default_factory=dict)


def bracketed(*moves: str) -> tuple[str, ...]:
    return tuple(f"[{move}]" for move in moves)


def square(name: str) -> str:
    """A corner of the board such as d3 as row and column from 0."""
    return f"{int(name[1]) - 1}, {ord(name[0]) - ord('a')}"


FILES, DIGITS = "abcdefgh", range(1, 10)
SLIDES = ("left", "up", "right", "down")
PUSHES = tuple(f"{f}{a}-{f}{b}" for f in FILES for a, b in ((2, 3), (7, 6)))
DISCS = ("d3", "c3", "c4", "c5", "d6", "f4", "b4", "b3")
BIDS = tuple((count, face) for count in (1, 2) for face in range(1, 7))
CELLS = tuple(f"{column}{row}" for row in range(1, 9) for column in FILES)
VILLAGE = (
    "Say(text='It was not me.')",
    "Sleep()",
    *(
        f"{verb}(target='player_{seat}')"
        for seat in (4, 5)
        for verb in ("Vote", "Kill", "See", "Save")
    ),
)
SHARED = (
    Shared("games/TicTacToe-v0", tuple("153792468"), "TicTacToe", bracketed(*"042681357")),
    Shared("games/ConnectFour-v0", tuple("1234567"), "ConnectFour", bracketed(*"0123456")),
    Shared(
        "games/Breakthrough-v0",
        PUSHES,
        "Breakthrough",
        bracketed(*(push.replace("-", "") for push in PUSHES)),
        most=len(PUSHES),
    ),
    Shared("games/Othello-v0", DISCS, "Othello", bracketed(*map(square, DISCS)), most=len(DISCS)),
    Shared("games/KuhnPoker-v0", ("pass",), "KuhnPoker", ("[check]",)),
    Shared(
        "games/LiarsDice-v0",
        tuple(f"{count}x{face}" for count, face in BIDS),
        "LiarsDice",
        bracketed(*(f"Bid: {count}, {face}" for count, face in BIDS)),
        most=len(BIDS),
        options={"dice": 5},
    ),
    Shared("games/Holdem-v0", ("call", "check"), "Poker", ("[Call]", "[Check]")),
    Shared("games/Blackjack-v0", ("stick",), "Blackjack", ("[Stand]",), seats=1),
    Shared("games/Game2048-v0", SLIDES, "2048", bracketed(*SLIDES), seats=1),
    Shared("games/FrozenLake-v0", ("right", "left"), "FrozenLake", ("[right]", "[left]"), seats=1),
    Shared("games/Sokoban-v0", SLIDES, "Sokoban", bracketed(*SLIDES), seats=1),
    Shared(
        "games/Minesweeper-v0",
        (),
        "Minesweeper",
        bracketed(*(square(cell).replace(",", "") for cell in CELLS)),
        seats=1,
    ),
    Shared(
        "games/Sudoku-v0",
        (),
        "Sudoku",
        bracketed(*(f"{cell[1]} {FILES.index(cell[0]) + 1} {n}" for cell in CELLS for n in DIGITS)),
        seats=1,
    ),
    Shared(
        "games/PrisonersDilemma-v0",
        ("cooperate",),
        "IteratedPrisonersDilemma",
        ("[Cooperate]",),
    ),
    Shared(
        "games/Ultimatum-v0", ("5", "accept"), "IteratedUltimatumGame", ("[Offer: $5]", "[Accept]")
    ),
    Shared(
        "games/Taboo-v0",
        ("Describe(text='You drink it hot.')", "Guess(word='tea')"),
        "Taboo",
        ("You drink it hot.", "[tea]"),
        seats=4,
    ),
    Shared(
        "games/Werewolf-v0",
        VILLAGE,
        "SecretMafia",
        ("[4] It was not me.",),
        seats=6,
        options={"num_players": 6},
    ),
    Shared("games/Catan-v0", (), "SettlersOfCatan", ("[2]",), seats=4, options={"offers": 0}),
    Shared(
        "games/LogicGrid-v0",
        tuple(f"Put(value={v!r}, house={h})" for v in ("Ada", "Ben") for h in (1, 2, 3, 4)),
        "LogicPuzzle",
        bracketed("food_people alice pizza X", "food_people bob pizza O"),
        seats=1,
    ),
    Shared("text/Negotiation-v0", NEGOTIATION, "SimpleNegotiation", ("I would like to trade.",)),
)


def our_script(game: Shared) -> Callable[[], int]:
    episode = palestra.make(game.ours, view="episode", **game.options)
    hooks = Listeners([Counter()])

    def play() -> int:
        turns, seed, started = 0, 0, perf_counter()
        while perf_counter() - started < SECONDS:
            episode.reset(seed)
            seed, since, end = seed + 1, [0] * len(episode.players), turns + game.most
            while episode.to_act and turns < end:
                actions = {}
                for seat in episode.to_act:
                    episode.prompt(seat, since[seat])
                    since[seat] = episode.cursor(seat)
                    actions[seat] = read_from(episode, seat, game.lines, turns + game.most - end)
                    turns += 1
                episode.act(actions)
                hooks.stepped(episode=episode)
        return turns

    return play


def read_from(episode: Any, seat: int, lines: tuple[str, ...], first: int) -> Any:
    """Line number `first` or the next legal one of the script; else the first legal move.

    Of a text game's lines only those are read whose kind of action is legal.
    """
    legal = episode.legal(seat)
    if isinstance(legal, palestra.Grammar):
        kinds = {option.name for option in legal}
        lines = tuple(line for line in lines if line.partition("(")[0] in kinds)
    for number in range(len(lines)):
        try:
            return episode.parse(seat, lines[(first + number) % len(lines)])
        except palestra.InvalidAction:
            continue
    text = str(episode.game.action_text(episode.state, seat, episode.legal_actions(seat)[0]))
    return episode.parse(seat, text)


def their_script(game: Shared) -> Callable[[], int]:
    import textarena

    quiet = contextlib.redirect_stdout(io.StringIO())
    with quiet:
        env = textarena.make(f"{game.theirs}-v0")

    def play() -> int:
        turns, seed, started = 0, 0, perf_counter()
        while perf_counter() - started < SECONDS:
            with quiet:
                turns += _their_episode(env, game, seed)
            seed += 1
        return turns

    return play


def _their_episode(env: Any, game: Shared, seed: int) -> int:
    env.reset(num_players=game.seats, seed=seed)
    played, done = 0, False
    while not done and played < game.most:
        env.get_observation()
        done, _ = env.step(action=game.their_lines[played % len(game.their_lines)])
        played += 1
    return played


def shared(game: Shared) -> Row:
    return compare(
        f"{game.ours}, text turns",
        our_script(game),
        their_script(game),
        target=1,
        unit="turns/s",
        against=f"TextArena {game.theirs}-v0",
    )


def flat_over_resets() -> Row:
    """Time a turn in the last thousand of 10,000 resets against the first thousand."""
    play = our_turns("text/Negotiation-v0", NEGOTIATION, 1)
    play()
    times = []
    for _ in range(10_000):
        started = perf_counter()
        play()
        times.append(perf_counter() - started)
    growth = statistics.median(times[-1_000:]) / statistics.median(times[:1_000])
    return limit("last 1,000 of 10,000 resets against the first", growth, at_most=1.2, unit="times")


MEASURES = (
    negotiation_against_dilemma,
    negotiation_against_negotiation,
    commons_against_dilemma,
    commons_against_negotiation,
    *(partial(shared, game) for game in SHARED),
    flat_over_resets,
)
