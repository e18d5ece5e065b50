"""A store that lost bytes, is another program's or cannot be written: said, and nothing made up."""

import asyncio
import contextlib
import shutil
import sqlite3

import msgspec
import pytest
from palestra import Rng
from palestra_server.messages import OPEN, Create, Join, Move
from palestra_server.refused import RequestRefused
from palestra_server.server import MatchServer
from palestra_server.store import DamagedStore, MatchStore, StoreError

ENVS = ("games/TicTacToe-v0", "games/ConnectFour-v0", "games/KuhnPoker-v0")


def played(file):
    """A store of 12 matches that are 0 to 8 moves old; what their seats were shown, by match."""

    async def run():
        server, shown = MatchServer(MatchStore(f"sqlite:///{file}")), {}
        await server.start()
        for number in range(12):
            wanted = Create(ENVS[number % 3], (OPEN, OPEN), seed=number)
            name = (await server.create(wanted)).match
            tokens = [(await server.join(name, Join(seat))).token for seat in (0, 1)]
            match = server.match(name)
            for step in range(number % 9):
                if not match.over:
                    (seat,) = match.episode.to_act
                    action = match.episode.sample(seat, Rng(step))
                    await server.move(server.seat(tokens[seat]), Move(action=action))
            shown[name] = tokens, views(server, tokens)
        await server.stop()
        return shown

    return asyncio.run(run())


def views(server, tokens):
    """What the seats see, but for the time that they have left."""
    seen = [server.look(server.seat(token)) for token in tokens]
    return [msgspec.structs.replace(view, seconds_left=None) for view in seen]


def found_in(file, shown):
    """What a server makes of each match: it is the same, another, or refused and why."""

    async def run():
        server, found = MatchServer(MatchStore(f"sqlite:///{file}")), {}
        await server.start()
        for name, (tokens, before) in shown.items():
            try:
                same = views(server, tokens) == before
                found[name] = "same" if same else "another"
            except (RequestRefused, DamagedStore) as error:
                found[name] = str(error)
        await server.stop()
        return found

    return asyncio.run(run())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    file = tmp_path_factory.mktemp("whole") / "m.db"
    return file, played(file)


def test_whatever_page_is_lost_the_server_says_so_and_serves_what_is_whole(whole, tmp_path, caplog):
    file, shown = whole
    held, served = file.read_bytes(), 0
    assert set(found_in(shutil.copy(file, tmp_path), shown).values()) == {"same"}
    for page in range(1, len(held) // 4096):
        caplog.clear()
        damaged = tmp_path / f"{page}.db"
        damaged.write_bytes(held[: page * 4096] + bytes(4096) + held[(page + 1) * 4096 :])
        try:
            found = found_in(damaged, shown)
        except StoreError as error:
            found = {"": str(error)}
        assert "another" not in found.values()
        said = caplog.text + " ".join(found.values())
        assert "restore a copy" in said
        assert "sqlalche" not in said
        served += list(found.values()).count("same")
    assert served > len(shown)


CHANGES = [
    ("answers", """replace(answer, '"action":', '"action":1')"""),
    ("answers", """replace(answer, '"number":1', '"number":2')"""),
    ("matches", """replace(plan, '"seed":', '"seed":1')"""),
]


@pytest.mark.parametrize(("table", "change"), CHANGES)
def test_an_answer_or_a_plan_that_was_changed_is_not_played(whole, tmp_path, table, change):
    file, shown = whole
    copy = shutil.copy(file, tmp_path / "m.db")
    column = "answer" if table == "answers" else "plan"
    with contextlib.closing(sqlite3.connect(copy)) as database:
        changed = f"UPDATE {table} SET {column} = CAST({change} AS BLOB)"
        assert database.execute(changed).rowcount > 5
        database.commit()
    found = found_in(copy, shown)
    assert "another" not in found.values()
    assert sum("cannot be restored" in said for said in found.values()) > 2


def test_a_match_that_lost_an_answer_is_not_played_from_there(whole, tmp_path):
    file, shown = whole
    copy = shutil.copy(file, tmp_path / "m.db")
    with contextlib.closing(sqlite3.connect(copy)) as database:
        lost = "DELETE FROM answers WHERE place = 1 AND match IN "
        database.execute(lost + "(SELECT match FROM answers WHERE place = 2)")
        database.commit()
    found = found_in(copy, shown)
    refused = [said for said in found.values() if said != "same"]
    assert len(refused) > 2
    assert all("answer 1 of match" in said and "is missing" in said for said in refused)


@pytest.mark.parametrize("lost", [1, 2, 9])
def test_last_answers_under_another_name_are_missed(whole, tmp_path, lost):
    file, shown = whole
    copy = shutil.copy(file, tmp_path / "m.db")
    with contextlib.closing(sqlite3.connect(copy)) as database:
        counted = dict(database.execute("SELECT match, count(*) FROM answers GROUP BY match"))
        database.executemany(
            "UPDATE answers SET match = 'x' || match WHERE match = ? AND place >= ?",
            [(match, count - lost) for match, count in counted.items()],
        )
        database.commit()
    found = found_in(copy, shown)
    assert {name for name, said in found.items() if said != "same"} == set(counted)
    for name, count in counted.items():
        assert f"answer {max(0, count - lost)} of match {name} is missing" in found[name]


def test_a_match_that_was_over_is_not_played_on(tmp_path):
    async def run():
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/m.db"))
        await server.start()
        name = (await server.create(Create(ENVS[0], (OPEN, OPEN), seed=1))).match
        tokens = [(await server.join(name, Join(seat))).token for seat in (0, 1)]
        for number, action in enumerate((0, 3, 1, 4, 2)):
            await server.move(server.seat(tokens[number % 2]), Move(action=action))
        assert server.match(name).over
        await server.stop()
        return name, tokens

    name, tokens = asyncio.run(run())
    with contextlib.closing(sqlite3.connect(tmp_path / "m.db")) as database:
        database.execute("DELETE FROM answers WHERE place = 4")
        database.commit()
    said = found_in(tmp_path / "m.db", {name: (tokens, [])})[name]
    assert "was over, and its last answers are missing" in said


def test_a_store_without_checksums_is_opened(whole, tmp_path):
    file, shown = whole
    copy = shutil.copy(file, tmp_path / "m.db")
    with contextlib.closing(sqlite3.connect(copy)) as database:
        for table, column in (("answers", "answer"), ("matches", "plan")):
            cut = f"substr({column}, 1, length({column}) - 8)"  # as earlier versions wrote them
            database.execute(f"UPDATE {table} SET {column} = {cut}")
        kept = [row[0] for row in database.execute("SELECT answer FROM answers")]
        assert all(isinstance(msgspec.json.decode(each), dict) for each in kept)
        database.commit()
    assert set(found_in(copy, shown).values()) == {"same"}


def test_a_file_of_another_program_is_named(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "m.db")) as database:
        database.execute("CREATE TABLE matches (name TEXT, status TEXT)")
    with pytest.raises(StoreError, match=r"is not a store of matches: .* use another --store"):
        MatchStore(f"sqlite:///{tmp_path}/m.db")


def test_a_store_that_cannot_be_written_is_refused_at_the_start(whole):
    with pytest.raises(StoreError, match=r"cannot open .*readonly database; use a --store in"):
        MatchStore(f"sqlite:///file:{whole[0]}?mode=ro&uri=true")
