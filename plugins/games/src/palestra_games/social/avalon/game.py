"""The Resistance: Avalon: quests with secret cards, and a Merlin who must stay hidden.

A minority of evil players, who know each other, sits among good ones; Merlin, who is good, knows
the evil players. Each quest begins with talk; then the leader proposes a team, and all vote. Five
rejected proposals in a row lose the game for the good. The members of an approved team play,
sealed, a success or, if they are evil, a fail; a fail (in the fourth quest of seven or more players
two) makes the quest fail. Three failed quests win for the evil. After three successes the assassin
names a player, and the evil win if it is Merlin. Rules, team sizes and numbers of evil players are
those of D. Eskridge, "The Resistance: Avalon", Indie Boards & Cards, 2012; language models play it
in Light, Cai, Shen and Hu, "AvalonBench: Evaluating LLMs Playing the Game of Avalon", 2023.

Checked: with the scripted players that approve everything, the result of every quest follows
from the seats of the evil alone; the tests enumerate all deals and count the chances.

Left out: the Lady of the Lake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    InvalidOption,
    Meta,
    Outcome,
    Rng,
    Scene,
    Seat,
    Step,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.scene import Person, RoundTable

from palestra_games.social.avalon.rules import (
    ASSASSIN,
    ASSASSINATE,
    BALLOT,
    DISCUSS,
    EVIL,
    EVIL_CARD,
    GOOD_CARD,
    KNOWN,
    MAJORITY,
    MAX_PROPOSALS,
    MERLIN,
    MINION,
    MORDRED,
    MORGANA,
    NOBODY,
    OBERON,
    OVER,
    PERCIVAL,
    PHASES,
    PROPOSE,
    QUEST,
    QUESTS,
    ROLES,
    SERVANT,
    TEAM_SIZES,
    UNKNOWN,
    VOTE,
    Approve,
    Assassinate,
    AvalonState,
    Fail,
    Proposal,
    Propose,
    Quest,
    Reject,
    Succeed,
    assassination_grammar,
    fails_needed,
    full_menu,
    is_evil,
    knowledge,
    members,
    program_lines,
    proposal_grammar,
    redraw,
)
from palestra_games.social.discussion import Discussion, Pass, Say, talk_grammar

LONGEST_LINE = 60  # characters of a line a program may say


@environment(
    "games/Avalon-v0",
    family="social",
    tags=("hidden-roles", "teams", "hidden-information", "messages"),
    paper=(
        "Light, Cai, Shen and Hu (2023), AvalonBench: Evaluating LLMs Playing the Game of Avalon"
    ),
)
@dataclass(frozen=True)
class Avalon(Discussion, TextGame[AvalonState]):
    """The Resistance: Avalon: quests by secret card, and a Merlin who must not be found.

    The menu numbers every team that can be proposed, votes, quest cards, every target of the
    assassin, the lines a program may say and silence. An observation is a vector of int8, see
    `observe`. Every winner is paid 1, every loser -1.
    """

    num_players: Annotated[int, Meta(ge=5, le=10, description="number of players")] = 5
    percival: Annotated[bool, Meta(description="whether a good player is Percival")] = True
    morgana: Annotated[bool, Meta(description="whether an evil player is Morgana")] = True
    mordred: Annotated[bool, Meta(description="whether an evil player is Mordred")] = False
    oberon: Annotated[bool, Meta(description="whether an evil player is Oberon")] = False
    talk_rounds: Annotated[
        int, Meta(ge=0, le=3, description="rounds of talk before each proposal")
    ] = 1
    message_limit: Annotated[
        int, Meta(ge=LONGEST_LINE, le=100_000, description="most characters of a message")
    ] = 300
    shuffle: Annotated[
        bool,
        Meta(
            description="whether roles and the first leader are drawn at random; otherwise "
            "they are dealt by seat"
        ),
    ] = True

    rules_text = """
        You play The Resistance: Avalon. Everybody has a secret role, good or evil.

        There are up to five quests. The good win by three successful quests if the assassin does
        not find Merlin afterwards; the evil win by three failed quests.
        Each quest begins with talk: in turn, write Say(text='I think player_3 is evil.') or Pass()
        to say nothing. Then the leader proposes who goes: Propose(team='player_0, player_2'). Then
        all vote at once, Approve() or Reject(), and everybody hears who voted how. If more than
        half approve, the team goes; otherwise the next player is leader, and talk and proposal
        start again. The fifth rejected proposal for one quest wins the game for the evil.
        The members of the team play a card in secret: Succeed() or, only if they are evil, Fail().
        Everybody hears how many fails there were, not whose. After each quest the next player
        leads. After three successful quests the assassin names a player,
        Assassinate(target='player_3'); if that is Merlin, the evil win.
        Merlin is good and knows the evil players, except Mordred. Percival is good and knows
        Merlin, but cannot tell Merlin from Morgana. Servants are good and know nothing. The
        assassin, Morgana, Mordred and minions are evil and know each other; Oberon is evil, but the
        other evil players do not know Oberon, nor Oberon them. Every winner is paid 1, every loser
        -1.
    """
    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("win",)
    action_types = (Say, Pass, Propose, Approve, Reject, Succeed, Fail, Assassinate)

    def validate(self) -> None:
        named = 1 + self.morgana + self.mordred + self.oberon
        if named > EVIL[self.num_players]:
            raise InvalidOption(
                f"{self.num_players} players have {EVIL[self.num_players]} evil roles, the "
                f"assassin and at most {EVIL[self.num_players] - 1} of morgana, mordred, oberon"
            )

    @cached_property
    def composition(self) -> tuple[int, ...]:
        """The roles that are dealt, good ones first."""
        good = [MERLIN, *[PERCIVAL] * self.percival]
        evil = [ASSASSIN, *[MORGANA] * self.morgana]
        evil += [*[MORDRED] * self.mordred, *[OBERON] * self.oberon]
        evil += [MINION] * (EVIL[self.num_players] - len(evil))
        servants = self.num_players - len(good) - len(evil)
        return (*good, *[SERVANT] * servants, *evil)

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        """Team 0 is good, team 1 evil, where `shuffle` is off; else roles belong to a state."""
        if self.shuffle:
            return tuple(Seat(player, team=i) for i, player in enumerate(self.players))
        return tuple(
            Seat(player, ROLES[role], int(is_evil(role)))
            for player, role in zip(self.players, self.composition, strict=True)
        )

    @cached_property
    def lines(self) -> tuple[Say, ...]:
        return program_lines(self.players)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        return full_menu(self.players)

    def rules_for(self, seat: int) -> str:
        counts = [(self.composition.count(role), name) for role, name in enumerate(ROLES)]
        roles = ", ".join(f"{name} {n}" for n, name in counts if n)
        sizes = ", ".join(map(str, TEAM_SIZES[self.num_players]))
        lines = [super().rules_for(seat), f"Roles in this game: {roles}. Team sizes: {sizes}."]
        if fails_needed(self.num_players, 3) == 2:
            lines.append("The fourth quest fails only with two fails.")
        return "\n".join(lines)

    # The rules

    def initial_state(self, seed: int | None = None) -> AvalonState:
        rng, roles = Rng.seeded(seed), list(self.composition)
        if self.shuffle:
            rng.shuffle(roles)
        state = AvalonState(rng, roles, rng.below(self.num_players) if self.shuffle else 0)
        self._start_talk(state)
        return state

    def _start_talk(self, state: AvalonState) -> None:
        """Everybody speaks in turn, the leader first; without talk they propose at once."""
        order = [(state.leader + i) % self.num_players for i in range(self.num_players)]
        state.said = []
        state.speakers = order * self.talk_rounds
        state.phase = DISCUSS if state.speakers else PROPOSE

    def to_act(self, state: AvalonState) -> tuple[int, ...]:
        if state.phase == DISCUSS:
            return (state.speakers[0],)
        if state.phase == PROPOSE:
            return (state.leader,)
        if state.phase == VOTE:
            return tuple(range(self.num_players))
        if state.phase == QUEST:
            return tuple(state.proposals[-1].team)
        return (state.roles.index(ASSASSIN),) if state.phase == ASSASSINATE else ()

    def legal(self, state: AvalonState, seat: int) -> Grammar:
        if state.phase == DISCUSS:
            return talk_grammar(self.lines, self.message_limit)
        if state.phase == PROPOSE:
            return proposal_grammar(self.players, self.team_size(state))
        if state.phase == VOTE:
            return BALLOT
        if state.phase == QUEST:
            return EVIL_CARD if is_evil(state.roles[seat]) else GOOD_CARD
        known = knowledge(state, seat)
        return assassination_grammar(
            self._names([s for s, code in enumerate(known) if code == UNKNOWN])
        )

    def team_size(self, state: AvalonState) -> int:
        return TEAM_SIZES[self.num_players][len(state.quests)]

    def _names(self, seats: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.players[seat] for seat in seats)

    def step(self, state: AvalonState, actions: Mapping[int, Any]) -> Step:
        if state.phase == DISCUSS:
            return Step(events=self._speak(state, actions))
        if state.phase == PROPOSE:
            return Step(events=self._propose(state, actions[state.leader]))
        if state.phase == VOTE:
            events = self._vote(state, actions)
        elif state.phase == QUEST:
            events = self._quest(state, actions)
        else:
            events = self._assassinate(state, actions)
        if state.phase != OVER:
            return Step(events=events)
        paid = {seat: {"win": won} for seat, won in enumerate(self._scores(state))}
        return Step(rewards=paid, events=[*events, self._ending(state)])

    def _speak(self, state: AvalonState, actions: Mapping[int, Any]) -> list[Event]:
        events = self.speak(state, actions)
        if not state.speakers:
            state.phase = PROPOSE
        return events

    def _propose(self, state: AvalonState, action: Propose) -> list[Event]:
        team = sorted(self.players.index(name) for name in members(action.team))
        state.proposals.append(Proposal(len(state.quests), state.leader, team))
        state.phase = VOTE
        text = f"{self.players[state.leader]} proposes {', '.join(self._names(team))}."
        return [Event("proposal", text, {"leader": state.leader, "team": team.copy()})]

    def _vote(self, state: AvalonState, actions: Mapping[int, Any]) -> list[Event]:
        proposal = state.proposals[-1]
        proposal.votes = [isinstance(actions[s], Approve) for s in range(self.num_players)]
        approved = 2 * sum(proposal.votes) > self.num_players
        tries = len(state.open_proposals)
        if approved:
            state.phase = QUEST
        elif tries == MAX_PROPOSALS:
            state.phase = OVER
        else:
            self._next_leader(state)
        verdict = "approved" if approved else f"rejected ({tries} of {MAX_PROPOSALS})"
        text = f"The team is {verdict}. {self._ballot(proposal)}"
        return [Event("vote", text, {"votes": proposal.votes.copy(), "approved": approved})]

    def _ballot(self, proposal: Proposal) -> str:
        by_vote = [[s for s, vote in enumerate(proposal.votes) if vote == v] for v in (True, False)]
        named = [", ".join(self._names(seats)) or "nobody" for seats in by_vote]
        return f"For: {named[0]}. Against: {named[1]}."

    def _next_leader(self, state: AvalonState) -> None:
        state.leader = (state.leader + 1) % self.num_players
        self._start_talk(state)

    def _quest(self, state: AvalonState, actions: Mapping[int, Any]) -> list[Event]:
        team = state.proposals[-1].team
        failing = [seat for seat in team if isinstance(actions[seat], Fail)]
        number = len(state.quests)
        failed = len(failing) >= fails_needed(self.num_players, number)
        state.quests.append(Quest(team.copy(), failing, failed))
        if state.failures == MAJORITY:
            state.phase = OVER
        elif len(state.quests) - state.failures == MAJORITY:
            state.phase = ASSASSINATE
        else:
            self._next_leader(state)
        text = self._quest_text(state, number)
        return [Event("reveal", text, {"quest": number, "fails": len(failing), "failed": failed})]

    def _quest_text(self, state: AvalonState, number: int) -> str:
        quest = state.quests[number]
        ended = "failed" if quest.failed else "succeeded"
        fails = len(quest.failing)
        return f"Quest {number + 1} of {', '.join(self._names(quest.team))} {ended}: fails {fails}."

    def _assassinate(self, state: AvalonState, actions: Mapping[int, Any]) -> list[Event]:
        (seat, action), *_ = actions.items()
        state.target = self.players.index(action.target)
        state.phase = OVER
        text = f"{self.players[seat]}, the assassin, names {action.target}."
        return [Event("reveal", text, {"player": seat, "target": state.target})]

    def _ending(self, state: AvalonState) -> Event:
        named = zip(self.players, state.roles, strict=True)
        roles = ", ".join(f"{name} {ROLES[role]}" for name, role in named)
        return Event("reveal", f"{self._reason(state)} Roles: {roles}.", {"roles": state.roles[:]})

    def _reason(self, state: AvalonState) -> str:
        if state.target != NOBODY:
            if state.evil_wins():
                return "The evil win: the assassin has found Merlin."
            return "The good win: three quests succeeded and Merlin was not found."
        if state.failures == MAJORITY:
            return "The evil win: three quests failed."
        return "The evil win: five proposals in a row were rejected."

    def _scores(self, state: AvalonState) -> tuple[float, ...]:
        evil = state.evil_wins()
        return tuple(1.0 if is_evil(role) == evil else -1.0 for role in state.roles)

    def outcome(self, state: AvalonState) -> Outcome | None:
        if state.phase != OVER:
            return None
        scores = self._scores(state)
        results = tuple("win" if score > 0 else "loss" for score in scores)
        return Outcome(results, scores, self._reason(state))  # type: ignore[arg-type]

    def opening(self, state: AvalonState) -> Sequence[Event]:
        events = []
        for seat, role in enumerate(state.roles):
            side = "evil" if is_evil(role) else "good"
            text = f"{self.players[seat]}, you are {ROLES[role]} ({side}). "
            text += f"You know: {self._known_text(state, seat)}."
            data = {"role": ROLES[role], "known": knowledge(state, seat)}
            events.append(Event("role", text, data, only(seat)))
        first = f"{self.players[state.leader]} is the first leader."
        return [*events, Event("leader", first, {"leader": state.leader})]

    def noop(self, state: AvalonState, seat: int) -> TextAction | None:
        return Pass() if state.phase == DISCUSS else None

    def determinize(self, state: AvalonState, seat: int, rng: Rng) -> AvalonState:
        """Draw uniformly from the deals that fit what the player saw, with matching quest cards.

        Who the assassin is becomes known when they are asked to name Merlin.
        """
        self.refuse_the_end(state)
        copy, assassin = self.clone(state), state.roles.index(ASSASSIN)
        while True:
            redraw(copy, seat, rng)
            if state.phase != ASSASSINATE or copy.roles[assassin] == ASSASSIN:
                return copy

    # What a player sees

    def _known_text(self, state: AvalonState, seat: int) -> str:
        known = [
            f"{self.players[other]} is {KNOWN[code]}"
            for other, code in enumerate(knowledge(state, seat))
            if code != UNKNOWN and other != seat
        ]
        return ", ".join(known) or "nothing"

    def describe(self, state: AvalonState, seat: int) -> str:
        role = state.roles[seat]
        lines = [
            f"You are {self.players[seat]}, {ROLES[role]} "
            f"({'evil' if is_evil(role) else 'good'}). Known: {self._known_text(state, seat)}.",
            f"{PHASES[state.phase]}. Quest {min(len(state.quests) + 1, QUESTS)} of {QUESTS}. "
            f"Leader: {self.players[state.leader]}.",
            *self._history(state, seat),
        ]
        if state.target != NOBODY:
            lines.append(f"The assassin named {self.players[state.target]}.")
        return "\n".join([*lines, *self.said_last(state)])

    def _history(self, state: AvalonState, seat: int) -> list[str]:
        """Proposals and quests so far, quest by quest."""
        lines = []
        for number in range(QUESTS):
            for proposal in state.proposals:
                if proposal.quest == number:
                    lines.append(self._proposal_text(proposal))
            if number < len(state.quests):
                own = " You played a fail." if seat in state.quests[number].failing else ""
                lines.append(self._quest_text(state, number) + own)
        return lines

    def _proposal_text(self, proposal: Proposal) -> str:
        team = ", ".join(self._names(proposal.team))
        text = f"{self.players[proposal.leader]} proposed {team}."
        return f"{text} {self._ballot(proposal)}" if proposal.votes else text

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        n = self.num_players
        top = [OVER, QUESTS, n - 1, n - 1, n, *[len(KNOWN) - 1] * n]
        top += ([n] + [1] * n + [2] * n) * (QUESTS * MAX_PROPOSALS)
        top += [n + 1, 1] * QUESTS
        top += [len(program_lines(self.players)) + 2] * (n * self.talk_rounds)
        return spaces.Box(np.zeros(len(top), np.int8), np.array(top, np.int8), dtype=np.int8)

    def observe(self, state: AvalonState, seat: int) -> NDArray[np.int8]:
        """What `describe` says, in n seats.

        Phase, quests past, leader, own seat, 1 + whom the assassin named; known of each seat (n);
        for each quest and each of its proposals 1 + leader, team (n) and votes (n, 1 for, 2
        against); for each quest 1 + fails and whether one's own card was one; lines said last by
        round of talk and seat (1 silence, 2 + line, last: other words). 0 is nothing yet.
        """
        n = self.num_players
        head = [state.phase, len(state.quests), state.leader, seat, 1 + state.target]
        proposals = np.zeros((QUESTS, MAX_PROPOSALS, 1 + 2 * n), np.int8)
        tries = [0] * QUESTS
        for proposal in state.proposals:
            row = proposals[proposal.quest, tries[proposal.quest]]
            tries[proposal.quest] += 1
            row[0] = 1 + proposal.leader
            row[[1 + member for member in proposal.team]] = 1
            if proposal.votes:
                row[1 + n :] = [1 if vote else 2 for vote in proposal.votes]
        quests = np.zeros((QUESTS, 2), np.int8)
        for number, quest in enumerate(state.quests):
            quests[number] = 1 + len(quest.failing), seat in quest.failing
        known = knowledge(state, seat)
        parts = [np.array([*head, *known], np.int8), proposals.ravel(), quests.ravel()]
        return np.concatenate([*parts, self.talk_codes(state)])

    def scene(self, state: AvalonState, seat: int | None = None) -> Scene:
        known = [1 + r for r in state.roles] if seat is None else knowledge(state, seat)
        people = []
        for place, (name, code) in enumerate(zip(self.players, known, strict=True)):
            role = KNOWN[code] if code != UNKNOWN else ""
            people.append(Person(name, place, role, "leader" if place == state.leader else ""))
        lines = [self._quest_text(state, number) for number in range(len(state.quests))]
        lines += self.lines_spoken(state)
        table = RoundTable(tuple(people), words=PHASES[state.phase])
        return Scene(lines=tuple(lines), parts=(table,))
