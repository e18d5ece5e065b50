"""Collaboration maze: rules, the laws of mazes and beliefs by counting, distances by networkx."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, Grid, InvalidAction, InvalidOption, Rng, Turn
from palestra.agents.models import Model, Reply
from palestra_envs.text.collaboration_maze.cartographers import (
    Cartographer,
    map_messages,
    walls_in,
)
from palestra_envs.text.collaboration_maze.game import (
    LINES,
    Agree,
    Cell,
    CollaborationMaze,
    Finish,
    MazeState,
    Propose,
    Say,
    distances,
)
from palestra_envs.text.collaboration_maze.routes import (
    ModelGrader,
    gap,
    grade_route,
    read_route,
)
from scipy.stats import chisquare

SEEDS = st.integers(0, 2**64 - 1)
DRAWN = ["S.#", "#..", "#.G"]


def maze(drawing: list[str], shown: list[str], **options: Any) -> Episode:
    """A maze as drawn; `shown` has the seat that sees each cell."""
    where = {(r, c): kind for r, line in enumerate(drawing) for c, kind in enumerate(line)}
    start, goal = (next(cell for cell, k in where.items() if k == kind) for kind in "SG")
    game = CollaborationMaze(rows=len(drawing), columns=len(drawing[0]), **options)
    walls = tuple(cell for cell, kind in where.items() if kind == "#")
    seats = tuple(tuple(map(int, line)) for line in shown)
    said = [0] * game.num_players
    state = MazeState(Rng(0), walls, seats, start, goal, start, (start,), said)
    episode = Episode(game, 0)
    episode.load(state)
    return episode


def small(**options: Any) -> Episode:
    return maze(DRAWN, ["001", "011", "110"], **options)


def agree_on(episode: Episode, *moves: str) -> None:
    for move in moves:
        episode.act({episode.to_act[0]: Propose(move=move)})
        while episode.to_act and episode.state.proposal:
            episode.act({episode.to_act[0]: Agree()})


def graph(game: CollaborationMaze, walls: tuple[Cell, ...]) -> Any:
    grid = nx.grid_2d_graph(game.rows, game.columns)
    grid.remove_nodes_from(walls)
    return grid


# Mazes


@settings(max_examples=40)
@given(seed=SEEDS, rows=st.integers(2, 12), columns=st.integers(2, 12), seats=st.integers(1, 5))
def test_mazes_have_a_way_and_every_cell_is_shown_to_one_player(
    seed: int, rows: int, columns: int, seats: int
) -> None:
    game = CollaborationMaze(rows=rows, columns=columns, num_players=seats)
    state = game.initial_state(seed)
    assert nx.has_path(graph(game, state.walls), state.start, state.goal)
    apart = sum(abs(a - b) for a, b in zip(state.start, state.goal, strict=True))
    assert 2 * apart >= rows + columns
    inner = [cell for cell in game.cells if cell not in (state.start, state.goal)]
    knowing = [[p for p in range(seats) if game.knows(state, p, cell)] for cell in inner]
    assert all(len(players) == 1 for players in knowing)
    shares = Counter(seat for (seat,) in knowing)
    assert max(shares.values(), default=0) - min(shares[p] for p in range(seats)) <= 1


@settings(max_examples=40)
@given(seed=SEEDS, rows=st.integers(2, 12), columns=st.integers(2, 12))
def test_distances_are_those_of_networkx(seed: int, rows: int, columns: int) -> None:
    game = CollaborationMaze(rows=rows, columns=columns)
    state = game.initial_state(seed)
    expected = nx.single_source_shortest_path_length(graph(game, state.walls), state.goal)
    assert distances(game.cells, state.walls, state.goal) == dict(expected)


def mazes_with_a_way(
    game: CollaborationMaze, start: Cell, goal: Cell, free: list[Cell], walls: tuple[Cell, ...]
) -> dict[tuple[Cell, ...], float]:
    """Every way to wall off free cells that leaves a way to the goal, and its probability."""
    law = {}
    for number in range(len(free) + 1):
        for chosen in combinations(free, number):
            drawn = tuple(sorted((*walls, *chosen)))
            if nx.has_path(graph(game, drawn), start, goal):
                p = game.wall_density
                law[drawn] = p**number * (1 - p) ** (len(free) - number)
    total = sum(law.values())
    return {drawn: weight / total for drawn, weight in law.items()}


def fits(seen: Counter[tuple[Cell, ...]], law: dict[tuple[Cell, ...], float]) -> bool:
    assert seen.keys() <= law.keys()
    draws = seen.total()
    return chisquare([seen[m] for m in law], [draws * w for w in law.values()]).pvalue > 0.001


def test_mazes_are_drawn_by_density_among_those_with_a_way() -> None:
    game = CollaborationMaze(rows=2, columns=3, num_players=1)
    law = mazes_with_a_way(game, (0, 0), (1, 2), [(0, 1), (0, 2), (1, 0), (1, 1)], ())
    seen: Counter[tuple[Cell, ...]] = Counter()
    for seed in range(6000):
        state = game.initial_state(seed)
        if (state.start, state.goal) == ((0, 0), (1, 2)):
            seen[state.walls] += 1
    assert fits(seen, law)


def test_what_is_hidden_is_redrawn_by_the_law_given_what_is_seen() -> None:
    episode = small()
    game, state = episode.game, episode.state
    unknown = [(0, 2), (1, 1), (1, 2), (2, 0), (2, 1)]
    assert [cell for cell in game.cells if not game.knows(state, 0, cell)] == unknown
    law = mazes_with_a_way(game, state.start, state.goal, unknown, ((1, 0),))
    seen = Counter(game.determinize(state, 0, Rng(draw)).walls for draw in range(3000))
    assert fits(seen, law)


def test_where_the_marker_has_been_everybody_knows() -> None:
    episode = small()
    agree_on(episode, "east", "south")
    game, state = episode.game, episode.state
    assert game.knows(state, 0, (1, 1))
    assert not game.knows(state, 0, (1, 2))
    assert game.knows(state, 1, (0, 1))
    assert all((1, 1) not in game.determinize(state, 0, Rng(n)).walls for n in range(50))


# Talking, proposing, agreeing


def test_a_step_is_made_when_all_are_for_it() -> None:
    episode = small(num_players=3)
    episode.act({0: Propose(move="east")})
    episode.act({1: Agree()})
    assert episode.state.marker == (0, 0)
    episode.act({2: Agree()})
    assert episode.state.marker == (0, 1)
    assert episode.to_act == (0,)


@pytest.mark.parametrize("other", [Say(text="Wait."), Propose(move="south")])
def test_any_other_answer_lets_a_proposal_lapse(other: Say | Propose) -> None:
    episode = small(num_players=3)
    episode.act({0: Propose(move="east")})
    episode.act({1: other})
    if isinstance(other, Say):
        with pytest.raises(InvalidAction, match="not possible now"):
            episode.act({2: Agree()})
        return
    episode.act({2: Agree()})
    assert episode.state.marker == (0, 0)
    episode.act({0: Agree()})  # three are for going south, and south is a wall
    assert episode.state.ended == "wall"


def test_nobody_can_propose_to_leave_the_maze() -> None:
    episode = small()
    assert "move='south'|'east'" in str(episode.game.legal(episode.state, 0))
    with pytest.raises(InvalidAction, match="north"):
        episode.act({0: Propose(move="north")})


def test_the_way_pays_one_to_everybody() -> None:
    episode = small()
    agree_on(episode, "east", "south", "south", "east")
    assert episode.outcome is not None
    assert episode.outcome.results == ("score", "score")
    assert list(episode.returns) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("moves", "paid"),
    [
        (["south"], 0.0),
        (["east", "east"], 0.25),
        (["east", "south", "west"], 0.5),
        (["east", "south", "east", "west", "west"], 0.5),
        (["east", "west", "south"], 0.0),
    ],
)
def test_a_wall_ends_it_and_the_way_behind_is_paid(moves: list[str], paid: float) -> None:
    episode = small()
    agree_on(episode, *moves)
    assert episode.over
    assert list(episode.returns) == [paid, paid]
    assert episode.outcome.reason == "The marker was led into a wall."


def test_a_detour_away_from_the_goal_is_not_charged() -> None:
    episode = maze([".S.", "...", "..G"], ["000", "111", "000"], max_turns=2)
    agree_on(episode, "west")
    assert list(episode.returns) == [0.0, 0.0]
    assert episode.outcome.results == ("truncated", "truncated")


def test_time_runs_out() -> None:
    episode = small(max_turns=3)
    agree_on(episode, "east")
    episode.act({0: Say(text="And now?")})
    assert episode.outcome.results == ("truncated", "truncated")
    assert list(episode.returns) == [0.25, 0.25]


def test_alone_one_sees_everything_and_agrees_with_oneself() -> None:
    game = CollaborationMaze(num_players=1)
    assert game.perfect_information
    episode = maze(DRAWN, ["000"] * 3, num_players=1)
    agree_on(episode, "east", "south", "south", "east")
    assert episode.steps_played == 4
    assert list(episode.returns) == [1.0]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_players": 0}, "num_players must be an integer from 1 to 8"),
        ({"rows": 1}, "rows must be an integer from 2 to 20"),
        ({"columns": 21}, "columns"),
        ({"wall_density": 0.5}, "wall_density must be a number from 0 to 0.4"),
        ({"max_turns": 0}, "max_turns must be an integer"),
        ({"message_limit": 10}, "message_limit"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        CollaborationMaze(**options)


# What a player sees


def test_a_player_reads_his_own_map_and_what_stands() -> None:
    episode = small()
    episode.act({0: LINES[0]})
    episode.act({1: Say(text="Hello.")})
    episode.act({0: Propose(move="east")})
    assert episode.describe(1).split("\n") == [
        "You are player_1. Turn 3 of 100.",
        "The marker is in row 1, column 1, the goal in row 3, column 3. Your map:",
        "row 1  M?#",
        "row 2  ?..",
        "row 3  #.G",
        'player_0: "The cell to the north is open."',
        "player_1: something else",
        "Proposed: go east. For it so far: player_0.",
    ]
    seen = [1, 0, 2, 0, 1, 1, 2, 1, 1, 0, 0, 2, 2, 1, 4, 1, 1, 11, 3]
    assert episode.observation(1).tolist() == seen


def test_words_are_in_the_transcript_and_forgotten_in_the_view_after_a_step() -> None:
    episode = small()
    episode.act({0: Say(text="East is free.")})
    episode.act({1: Propose(move="east")})
    episode.act({0: Agree()})
    texts = [event.text for event in episode.transcript(1)]
    assert texts[-4:] == [
        'player_0 says: "East is free."',
        "player_1 proposes to go east.",
        "player_0 agrees.",
        "The marker goes east to row 1, column 2.",
    ]
    assert "something else" not in episode.describe(1)


def test_a_players_scene_shades_what_he_does_not_know() -> None:
    episode = small()
    seen, whole = (episode.game.scene(episode.state, viewer).parts[0] for viewer in (0, None))
    assert isinstance(seen, Grid)
    assert isinstance(whole, Grid)
    assert seen.shaded == {(0, 2), (1, 1), (1, 2), (2, 0), (2, 1)}
    assert seen.cells[2][0] is None
    assert whole.cells[2][0] is not None
    assert not whole.shaded


# Those who tell each other their maps


@pytest.mark.parametrize(
    ("size", "seats", "messages"),
    [((2, 2), 2, 1), ((6, 6), 1, 0), ((6, 6), 2, 1), ((9, 7), 5, 1), ((20, 20), 3, 1)],
)
def test_cartographers_walk_a_shortest_way_at_every_size(
    size: tuple[int, int], seats: int, messages: int
) -> None:
    options = {"rows": size[0], "columns": size[1], "num_players": seats, "max_turns": 900}
    game = CollaborationMaze(**options)
    records = palestra.play(
        "text/CollaborationMaze-v0", agents=["cartographer"] * seats, episodes=4, seed=2, **options
    )
    for record in records:
        state = game.initial_state(record.seed)
        steps = nx.shortest_path_length(graph(game, state.walls), state.start, state.goal)
        assert record.returns == (1.0,) * seats
        assert len(record.steps) == seats * (steps + messages)


def test_a_cartographer_whom_nobody_tells_anything_runs_into_walls() -> None:
    agents = ["cartographer", lambda turn: palestra.Decision(next(agreement(turn)))]
    records = palestra.play("text/CollaborationMaze-v0", agents=agents, episodes=30, seed=0)
    reached = np.mean([record.returns[0] == 1.0 for record in records])
    assert 0 < reached < 0.8


def agreement(turn: Turn) -> Any:
    """Agrees to everything and tells nothing."""
    if Agree() in turn.legal:
        yield Agree()
    yield Say(text="Go on.")


@given(codes=st.lists(st.integers(0, 2), min_size=35, max_size=35), limit=st.integers(60, 200))
@settings(max_examples=30)
def test_messages_about_maps_are_read_as_they_are_written(codes: list[int], limit: int) -> None:
    game = CollaborationMaze(rows=5, columns=7, message_limit=limit)
    messages = list(map_messages(codes, game))
    assert max(map(len, messages)) <= limit
    walls = {cell for cell, code in zip(game.cells, codes, strict=True) if code == 2}
    assert {cell for message in messages for cell in walls_in(message)} == walls


def test_a_cartographer_plays_nothing_else() -> None:
    with pytest.raises(InvalidOption, match="plays CollaborationMaze, not"):
        Cartographer().act([Turn(Episode(palestra.game("games/TicTacToe-v0"), 0), 0)])


# Free dialogue


@pytest.mark.parametrize(
    ("dialogue", "route"),
    [
        ([(0, "Propose: north"), (1, "Agree")], ["north"]),
        ([(0, "Row 2 is open.\nPropose: north"), (1, "I see.\n agree. \nAnd then?")], ["north"]),
        ([(0, "Propose: north"), (1, "Propose: east"), (0, "Agree")], ["east"]),
        ([(0, "propose: East, east , SOUTH."), (1, "AGREE")], ["east", "east", "south"]),
        ([(0, "Propose: west"), (1, "Propose: west")], ["west"]),
        ([(0, "Propose: west"), (1, "Agree\nPropose: south"), (0, "Agree")], ["west", "south"]),
        ([(0, "Agree"), (1, "Propose: west"), (1, "Agree"), (0, "Agree")], ["west"]),
        ([(0, "Propose: north"), (0, "Agree")], []),
        ([(0, "I would not propose: north"), (1, "Agree")], []),
        ([(0, "Move: north"), (1, "Agree")], []),
        ([(0, "Propose: north then east"), (1, "Agree")], []),
    ],
)
def test_the_route_is_what_both_proposed_or_agreed_to(
    dialogue: list[tuple[int, str]], route: list[str]
) -> None:
    assert read_route(dialogue, (1, 3), 2) == route


def drawn_map(episode: Episode, seat: int) -> str:
    return str(episode.describe(seat).split("Your map:\n")[1].split("\nThere is")[0])


WORDS = (
    "Agreed, there is no wall there.",
    "Yes, row 2 column 1 is not a wall.",
    "Let's do that.",
    "No, wait! I disagree. Stop.",
    "I agree.",
    "I do not agree",
    "Do not propose: west",
    "OK. Sounds good. Go: south. Move: east",
)


@pytest.mark.parametrize("words", WORDS)
def test_free_words_neither_agree_nor_cancel(words: str) -> None:
    start: list[tuple[int, str]] = [(0, "Propose: south"), (1, words)]
    assert read_route(start, (0, 0), 2) == []
    assert read_route([*start, (1, "Agree")], (0, 0), 2) == ["south"]
    assert read_route([(0, "Propose: south"), (1, f"{words}\nAgree")], (0, 0), 2) == ["south"]


@pytest.mark.parametrize("line", ["Propose: up", "Propose:", "propose: north and east"])
def test_a_proposal_without_steps_is_refused_with_what_is_accepted(line: str) -> None:
    episode = small(protocol="dialogue")
    with pytest.raises(InvalidAction, match=r"north, south, west, east, as in 'Propose: north"):
        episode.act({0: Say(text=f"I see a wall.\n{line}")})


def test_three_must_all_agree() -> None:
    said = [(0, "Propose: north"), (1, "Agree"), (2, "What is there?"), (2, "Agree")]
    assert read_route(said[:3], (1, 3), 3) == []
    assert read_route(said, (1, 3), 3) == ["north"]


@pytest.mark.parametrize("protocol", ["steps", "dialogue"])
@pytest.mark.parametrize("maps", [1, 2, 3])
@pytest.mark.parametrize("walls", ["end", "stay"])
def test_one_player_reads_nothing_of_others(protocol: str, maps: int, walls: str) -> None:
    game = CollaborationMaze(num_players=1, protocol=protocol, solo_maps=maps, walls=walls)
    episode = Episode(game, 2)
    told = game.rules_for(0) + episode.prompt(0, 0)
    assert not re.search(r"players|\beach of you|\ball\b(?! of it)|other player|agree", told, re.I)
    assert (f"{maps} maps" in told) == (maps > 1)


@pytest.mark.parametrize("protocol", ["steps", "dialogue"])
@pytest.mark.parametrize("seats", [2, 3])
def test_every_seat_of_a_team_reads_the_rules_of_a_team_and_its_own_map(
    protocol: str, seats: int
) -> None:
    game = CollaborationMaze(num_players=seats, protocol=protocol)
    episode = Episode(game, 2)
    for seat in range(seats):
        assert f"There are {seats} players" in game.rules_for(seat)
        assert drawn_map(episode, seat) in episode.prompt(seat, 0)
        others = [s for s in range(seats) if s != seat]
        assert not any(drawn_map(episode, s) in episode.prompt(seat, 0) for s in others)


def talked(*said: str, **options: Any) -> Episode:
    episode = small(protocol="dialogue", **options)
    for text in said:
        episode.act({episode.to_act[0]: Say(text=text)})
    while not episode.over:
        episode.act({episode.to_act[0]: Finish()})
    return episode


@pytest.mark.parametrize(
    ("said", "walls", "paid"),
    [
        (("Propose: east, south, east, south", "Agree"), "end", 1),
        (("Propose: east, south, south", "Agree"), "end", 0.75),
        (("Propose: east, east, south", "Agree"), "end", 0.25),
        (("Propose: south, east, south, east, south", "Agree"), "end", 0),  # the first is a wall
        (("Propose: south, east, south, east, south", "Agree"), "stay", 1),
        (("Propose: east, south", "Agree", "Propose: east, south", "I see."), "end", 0.5),
        (("Where to?", "No idea."), "end", 0),
    ],
)
def test_the_marker_walks_what_was_agreed_on(
    said: tuple[str, ...], walls: str, paid: float
) -> None:
    # S . #   the way is east, south, east, south: four steps
    # # . .
    # # . G
    episode = talked(*said, walls=walls)
    assert list(episode.returns) == [paid, paid]


def test_who_finishes_alone_waits_for_the_other() -> None:
    episode = small(protocol="dialogue")
    episode.act({0: Finish()})
    episode.act({1: Say(text="Propose: east")})
    episode.act({0: Say(text="Agree")})
    episode.act({1: Finish()})
    assert not episode.over
    episode.act({0: Finish()})
    assert episode.over
    assert episode.returns[0] == 0.25


def test_a_dialogue_hides_the_others_map_and_the_route_until_it_is_over() -> None:
    episode = small(protocol="dialogue")
    episode.act({0: Say(text="Propose: east, south")})
    assert "Propose: east, south" in episode.prompt(1, 0)
    assert "Propose(" not in episode.prompt(1, 0) + episode.game.rules_for(1)
    assert "row 1  M?#" in episode.describe(1)  # seat 1 sees the last cell of the first row
    assert "row 1  M.?" in episode.describe(0)


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize("size", [4, 7])
def test_cartographers_reach_the_goal_in_dialogue(seats: int, size: int) -> None:
    options: dict[str, Any] = {"num_players": seats, "rows": size, "columns": size}
    records = palestra.play(
        "text/CollaborationMaze-v0",
        agents=["cartographer"] * seats,
        episodes=5,
        protocol="dialogue",
        max_turns=300,
        starts=seats - 1,
        **options,
    )
    assert all(record.returns[0] == 1 for record in records)
    first = [next(e for e in record.events if e.kind == "message") for record in records]
    assert {event.data["player"] for event in first} == {seats - 1}


class Reads(Model):
    """A model that answers with a route, and keeps what it was asked."""

    def __init__(self, answer: str) -> None:
        self.answer, self.asked = answer, ""

    def chat(self, requests: Any) -> list[Reply]:
        self.asked = requests[0].messages[0].content
        return [Reply(self.answer)]


def test_a_model_may_read_the_route_instead() -> None:
    agents = ["cartographer"] * 2
    (record,) = palestra.play("text/CollaborationMaze-v0", agents=agents, protocol="dialogue")
    route = next(e.data["route"] for e in record.events if "route" in e.data)
    model = Reads(f"They agreed on\n{', '.join(route)}.")
    assert grade_route(record, ModelGrader(model)) == 1
    assert all(event.text in model.asked for event in record.events if event.kind == "message")
    assert grade_route(record, ModelGrader(Reads("none"))) == 0
    ahead = grade_route(record, ModelGrader(Reads(", ".join(route[:1]))))
    assert ahead == pytest.approx(1 / len(route))


# Conditions of the study


def test_alone_with_two_maps_one_sees_both_and_together_they_are_the_whole() -> None:
    game = CollaborationMaze(num_players=1, solo_maps=2)
    state = game.initial_state(3)
    text = game.describe(state, 0)
    first, second = (part.split("\n")[1 : 1 + game.rows] for part in text.split("Map ")[1:])
    whole = CollaborationMaze(num_players=1).describe(state, 0).split("Your map:\n")[1]
    joined = [
        "".join(b if a == "?" else a for a, b in zip(one, two, strict=True))
        for one, two in zip(first, second, strict=True)
    ]
    assert joined == whole.split("\n")[: game.rows]
    hidden = sum(line.count("?") for line in first) + sum(line.count("?") for line in second)
    assert hidden == game.rows * game.columns - 2  # each cell but start and goal is on one map


def test_a_wall_may_leave_the_marker_where_it_is_and_is_then_known() -> None:
    episode = small(walls="stay")
    agree_on(episode, "south")
    assert not episode.over
    assert episode.state.marker == (0, 0)
    assert episode.game.knows(episode.state, 1, (1, 0))
    agree_on(episode, "east", "south", "east", "south")
    assert episode.returns[0] == 1


@pytest.mark.parametrize("starts", [0, 1, 2])
def test_the_seat_that_starts_opens_and_turns_go_round(starts: int) -> None:
    episode, seen = Episode(CollaborationMaze(num_players=3, starts=starts), 0), []
    for _ in range(4):
        seen.append(episode.to_act[0])
        episode.act({seen[-1]: Say(text="Hm.")})
    assert seen == [(starts + turn) % 3 for turn in range(4)]


def test_the_gap_is_what_one_alone_gains_over_a_pair() -> None:
    alone = palestra.play(
        "text/CollaborationMaze-v0", agents=["cartographer"], episodes=3, num_players=1
    )
    pair = palestra.play("text/CollaborationMaze-v0", agents=["random"] * 2, episodes=4)
    assert gap([*alone, *pair]) == pytest.approx(1 - sum(r.returns[0] for r in pair) / 4)
    with pytest.raises(ValueError, match="num_players=1"):
        gap(pair)
