"""Playing the same games in every wording: same seeds, seats, and opponents' random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from palestra import Agent, Decision, EpisodeRecord, InvalidOption, Turn, make_agent, stream
from palestra.agents.fitting import check_agents
from palestra.kernel.registry import load_game, registry
from palestra.phrasing.wording import PARAPHRASES, wordings_of

PLAIN, NULL = "plain", "null"
LEGAL = ("legal-hidden", "legal-shuffled")
FRESH = 1_000_003  # offset between the agent's random numbers in two variants
Texts = Mapping[str, Mapping[str, str]]


class AblationPlan(msgspec.Struct, frozen=True):
    """What is played: `agents[0]` is tested, in every seat in turn; the others are its opponents.

    `n` seeds from `seed` on; every seed is played once from each seat, in each of `variants`.
    `texts` are wordings of the caller's own, by name: `{"rules": …, "question": …}`.
    """

    env: str
    agents: tuple[str, ...]
    n: int = 50
    seed: int = 0
    variants: tuple[str, ...] = ()
    texts: Texts = {}
    options: Mapping[str, Any] = {}
    invalid: str = "retry:2"
    max_episode_steps: int | None = None

    @property
    def seats(self) -> int:
        """The number of seats, one for each agent."""
        return len(self.agents)

    def wording(self, variant: str, seat: int) -> str | dict[str, str]:
        """The option `wording` of one variant, for the tested agent's seat only."""
        if variant in self.texts:
            return {**self.texts[variant], "name": f"{variant}@{seat}"}
        return f"{variant}@{seat}"

    def lineup(self, seat: int) -> tuple[str, ...]:
        """The line-up with the tested agent at `seat`."""
        others = list(self.agents[1:])
        others.insert(seat, self.agents[0])
        return tuple(others)


def complete_plan(plan: AblationPlan) -> AblationPlan:
    """A plan with every seat filled and every variant named; raises `InvalidOption`.

    One opponent named for several seats plays them all. Without variants all are used: the null
    variant, the paraphrases, the game's own wordings, the caller's, and both of the legal moves.
    """
    spec = registry().environment(plan.env)
    options = {name: value for name, value in plan.options.items() if name != "wording"}
    if options != dict(plan.options):
        raise InvalidOption("ablate sets wording itself; leave it out of the options")
    game = load_game(spec, options, len(plan.agents))
    agents = plan.agents
    if len(agents) == 2 and game.num_players > 2:
        agents = (agents[0], *[agents[1]] * (game.num_players - 1))
    if len(agents) == 1 and game.num_players > 1:
        agents = (agents[0], *["random"] * (game.num_players - 1))
    if len(agents) != game.num_players:
        raise InvalidOption(
            f"{plan.env} has {game.num_players} seats: name the agent that is tested and its "
            f"{game.num_players - 1} opponents, or one for all of them; got {list(agents)}"
        )
    check_agents(agents, game, spec)
    own = wordings_of(game)
    variants = plan.variants or (NULL, *PARAPHRASES, *own, *plan.texts, *LEGAL)
    variants = tuple(v for v in dict.fromkeys((NULL, *variants)) if v != PLAIN)
    done = msgspec.structs.replace(plan, agents=agents, variants=variants, options=options)
    for variant in (PLAIN, *variants):  # refuse an unknown variant before anything is played
        load_game(spec, {**options, "wording": done.wording(variant, 0)}, game.num_players)
    return done


class VariantAgent(Agent):
    """An agent that plays several runs, with different random numbers in each `variant`."""

    def __init__(self, agent: Agent) -> None:
        self.name, self._agent = agent.name, agent
        self.variant = 0

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return self._agent.act(turns)

    def reseed(self, seed: int) -> None:
        self._agent.reseed(seed + FRESH * self.variant)

    def forget(self, episode_key: int) -> None:
        self._agent.forget(episode_key)

    def close_for_good(self) -> None:
        """Close the agent inside, which every variant shares."""
        self._agent.close()


def run_ablation(
    plan: AblationPlan,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    agents: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, list[EpisodeRecord]]:
    """Play everything and return the records by variant, "plain" first.

    out: a folder with a run folder for every variant and seat (see `palestra.play`); resume=True
    plays only what is missing in it. agents: objects for names in the plan. progress: called with
    games over and games in all.
    """
    if resume and out is None:
        raise InvalidOption("resume=True continues an ablation in a folder; say which: out=…")
    named = {
        name: VariantAgent(make_agent((agents or {}).get(name, name))) for name in {*plan.agents}
    }
    tested = VariantAgent(make_agent((agents or {}).get(plan.agents[0], plan.agents[0])))
    for name, agent in (*named.items(), (plan.agents[0], tested)):
        agent.name = name
    total, over = plan.n * plan.seats * (1 + len(plan.variants)), 0
    records: dict[str, list[EpisodeRecord]] = {}
    try:
        for number, variant in enumerate((PLAIN, *plan.variants)):
            tested.variant = number
            for seat in range(plan.seats):
                for record in _games(plan, variant, seat, tested, named, out, resume):
                    over += 1
                    if progress is not None:
                        progress(over, total)
                    record.tags["variant"], record.tags["tested"] = variant, seat
                    records.setdefault(variant, []).append(record)
    finally:
        for agent in (tested, *named.values()):
            agent.close_for_good()
    return records


def _games(
    plan: AblationPlan,
    variant: str,
    seat: int,
    tested: VariantAgent,
    named: Mapping[str, VariantAgent],
    out: str | Path | None,
    resume: bool,
) -> Iterator[EpisodeRecord]:
    """The games of one variant with the tested agent in one seat, those kept before first."""
    lineup = [named[name] for name in plan.lineup(seat)]
    lineup[seat] = tested
    folder = None if out is None else Path(out) / f"{variant}-seat-{seat}"
    if folder is not None and resume:
        yield from _kept(folder, plan.n)
    yield from stream(
        plan.env,
        agents=lineup,
        episodes=plan.n,
        seed=plan.seed,
        out=folder,
        resume=resume,
        invalid=plan.invalid,
        max_episode_steps=plan.max_episode_steps,
        **{**plan.options, "wording": plan.wording(variant, seat)},
    )


def _kept(folder: Path, n: int) -> Iterator[EpisodeRecord]:
    from palestra import iter_records
    from palestra.runner.run_folder import FINISHED

    file, seen = folder / FINISHED, set()
    for record in iter_records(file, running=True) if file.exists() else ():
        if record.number < n and record.number not in seen:
            seen.add(record.number)
            yield record
