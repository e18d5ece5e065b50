"""A town in an epidemic: a government sets policy, groups decide how many of them stay at home.

Each week the government first sets a stimulus, paid to every adult out of work, and the percentage
of workplaces that are closed. Then every archetype, a group of people of one age and kind of job,
chooses what percentage of it stays at home, all at once. Seven days follow, in which each of its
members stays at home with that chance. People who work in place earn nothing while they are at home
or their workplace is closed, and may lose their job if it is closed; people who can work at home
always earn. The groups are paid the mean income of their members, in hundred dollars, less `dread`
times the share of them that falls ill; the government is paid the same for all people, less the
cost of the stimulus.

The design is that of A. Chopra et al., "On the limits of agency in agent-based models", 2024
(AgentTorch): one agent answers for each archetype, and people act by draws from its answer.

Checked: compartments always sum to the population; without places the epidemic's final size solves
1 - z = exp(-R z); asking groups and asking every person agree in the mean; a fit recovers a
transmission from the cases it led to; on given contacts the epidemic travels by shortest paths, and
on the complete graph it is that of a town without places.

Left out: incomes; contact networks other than pairs that you list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from itertools import product
from math import lcm
from typing import Annotated, Any, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Bar,
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Seat,
    Step,
    TextAction,
    TextGame,
    environment,
)
from palestra.catalogue.describe import FILE
from palestra.kernel.game import total
from palestra.kernel.rng import check_seed

from palestra_markets.chart import chart
from palestra_markets.draws import below, uniforms
from palestra_markets.population.contacts import Pairs, edges, pairs_of
from palestra_markets.population.epidemic import (
    EXPOSED,
    INFECTIOUS,
    STAGES,
    SUSCEPTIBLE,
    Disease,
    spread,
)
from palestra_markets.population.imagined import Figures, draw_jobs, draw_stages
from palestra_markets.population.town import ARCHETYPES, AREAS, Census, Town, build_town

GOVERNMENT = 0
MOST_GROUPS = max(ARCHETYPES)
POLICY, HOMES = range(2)
PHASES = ("policy", "homes")
DAYS = 7
WAGE = 10.0  # hundred dollars a week
LOSES_JOB, FINDS_JOB = 0.10, 0.15  # chances a week: with the workplace closed, with none closed
MOST_STIMULUS = 1000


class Policy(TextAction, frozen=True):
    """Set the stimulus in dollars a week, and the percent of workplaces that are closed."""

    stimulus: int
    closed: int


class Stay(TextAction, frozen=True):
    """Keep a percentage of the group at home this week."""

    percent: int


@dataclass(slots=True, eq=False)
class Folk:
    """What changes in a town, by person."""

    stage: NDArray[np.int8]  # of the illness, an index of STAGES
    employed: NDArray[np.bool_]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Folk)
            and np.array_equal(self.stage, other.stage)
            and np.array_equal(self.employed, other.employed)
        )

    def __repr__(self) -> str:
        digest = blake2b(self.stage.tobytes(), digest_size=8)
        digest.update(self.employed.tobytes())
        return f"Folk({digest.hexdigest()})"


@dataclass(slots=True)
class PopulationState:
    """A town in an epidemic, between two decisions."""

    rng: Rng
    seed: int  # of the town, which `build_town` builds again
    folk: Folk
    census: Census | None = None  # where the town is one that somebody imagines
    fallen: list[int] = field(default_factory=list)  # people who caught it so far, by group
    phase: int = POLICY  # or HOMES
    week: int = 0  # weeks completed
    stimulus: int = 0  # dollars a week for each adult out of work
    closed: int = 0  # percent of workplaces
    stays: list[int] = field(default_factory=list)  # percent at home last week, by group
    incomes: list[float] = field(default_factory=list)  # mean of last week, by group, in $100
    caught: list[float] = field(default_factory=list)  # share newly exposed last week, by group
    totals: list[float] = field(default_factory=list)  # paid so far, by seat
    days: list[tuple[int, int, int]] = field(default_factory=list)  # cases, infectious, jobless


@environment(
    "markets/Population-v0",
    family="market",
    tags=("population", "epidemic", "labour", "hidden-information", "chance"),
    paper="Chopra et al. (2024), On the limits of agency in agent-based models",
    splits={
        "one-mind": {"num_players": 2},
        "city": {"people": 100000},
        "metropolis": {"people": 8400000},
    },
)
@dataclass(frozen=True)
class Population(TextGame[PopulationState]):
    """A government and groups of people face an epidemic in a town, week by week.

    Seat 0 is the government. Actions 0 to 100 keep that percentage of a group at home; the next 20
    are policies: a stimulus of 0, 100, 300 or 600 dollars with 0, 25, 50, 75 or 100 percent of
    workplaces closed. Payoffs are mean incomes in hundred dollars, less illness and stimulus.

    An observation is a float32 vector of 14 + 2 n numbers for n groups:

        phase (0 policy, 1 homes), week, last week, own group (-1: the government)
        shares of all people: susceptible, exposed, infectious, recovered; exposed last week
        unemployment, stimulus in hundred dollars, share of workplaces closed
        own group last week: mean income in hundred dollars, share newly exposed
        each group's share of all people
        each group's share that stayed at home last week (-1: none yet)

    With 24 groups follows the share of the own area's people who are infectious (0: the
    government).
    """

    num_players: Annotated[
        int,
        Meta(
            ge=2,
            le=25,
            description=(
                "the government and 1 group (2), 3 groups by age (4), 4 by age and job (5), 8 also "
                "by sex (9), or 24 also by area (25), who read the news of their area"
            ),
        ),
    ] = 5
    people: Annotated[int, Meta(ge=10, le=20_000_000, description="people in the town")] = 2_000
    weeks: Annotated[int, Meta(ge=1, le=520, description="weeks in an episode")] = 12
    infected: Annotated[
        float, Meta(ge=0, le=1, description="chance that a person is infectious at the start")
    ] = 0.01
    transmission: Annotated[
        float, Meta(ge=0, le=100, description="force of infection from one contact per day")
    ] = 0.25
    latent: Annotated[
        float, Meta(ge=1, le=1000, description="mean days from exposure to infectiousness")
    ] = 3.0
    infectious: Annotated[
        float, Meta(ge=1, le=1000, description="mean days for which a person is infectious")
    ] = 5.0
    home: Annotated[float, Meta(ge=0, le=100, description="weight of contacts at home")] = 0.6
    work: Annotated[float, Meta(ge=0, le=100, description="weight of contacts at work")] = 1.0
    outside: Annotated[
        float, Meta(ge=0, le=100, description="weight of contacts in the streets")
    ] = 0.7
    dread: Annotated[
        float, Meta(ge=0, le=1e6, description="cost of falling ill, in hundred dollars")
    ] = 60.0
    contacts: Annotated[
        object,
        FILE,
        Meta(
            description=(
                "additional daily contacts: pairs of people numbered from 0 (a sequence, an array "
                "or a networkx graph), or the path of a CSV file of pairs"
            )
        ),
    ] = ()
    contact: Annotated[float, Meta(ge=0, le=100, description="weight of the given contacts")] = 1.0

    rules_text = """
        An illness spreads in a town, at home, at work and in the streets.

        Every week the government sets a stimulus for adults out of work and closes a part of the
        workplaces. Then each group of people says how many of it stay at home. Who stays at home
        meets only the household; who cannot work there earns nothing that way. Groups are paid
        their members' mean income in hundred dollars, and lose by falling ill; the government is
        paid the same for all people, less the stimulus. Write one of:
        Policy(stimulus=300, closed=25) to pay 300 dollars a week and close 25 percent of
        workplaces; Stay(percent=40) to keep 40 percent of your group at home this week.
    """
    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("income", "illness", "stimulus")
    action_types = (Policy, Stay)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.contacts, str):
            object.__setattr__(self, "contacts", pairs_of(self.contacts))
        _ = self.meetings  # raises InvalidOption for bad pairs

    def validate(self) -> None:
        if self.groups not in ARCHETYPES:
            raise InvalidOption(
                "num_players must be 2 (one group), 4 (by age), 5 (by age and job), 9 (also by "
                f"sex) or 25 (also by area), not {self.num_players}"
            )

    # Derived from the options

    @property
    def groups(self) -> int:
        """The number of groups: seats without the government."""
        return self.num_players - 1

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the groups of people, in the order of observations."""
        return ARCHETYPES[self.groups]

    @cached_property
    def disease(self) -> Disease:
        """The illness that the options describe."""
        places = self.home, self.work, self.outside, self.contact
        return Disease(self.transmission, self.latent, self.infectious, *places)

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        roles = ["government", *self.group_names]
        return tuple(Seat(name, roles[i], i) for i, name in enumerate(self.players))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = self.weeks * (WAGE + MOST_STIMULUS / 100)
        return (-most - self.dread, most)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """All percentages, then policies on a grid."""
        grid = product((0, 100, 300, 600), (0, 25, 50, 75, 100))
        return (*(Stay(p) for p in range(101)), *(Policy(*pair) for pair in grid))

    def town(self, state: PopulationState) -> Town:
        """The town of an episode, built from its seed."""
        return build_town(self.people, self.groups, state.seed, state.census)

    @cached_property
    def meetings(self) -> NDArray[np.int32] | None:
        """Both ends of the given contacts, shape (2, n); None if there are none."""
        return edges(cast(Pairs | str, self.contacts), self.people) if self.contacts else None

    # The rules

    def initial_state(self, seed: int | None = None) -> PopulationState:
        known = check_seed(seed)
        rng = Rng.seeded(known)
        town = build_town(self.people, self.groups, known)
        stage = np.full(self.people, SUSCEPTIBLE, np.int8)
        stage[below(rng, np.full(self.people, self.infected))] = INFECTIOUS
        state = PopulationState(rng, known, Folk(stage, town.workplace >= 0))
        state.stays, state.incomes = [-1] * self.groups, [0.0] * self.groups
        state.caught, state.totals = [0.0] * self.groups, [0.0] * self.num_players
        state.fallen = [0] * self.groups
        return state

    def to_act(self, state: PopulationState) -> tuple[int, ...]:
        if state.week >= self.weeks:
            return ()
        return (GOVERNMENT,) if state.phase == POLICY else tuple(range(1, self.num_players))

    def legal(self, state: PopulationState, seat: int) -> Grammar:
        return POLICIES if state.phase == POLICY else STAYS

    def step(self, state: PopulationState, actions: Mapping[int, Any]) -> Step:
        if state.phase == POLICY:
            action = actions[GOVERNMENT]
            state.stimulus, state.closed, state.phase = action.stimulus, action.closed, HOMES
            text = (
                f"Week {state.week + 1}: the stimulus is {action.stimulus} dollars, and "
                f"{action.closed} percent of workplaces are closed."
            )
            data = {"stimulus": action.stimulus, "closed": action.closed}
            return Step(events=[Event("policy", text, data)])
        state.stays = [actions[seat].percent for seat in range(1, self.num_players)]
        return self._simulate_week(state)

    def _simulate_week(self, state: PopulationState) -> Step:
        """Seven days of illness and work, then wages, and jobs lost and found."""
        town, folk, rng = self.town(state), state.folk, state.rng
        stage = folk.stage
        shut = (uniforms(rng, town.workplaces) < state.closed / 100)[town.workplace]
        shut &= town.workplace >= 0
        chances = np.array(state.stays, float)[town.archetype] / 100
        fell = np.zeros(town.people, bool)
        worked = np.zeros(town.people, np.int16)
        in_place, remote = folk.employed & (town.job == 1), folk.employed & (town.job == 0)
        meetings = self.meetings
        for _ in range(DAYS):
            home = below(rng, chances)
            at_work = folk.employed & ~home & ~shut
            worked += remote | (in_place & at_work)
            before = stage == SUSCEPTIBLE
            cases = spread(town, self.disease, stage, home, at_work, rng, meetings)
            fell |= before & (stage == EXPOSED)
            jobless = int((town.workplace >= 0).sum() - folk.employed.sum())
            state.days.append((cases, int((stage == INFECTIOUS).sum()), jobless))
        paid = self._pay(state, town, worked, fell)
        self._change_jobs(town, folk, shut & in_place, state.closed, rng)
        state.week, state.phase = state.week + 1, POLICY
        return Step(paid, events=[self._report(state)])

    def _pay(
        self, state: PopulationState, town: Town, worked: NDArray[np.int16], fell: NDArray[np.bool_]
    ) -> dict[int, dict[str, float]]:
        """Pay wages for `worked` days, the stimulus, and illness for the people who `fell` ill."""
        jobless = (town.workplace >= 0) & ~state.folk.employed
        helped = jobless * (state.stimulus / 100)
        income = worked * (WAGE / DAYS) + helped
        sizes, group = np.maximum(1, town.sizes), town.archetype
        state.incomes = (np.bincount(group, income, self.groups) / sizes).tolist()
        ill = np.bincount(group, fell, self.groups)
        state.caught = (ill / sizes).tolist()
        state.fallen = [n + int(more) for n, more in zip(state.fallen, ill, strict=True)]
        paid: dict[int, dict[str, float]] = {}
        for number, (earned, share) in enumerate(zip(state.incomes, state.caught, strict=True), 1):
            paid[number] = {"income": earned, "illness": -self.dread * share}
        paid[GOVERNMENT] = {
            "income": float(income.mean()),
            "illness": -self.dread * float(fell.mean()),
            "stimulus": -float(helped.mean()),
        }
        for seat, terms in paid.items():
            state.totals[seat] += total(terms)
        return paid

    def _change_jobs(
        self, town: Town, folk: Folk, idle: NDArray[np.bool_], closed: int, rng: Rng
    ) -> None:
        """Idle people may lose their job; jobless ones find one, the sooner the more are open."""
        losing = np.flatnonzero(idle)
        looking = np.flatnonzero((town.workplace >= 0) & ~folk.employed)
        folk.employed[losing[below(rng, np.full(len(losing), LOSES_JOB))]] = False
        found = FINDS_JOB * (1 - closed / 100)
        folk.employed[looking[below(rng, np.full(len(looking), found))]] = True

    def counts(self, state: PopulationState) -> list[int]:
        """People by stage; they sum to the population."""
        return np.bincount(state.folk.stage, minlength=len(STAGES)).tolist()

    def unemployment(self, state: PopulationState) -> float:
        """The share of all adults who have no job."""
        works = self.town(state).workplace >= 0
        return float(1 - state.folk.employed.sum() / max(1, works.sum()))

    def _report(self, state: PopulationState) -> Event:
        """What is published at the end of a week."""
        counts = self.counts(state)
        cases = sum(day[0] for day in state.days[-DAYS:])
        data = {
            "counts": counts,
            "cases": cases,
            "daily": [day[0] for day in state.days[-DAYS:]],
            "unemployment": self.unemployment(state),
            "stays": list(state.stays),
            "incomes": list(state.incomes),
            "caught": list(state.caught),
        }
        text = (
            f"Week {state.week}: {cases} people caught it, {counts[INFECTIOUS]} of {self.people} "
            f"are infectious, {100 * data['unemployment']:.1f} percent are out of work."  # type: ignore[operator]
        )
        return Event("reveal", text, data)

    def opening(self, state: PopulationState) -> Sequence[Event]:
        sizes = self.town(state).sizes.tolist()
        pairs = zip(self.group_names, sizes, strict=True)
        listed = "; ".join(f"{name}, {size}" for name, size in pairs)
        text = f"{self.people} people live in the town: {listed}. {self._standing(state)}"
        return [Event("town", text, {"sizes": sizes, "counts": self.counts(state)})]

    def outcome(self, state: PopulationState) -> Outcome | None:
        if state.week < self.weeks:
            return None
        score: Result = "score"
        part = 1 - self.counts(state)[SUSCEPTIBLE] / self.people
        reason = f"{100 * part:.1f} percent of all people caught it"
        return Outcome((score,) * self.num_players, tuple(state.totals), reason)

    def determinize(self, state: PopulationState, seat: int, rng: Rng) -> PopulationState:
        """Draw the town again: everybody, who is at which stage, and who has a job.

        What is published stays: the sizes of the groups, how many people are at each stage and how
        many of each group fell ill, the share of adults who are out of work, and the news.
        """
        copy = self.clone(state)
        adults, jobless = self._imagine_adults(state, rng)
        copy.census = Census(tuple(self.town(state).sizes.tolist()), adults)
        had = max(1, self._adults(state))
        copy.days = [(cases, ill, idle * adults // had) for cases, ill, idle in state.days]
        employed = None
        while employed is None:
            copy.seed = rng.word()
            employed = draw_jobs(self.town(copy), jobless, rng)
        stage = draw_stages(self.town(copy), self._figures(state, seat), rng)
        copy.folk = Folk(stage, employed)
        return copy

    def _adults(self, state: PopulationState) -> int:
        return int((self.town(state).workplace >= 0).sum())

    def _imagine_adults(self, state: PopulationState, rng: Rng) -> tuple[int, int]:
        """How many adults there may be, and how many without a job, for the shares that are known.

        Sizes of groups say how many adults there are, unless there is one group.
        """
        adults = self._adults(state)
        jobless = adults - int(state.folk.employed.sum())
        if self.groups > 1 or not adults:
            return adults, jobless
        shares = [Fraction(idle, adults) for idle in (jobless, *(day[2] for day in state.days))]
        step = lcm(*(share.denominator for share in shares))
        drawn = 0
        while not drawn:  # as many as there may be, in steps in which the shares are exact
            town = build_town(self.people, self.groups, rng.word())
            drawn = round(int((town.workplace >= 0).sum()) / step) * step
            drawn = min(drawn, self.people // step * step)
        return drawn, int(shares[0] * drawn)

    def _figures(self, state: PopulationState, seat: int) -> Figures:
        """What a seat knows of the epidemic."""
        if not seat or self.groups < MOST_GROUPS:
            return Figures(self.counts(state), state.fallen)
        area = (seat - 1) % len(AREAS)
        ill = state.folk.stage[self.town(state).area == area] == INFECTIOUS
        return Figures(self.counts(state), state.fallen, area, int(ill.sum()))

    # What a player sees

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nA week's full wage is {100 * WAGE:.0f} dollars. To catch "
            f"it costs {self.dread:g}. There are {self.weeks} weeks."
        )

    def local_share(self, state: PopulationState, seat: int) -> float:
        """The share of the people of a group's area who are infectious."""
        there = self.town(state).area == (seat - 1) % len(AREAS)
        return float((state.folk.stage[there] == INFECTIOUS).mean()) if there.any() else 0.0

    def _standing(self, state: PopulationState) -> str:
        counts = self.counts(state)
        listed = ", ".join(f"{n} {name}" for n, name in zip(counts, STAGES, strict=True))
        out = 100 * self.unemployment(state)
        return f"There are {listed}; {out:.1f} percent of adults are out of work."

    def describe(self, state: PopulationState, seat: int) -> str:
        at = min(state.week + 1, self.weeks)
        role = self.seats[seat].role
        lines = [
            f"You are {self.players[seat]}, {role if seat else 'the government'}. Week {at} of "
            f"{self.weeks}: {PHASES[state.phase]}.",
            self._standing(state),
            f"The stimulus is {state.stimulus} dollars, {state.closed} percent of workplaces are "
            "closed.",
        ]
        if state.days:
            pairs = zip(self.group_names, state.stays, strict=True)
            stays = ", ".join(f"{name} {percent} percent" for name, percent in pairs)
            lines.append(f"Last week at home: {stays}.")
        if seat and self.groups == MOST_GROUPS:
            share = 100 * self.local_share(state, seat)
            area = AREAS[(seat - 1) % len(AREAS)]
            lines.append(f"News of the {area}: {share:.2f} percent of people there are infectious.")
        if state.days and seat:
            income, ill = state.incomes[seat - 1], state.caught[seat - 1]
            lines.append(
                f"Your group earned {100 * income:.2f} dollars on average, and {100 * ill:.2f} "
                "percent of it caught the illness."
            )
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = 14 + 2 * self.groups + (self.groups == MOST_GROUPS)
        return spaces.Box(-1.0, 1e6, (size,), np.float32)

    def observe(self, state: PopulationState, seat: int) -> NDArray[np.float32]:
        """The observation vector; the class docstring gives the layout."""
        own, n = seat - 1, self.people
        cases = sum(day[0] for day in state.days[-DAYS:])
        seen: list[float] = [state.phase, state.week, self.weeks, own]
        seen += [count / n for count in self.counts(state)]
        seen += [cases / n, self.unemployment(state), state.stimulus / 100, state.closed / 100]
        seen += [state.incomes[own], state.caught[own]] if seat else [0, 0]
        seen += [size / n for size in self.town(state).sizes.tolist()]
        seen += [percent / 100 if state.days else -1 for percent in state.stays]
        if self.groups == MOST_GROUPS:
            seen.append(self.local_share(state, seat) if seat else 0.0)
        return np.array(seen, np.float32)

    def scene(self, state: PopulationState, seat: int | None = None) -> Scene:
        """The infectious and the unemployed by day, and the stages."""
        adults = max(1, int((self.town(state).workplace >= 0).sum()))
        ill = [100 * day[1] / self.people for day in state.days]
        jobless = [100 * day[2] / adults for day in state.days]
        bars = [
            Bar(name, float(count), float(self.people), number)
            for number, (name, count) in enumerate(
                zip(STAGES, self.counts(state), strict=True), start=1
            )
        ]
        line = (
            f"Week {min(state.week + 1, self.weeks)} of {self.weeks}: stimulus ${state.stimulus}, "
        )
        line += f"{state.closed} % closed"
        return Scene(
            line,
            parts=(chart({"infectious": ill, "unemployed": jobless}, "day", "percent"),),
            bars=tuple(bars),
        )


POLICIES = Grammar(
    (Option(Policy, {"stimulus": Integer(0, MOST_STIMULUS), "closed": Integer(0, 100)}),)
)
STAYS = Grammar((Option(Stay, {"percent": Integer(0, 100)}),))
