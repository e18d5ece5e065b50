"""SwarmAgentic: a particle swarm whose particles are whole teams, moved in words.

Zhang et al., "SwarmAgentic: Towards Fully Automated Agentic System Generation via Swarm
Intelligence", 2025. A particle is a team: roles with instructions and tools, and the order in
which they speak. Its velocity is a list of changes that a model writes from three sources: what
the team does wrong and which changes failed before, what its own best team does better, and what
the best team of the swarm does better. Its next position is the team with these changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
from palestra import InvalidOption, Meta

from palestra_adapters.optimisers.search import (
    Search,
    Searching,
    Studio,
    Variant,
    WorkflowEpisode,
)
from palestra_adapters.optimisers.wording import bullets, stated_json
from palestra_adapters.workflows.steps import (
    AskStep,
    Name,
    Prompt,
    Step,
    ToolStep,
    Workflow,
    check_workflow,
)

COOLEST, HOTTEST = 0.5, 1.0  # temperatures at which the first teams are written
HEAT = 0.8  # at which velocities and later teams are written
FAILED = 3  # changes that failed which a particle remembers
QUOTED = 300  # characters of what a role said that the model reads
TEAM = """\
A team of agents plays the game. For every move its roles speak in a fixed order. Each turn in the
order asks a language model with the instructions of one role. It is shown the rules, what the
player has seen of the episode, the legal moves, and the last words of the roles in its reads, which
must have spoken before. With "answers": true it writes a thought and a move, with false notes for
later turns. The last turn must answer: its move is played. A role may speak more than once, and
must speak at least once. A role may have one tool, which is used anew before each of its turns and
whose findings this role alone reads: "lookahead" (mean payoff of random playouts after each legal
move) or "outcomes" (the position after each legal move). A name has lower-case letters, digits and
hyphens. At most 12 turns and uses of tools."""
FORM = """\
Write one JSON object: {"note": "what is new and why", "roles": [{"name": "…", "role": "who it is",
"prompt": "what it is to do at its turn", "tool": ""}, …], "order": [{"speaks": "a role's name",
"reads": ["names of roles", …], "answers": false}, …]}. Write nothing after it."""
FIRST = (
    "Write a team for this game: which roles it needs, what each is to do, and in which order they "
    "speak.\n\nTeams that are there already, from which yours must differ:\n{others}\n\n{form}"
)
FLAWS = (
    "This team plays the game:\n{team}\n\nThe episodes for which it was paid least:\n{episodes}\n\n"
    "List the flaws of the team that led to these results. For each, say whether a role's "
    "instructions or tool, a missing or needless role, or the order is at fault. Do not rewrite "
    "the team."
)
VELOCITY = (
    "This team plays the game:\n{team}\n\nIts flaws:\n{flaws}\n\nEarlier changes on its way that "
    "did not raise the mean return:\n{failed}\n\nThe best team on its own way so far:\n{own}\n\n"
    "The best team of the swarm so far:\n{best}\n\nList the changes to make to the first team: "
    "those that repair its flaws and do not repeat what failed; then what to take over from the "
    "best team on its own way; then what to take over from the best team of the swarm. Write each "
    "change as one line that names the role or the place in the order. Do not rewrite the team."
)
POSITION = (
    "This team plays the game:\n{team}\n\nMake these changes, and keep the rest:\n{velocity}\n\n"
    "{form}"
)


class Role(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One agent of a team: who it is, what it is to do at its turn, and the tool it has, if any."""

    name: Name
    role: Prompt = ""
    prompt: Prompt = ""
    tool: Literal["", "lookahead", "outcomes"] = ""


class Speech(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn in the order: a role speaks after it has read the last words of others."""

    speaks: Name
    reads: tuple[Name, ...] = ()
    answers: bool = True


class Team(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The position of a particle, as the model writes it."""

    roles: tuple[Role, ...]
    order: tuple[Speech, ...]
    note: str = ""


@dataclass(slots=True)
class Particle:
    """Where a particle is, the best place on its way, and changes that did not help it."""

    here: Variant
    best: Variant
    failed: list[str] = field(default_factory=list)


class Swarm(Search):
    """Writes `particles` teams and moves each of them `rounds` times.

    The first teams are written at temperatures from 0.5 to 1, evenly apart. Every move asks for the
    flaws of a team in the `shown` episodes that paid least, for its velocity, and for the changed
    team. A particle stays where it is if no changed team can be read. The best team of the swarm is
    that before the round.
    """

    name = "swarm"
    paper = "SwarmAgentic: Towards Fully Automated Agentic System Generation (2025)"

    def __init__(
        self,
        *,
        particles: Annotated[int, Meta(ge=1, description="teams that move")] = 4,
        rounds: Annotated[int, Meta(ge=0, description="moves of every team")] = 5,
        shown: Annotated[int, Meta(ge=1, description="episodes that the model reads")] = 2,
    ) -> None:
        self._particles, self._rounds, self._shown = particles, rounds, shown
        self._teams: dict[str, Team] = {}  # by the key of the workflow

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        yield from studio.play(studio.add(start))
        particles: list[Particle] = []
        for heat in heats(self._particles):
            others = [self._text(one.here) for one in particles]
            asked = FIRST.format(others="\n\n".join(others) or "none", form=FORM)
            made = yield from self._written(studio, asked, [], "first team", heat)
            if made is not None:
                particles.append(Particle(made, made))
        for _ in range(self._rounds if particles else 0):
            best = max((one.best for one in particles), key=lambda v: v.mean)
            for particle in particles:
                yield from self._move(studio, particle, best)

    def _move(self, studio: Studio, particle: Particle, best: Variant) -> Searching[None]:
        """Move a particle, and keep in mind where it did best and which changes failed."""
        here = particle.here
        velocity = yield from self._velocity(studio, particle, best)
        asked = POSITION.format(team=self._text(here), velocity=velocity, form=FORM)
        parents = list({one.number: one for one in (here, particle.best, best)}.values())
        made = yield from self._written(studio, asked, parents, "moved", HEAT)
        if made is None:
            return
        if made.mean <= here.mean:
            change = " ".join(velocity.split())[:1000]
            failed = f"{change} (the mean return {here.mean:.3f} became {made.mean:.3f})"
            particle.failed = [*particle.failed, failed][-FAILED:]
        particle.here = made
        particle.best = max(particle.best, made, key=lambda v: v.mean)

    def _velocity(self, studio: Studio, particle: Particle, best: Variant) -> Searching[str]:
        """Changes in words: from its failures, from its own best, from the best of the swarm."""
        team = self._text(particle.here)
        worst = sorted(particle.here.played, key=lambda one: one.returns)[: self._shown]
        episodes = "\n\n".join(map(episode_text, worst))
        asked = FLAWS.format(team=team, episodes=episodes)
        flaws = yield from studio.ask(asked, system=TEAM)
        asked = VELOCITY.format(
            team=team,
            flaws=flaws.text,
            failed=bullets(particle.failed) or "none",
            own=self._other(particle.best, particle.here),
            best=self._other(best, particle.here),
        )
        return (yield from studio.ask(asked, system=TEAM, heat=HEAT)).text

    def _written(
        self, studio: Studio, asked: str, parents: Sequence[Variant], how: str, heat: float
    ) -> Searching[Variant | None]:
        """The played variant of a team that the model writes; None if none can be read."""
        made = yield from studio.propose(
            asked, parents, how, system=TEAM, heat=heat, read=self._read
        )
        if made is not None:
            yield from studio.play(made)
        return made

    def _read(self, text: str) -> tuple[str, Workflow]:
        team = read_team(text)
        workflow = workflow_of(team)
        self._teams[workflow.key] = team
        return team.note, workflow

    def _other(self, variant: Variant, here: Variant) -> str:
        return "it is this team" if variant is here else self._text(variant)

    def _text(self, variant: Variant) -> str:
        """The team of a variant with its score, as the model reads it."""
        team = self._teams[variant.workflow.key]
        own = msgspec.json.format(msgspec.json.encode(team), indent=1).decode()
        score = f"mean return {variant.mean:.3f} over {variant.episodes} episodes"
        return f"Team {variant.number}: {score}\n{own}"


def heats(count: int) -> list[float]:
    """Temperatures of the first teams, evenly apart."""
    apart = (HOTTEST - COOLEST) / max(1, count - 1)
    return [COOLEST + place * apart for place in range(count)]


def read_team(text: str) -> Team:
    """The team that a reply ends with; raises `InvalidOption` that says what is wrong."""
    try:
        return msgspec.json.decode(stated_json(text), type=Team)
    except msgspec.MsgspecError as error:
        raise InvalidOption(f"not a team: {error}") from error


def workflow_of(team: Team) -> Workflow:
    """One step a turn of the order; a role's second turn is called `name-2`.

    The step of a role's tool is called `name-tool`, and comes right before the turn that reads it.

    Raises `InvalidOption` for names that do not fit together, and for roles that never speak.
    """
    roles = {role.name: role for role in team.roles}
    if len(roles) < len(team.roles):
        raise InvalidOption("two roles have one name; give every role its own")
    turns: dict[str, int] = {}
    steps: list[Step] = []
    spoken: dict[str, str] = {}  # the step of each role's last words
    for speech in team.order:
        for name in (speech.speaks, *speech.reads):
            if name not in roles:
                raise InvalidOption(f"the order names {name!r}; the roles: {', '.join(roles)}")
        silent = [name for name in speech.reads if name not in spoken]
        if silent:
            raise InvalidOption(f"{speech.speaks!r} reads {silent[0]!r}, who has not spoken yet")
        role = roles[speech.speaks]
        turns[role.name] = turns.get(role.name, 0) + 1
        name = role.name if turns[role.name] == 1 else f"{role.name}-{turns[role.name]}"
        reads = tuple(dict.fromkeys(spoken[name] for name in speech.reads))
        if role.tool:
            steps.append(ToolStep(f"{name}-tool", role.tool))
            reads = (*reads, f"{name}-tool")
        steps.append(AskStep(name, role.prompt, role.role, reads, speech.answers))
        spoken[role.name] = name
    idle = [name for name in roles if name not in spoken]
    if idle:
        raise InvalidOption(f"the role {idle[0]!r} never speaks; give it a turn or leave it out")
    return check_workflow(Workflow(tuple(steps), "team"))


def episode_text(episode: WorkflowEpisode) -> str:
    """An episode with what every role said at its decisions."""
    lines = [f"Paid {episode.returns:g}:", episode.story]
    for number, choice in enumerate(episode.choices, 1):
        lines.append(f"Decision {number}, the move {choice.move}:")
        lines += [
            f"- {name} wrote: {' '.join(text.split())[:QUOTED]}" for name, text in choice.said
        ]
    return "\n".join(lines)
