"""One match: an episode whose seats are played by local agents, clients and people.

Nothing here uses sockets or files. Everything that happens to a match is an `Answer`; replaying a
journal of the plan and its answers in order restores the match to the same point.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from palestra import Agent, Decision, EpisodeRecord, Event, InvalidAction, InvalidOption, Turn
from palestra.agents.agent import decision_problem
from palestra.agents.fitting import check_agents
from palestra.agents.making import make_agent
from palestra.endings import ending_text
from palestra.kernel.actions import TextAction
from palestra.kernel.game import allowed_actions
from palestra.kernel.registry import open_game
from palestra.kernel.rng import SEED_LIMIT, check_seed
from palestra.records.record import TurnRecord, as_json, read_action
from palestra.runner.runner import Runner
from palestra.runner.running import PendingTurn

from palestra_server.aside import agent_kind
from palestra_server.leaving import Leaving
from palestra_server.messages import MOST_SEATS, OPEN, Answer, MatchPlan, SeatView, SeenEvent, Why
from palestra_server.refused import RequestRefused


class RemoteSeat(Agent):
    """A client or person that answers from outside; `name` is their name in the record."""

    def __init__(self, name: str) -> None:
        self.name = name

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        raise InvalidOption("a seat that is played from outside answers through its match")


class Match:
    """A match in progress; raises `InvalidOption` for a plan that cannot be played.

    It starts when no seat is free. `journal` receives every answer that counts, with the match's
    name and its place, before anybody is told its result.
    """

    def __init__(self, name: str, plan: MatchPlan, journal: Any = None) -> None:
        spec, game = open_game(plan.env, dict(plan.options), len(plan.seats))
        if not 1 <= len(plan.seats) <= MOST_SEATS:
            raise InvalidOption(f"a match has 1 to {MOST_SEATS} seats, not {len(plan.seats)}")
        if plan.invalid == "raise":
            raise InvalidOption(
                "a match needs a policy for illegal moves that goes on: retry:n, random, noop or "
                "forfeit, not 'raise'"
            )
        if plan.move_seconds is not None and not plan.move_seconds > 0:
            raise InvalidOption(f"move_seconds is more than 0, not {plan.move_seconds}")
        if (plan.on_leave == "substitute") != bool(plan.substitute):
            raise InvalidOption("a plan names a substitute where on_leave is 'substitute'")
        check_seed(plan.seed)
        named = [agent for agent in (*plan.seats, plan.substitute) if agent not in (OPEN, "")]
        check_agents(named, game, spec)
        self.name, self.plan, self.game, self.spec = name, plan, game, spec
        self.free = {seat for seat, agent in enumerate(plan.seats) if agent == OPEN}
        self.open_seats = frozenset(self.free)
        self.remote = set(self.free)  # those of them that no substitute plays
        self.answers = [0] * game.num_players
        self.tries = [0] * game.num_players  # those of them that a clock runs for
        self.taken = 0  # answers of all seats, refused ones too
        self.lost = False  # whether another server has gone on with it
        self.stepping = False  # whether a thread plays a step: nobody else may look at it meanwhile
        self.errors = [""] * game.num_players
        self._journal = journal
        self._runner = Runner(
            game,
            [self._agent(seat, agent) for seat, agent in enumerate(plan.seats)],
            spec=spec,
            seed=plan.seed,
            invalid=plan.invalid,
            max_episode_steps=plan.max_episode_steps,
        )
        self._running = self._runner.start(0)
        self.leaving = Leaving(plan, self._runner, self._running, self.open_seats)
        self._record: EpisodeRecord | None = None

    def _agent(self, seat: int, name: str) -> Agent:
        if name == OPEN:
            return RemoteSeat(f"remote:{seat}")
        agent = make_agent(name)
        agent.reseed((self.plan.seed + seat) % SEED_LIMIT)
        return agent

    # Where it stands

    @property
    def episode(self) -> Any:
        return self._running.episode

    @property
    def started(self) -> bool:
        return not self.free

    @property
    def over(self) -> bool:
        return not (self.stepping or self._running.episode.to_act)

    @property
    def error(self) -> str:
        """The traceback of the exception that ended the match, if the game or an agent failed."""
        return self._running.error

    @property
    def status(self) -> str:
        if self.over:
            return "over"
        return "playing" if self.started else "waiting"

    @property
    def has_local_agents(self) -> bool:
        return len(self.remote) < self.game.num_players

    def awaits(self, seat: int) -> bool:
        """Whether this seat is to answer now."""
        return not (self.free or self.stepping) and self._running.awaits(seat)

    def asks(self, seat: int) -> bool:
        """Whether the player of this seat is to answer now, and no substitute."""
        return seat not in self.leaving.away and self.awaits(seat)

    def shows_turns(self, viewer: int) -> bool:
        """Whether a seat, or -1 for a spectator, may know whose turn it is; it can betray a role.

        Who came later to their seat was not informed of what was before.
        """
        newcomer = viewer >= 0 and self.episode.life(viewer)
        return self.over or (self.game.perfect_information and not newcomer)

    def stage(self, viewer: int) -> Any:
        """What changes with every view of a seat, or of -1 for a spectator, but for its clock.

        Answers of others are part of it only where the viewer may know whose turn it is.
        """
        turns, seats = self.shows_turns(viewer), range(self.game.num_players)
        known = self.leaving.known_to(viewer, turns=turns)
        return (
            (self.status, self.stepping, self.episode.steps_played),
            list(self.answers) if turns else self.answers[viewer] if viewer >= 0 else 0,
            [None if seat in self.free else self.called(seat) for seat in seats],
            [left.back for left in known],
        )

    def due(self) -> list[int]:
        """Seats whose answer is awaited."""
        return [seat for seat in self.episode.to_act if self.awaits(seat)]

    @property
    def answers_at_once(self) -> bool:
        """Whether all local agents are scripts, which answer at once; others run in a thread."""
        return all(
            agent_kind(agent) == "scripted"
            for agent in (*self.plan.seats, *(d.substitute for d in self.leaving.away.values()))
            if agent not in (OPEN, "")
        )

    # Taking seats

    def check_free(self, seat: int) -> None:
        """Raise `InvalidOption` for a seat that is taken."""
        if seat not in self.free:
            raise InvalidOption(
                f"seat {seat} of match {self.name} is not free; free are {sorted(self.free)}"
            )

    def take(self, seat: int, name: str = "") -> None:
        """Fill a free seat; raises `InvalidOption` if it is taken."""
        self.check_free(seat)
        self.free.discard(seat)
        if name:
            self._runner.agents[seat].name = name

    def called(self, seat: int) -> str:
        """What others may call who sits there: a person's own name, or an agent without options."""
        if seat in self.open_seats:
            return self.leaving.player(seat).name.removeprefix("remote:")
        return self.plan.seats[seat].partition(":")[0]

    # Answers

    def turn(self, seat: int) -> Turn:
        """The turn of a seat that is to act; raises `InvalidOption` for any other."""
        if not self.awaits(seat):
            raise InvalidOption(f"seat {seat} is not to answer now")
        return self._runner.pending(self._running, seat).turn

    def answer(self, answer: Answer) -> bool:
        """Take one answer as `accept` does, and play the step if it was the last one."""
        counted = self.accept(answer)
        if counted and self.is_answered:
            self.play()
        return counted

    @property
    def is_answered(self) -> bool:
        """Whether a step's answers are complete, and it can be played."""
        return not self.stepping and self._running.answered and not self.error

    def play(self) -> None:
        """Play a step. Rules that run programs take long, and may do so in a thread."""
        self._runner.play(self._running)
        if self.game.runs_programs:
            self.look_ahead()

    def look_ahead(self) -> None:
        """Compute what is seen next: rules may run programs for it too, and keep what they gave."""
        for seat in self.episode.to_act:
            self.episode.describe(seat)
        with suppress(Exception):  # a match goes on without its picture
            self.episode.scene(None)

    def accept(self, answer: Answer) -> bool:
        """Take and journal one answer; False, and nothing changes, if it is late or a duplicate.

        Raises `InvalidOption` for an answer that nobody asked for.
        """
        seat = answer.seat
        if answer.number < self.answers[seat]:
            return False
        if answer.number > self.answers[seat]:
            raise InvalidOption(
                f"answer {answer.number} came, but answer {self.answers[seat]} of seat {seat} "
                "is awaited; look again"
            )
        if self.over:
            raise InvalidOption(f"match {self.name} is over")
        if self.stepping:
            raise RequestRefused(f"match {self.name} computes a step; try again", 503)
        if answer.resigned:
            self._leave(seat, "resigned")
        elif answer.reclaimed:
            self.leaving.reclaim(seat)
            self.remote.add(seat)
        elif answer.called:
            self.leaving.player(seat).name = answer.called
            self.tries[seat] -= 1  # whose name changes has no more time
        elif not self.awaits(seat):
            raise InvalidOption(
                f"seat {seat} is not to answer now"
                if self.started
                else f"match {self.name} waits for seats {sorted(self.free)} to be taken"
            )
        else:
            self._settle(seat, answer)
        self.answers[seat] += 1
        self.tries[seat] += 1
        if self._journal is not None:
            self._journal(self.name, self.taken, answer)
        self.taken += 1
        return True

    def _leave(self, seat: int, why: Why) -> None:
        self.leaving.leave(seat, why)
        self.remote.discard(seat)

    def _settle(self, seat: int, answer: Answer) -> None:
        away = self.leaving.away.get(seat)
        decision = Decision(
            action=self._action(answer),
            text=answer.text,
            usage=answer.usage,
            thought=answer.thought,
            model=answer.model,
            logprob=answer.logprob,
            sampling=answer.sampling,
            tokens=answer.tokens,
            earlier=answer.earlier,
            facts={} if away is None else {"substitute": away.substitute},
        )
        if problem := decision_problem(decision):
            raise InvalidOption(problem)
        tries = len(self._running.refused.get(seat, ()))
        if answer.missed:
            error = InvalidAction("", self.episode.legal_text(seat), why=answer.missed)
            self._runner.refuse(self._running, seat, decision, error)
        else:
            self._runner.take(self._running, seat, decision)
        refused = self._running.refused.get(seat, [])
        self.errors[seat] = refused[-1].error if len(refused) > tries else ""
        # whoever is silent may come back: the others need not wait for further tries
        gone = answer.missed and self._running.awaits(seat) and self.leaving.replaces(seat)
        if away is not None and refused and len(refused) > tries:
            self.leaving.repair(seat)
        elif gone or seat in self._running.lost:
            self._leave(seat, "silent" if answer.missed else "illegal")

    def _action(self, answer: Answer) -> Any:
        """The game's own action of an answer; None if the answer is a text to parse."""
        if answer.action is None:
            return None
        return read_action(self.episode, TurnRecord(seat=answer.seat, action=answer.action))

    # Local agents

    def agent_of(self, seat: int) -> str:
        """The name of the local agent that plays a seat now."""
        left = self.leaving.away.get(seat)
        return left.substitute if left is not None and left.substitute else self.plan.seats[seat]

    def agents_due(self) -> list[PendingTurn]:
        """Turns that wait for local agents."""
        if self.free or not self.has_local_agents:
            return []
        if self.remote.issuperset(self.episode.to_act):
            return []
        return [p for p in self._runner.waiting(self._running) if p.turn.seat not in self.remote]

    def ask(self, pending: PendingTurn) -> Answer | None:
        """An agent's answer; None if it failed, which ends the match. May take long."""
        number = self.answers[pending.turn.seat]  # as it was asked: a late answer is dropped
        decision = self._runner.decisions(pending.agent, [pending])[0]
        if decision is None:
            return None
        seat, action = pending.turn.seat, decision.action
        if isinstance(action, TextAction):
            action = as_json(action)
        return Answer(
            seat=seat,
            number=number,
            action=None if action is None else action if isinstance(action, dict) else int(action),
            text=decision.text,
            thought=decision.thought,
            model=decision.model,
            logprob=decision.logprob,
            usage=decision.usage,
            sampling=dict(decision.sampling),
            tokens=decision.tokens,
            earlier=decision.earlier,
        )

    def ask_at_once(self, until: float = math.inf) -> bool:
        """Let scripted agents answer until another seat is to act; False if time is up before.

        until: of `time.monotonic`.
        """
        while waiting := self.agents_due():
            if time.monotonic() > until:
                return False
            for pending in waiting:
                answer = self.ask(pending)
                if answer is None or self.over:
                    return True
                self.answer(answer)
        return True

    # What is seen

    def view(
        self, seat: int, since: int = 0, show: Sequence[str] = (), *, with_rules: bool = False
    ) -> SeatView:
        """Everything one seat may know, with its transcript from position `since` on."""
        episode, game = self.episode, self.game
        due, costs = self.asks(seat), episode.step.costs if game.cost_terms else {}
        seen = SeatView(
            match=self.name,
            seat=seat,
            player=game.players[seat],
            status=self.status,
            turn=episode.steps_played,
            number=self.answers[seat],
            your_turn=due,
            present=self.over or seat in episode.present,
            error=self.errors[seat],
            returns=self.leaving.returns(seat),
            life=episode.life(seat),
            costs=as_json(costs.get(seat, {})),
        )
        if self.leaving.departures:
            seen.away = self.leaving.away[seat].why if seat in self.leaving.away else ""
            seen.left = self.leaving.known_to(seat, turns=self.shows_turns(seat))
        news = [] if "no-text" in show else episode.news(seat, max(0, since))
        joined = seen.life and news and len(news) == len(episode.transcript(seat))
        if with_rules or joined:
            seen.rules = game.rules_for(seat)
        if "no-text" not in show:
            seen.cursor = episode.cursor(seat)
            seen.events = [seen_event(event) for event in news]
            seen.position = episode.describe(seat)
            if due:
                seen.legal = episode.legal_text(seat)
        if due and "legal_texts" in show and game.has_numbers:
            seen.legal_texts = episode.legal_texts(seat)
        if "observation" in show and game.has_numbers:
            seen.observation = plain_array(episode.observation(seat))
            seen.mask = allowed_actions(episode.action_mask(seat))
        if "scene" in show:
            seen.scene = msgspec.to_builtins(episode.scene(seat))
        outcome = episode.outcome
        if outcome is not None:
            seen.result, seen.score = self.leaving.result(seat, outcome)
            seen.truncated, seen.reason = episode.truncated, outcome.reason
            seen.ending = ending_text(episode)
        return seen

    def brief_view(self, seat: int, since: int) -> SeatView:
        """The view while a step is computed: nothing is new, and nobody is to answer."""
        return SeatView(
            match=self.name,
            seat=seat,
            player=self.game.players[seat] if seat >= 0 else "",
            status=self.status,
            cursor=since,
            number=self.answers[seat] if seat >= 0 else 0,
            returns=self.leaving.returns(seat) if seat >= 0 else 0.0,
        )

    def record(self) -> EpisodeRecord:
        """The record of a match that is over; raises `InvalidOption` before that."""
        if not self.over:
            raise InvalidOption(
                f"match {self.name} is still played; its record is there when it is over"
            )
        return self.finish()

    @property
    def recorded(self) -> bool:
        """Whether the record of a match that is over is there; to write it takes time."""
        return self._record is not None

    def finish(self) -> EpisodeRecord:
        """The record of a match that has ended, written once; as slow as playing array games."""
        if self._record is None:
            record = self._runner.finish(self._running)
            record.group = self.plan.group
            if self.leaving.departures:
                record.tags["left"] = self.leaving.tag(self.episode.outcome)
            self._record = record
            self.close()
        return self._record

    def keep_journal(self, journal: Any) -> None:
        """From now on, call `journal` with every answer that counts, as in the constructor."""
        self._journal = journal

    def close(self) -> None:
        """Close the local agents."""
        for agent in self._runner.agents:
            agent.close()
        self.leaving.close()


def seen_event(event: Event) -> SeenEvent:
    """An event as views hold it."""
    return SeenEvent(event.kind, event.text, as_json(dict(event.data)) if event.data else {})


def plain_array(seen: Any) -> Any:
    """An observation as lists and numbers."""
    if isinstance(seen, dict):
        return {name: plain_array(value) for name, value in seen.items()}
    if isinstance(seen, tuple | list):
        return [plain_array(value) for value in seen]
    return seen.tolist() if hasattr(seen, "tolist") else seen
