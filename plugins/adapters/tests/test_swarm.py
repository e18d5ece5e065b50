"""SwarmAgentic: teams in words, what a velocity is written from, and a swarm that shares finds."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from adapter_worlds import last, trail
from optimiser_worlds import doors, optimise
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra_adapters.optimisers.run import LOG
from palestra_adapters.optimisers.search import Choice, WorkflowEpisode
from palestra_adapters.optimisers.swarm import (
    Role,
    Speech,
    Swarm,
    Team,
    episode_text,
    heats,
    read_team,
    workflow_of,
)
from palestra_adapters.workflows.steps import AskStep, ToolStep

SCOUT, CAPTAIN = Role("scout", "You scout.", "Report."), Role("captain", "You lead.", "Decide.")


def written(*prompts: str) -> str:
    """A team of one role for each prompt, who speak one after the other."""
    roles = [{"name": f"member-{n}", "prompt": text} for n, text in enumerate(prompts)]
    names = [role["name"] for role in roles]
    order = [{"speaks": name, "reads": names[:n]} for n, name in enumerate(names)]
    return json.dumps({"note": "new", "roles": roles, "order": order})


# Teams


def test_a_role_that_speaks_again_is_another_step_and_is_read_at_its_last_words() -> None:
    order = (
        Speech("scout", answers=False),
        Speech("captain", ("scout",)),
        Speech("scout", ("captain", "scout"), answers=False),
        Speech("captain", ("scout", "captain")),
    )
    assert workflow_of(Team((SCOUT, CAPTAIN), order)).steps == (
        AskStep("scout", "Report.", "You scout.", (), answers=False),
        AskStep("captain", "Decide.", "You lead.", ("scout",)),
        AskStep("scout-2", "Report.", "You scout.", ("captain", "scout"), answers=False),
        AskStep("captain-2", "Decide.", "You lead.", ("scout-2", "captain")),
    )


def test_a_tool_is_used_anew_before_each_turn_of_its_role_which_alone_reads_it() -> None:
    scout, cook = (
        Role("scout", "You scout.", "Report.", "lookahead"),
        Role("cook", tool="outcomes"),
    )
    order = (
        Speech("scout", answers=False),
        Speech("cook", ("scout",)),
        Speech("scout", ("cook",), answers=False),
        Speech("captain", ("scout", "cook")),
    )
    assert workflow_of(Team((scout, CAPTAIN, cook), order)).steps == (
        ToolStep("scout-tool", "lookahead"),
        AskStep("scout", "Report.", "You scout.", ("scout-tool",), answers=False),
        ToolStep("cook-tool", "outcomes"),
        AskStep("cook", reads=("scout", "cook-tool")),
        ToolStep("scout-2-tool", "lookahead"),
        AskStep("scout-2", "Report.", "You scout.", ("cook", "scout-2-tool"), answers=False),
        AskStep("captain", "Decide.", "You lead.", ("scout-2", "cook")),
    )


@pytest.mark.parametrize(
    ("roles", "order", "error"),
    [
        ((SCOUT, SCOUT), [Speech("scout")], "two roles have one name"),
        ((SCOUT, CAPTAIN), [Speech("scout")], "'captain' never speaks"),
        ((SCOUT,), [Speech("scout"), Speech("cook")], "names 'cook'; the roles: scout"),
        ((SCOUT, CAPTAIN), [Speech("captain", ("scout",)), Speech("scout")], "has not spoken yet"),
        ((SCOUT,), [Speech("scout", ("scout",))], "has not spoken yet"),
        ((SCOUT,), [Speech("scout", answers=False)], "last step must answer"),
        ((SCOUT,), [Speech("scout")] * 13, "length <= 12"),
        ((Role("scout", tool="lookahead"),), [Speech("scout")] * 7, "length <= 12"),
        ((), [], "length >= 1"),
        (
            (SCOUT, Role("scout-2")),
            [Speech("scout"), Speech("scout"), Speech("scout-2")],
            "two steps are called 'scout-2'",
        ),
    ],
)
def test_a_team_that_does_not_fit_together_is_refused(
    roles: Sequence[Role], order: Sequence[Speech], error: str
) -> None:
    with pytest.raises(InvalidOption, match=error):
        workflow_of(Team(tuple(roles), tuple(order)))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("I would add a scout.", "no JSON object"),
        ('{"roles": []}', "missing required field `order`"),
        ('{"roles": [{"name": "A scout"}], "order": []}', "regex"),
        ('{"roles": [{"name": "scout", "tool": "oracle"}], "order": []}', "oracle"),
        ('{"roles": [], "order": [{"speaks": "scout", "read": []}]}', "unknown field `read`"),
    ],
)
def test_a_reply_that_is_no_team_says_what_is_wrong(text: str, error: str) -> None:
    with pytest.raises(InvalidOption, match=error):
        read_team(text)


def test_first_teams_are_written_at_rising_temperatures() -> None:
    assert heats(1) == [0.5]
    assert heats(3) == pytest.approx([0.5, 0.75, 1.0])


def test_an_episode_is_told_with_what_each_role_said() -> None:
    choice = Choice((("scout", "left is\nopen"), ("captain", "x" * 400)), "Go(to='left')")
    assert episode_text(WorkflowEpisode(3, 0.5, story="You won.", choices=(choice,))) == (
        "Paid 0.5:\nYou won.\nDecision 1, the move Go(to='left'):\n- scout wrote: left is open\n"
        f"- captain wrote: {'x' * 300}"
    )


# The swarm


def obeys(request: Request) -> str:
    """Goes through the door that its instructions name, left if they name none."""
    own = last(request).partition("you may play: ")[2]
    named = [side for side in ("right", "middle") if f"the {side} door" in own]
    return f"Thought: told so\nAction: Go(to='{(named or ['left'])[0]}')"


class Scripted:
    """Answers each question of the search from its own list, and keeps all that it was asked."""

    def __init__(self, first: Sequence[str], later: Sequence[str]) -> None:
        self.first, self.later = list(first), list(later)
        self.flaws: list[str] = []
        self.velocities: list[str] = []
        self.heats: list[float] = []

    def __call__(self, request: Request) -> str:
        text = last(request)
        if "List the flaws" in text:
            self.flaws.append(text)
            return f"flaw {len(self.flaws)}"
        if "List the changes" in text:
            self.velocities.append(text)
            return f"change\n{len(self.velocities)}"
        if "Write a team" in text:
            self.heats.append(request.temperature)
            return self.first.pop(0)
        assert f"Make these changes, and keep the rest:\nchange\n{len(self.velocities)}" in text
        return self.later.pop(0)


def parts(velocity: str) -> dict[str, str]:
    """What a question for a velocity shows, by source."""
    found = re.fullmatch(
        r".*Its flaws:\n(?P<flaws>.*)\n\nEarlier changes.*?:\n(?P<failed>.*)\n\nThe best team on "
        r"its own way so far:\n(?P<own>.*)\n\nThe best team of the swarm so far:\n(?P<best>.*)\n\n"
        r"List the changes.*",
        velocity,
        re.DOTALL,
    )
    assert found
    return found.groupdict()


def test_a_velocity_is_written_from_flaws_failures_the_own_best_and_the_swarm_s(
    tmp_path: Path,
) -> None:
    first = [written("Take the middle door."), written("Take the right door."), written("Rest.")]
    later = [written("Sleep."), written("Wait."), written("Take the middle door. Go.")]
    later += [written("Now take the right door."), written("Dream."), written("Doze.")]
    proposer = Scripted(first, later)
    search = Swarm(particles=3, rounds=2)
    result, run = optimise(
        search, tmp_path, env=doors(), player=obeys, proposer=proposer, train=2, held_out=2
    )
    means = [one.mean for one in run.studio.archive]
    assert means == [0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0]
    assert proposer.heats == pytest.approx([0.5, 0.75, 1.0])
    one, two, three, again, stays, falls = map(parts, proposer.velocities)
    this = "it is this team"
    assert (one["own"], two["own"], two["best"], three["own"]) == (this,) * 4
    assert one["best"].startswith("Team 2: mean return 1.000 over 2 episodes\n{")
    assert "Take the right door." in one["best"] == three["best"]
    assert [one["failed"], two["failed"], three["failed"]] == ["none"] * 3
    assert [one["flaws"], two["flaws"], falls["flaws"]] == ["flaw 1", "flaw 2", "flaw 6"]
    assert again["own"].startswith("Team 1: mean return 0.500")
    assert again["failed"] == "- change 1 (the mean return 0.500 became 0.000)"
    assert stays["own"] == stays["best"] == one["best"]
    assert stays["failed"] == "- change 2 (the mean return 1.000 became 0.000)"
    assert falls["failed"] == "none"  # its first change helped
    assert falls["own"] == this
    assert [v.parents for v in run.studio.archive[4:]] == [
        (1, 2),
        (2,),
        (3, 2),
        (4, 1, 2),
        (5, 2),
        (6, 2),
    ]
    assert all(text.count("Paid ") == 2 for text in proposer.flaws)
    assert result.variant == 2


def test_a_particle_whose_replies_are_no_team_stays_where_it_is(tmp_path: Path) -> None:
    proposer = Scripted([written("Rest.")], ["Let me think.", written("Rest."), "No."])
    _, run = optimise(
        Swarm(particles=1, rounds=1), tmp_path, env=doors(), player=obeys, proposer=proposer
    )
    assert [one.how for one in run.studio.archive] == ["start", "first team"]
    assert not proposer.later
    nothing = Scripted(["a"] * 6, [])
    _, run = optimise(
        Swarm(particles=2), tmp_path / "b", env=doors(), player=obeys, proposer=nothing
    )
    assert [one.how for one in run.studio.archive] == ["start"]


@pytest.mark.parametrize("teller", [False, True])
def test_only_the_role_that_has_a_tool_reads_what_it_finds(tmp_path: Path, teller: bool) -> None:
    """A scout with a lookahead finds the best door; the captain goes there only if it is told."""
    asked: dict[str, list[str]] = {"scout": [], "captain": []}

    def player(request: Request) -> str:
        text = last(request)
        if "Report." not in text and "Decide." not in text:  # the workflow at the start
            return "Thought: -\nAction: Go(to='left')"
        role = "captain" if "Decide." in text else "scout"
        asked[role].append(text)
        if role == "captain":
            told = re.findall(r"best is (\w+)", text)
            return f"Thought: -\nAction: Go(to='{(told or ['left'])[0]}')"
        scores = re.findall(r"to='(\w+)'\): (\d\.\d\d)", text)
        return f"best is {max(scores, key=lambda one: float(one[1]))[0]}"

    team = {
        "roles": [
            {"name": "scout", "prompt": "Report.", "tool": "lookahead"},
            {"name": "captain", "prompt": "Decide."},
        ],
        "order": [
            {"speaks": "scout", "answers": False},
            {"speaks": "captain", "reads": ["scout"] if teller else []},
        ],
    }
    search = Swarm(particles=1, rounds=0)
    propose = Scripted([json.dumps(team)], [])
    _, run = optimise(search, tmp_path, env=doors(), player=player, proposer=propose, train=3)
    assert [one.mean for one in run.studio.archive[1:]] == [1.0 if teller else 0.0]
    own = asked["captain"][-1]
    assert all("Mean payoff of random playouts" in text for text in asked["scout"])
    assert "playouts" not in own
    assert ("best is right" in own) == teller


KEYS = 7
ROOMS = {f"room{n}": {"out": 0.0, f"room{n + 1}": 2.0**-n} for n in range(KEYS)}


def keyed(request: Request) -> str:
    """Opens the door of a room whose key a role of the team has, leaves otherwise."""
    text = last(request)
    room = re.findall(r"You are at (?:room)?(\w+), step", text)[-1]
    number = 0 if room == "start" else int(room)
    door = f"room{number + 1}" if f"key-{number}." in text else "out"
    return f"Thought: -\nAction: Go(to='{door}')"


def crosses(guided: bool) -> Any:
    """Changes one key at random and, if guided, takes over two from the best of the swarm."""

    def propose(request: Request) -> str:
        text, rng = last(request), Random(f"{request.seed} {last(request)}")
        if "Write a team" in text:
            return written("Use key-" + ". Use key-".join(map(str, draw(rng, 3))) + ".")
        if "List the flaws" in text:
            return "some doors stay shut"
        if "List the changes" in text:
            best = keys_in(parts(text)["best"]) if guided else []
            return f"take {[*rng.sample(best, min(2, len(best))), *draw(rng, 1)]}"
        own = keys_in(text.partition("Make these")[0])
        taken = [int(n) for n in re.findall(r"\d+", text.rpartition("take [")[2].split("]")[0])]
        kept = list(dict.fromkeys([*taken, *own]))[:KEYS]
        lost = rng.random() < 0.5
        held = sorted(kept[: len(kept) - lost])
        return written("Use key-" + ". Use key-".join(map(str, held)) + f". {rng.random()}")

    return propose


def draw(rng: Random, count: int) -> list[int]:
    return rng.sample(range(KEYS), count)


def keys_in(text: str) -> list[int]:
    return sorted({int(n) for n in re.findall(r"key-(\d)\.", text)})


def test_a_swarm_that_shares_its_best_finds_more_than_particles_alone(tmp_path: Path) -> None:
    world = trail({"start": ROOMS["room0"]} | ROOMS, start="start", limit=KEYS, top=2.0)

    def found(seed: int, guided: bool) -> float:
        folder = tmp_path / f"{seed}{guided}"
        search, propose = Swarm(particles=5, rounds=4), crosses(guided)
        more = {"train": 1, "held_out": 2, "seed": seed}
        return optimise(search, folder, env=world, player=keyed, proposer=propose, **more)[
            0
        ].best.value

    shared = [found(seed, True) for seed in range(12)]
    alone = [found(seed, False) for seed in range(12)]
    assert sum(shared) / 12 > sum(alone) / 12 + 0.1, (shared, alone)


def test_a_swarm_that_is_killed_after_any_answer_is_resumed_to_the_same_end(
    tmp_path: Path,
) -> None:
    def run(folder: Path, resume: bool = False) -> str:
        search = Swarm(particles=3, rounds=1)
        optimise(
            search,
            folder,
            env=doors(),
            player=obeys,
            proposer=crosses(guided=False),
            train=2,
            held_out=2,
            resume=resume,
        )
        text = (folder / "result.json").read_text() + (folder / "archive.jsonl").read_text()
        return re.sub(r'"seconds": ?[\d.e-]+', "", text)

    whole = run(tmp_path / "whole")
    lines = (tmp_path / "whole" / LOG).read_bytes().splitlines(keepends=True)
    for kept in range(0, len(lines), 3):
        folder = tmp_path / str(kept)
        folder.mkdir()
        (folder / "search.json").write_bytes((tmp_path / "whole" / "search.json").read_bytes())
        (folder / LOG).write_bytes(b"".join(lines[:kept]) + lines[kept][:-9])  # a torn line
        assert run(folder, resume=True) == whole


@pytest.mark.parametrize("calls", [5, 12, 30, 41])
def test_a_swarm_never_exceeds_its_budget_of_calls(tmp_path: Path, calls: int) -> None:
    search = Swarm(particles=3, rounds=3)
    more = {"train": 2, "held_out": 2, "budget": {"calls": calls}}
    found, run = optimise(
        search, tmp_path, env=doors(), player=obeys, proposer=crosses(guided=False), **more
    )
    assert 0 < found.spent.calls <= calls
    assert len(run.studio.archive) > 0
