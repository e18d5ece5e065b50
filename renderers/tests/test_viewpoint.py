"""What a page shows of a scene to one person: their own place nearest, everybody by name."""

import pytest
from palestra import Grid, Piece, Scene, make
from palestra.kernel.registry import renderer
from palestra.scene import Card, Cards, Link, Person, RoundTable
from palestra_renderers.viewpoint import nearest, with_names

FIVE = tuple(Person(f"player_{n}", n, vote=vote) for n, vote in enumerate((3, None, 0, 2, 4)))
LINKS = (Link(0, 3, "5"), Link(4, 1), Link(2, 2))


@pytest.mark.parametrize("seat", range(5))
def test_the_viewer_sits_first_and_everybody_still_means_the_same(seat: int) -> None:
    table = RoundTable(FIVE, links=LINKS, words="player_0 begins")
    (seen,) = nearest(Scene(parts=(table,)), f"player_{seat}").all_parts()
    names = [person.name for person in seen.people]
    assert names == [f"player_{(seat + n) % 5}" for n in range(5)]

    def meant(shown: RoundTable) -> tuple[set[object], set[object]]:
        name = [person.name for person in shown.people]
        votes = {(p.name, None if p.vote is None else name[p.vote]) for p in shown.people}
        return votes, {(name[link.start], name[link.end], link.label) for link in shown.links}

    assert meant(seen) == meant(table)


def test_who_does_not_sit_there_sees_the_table_as_it_is() -> None:
    scene = Scene("caption", parts=(RoundTable(FIVE, links=LINKS),))
    assert nearest(scene, "player_9") == scene


def test_the_own_row_of_cards_is_the_lowest_of_its_rows() -> None:
    rows = tuple(Cards(owner, (Card("K"),)) for owner in ("table", "player_0", "player_1"))
    scene = Scene(parts=(*rows, RoundTable(FIVE), rows[1], rows[2]))
    parts = nearest(scene, "player_0").all_parts()
    owners = [part.owner if isinstance(part, Cards) else "-" for part in parts]
    assert owners == ["table", "player_1", "player_0", "-", "player_1", "player_0"]


def test_names_replace_players_in_words_and_never_in_the_names_of_places() -> None:
    board = Grid(((Piece("1", label="player_1"),),), names=(("player_1",),))
    people = (Person("player_1"), Person("player_11", said="player_1, not player_2"))
    scene = Scene("player_1: play", parts=(board, RoundTable(people)))
    shown = with_names(scene, {"player_1": "Ada", "player_11": r"\1 <b>"})
    grid, table = shown.all_parts()
    assert shown.caption == "Ada: play"
    assert grid == board
    assert [person.name for person in table.people] == ["Ada", r"\1 <b>"]
    assert table.people[1].said == "Ada, not player_2"
    assert with_names(scene, {}) is scene


def test_each_seat_finds_itself_below_on_the_pages_picture() -> None:
    episode = make("games/Holdem-v0", view="episode", seed=3, num_players=5)
    artist = renderer(None, "marks")()
    names = {f"player_{seat}": f"Person {seat}" for seat in range(5)}
    for seat in range(5):
        picture = artist.draw(episode, seat, names)
        marks = [picture["table"][number] for number in picture["marks"]]
        height = {mark[3]: mark[2] for mark in marks if mark[0] == "w" and "Person" in str(mark[3])}
        assert max(height, key=lambda name: height[name]) == f"Person {seat}"
        assert len(height) == 5
