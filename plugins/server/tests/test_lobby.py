"""The page on which people play, in real Chromium: by clicks, by links, by typing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from palestra.kernel.registry import registry
from palestra.records.record import EpisodeRecord, replay

SHOTS = os.environ.get("PALESTRA_SHOTS", "")  # a folder for pictures of the pages
pytestmark = pytest.mark.slow


@dataclass(eq=False)
class Person:
    """A browser of its own, and all that the server sent to its pages."""

    page: Any
    url: str
    heard: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, path: str = "") -> None:
        self.page.goto(path if path.startswith("http") else f"{self.url}/{path}")

    def click(self, name: str) -> None:
        """Click a place of the board."""
        self.page.locator(f'.place[data-name="{name}"]').first.click()

    def press(self, text: str) -> None:
        self.page.get_by_role("button", name=text, exact=True).click()

    def type(self, text: str) -> None:
        self.page.fill("#typed", text)
        self.page.press("#typed", "Enter")

    def wait(self, status: str) -> None:
        self.page.locator("#status", has_text=status).wait_for(timeout=20_000)

    def verdict(self) -> str:
        self.page.locator(".verdict").wait_for(timeout=20_000)
        return str(self.page.text_content(".verdict"))

    def link(self, kind: str) -> str:
        return str(self.page.input_value(f"#{kind}-link"))

    def shot(self, name: str) -> None:
        if SHOTS:
            self.page.screenshot(path=f"{SHOTS}/{name}.png")


@pytest.fixture
def people(browser: Any, server: Any) -> Iterator[Any]:
    """Makes persons, whose pages must ask only our server and print no error."""
    url, made = server[0], list[Person]()
    asked: list[str] = []

    def person(**settings: Any) -> Person:
        usual = {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"}
        context = browser.new_context(**usual | settings)
        someone = Person(context.new_page(), url)
        made.append(someone)
        page = someone.page
        page.set_default_timeout(20_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: someone.errors.append(str(error)))
        page.on(
            "console",
            lambda told: someone.errors.append(told.text) if told.type == "error" else None,
        )
        page.on("websocket", lambda ws: ws.on("framereceived", lambda t: someone.heard.append(t)))
        return someone

    yield person
    for someone in made:
        someone.page.context.close()
    assert not [error for someone in made for error in someone.errors]
    assert not [one for one in asked if not one.startswith((url, "blob:" + url))]
    assert not [one for one in asked if re.search("invite|watch|token", one)]


def open_match(person: Person, env: str, *seats: str, name: str = "Ada") -> None:
    """Open a match in the lobby, its first seat for the person who opens it."""
    person.open()
    person.page.fill("#name", name)
    choose(person, env)
    for number, agent in enumerate(seats):
        person.page.select_option(f'select[aria-label="Seat {number + 2}"]', agent)
    person.shot("lobby")
    person.page.click("#open")
    person.page.locator("#people").wait_for()


def sit_down_by_link(friend: Person, host: Person, name: str = "") -> None:
    """Open the invitation of whoever waits for players, and take a seat."""
    friend.open(host.link("invite"))
    if name:
        friend.page.fill("#name", name)
    friend.page.click("#join")


def choose(person: Person, env: str) -> None:
    """Choose an environment in the lobby by its picture."""
    person.page.fill("#search", env)
    person.page.locator(f'.tile:has(input[value="{env}"])').click()


def shown(person: Person) -> list[str]:
    """The environments that the lobby shows."""
    return list(person.page.locator(".tile input").evaluate_all("all => all.map(one => one.value)"))


def test_a_game_is_found_by_words_and_by_kinds(people: Any) -> None:
    ada = people()
    ada.open()
    ada.page.locator("#search").wait_for()
    everything = shown(ada)
    ada.page.fill("#search", "four connect")
    assert shown(ada) == ["games/ConnectFour-v0"]
    ada.page.fill("#search", "AUCTION")
    known = registry().environments
    assert len(shown(ada)) > 3
    assert all("auction" in str(known[env]).lower() for env in shown(ada))
    ada.press("Markets")
    assert {env.partition("/")[0] for env in shown(ada)} == {"markets"}
    ada.page.fill("#search", "")
    assert shown(ada) == [env for env in everything if env.startswith("markets/")]
    ada.press("All")
    assert shown(ada) == everything
    ada.page.fill("#search", "no such thing <b>")
    assert shown(ada) == []
    assert "Nothing has all of these words" in ada.page.text_content("#found")


def test_a_game_is_found_and_opened_by_keys_alone(people: Any) -> None:
    ada = people()
    ada.open()
    ada.page.locator("#search").focus()
    ada.page.keyboard.type("grid worlds")
    ada.page.keyboard.press("ArrowDown")
    ada.page.keyboard.press("ArrowRight")
    chosen = ada.page.locator(".tile input:checked").get_attribute("value")
    assert chosen == shown(ada)[1]
    assert ada.page.text_content("#chosen").startswith("Open ")
    ada.page.locator("#search").focus()
    ada.page.keyboard.press("Control+A")
    ada.page.keyboard.type("othello")
    ada.page.keyboard.press("Enter")
    assert ada.page.text_content("#chosen") == "Open Othello"
    ada.page.keyboard.press("Enter")
    ada.wait("Your turn")
    assert ada.page.text_content("#title") == "Othello"


def test_a_game_is_chosen_by_touch_on_a_narrow_screen(people: Any) -> None:
    ada = people(has_touch=True, viewport={"width": 390, "height": 700})
    ada.open()
    ada.page.fill("#search", "kitchen")
    ada.page.locator('.tile:has(input[value="grid/Kitchen-v0"])').tap()
    assert ada.page.text_content("#chosen") == "Open Kitchen"
    assert ada.page.locator(".seatrow").count() == 2
    ada.shot("narrow")
    assert ada.page.evaluate("document.documentElement.scrollWidth") <= 390
    ada.page.locator("#open").tap()
    ada.wait("Your turn")


def test_pictures_are_drawn_as_they_come_into_sight(people: Any) -> None:
    ada = people()
    asked: list[str] = []
    ada.page.on("request", lambda r: asked.append(r.url) if "/page/pictures/" in r.url else None)
    ada.open()
    board = ada.page.locator('[data-env="games/Breakthrough-v0"] svg')
    board.wait_for()
    assert board.locator("rect").count() >= 64
    at_first = len(asked)
    assert 0 < at_first < len(shown(ada)) / 2
    ada.page.fill("#search", "shared memory")  # it begins without anything to draw
    plain = ada.page.locator('[data-env="text/SharedMemory-v0"] span')
    plain.wait_for()
    assert plain.text_content() == "Shared Memory"
    ada.page.fill("#search", "chess")
    ada.page.locator('[data-env="games/Chess-v0"] svg').wait_for()
    assert len(asked) > at_first


def test_a_person_wins_tic_tac_toe_by_clicks_and_plays_again(people: Any) -> None:
    ada = people()
    open_match(ada, "games/TicTacToe-v0", "first")
    for cell in ("5", "3", "7"):  # the agent takes 1 and 2
        ada.wait("Your turn")
        ada.shot(f"tictactoe-{cell}")
        ada.click(cell)
    assert ada.verdict() == "You win"
    ada.shot("tictactoe-won")
    with ada.page.expect_download() as saved:
        ada.press("Save the record")
    record = msgspec.json.decode(Path(saved.value.path()).read_bytes(), type=EpisodeRecord)
    assert record.outcome is not None
    assert record.outcome.results == ("win", "loss")
    assert tuple(replay(record).returns) == record.returns
    assert record.agents == ("remote:Ada", "first")
    before = ada.page.url
    ada.press("Play again")
    ada.wait("Your turn")
    assert ada.page.url != before
    assert ada.page.locator(".place").count() == 9


def test_two_people_play_by_a_link_and_a_third_watches(people: Any) -> None:
    ada, bob, eve = people(), people(), people(color_scheme="dark")
    open_match(ada, "games/ConnectFour-v0", "open")
    ada.wait("Waiting for players")
    ada.shot("invite")
    eve.open(ada.link("watch"))
    sit_down_by_link(bob, ada, "Bob <b>")
    ada.wait("Your turn")
    bob.wait("Waiting for the others")
    for mine, theirs in ("12", "12", "12"):
        ada.click(mine)
        bob.wait("Your turn")
        bob.click(theirs)
        ada.wait("Your turn")
    ada.shot("connectfour")
    address = ada.page.url
    ada.page.reload()
    ada.wait("Your turn")
    assert ada.page.url == address
    assert ada.page.locator("#log p").count() == 6
    ada.click("1")
    assert ada.verdict() == "You win"
    assert bob.verdict() == "You lose"
    assert eve.verdict() == "The match is over"
    eve.shot("watching")
    assert eve.page.locator("#log p").count() == 7
    assert r"Bob \u{3c}b>" in eve.page.text_content("#people")
    ada.press("Play again")
    ada.wait("Waiting for players")
    bob.press("Play again")
    ada.wait("Your turn")
    tokens = {who: token_of(who) for who in (ada, bob)}
    assert not tokens[ada] & tokens[bob]
    assert len(tokens[ada]) == len(tokens[bob]) == 2
    for who, others in ((ada, tokens[bob]), (bob, tokens[ada]), (eve, tokens[ada] | tokens[bob])):
        assert not [token for token in others if token in "".join(who.heard)]
        assert not [token for token in others if token in who.page.content() + who.page.url]


def test_a_friend_takes_a_seat_by_the_link_that_was_copied(people: Any) -> None:
    ada, bob = people(permissions=["clipboard-read", "clipboard-write"]), people()
    open_match(ada, "games/KuhnPoker-v0", "open", name="Ada <b>")
    ada.page.locator("#invite-link").wait_for()
    ada.page.click("#invite-copy")
    ada.page.locator("#invite-copy", has_text="Copied").wait_for()
    copied = ada.page.evaluate("navigator.clipboard.readText()")
    assert copied == ada.link("invite")
    assert ada.page.locator("#invite-share").count() == 0  # this browser has no such sheet
    assert "works on this computer alone" in ada.page.text_content("#invites")
    bob.open(copied)
    bob.page.locator(".invitation svg rect").first.wait_for()
    assert bob.page.text_content("#invited") == r"Ada \u{3c}b> invites you to play Kuhn Poker"
    assert registry().environments["games/KuhnPoker-v0"].summary in bob.page.text_content(
        "#invites"
    )
    assert bob.page.locator("#seat").is_hidden()
    assert bob.page.locator("#invite-link").count() == 0
    bob.shot("invited")
    bob.page.fill("#name", "Bob")
    bob.page.click("#join")
    bob.wait("Waiting for the others")
    ada.wait("Your turn")
    assert ada.page.locator("#invites").is_hidden()
    assert "Bob" in ada.page.text_content("#people")
    bob.page.click(".home")
    bob.page.locator(".rows li", has_text="Kuhn Poker as Bob").wait_for()


def seats_at(person: Person, *texts: str) -> list[str]:
    """Texts of the board, or names of its places, from the top down."""
    found = {}
    for text in texts:
        place = person.page.locator(f'.place[data-name="{text}"]')
        at = place if place.count() else person.page.locator("#board text", has_text=text)
        box = at.first.bounding_box()
        assert box is not None
        found[text] = box["y"]
    return sorted(found, key=lambda text: found[text])


def test_people_are_called_by_name_and_sit_at_the_lower_end_of_their_own_board(
    people: Any,
) -> None:
    ada, bob, eve = people(), people(), people()
    open_match(ada, "games/KuhnPoker-v0", "open")
    eve.open(ada.link("watch"))
    sit_down_by_link(bob, ada, "Bob <i>")
    ada.wait("Your turn")
    ada.press("pass")
    bob.wait("Your turn")
    name = r"Bob \u{3c}i>"
    bob.press("pass")
    ada.verdict()
    eve.verdict()
    for person in (ada, bob, eve):
        log = person.page.text_content("#log")
        assert "Ada plays pass." in log
        assert f"{name} plays pass." in log
        assert "player_" not in log + person.page.text_content("#board")
        assert person.page.locator("#log i, #people i, #board i").count() == 0
        assert "Ada" in person.page.text_content("#people")
        assert name in person.page.text_content("#people")
        assert "player_" not in person.page.text_content("#ending")
    assert seats_at(ada, "Ada", name) == [name, "Ada"]
    assert seats_at(bob, "Ada", name) == ["Ada", name]
    bob.shot("named")


@pytest.mark.parametrize(
    ("env", "move", "black"),
    [
        ("games/Chess-v0", "e2e4", "e7"),
        ("games/Breakthrough-v0", "a2-a3", "a7"),
    ],
)
def test_a_board_with_sides_is_turned_to_whoever_plays(
    people: Any, env: str, move: str, black: str
) -> None:
    ada, bob = people(), people()
    open_match(ada, env, "open")
    sit_down_by_link(bob, ada)
    ada.wait("Your turn")
    assert seats_at(ada, "1", "8") == ["8", "1"]
    assert seats_at(bob, "1", "8") == ["1", "8"]
    ada.type(move)
    bob.wait("Your turn")
    bob.click(black)  # its own piece, on the lower half of its own board
    box, whole = (bob.page.locator(one).first.bounding_box() for one in (".chosen", "#board"))
    assert box["y"] > whole["y"] + whole["height"] / 2


def test_friends_who_come_at_once_get_seats_of_their_own(people: Any) -> None:
    ada, bob, eve = people(), people(), people()
    ada.open()
    choose(ada, "games/LiarsDice-v0")
    ada.page.fill("#many", "3")
    ada.page.press("#many", "Tab")
    for seat in (2, 3):
        ada.page.select_option(f'select[aria-label="Seat {seat}"]', "open")
    ada.page.click("#open")
    ada.page.locator("#invite-link").wait_for()
    for friend, name in ((bob, "Bob"), (eve, "Eve")):
        friend.open(ada.link("invite"))
        friend.page.fill("#name", name)
        assert friend.page.text_content("#invited") == "You are invited to play Liars Dice"
    bob.page.click("#join")
    bob.wait("Waiting for players")
    eve.page.locator("#invited", has_text="Bob invites you").wait_for()
    assert eve.page.input_value("#name") == "Eve"  # what was typed stays when others sit down
    eve.page.click("#join")
    ada.wait("Your turn")
    seats = ada.page.locator("#people .who").all_text_contents()
    assert ["Bob" in seats[1], "Eve" in seats[2]] == [True, True]


def test_a_link_is_handed_to_the_sheet_of_a_browser_that_has_one(people: Any) -> None:
    ada = people()
    ada.page.add_init_script("navigator.share = async data => { window.handed = data; }")
    open_match(ada, "games/ConnectFour-v0", "open")
    ada.page.click("#invite-share")
    handed = ada.page.evaluate("window.handed")
    assert handed == {"title": "Play Connect Four", "url": ada.link("invite")}


def token_of(person: Person) -> set[str]:
    """The tokens of a person's seats, as their browser keeps them."""
    kept = person.page.evaluate("Object.values(JSON.parse(localStorage['palestra.seats']))")
    return {one["token"] for one in kept}


def test_a_link_to_watch_takes_no_seat_and_a_wrong_one_shows_nothing(people: Any) -> None:
    ada, eve = people(), people()
    open_match(ada, "games/KuhnPoker-v0", "open")
    watch = ada.link("watch")
    eve.open(watch)
    eve.wait("Waiting for players")
    assert eve.page.locator("#join").count() == 0
    match, word = re.findall("=([^&]+)", watch)
    taken = httpx.post(f"{ada.url}/matches/{match}/join", json={"invite": word})
    assert taken.status_code == 403
    eve.open(watch.replace(word, "x" * len(word)))
    eve.page.reload()
    eve.page.locator(".boardside .problem", has_text="is by invitation").wait_for()
    assert eve.page.locator("#people li").count() == 0


def test_chess_is_played_by_two_clicks_a_move(people: Any) -> None:
    ada = people()
    open_match(ada, "games/Chess-v0", "first")
    ada.wait("Your turn")
    ada.click("e2")
    assert names(ada, ".place.target") == {"e3", "e4"}
    ada.shot("chess")
    ada.page.keyboard.press("Escape")
    assert ada.page.locator(".place.chosen").count() == 0
    ada.click("g1")
    assert names(ada, ".place.target") == {"f3", "h3"}
    ada.click("e2")  # another piece
    ada.click("e4")
    ada.page.locator("#log p").nth(1).wait_for()
    ada.wait("Your turn")
    assert "e2e4" in ada.page.text_content("#log")
    ada.page.check("#confirm")
    ada.click("d2")
    ada.click("d4")
    assert ada.page.text_content("#selected b") == "d2d4"
    ada.press("Undo")
    assert ada.page.locator("#log p").count() == 2
    ada.page.drag_and_drop('.place[data-name="d1"]', '.place[data-name="h5"]')
    ada.press("Send")
    ada.page.locator("#log p").nth(3).wait_for()
    assert "d1h5" in ada.page.text_content("#log")
    ada.press("Resign")
    ada.press("Really resign?")
    assert ada.verdict() == "You forfeited"


CLICKS = [  # moves, places clicked before, the place clicked; what is chosen then, and the move
    (["e2e3", "e2e4", "d2d4"], [], "e2", ["e2"], None),
    (["e2e3", "e2e4", "d2d4"], ["e2"], "e4", ["e2", "e4"], "e2e4"),
    (["e2e3", "e2e4", "d2d4"], ["e2"], "d2", ["d2"], None),
    (["e2e3", "e2e4", "d2d4"], ["e2"], "e2", [], None),
    (["e7e8q", "e7e8r"], ["e7"], "e8", ["e7", "e8"], None),
    (["1", "10", "11"], [], "1", ["1"], "1"),
    (["10", "11"], [], "1", None, None),
    (["9-14", "9-13", "10-14"], ["9"], "14", ["9", "14"], "9-14"),
    (["Settle(corner=2)", "Settle(corner=20)"], [], "2", ["2"], "Settle(corner=2)"),
    (["Road(road='19-20')", "Road(road='20-21')"], [], "20", None, None),
    (["Road(road='19-20')", "Road(road='20-21')"], [], "20-21", ["20-21"], "Road(road='20-21')"),
    (["Road(road='19-20')", "End()"], [], "R", None, None),
    (["Move(piece='A', to='b2')", "Move(piece='A', to='c2')"], [], "A", ["A"], None),
    (["Move(piece='A', to='b2')", "Move(piece='A', to='c2')"], ["A"], "c2", ["A", "c2"],
     "Move(piece='A', to='c2')"),
]  # fmt: skip


def test_clicks_make_moves_as_a_person_means_them(people: Any) -> None:
    ada = people()
    ada.open()
    meant = ada.page.evaluate(
        """async cases => {
            const {click} = await import("/page/moves.js");
            return cases.map(([moves, chosen, name]) => click(moves, chosen, name));
        }""",
        CLICKS,
    )
    for (moves, before, name, chosen, move), found in zip(CLICKS, meant, strict=True):
        expected = None if chosen is None else {"chosen": chosen, "move": move}
        assert found == expected, (moves, before, name)


def names(person: Person, places: str) -> set[str]:
    found = person.page.locator(places).evaluate_all("all => all.map(one => one.dataset.name)")
    return set(found)


def test_negotiation_is_played_by_typing_and_by_fields(people: Any) -> None:
    ada, bob = people(), people()
    open_match(ada, "text/Negotiation-v0", "open")
    sit_down_by_link(bob, ada)
    ada.wait("Your turn")
    ada.type("propose 9 9 9")
    ada.page.locator("#note", has_text="books").wait_for()
    ada.shot("negotiation")
    ada.type("say I like books; <img src=x onerror=alert(1)> too")
    bob.wait("Your turn")
    assert "img src=x" in bob.page.text_content("#log")
    assert bob.page.locator("#log img").count() == 0
    form = bob.page.locator("form[data-action=Propose]")
    books = form.locator("[data-field=books]")
    books.fill(books.get_attribute("max"))
    bob.shot("negotiation-form")
    form.get_by_role("button").click()
    ada.wait("Your turn")
    ada.press("Accept")
    assert ada.verdict().startswith(("You", "The match is over"))
    assert bob.verdict()
    header = {"Authorization": f"Bearer {token_of(ada).pop()}"}
    record = httpx.get(f"{ada.url}/seat/record", headers=header).json()
    assert record["mistakes"] == [0, 0]  # what is refused while typing does not count


@pytest.mark.parametrize(("env", "others"), [("games/KuhnPoker-v0", 1), ("games/Werewolf-v0", 4)])
def test_no_page_receives_what_its_seat_may_not_know(
    people: Any, server: Any, env: str, others: int
) -> None:
    ada, eve = people(), people()
    open_match(ada, env, *["random"] * others)
    eve.open(ada.link("watch"))
    eve.wait("Watching")
    episode = server[1].match(ada.page.url.split("match=")[1].split("&")[0]).episode
    ada.wait("Your turn")
    ada.page.locator(".choice").first.click()
    ada.page.locator("#status", has_not_text="Sending").wait_for()
    ada.page.locator("#log p").nth(1).wait_for()
    private = [event for event in episode.events if event.audience is not None]
    own = {event.text for event in private if 0 in event.audience}
    secrets = {eve: {event.text for event in private}}
    secrets[ada] = secrets[eve] - own
    assert secrets[eve] > secrets[ada] > set()
    for person, texts in secrets.items():
        heard = "".join(person.heard)
        assert len(heard) > 1_000
        assert not [text for text in texts if json.dumps(text)[1:-1] in heard]


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_of(people: Any, theme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    ada = people(color_scheme=theme, bypass_csp=True)  # axe is put into the page
    ada.open()
    ada.page.locator("#open").wait_for()
    found = axe.Axe().run(ada.page).response["violations"]
    open_match(ada, "games/ConnectFour-v0", "open")
    bob = people(color_scheme=theme, bypass_csp=True)
    bob.open(ada.link("invite"))
    bob.page.locator(".invitation svg").wait_for()
    for person in (ada, bob):
        found += axe.Axe().run(person.page).response["violations"]
    open_match(ada, "games/TicTacToe-v0", "first")
    for cell in ("5", "3", "7"):
        ada.wait("Your turn")
        found += axe.Axe().run(ada.page).response["violations"] if cell == "3" else []
        ada.click(cell)
    ada.verdict()
    last = axe.Axe().run(ada.page).response
    assert {"color-contrast", "button-name"} <= {rule["id"] for rule in last["passes"]}
    found += last["violations"]
    assert not [(one["id"], one["nodes"][0]["html"]) for one in found]
