"""People as players: what they type and click, at the terminal and in the window."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import palestra
import pytest
from palestra import Episode, Grid, InvalidAction, Turn
from palestra.cli import main, playing
from palestra_renderers.drawing import pygame
from palestra_renderers.human import HumanAgent, Terminal
from palestra_renderers.public import public_scene
from palestra_renderers.targets import bare, key_moves, with_targets
from palestra_renderers.typed_moves import read_move, refusal
from palestra_renderers.window_seat import WindowSeat, moves_from, scene_after
from rich.console import Console


def turn_of(env: str, *moves: int, **options: Any) -> Turn:
    episode = Episode(palestra.game(env, **options), 3, compiled=False)
    for move in moves:
        episode.act({episode.to_act[0]: move})
    return Turn(episode, episode.to_act[0])


# Typing


@pytest.mark.parametrize(
    ("env", "typed", "meant"),
    [
        ("games/ConnectFour-v0", " 4 ", "4"),
        ("games/KuhnPoker-v0", "BET", "bet"),
        ("games/KuhnPoker-v0", "p", "pass"),
        ("games/Wordle-v0", "about", "Guess(word='about')"),
        ("games/Wordle-v0", "guess about", "Guess(word='about')"),
        ("games/Wordle-v0", "Guess(word='about')", "Guess(word='about')"),
        ("text/Commons-v0", "12", "Harvest(amount=12)"),
        ("text/Negotiation-v0", "say it's 3 for me", 'Say(text="it\'s 3 for me")'),
        ("text/Negotiation-v0", "propose 1 0 1", "Propose(books=1, hats=0, balls=1)"),
        ("text/Negotiation-v0", "walk", "Walk()"),
    ],
)
def test_a_person_may_type_a_move_plainly(env: str, typed: str, meant: str) -> None:
    turn = turn_of(env)
    text = read_move(turn, typed)
    assert turn.parse(text) == turn.parse(meant)


@pytest.mark.parametrize(
    ("env", "typed"),
    [
        ("games/ConnectFour-v0", "9"),
        ("games/ConnectFour-v0", ""),
        ("games/Chess-v0", "a2"),  # begins two moves
        ("text/Commons-v0", "a lot"),
        ("text/Negotiation-v0", "propose 1"),
        ("text/Negotiation-v0", "propose 9 9 9"),
        ("text/Negotiation-v0", "walk away"),
    ],
)
def test_what_is_not_a_move_is_explained(env: str, typed: str) -> None:
    with pytest.raises(InvalidAction, match="legal: "):
        read_move(turn_of(env), typed)


@pytest.mark.parametrize(
    ("env", "typed", "said"),
    [
        (
            "games/ConnectFour-v0",
            "9",
            "'9' is not a move here. Type one of these, for example 1",
        ),
        ("games/Chess-v0", "a2", "'a2' may mean a2a3, a2a4; type more of it."),
        ("text/Commons-v0", "a lot", "'a lot' is not a move here: amount must be a whole number"),
        ("text/Commons-v0", "Harvest(amount=101)", "here: amount must be from 0 to 100, not 101."),
        ("text/Negotiation-v0", "walk away", "'walk away' is not a move here. Type one of these"),
        ("games/Wordle-v0", "zzzzz", "'zzzzz' is not a move here: word must be one of the 633"),
    ],
)
def test_a_person_reads_what_came_and_what_is_accepted(env: str, typed: str, said: str) -> None:
    turn = turn_of(env)
    with pytest.raises(InvalidAction) as refused:
        read_move(turn, typed)
    told = refusal(turn, typed, refused.value)
    assert said in told
    assert "last line" not in told  # how a model writes its answer
    assert "alone at the end" not in told


def test_every_legal_move_of_every_environment_can_be_typed() -> None:
    for spec in palestra.specs():
        turn = turn_of(spec.id)
        for text in turn.legal_texts[:50]:
            assert turn.parse(read_move(turn, text)) == turn.parse(text)


# At the terminal


def at_terminal(*lines: str) -> tuple[HumanAgent, io.StringIO]:
    """A person who types these lines and then leaves."""
    out, typed = io.StringIO(), iter(lines)

    def ask(prompt: str) -> str:
        out.write(prompt)
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    agent = HumanAgent()
    agent._place = Terminal(Console(file=out, width=200), ask)
    return agent, out


def test_a_person_plays_a_game_to_its_end() -> None:
    person, out = at_terminal("1", "2", "3")
    (record,) = palestra.play("games/TicTacToe-v0", agents=[person, _plays("4", "5")])
    assert record.outcome is not None
    assert record.outcome.results == ("win", "loss")
    assert [turn.raw for turn in record.turns if turn.seat == 0] == ["1", "2", "3"]
    assert "X X X" in out.getvalue()  # the last position too


def _plays(*texts: str) -> Callable[[Turn], Any]:
    moves = iter(texts)
    return lambda turn: palestra.Decision(text=next(moves))


def test_an_illegal_move_is_asked_again_and_is_no_mistake() -> None:
    person, out = at_terminal("1", "1", "hello", "?", "2", "3")
    (record,) = palestra.play("games/TicTacToe-v0", agents=[person, _plays("4", "5")])
    assert record.mistakes == (0, 0)
    assert out.getvalue().count(" is not a move here. Type one of these, for example 2: 2, 3") == 2
    assert "Rules" in out.getvalue()


def test_leaving_interrupts_the_run() -> None:
    person, _ = at_terminal("1")
    with pytest.raises(KeyboardInterrupt):
        palestra.play("games/TicTacToe-v0", agents=[person, _plays("4")])


def test_a_person_reads_only_what_his_seat_may_know() -> None:
    person, out = at_terminal("pass", "pass")
    palestra.play("games/KuhnPoker-v0", agents=[person, _plays("bet")], seed=1)
    dealt = [e.text for e in Episode(palestra.game("games/KuhnPoker-v0"), 1).transcript(1)]
    own = [e.text for e in Episode(palestra.game("games/KuhnPoker-v0"), 1).transcript(0)]
    hidden = [text for text in dealt if text not in own]
    before = out.getvalue().split("turn 2")[0]
    assert hidden
    assert not any(text in before for text in hidden)


def test_what_others_say_cannot_move_the_cursor() -> None:
    from palestra_envs.text.negotiation.game import Say

    def hostile(turn: Turn) -> Any:
        return Say(text="\x1b[2J\x1b[31mgone\u202e" + "x" * 200)

    person, out = at_terminal("walk")
    palestra.play("text/Negotiation-v0", agents=[hostile, person])  # type: ignore[list-item]
    assert "gone" in out.getvalue()
    assert not set(out.getvalue()) & set("\x1b\u202e")


def run(monkeypatch: pytest.MonkeyPatch, typed: str, *arguments: str) -> int:
    """The exit code of `palestra play`, with these lines typed."""
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    with pytest.raises(SystemExit) as stop:
        main(["play", *arguments, "--no-replays"])
    return int(stop.value.code or 0)


def test_the_command_line_seats_a_person(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    run(monkeypatch, "5\n1\n", "games/TicTacToe-v0", "--agents", "human,first", "--out", "a")
    shown = capsys.readouterr().out
    assert "player_0 plays 5" in shown
    assert "Stopped: 0 of 1 episodes" in shown
    run(
        monkeypatch,
        "9\n8\n7\n6\n4\n3\n",
        *("games/TicTacToe-v0", "--agents", "human,first", "--out", "a", "--resume"),
    )
    assert "human" in capsys.readouterr().out
    (record,) = palestra.read_records(tmp_path / "a" / "episode.jsonl")
    assert record.turns[0].raw == "5"


def test_one_picture_never_shows_two_people_each_others_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for render in ("terminal", "pygame"):
        asked = ("games/KuhnPoker-v0", "--agents", "human", "--render", render)
        assert run(monkeypatch, "", *asked) == 2
        assert "secrets" in capsys.readouterr().err


def test_a_picture_beside_a_person_shows_their_seat(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    run(
        monkeypatch,
        "pass\n",
        *("games/KuhnPoker-v0", "--agents", "human,first", "--render", "terminal"),
    )
    shown = capsys.readouterr().out
    assert "(to player_1)" not in shown
    assert re.search(r"player_1 \[\?\]", shown)


@pytest.mark.parametrize(
    ("asked", "seated"),
    [
        ("human", "human:window=true"),
        ("human:window=true", "human:window=true"),
        ("human:window=false", "human:window=false"),
    ],
)
def test_a_person_plays_in_the_window_that_is_asked_for(
    asked: str, seated: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """And no second window is opened beside it, which would stand still."""
    monkeypatch.chdir(tmp_path)
    made: list[str] = []

    class Leaves(HumanAgent):
        def act(self, turns: Any) -> Any:
            made.append("window" if isinstance(self._place, WindowSeat) else "terminal")
            raise KeyboardInterrupt

    opened: list[str] = []
    before = playing._artist

    def artist(spec: Any, mode: str, **more: Any) -> Any:
        opened.append(mode)
        return before(spec, mode, **more)

    monkeypatch.setattr("palestra_renderers.human.HumanAgent", Leaves)
    monkeypatch.setattr(playing, "_artist", artist)
    arguments = ("games/TicTacToe-v0", "--agents", f"{asked},first", "--render", "pygame")
    assert run(monkeypatch, "", *arguments, "--out", "a") == 130
    plan = json.loads((tmp_path / "a" / "run.json").read_text("utf-8"))
    assert plan["agents"] == [seated, "first"]
    assert made == ["window" if seated.endswith("true") else "terminal"]
    assert opened == ([] if seated.endswith("true") else ["pygame"])


# In the window


@pytest.fixture
def seat(monkeypatch: pytest.MonkeyPatch) -> Iterator[WindowSeat]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    yield WindowSeat()
    pygame().display.quit()


def type_keys(text: str) -> None:
    module = pygame()
    named = {"\n": module.K_RETURN, "\b": module.K_BACKSPACE, "\x1b": module.K_ESCAPE}
    for letter in text:
        module.event.post(
            module.event.Event(module.KEYDOWN, key=named.get(letter, 0), unicode=letter)
        )


def click(place: tuple[int, int]) -> None:
    module = pygame()
    module.event.post(module.event.Event(module.MOUSEBUTTONDOWN, button=1, pos=place))


def cells(seat: WindowSeat, turn: Turn, *places: tuple[int, int]) -> None:
    """Click on cells of the board, by row from the top and column from the left."""
    seat.paint(turn)
    assert seat.painter is not None
    assert turn.scene.grid is not None
    for place in places:
        click(seat.painter.middle_of(turn.scene.grid.name(*place)))


@pytest.mark.parametrize(
    ("env", "clicked", "move"),
    [
        ("games/TicTacToe-v0", [(1, 2)], "6"),
        ("games/ConnectFour-v0", [(0, 3)], "4"),
        ("games/Othello-v0", [(2, 3)], "d3"),
        ("games/Chess-v0", [(6, 4), (4, 4)], "e2e4"),
        ("games/Chess-v0", [(0, 0), (6, 4), (7, 6), (5, 5)], "g1f3"),  # changes their mind
        ("games/Breakthrough-v0", [(6, 0), (5, 1)], "a2-b3"),
    ],
)
def test_clicks_on_cells_play_a_move(
    seat: WindowSeat, env: str, clicked: list[tuple[int, int]], move: str
) -> None:
    turn = turn_of(env)
    cells(seat, turn, *clicked)
    assert turn.parse(seat.ask(turn)) == turn.parse(move)


def button(kind: str, place: tuple[int, int]) -> None:
    module = pygame()
    module.event.post(module.event.Event(getattr(module, kind), button=1, pos=place))


@pytest.mark.parametrize(
    ("env", "start", "end", "move"),
    [
        ("games/Chess-v0", (6, 4), (4, 4), "e2e4"),
        ("games/Breakthrough-v0", (6, 0), (5, 1), "a2-b3"),
    ],
)
def test_a_piece_is_dragged(
    seat: WindowSeat, env: str, start: tuple[int, int], end: tuple[int, int], move: str
) -> None:
    turn = turn_of(env)
    seat.paint(turn)
    assert seat.painter is not None
    assert turn.scene.grid is not None
    names = [turn.scene.grid.name(*cell) for cell in (start, end)]
    places = [seat.painter.middle_of(name) for name in names]
    for kind, place in (("DOWN", places[0]), ("UP", places[0]), ("DOWN", places[0])):
        button(f"MOUSEBUTTON{kind}", place)  # a click that goes nowhere plays nothing
    button("MOUSEBUTTONUP", places[1])
    assert turn.parse(seat.ask(turn)) == turn.parse(move)


@pytest.mark.parametrize(
    ("env", "key", "move"),
    [
        ("games/FrozenLake-v0", "K_RIGHT", "right"),
        ("games/Game2048-v0", "K_DOWN", "down"),
        ("games/Sokoban-v0", "K_UP", "up"),
        ("grid/Kitchen-v0", "K_LEFT", "west"),
        ("grid/Kitchen-v0", "K_SPACE", "interact"),
        ("grid/Kitchen-v0", "K_PERIOD", "stay"),
    ],
)
def test_arrow_keys_walk(seat: WindowSeat, env: str, key: str, move: str) -> None:
    turn = turn_of(env)
    legal = [one for one in turn.legal_texts if move in bare(one)]
    assert legal, turn.legal_texts
    module = pygame()
    seat.paint(turn)
    code = getattr(module, key)
    letter = chr(code) if code < 128 else ""
    module.event.post(module.event.Event(module.KEYDOWN, key=code, unicode=letter))
    assert seat.ask(turn) == legal[0]


def test_keys_of_directions_are_letters_in_other_games(seat: WindowSeat) -> None:
    assert key_moves(["pass", "bet"]) == {}
    assert key_moves(["pass", "turn left"]) == {".": "pass", "left": "turn left"}
    turn = turn_of("text/Negotiation-v0")
    seat.paint(turn)
    type_keys("say a b.\n")
    assert turn.parse(seat.ask(turn)) == turn.parse("Say(text='a b.')")


@pytest.mark.parametrize(
    ("env", "move"),
    [("games/Chess-v0", "e2e4"), ("games/TicTacToe-v0", "5"), ("games/Othello-v0", "d3")],
)
def test_the_own_move_is_shown_while_others_think(seat: WindowSeat, env: str, move: str) -> None:
    turn = turn_of(env)
    before = turn.scene
    after = scene_after(turn, move)
    assert after is not None
    episode = palestra.Episode(palestra.game(env), 3)
    episode.act({0: turn.parse(move)})
    assert [part.cells for part in after.all_parts() if isinstance(part, Grid)] == [
        part.cells for part in episode.scene(0).all_parts() if isinstance(part, Grid)
    ]
    assert turn.scene == before
    seat.paint(turn)
    assert seat.painter is not None
    shown = seat.painter.array().copy()
    type_keys(f"{move}\n")
    seat.ask(turn)
    assert (seat.painter.array() != shown).any()


@pytest.mark.parametrize(
    ("env", "move"), [("games/KuhnPoker-v0", "bet"), ("games/MatrixGame-v0", "cooperate")]
)
def test_what_a_move_leads_to_is_not_guessed(env: str, move: str) -> None:
    assert scene_after(turn_of(env), move) is None


def test_a_click_on_a_listed_move_plays_it(seat: WindowSeat) -> None:
    turn = turn_of("games/KuhnPoker-v0")
    seat.paint(turn)
    (x, y, width, height), move = seat.panel.buttons[1]
    click((x + width // 2, y + height // 2))
    assert seat.ask(turn) == move == "bet"


def test_an_illegal_click_is_explained_and_nothing_is_played(seat: WindowSeat) -> None:
    turn = turn_of("games/TicTacToe-v0", 0)
    cells(seat, turn, (0, 0))
    pygame().event.post(pygame().event.Event(pygame().QUIT))
    with pytest.raises(KeyboardInterrupt):
        seat.ask(turn)


def test_typing_is_corrected_cleared_and_played(seat: WindowSeat) -> None:
    turn = turn_of("text/Negotiation-v0")
    seat.paint(turn)
    type_keys("nonsense\n\x1bsay helo\blo\n")
    assert turn.parse(seat.ask(turn)) == turn.parse("Say(text='hello')")


def test_help_is_shown_and_closed(seat: WindowSeat) -> None:
    turn = turn_of("games/TicTacToe-v0")
    seat.paint(turn)
    type_keys("?x5\n")  # the first key after the help closes it
    assert seat.ask(turn) == "5"


def test_closing_the_window_leaves_cleanly(seat: WindowSeat) -> None:
    person = HumanAgent()
    person._place = seat
    seat.paint(turn_of("games/TicTacToe-v0"))
    type_keys("1\n")
    pygame().event.post(pygame().event.Event(pygame().QUIT))
    with pytest.raises(KeyboardInterrupt):
        palestra.play("games/TicTacToe-v0", agents=[person, _plays("4", "5")])
    assert not pygame().display.get_init()


def test_a_game_is_played_by_clicking_against_any_agent(seat: WindowSeat) -> None:
    person = palestra.make_agent("human:window=true")
    assert isinstance(person, HumanAgent)
    assert isinstance(person._place, WindowSeat)
    cells(person._place, turn_of("games/TicTacToe-v0"), (0, 0), (0, 1), (0, 2))
    (record,) = palestra.play("games/TicTacToe-v0", agents=[person, _plays("4", "5")])
    assert record.outcome is not None
    assert record.outcome.results == ("win", "loss")


def test_moves_are_filtered_by_what_is_typed() -> None:
    moves = ["a2-a3", "a2-b3", "b2-a3"]
    assert moves_from(moves, "a2") == ["a2-a3", "a2-b3"]
    assert moves_from(moves, "") == moves


def test_cells_that_may_be_clicked_next_are_marked() -> None:
    episode = Episode(palestra.game("games/Chess-v0"), 0)
    scene, moves = episode.scene(0), episode.legal_texts(0)
    (start,) = with_targets(scene, moves, "").parts
    (chosen,) = with_targets(scene, moves, "g1").parts
    assert isinstance(start, Grid)
    assert isinstance(chosen, Grid)
    movable = {start.name(*cell) for kind, cell in start.marks if kind == "target"}
    assert movable == {*(f"{file}2" for file in "abcdefgh"), "b1", "g1"}
    marks = {(kind, chosen.name(*cell)) for kind, cell in chosen.marks}
    assert marks == {("selected", "g1"), ("target", "f3"), ("target", "h3")}
    assert with_targets(scene, moves, "z9") == scene


def test_black_sees_the_board_from_the_other_side_and_clicks_where_the_piece_is() -> None:
    episode = Episode(palestra.game("games/Chess-v0"), 0)
    episode.act({0: episode.parse(0, "e2e4")})
    (white,) = episode.scene(0).all_parts()
    (black,) = with_targets(episode.scene(1), episode.legal_texts(1), "g8").parts
    assert isinstance(white, Grid)
    assert isinstance(black, Grid)
    assert episode.scene() == episode.scene(0)
    assert (white.name(7, 0), white.name(4, 4)) == ("a1", "e4")
    assert (black.name(0, 7), black.name(3, 3)) == ("a1", "e4")
    for row in range(8):
        for column in range(8):
            assert black.cells[row][column] == white.cells[7 - row][7 - column]
            assert black.name(row, column) == white.name(7 - row, 7 - column)
    targets = {black.name(*cell) for kind, cell in black.marks if kind == "target"}
    assert targets == {"f6", "h6"}
    assert public_scene(episode) == episode.scene()
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1"
    first = Episode(palestra.game("games/Chess-v0", fen=start), 0)
    (own,) = first.scene(0).all_parts()  # black moves first, and so is seat 0
    assert isinstance(own, Grid)
    assert own.name(0, 7) == "a1"


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        (("1", "2", "3"), ("4", "5"), "You win, with 1."),
        (("1", "2", "9"), ("4", "5", "6"), "You lose, with -1."),
    ],
)
def test_a_person_is_told_how_it_ended(
    mine: tuple[str, ...], theirs: tuple[str, ...], said: str
) -> None:
    person, out = at_terminal(*mine)
    palestra.play("games/TicTacToe-v0", agents=[person, _plays(*theirs)])
    assert out.getvalue().count(said) == 1
