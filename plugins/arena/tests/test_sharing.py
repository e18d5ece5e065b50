"""Runs are shared as folders and on a hub, and nothing that was altered is taken."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import palestra
import pytest
import yaml
from local_hub import LocalHub
from palestra import InvalidOption, MissingExtra
from palestra.cli import main
from palestra.records.record import read_records, write_records
from palestra_arena import Settings, Store, run_tournament
from palestra_arena.sharing.folder import read_folder, write_folder
from palestra_arena.sharing.hub import HubPlace, download, hub_place
from palestra_arena.sharing.manifest import MANIFEST, DamagedFolder, Manifest

POLICY = bytes(range(256)) * 40
EPISODES = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with episodes, a store, a policy, and files that stay behind."""
    folder = tmp_path_factory.mktemp("runs") / "ada"
    palestra.play(
        "games/TicTacToe-v0", agents=["minimax", "random"], episodes=EPISODES, out=folder / "ttt"
    )
    (folder / "trained").mkdir()
    (folder / "trained" / "policy.pt").write_bytes(POLICY)
    (folder / "ttt" / "unfinished.jsonl").write_text("{}\n")
    (folder / ".secret").write_text("a key")
    (folder / "log.jsonl").write_text('{"step": 1}\n')
    outside = folder.with_name("outside.txt")
    outside.write_text("not ours to share")
    (folder / "link.txt").symlink_to(outside)
    play_tournament(folder / "arena.db")
    return folder


def play_tournament(path: Path) -> None:
    played = Settings(
        agents=("random", "minimax"), environments=("games/TicTacToe-v0",), games=2, workers=0
    )
    with Store(path) as store:
        run_tournament(played, store)


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_folder_holds_the_run_and_not_what_is_private(run: Path, tmp_path: Path) -> None:
    write_folder(run, tmp_path / "shared")
    found = read_folder(tmp_path / "shared", tmp_path / "back")
    assert files_of(tmp_path / "back") == files_of(tmp_path / "shared")
    assert set(files_of(tmp_path / "back")) == {
        "README.md",
        "palestra.json",
        "arena.db",
        "log.jsonl",
        "trained/policy.pt",
        "ttt/episode.jsonl",
        "ttt/run.json",
    }
    assert found.episodes == {"games/TicTacToe-v0": EPISODES}
    assert found.records == ["ttt/episode.jsonl"]
    for record in read_records(tmp_path / "back" / "ttt" / "episode.jsonl"):
        assert palestra.verify(record)


def test_pull_names_doubled_episodes_and_odd_fields(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "theirs"
    source.mkdir()
    lines = (run / "ttt" / "episode.jsonl").read_bytes().splitlines()
    odd = [lines[0], lines[1][:-1] + b',"bonus":1}', lines[0], lines[2][:-1] + b',"seed":7}']
    (source / "episode.jsonl").write_bytes(b"\n".join(odd) + b"\n")
    write_folder(source, tmp_path / "shared")
    with pytest.raises(SystemExit) as stop:
        main(["pull", str(tmp_path / "shared"), str(tmp_path / "back")])
    assert stop.value.code == 0
    said = capsys.readouterr()
    assert "episode.jsonl, episode 2: it is episode 0 once more" in said.err
    assert "episode.jsonl, episode 1: no record has a field bonus" in said.err
    assert "episode.jsonl, episode 3: 'seed' stands there twice" in said.err
    assert "episode 0:" not in said.err
    assert "--verify" in said.out


def test_checksums_are_those_of_sha256sum(run: Path, tmp_path: Path) -> None:
    write_folder(run, tmp_path / "shared")
    listed = palestra_manifest(tmp_path / "shared")
    lines = [f"{told.sha256}  {name}" for name, told in listed.files.items()]
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict"],
        input="\n".join(lines),
        cwd=tmp_path / "shared",
        text=True,
        capture_output=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
    assert len(lines) == len(files_of(tmp_path / "shared")) - 1


def palestra_manifest(folder: Path) -> Manifest:
    return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)


def test_the_card_says_who_played_and_how_it_went(run: Path, tmp_path: Path) -> None:
    write_folder(run, tmp_path / "shared")
    card = (tmp_path / "shared" / "README.md").read_text("utf-8")
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["tags"] == ["palestra", "reinforcement-learning"]
    assert f"| games/TicTacToe-v0 | minimax | {EPISODES} | " in card
    assert "`--agents ppo:FOLDER/trained`" in card
    assert "| 1 | minimax | " in card


def test_names_in_a_card_stay_text(run: Path, tmp_path: Path) -> None:
    (record, *_) = read_records(run / "ttt" / "episode.jsonl")
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    record.agents = ("<img src=x> | a\n# b", "random")
    write_records(hostile / "episode.jsonl", [record])
    write_folder(hostile, tmp_path / "shared")
    card = (tmp_path / "shared" / "README.md").read_text("utf-8")
    assert "<img" not in card
    assert "\n# b" not in card
    (row,) = (line for line in card.splitlines() if "img" in line)
    assert row.count("|") == 5


def test_a_card_of_your_own_is_kept_and_ours_is_made_anew(run: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "episode.jsonl").write_bytes((run / "ttt" / "episode.jsonl").read_bytes())
    write_folder(own, tmp_path / "first")
    (tmp_path / "first" / "more.txt").write_text("more")
    write_folder(tmp_path / "first", tmp_path / "again")
    assert "more.txt" in palestra_manifest(tmp_path / "again").files
    (own / "README.md").write_text("mine")
    write_folder(own, tmp_path / "second")
    assert (tmp_path / "second" / "README.md").read_text() == "mine"


def alter(folder: Path) -> None:
    (folder / "trained" / "policy.pt").write_bytes(POLICY[::-1])


def remove(folder: Path) -> None:
    (folder / "trained" / "policy.pt").unlink()


def replace_by_a_link(folder: Path) -> None:
    file = folder / "trained" / "policy.pt"
    elsewhere = folder.with_name("elsewhere.pt")
    elsewhere.write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(elsewhere)


def reach_out(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / MANIFEST).read_text().replace("trained/policy.pt", name)
        (folder / MANIFEST).write_text(text)

    return change


def garble(folder: Path) -> None:
    (folder / MANIFEST).write_text('{"files": 3}')


def write_instead(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / MANIFEST).read_text()
        assert old in text
        (folder / MANIFEST).write_text(text.replace(old, new, 1))

    return change


def nest_without_end(folder: Path) -> None:
    (folder / MANIFEST).write_text('{"files": ' * 100_000)


def make_a_manifest_of_zeros(folder: Path) -> None:
    with (folder / MANIFEST).open("wb") as file:
        file.truncate(3 << 30)


def grow(folder: Path) -> None:
    """Far more bytes than the disk holds, none of which may be copied."""
    with (folder / "trained" / "policy.pt").open("r+b") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (alter, "checksum differs"),
        (remove, "lacks 'trained/policy.pt'"),
        (replace_by_a_link, "link to a place outside"),
        (reach_out("../outside.txt"), "no path inside"),
        (reach_out("/etc/hostname"), "no path inside"),
        (reach_out("trained//policy.pt"), "no path inside"),
        (reach_out(".git/config"), "no path inside"),
        (garble, "cannot read palestra.json"),
        (write_instead('"format"', '"mode": 1, "format"'), "unknown field `mode`"),
        (write_instead('"sha256"', '"mode": 1, "sha256"'), "unknown field `mode`"),
        (write_instead('"files"', '"files": {}, "files"'), "the key 'files' is given twice"),
        (nest_without_end, "cannot read palestra.json"),
        (make_a_manifest_of_zeros, "more than 50000000 bytes"),
        (grow, "has 1099511627776 bytes, and its manifest says"),
    ],
)
def test_a_folder_that_was_altered_is_refused_whole(
    run: Path, tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    write_folder(run, tmp_path / "shared")
    change(tmp_path / "shared")
    with pytest.raises(DamagedFolder, match=said):
        read_folder(tmp_path / "shared", tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    "name", ["x" * 5000, "x" * 256, "é" * 128, "a/" * 3000 + "b", "\x1b[2J", "\u202ex"]
)
def test_a_path_that_cannot_be_is_named_in_short(run: Path, tmp_path: Path, name: str) -> None:
    write_folder(run, tmp_path / "out")
    manifest = msgspec.json.decode((tmp_path / "out" / MANIFEST).read_bytes())
    manifest["files"][name] = {"bytes": 1, "sha256": "0" * 64}
    (tmp_path / "out" / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    with pytest.raises(DamagedFolder) as refused:
        read_folder(tmp_path / "out", tmp_path / "in", "hf:user/name")
    assert len(str(refused.value)) < 400
    assert str(refused.value).isprintable()
    assert not (tmp_path / "in").exists()


def test_what_a_folder_holds_is_said_without_controls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = palestra.play("games/KuhnPoker-v0", agents="random")[0]
    named = msgspec.structs.replace(record, env="\x1b[2J\u202egames/Own-v0")
    (tmp_path / "run").mkdir()
    file = tmp_path / "run" / "\x1b]0;owned\x07.jsonl"
    file.write_bytes(msgspec.json.encode(named) + b"\n")
    for words in (["push", "run"], ["pull", "run-shared", "back"]):
        with pytest.raises(SystemExit, match="0"):
            main([words[0], *(str(tmp_path / name) for name in words[1:])])
    shown = capsys.readouterr()
    assert "games/Own-v0" in shown.out
    assert not set("\x1b\x07\u202e") & set(shown.out + shown.err)


def test_a_manifest_that_is_no_text_is_named(run: Path, tmp_path: Path) -> None:
    write_folder(run, tmp_path / "out")
    file = tmp_path / "out" / MANIFEST
    file.write_bytes(file.read_bytes().replace(b"README", b"\xff\xfeADME"))
    with pytest.raises(DamagedFolder, match="cannot read"):
        read_folder(tmp_path / "out", tmp_path / "in")


def test_a_store_is_shared_whole_while_games_are_written(run: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    played = Settings(
        agents=("random", "first"), environments=("games/TicTacToe-v0",), games=2, workers=0
    )
    with Store(source / "arena.db") as store:
        run_tournament(played, store)
        assert (source / "arena.db-wal").stat().st_size > 0  # the games are not in the file yet
        found = write_folder(source, tmp_path / "shared")
    assert [board.games for board in found.boards] == [2]
    assert set(files_of(tmp_path / "shared")) == {"README.md", "palestra.json", "arena.db"}


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("hf:ada/chess", HubPlace("ada/chess")),
        ("hf:models/ada/chess", HubPlace("ada/chess")),
        ("hf:datasets/ada/chess", HubPlace("ada/chess", "dataset")),
        ("hf:datasets/ada/chess@v1.2", HubPlace("ada/chess", "dataset", "v1.2")),
    ],
)
def test_places_on_the_hub(address: str, place: HubPlace) -> None:
    assert hub_place(address) == place
    assert hub_place(str(place)) == replace(place, revision=None)


@pytest.mark.parametrize(
    "address", ["hf:", "hf:ada", "hf:spaces/ada/chess", "hf:a b/c", "hf:../.."]
)
def test_other_places_are_refused(address: str) -> None:
    with pytest.raises(InvalidOption, match="hf:user/name"):
        hub_place(address)


def test_nothing_to_share_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(InvalidOption, match="holds no records, policies or stores"):
        write_folder(tmp_path / "empty", tmp_path / "shared")
    with pytest.raises(InvalidOption, match="there is no folder"):
        write_folder(tmp_path / "missing", tmp_path / "shared")
    with pytest.raises(InvalidOption, match=r"holds no palestra\.json"):
        read_folder(tmp_path / "empty", tmp_path / "back")


def test_without_the_client_the_error_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"palestra-arena\[hub\]"):
        download(HubPlace("ada/chess"), tmp_path)


# The real client, against a hub on this machine


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    server = LocalHub()
    yield server
    server.shutdown()
    server.server_close()


def command(hub: LocalHub, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own: the client reads its settings when it is imported."""
    settings = {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home / "hf"),
        "HF_TOKEN": "hf_of_ada",
        "HF_HUB_DISABLE_XET": "1",  # the hub's newer storage; ours has Git LFS
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", "palestra", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | settings,
        check=False,
        timeout=120,
    )


@pytest.mark.exhaustive(sample=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "name"),
    [("hf:ada/chess", "models/ada/chess"), ("hf:datasets/ada/chess", "datasets/ada/chess")],
)
def test_what_is_pushed_to_a_hub_is_what_is_pulled(
    run: Path, tmp_path: Path, hub: LocalHub, address: str, name: str
) -> None:
    done = command(hub, tmp_path, "push", str(run), "--to", address, "--message", "First games")
    assert done.returncode == 0, done.stderr
    repository = hub.repositories[name]
    assert repository.private
    assert repository.commits == ["First games"]
    assert repository.files["trained/policy.pt"] == POLICY
    assert ".secret" not in repository.files
    assert "Bearer hf_of_ada" in hub.tokens
    done = command(hub, tmp_path, "pull", address, str(tmp_path / "back"))
    assert done.returncode == 0, done.stderr
    assert files_of(tmp_path / "back") == repository.files

    repository.files["trained/policy.pt"] = POLICY[::-1]
    done = command(hub, tmp_path, "pull", address, str(tmp_path / "altered"))
    assert done.returncode == 2
    assert f"trained/policy.pt in {address} is not the file that was pushed" in done.stderr
    assert not (tmp_path / "altered").exists()


@pytest.mark.slow
def test_a_second_push_leaves_nothing_of_the_first(
    run: Path, tmp_path: Path, hub: LocalHub
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "episode.jsonl").write_bytes((run / "ttt" / "episode.jsonl").read_bytes())
    (source / "old.txt").write_text("old")
    for name in ("old.txt", "new.txt"):
        (source / "old.txt").rename(source / name)
        done = command(hub, tmp_path, "push", str(source), "--to", "hf:ada/games", "--public")
        assert done.returncode == 0, done.stderr
    repository = hub.repositories["models/ada/games"]
    assert not repository.private
    assert set(repository.files) == {"README.md", "palestra.json", "episode.jsonl", "new.txt"}


@pytest.mark.slow
def test_a_repository_that_is_not_there_is_named(tmp_path: Path, hub: LocalHub) -> None:
    done = command(hub, tmp_path, "pull", "hf:ada/nothing", str(tmp_path / "back"))
    assert done.returncode == 2
    assert "hf:ada/nothing: RepositoryNotFoundError" in done.stderr
    assert not (tmp_path / "back").exists()
