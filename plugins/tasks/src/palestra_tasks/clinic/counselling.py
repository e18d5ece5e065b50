"""Counselling of a simulated seeker over several sessions: emotions, complaints, memory.

A study of agents and no help for anybody: the seeker is a program, and whoever needs help should
turn to people.

The seeker has a profile, a chain of complaints from what is easy to say to what lies beneath, and
an emotion. In each turn the counsellor says something in one of eight ways (a move) and in words;
an emotion modulator changes the seeker's emotion, and a complaint elicitor decides whether the
next complaint is voiced, which asks for enough trust and for calm. Three layers of memory: what
was said in this session, a summary of each earlier one, and a scale that is filled in before each
session and fetched with `Recall`. A later session resumes where trust has faded a little.

With `depth="deep"` the seeker is harder to reach. A complaint is voiced only in a session in which
its topic was touched, and a topic that lies too deep makes them feel worse. Something happens
between sessions, which they tell if they are asked or heard. And one move in ten stirs them: the
emotion is then drawn anew.

After Wang, Wang, Wang et al., "AnnaAgent: Dynamic Evolution Agent System with Multi-Session Memory
for Realistic Seeker Simulation", 2025: emotion modulation, complaint chains and tertiary memory.
Its modulator and elicitor are trained on counselling dialogues; here both are rules with stated
numbers, so that a study can be repeated, and the seeker's lines come from templates. With two seats
a player speaks as the seeker: they read profile, emotion and the complaint that they may voice, and
choose the words, while the rules decide how they feel.

What is scored is the choice of moves: the share of complaints voiced, less 0.05 for each harmful
move, paid as the term `choice_of_moves`. No rule reads the words, so a kind move with unkind words
is paid as a kind move. To score the words as well, give the episodes to a model through the reward
`judge` with `pays="product"`: what the game paid times the judge's grade, so that pay needs both.

Checked: the emotion chain's frequencies against its stated chances, and with `depth="deep"` against
the stationary distribution of its matrix; a reference counsellor voices
every complaint, a harmful one none.

Left out: the authors' trained models and transcripts of people; a reading of the words by the game.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    Meta,
    OneOf,
    Option,
    Rng,
    ScriptedAgent,
    Talking,
    Text,
    TextAction,
    Turn,
    agent,
    environment,
    metric,
    only,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Part, Person, RoundTable

from palestra_tasks.desk import Final, Past, Reply, TaskGame, TaskState, shared_end

EMOTIONS = ("hopeless", "angry", "anxious", "sad", "neutral", "relieved")
CALM = 3  # emotions from here on let a complaint be voiced
MOVES = ("ask", "reflect", "affirm", "summarise", "inform", "advise", "confront", "dismiss")
HARMFUL = ("dismiss", "confront")
# By move: what it adds to trust (0 to 100), and the chances in percent that the emotion rises and
# falls by one
EFFECTS: dict[str, tuple[int, int, int]] = {
    "ask": (3, 20, 15),
    "reflect": (9, 45, 5),
    "affirm": (6, 40, 5),
    "summarise": (7, 30, 5),
    "inform": (2, 20, 10),
    "advise": (-3, 10, 25),
    "confront": (-10, 5, 55),
    "dismiss": (-18, 2, 70),
}
STAGES = 4
NEEDED = (10, 30, 50, 70)  # trust that each complaint asks for
FIRST_TRUST = (5, 25)  # the least and the most at the start
FIRST_EMOTION = (0, 3)  # places in EMOTIONS
FADES = 15  # trust lost between sessions
JOBS = ("a teacher", "a nurse", "a student", "a driver", "a baker", "a clerk")
CHAINS = (
    (
        "I have not been sleeping.",
        "At work I cannot keep my mind on anything.",
        "Since my brother moved away I hardly talk to anybody.",
        "I think that it was my fault that he left.",
    ),
    (
        "I am tired all the time.",
        "I quarrel with everybody at home.",
        "I was passed over again, and I had told them all that I would get it.",
        "I feel that I have never been good at anything.",
    ),
    (
        "My stomach hurts before every exam.",
        "I study all night and remember nothing.",
        "My parents pay for this and ask every week how it goes.",
        "I do not want this profession at all, and cannot say so.",
    ),
    (
        "I do not feel like going out.",
        "My friends have stopped calling.",
        "I told one of them a secret, and now all of them know it.",
        "I am afraid that nobody can be trusted.",
    ),
)
TOPICS = ("body", "family", "free time", "friends", "self", "sleep", "study", "work")
CHAIN_TOPICS = (
    ("sleep", "work", "family", "self"),
    ("body", "family", "work", "self"),
    ("body", "study", "family", "work"),
    ("free time", "friends", "friends", "self"),
)
STIRS = 10  # percent of moves after which the emotion of a deep seeker is drawn anew
# What may happen between sessions, and by how much the emotion rises
EVENTS = (
    ("A friend of mine was taken ill.", -2),
    ("I had a row with a neighbour.", -1),
    ("I slept well for once.", 1),
    ("My sister had a child.", 2),
)
HEARD = ("ask", "reflect")  # moves after which the seeker tells what happened
PLACEHOLDER = "I do not know what to say."


class Say(TextAction, frozen=True):
    """Say something to the seeker, as a move of one kind."""

    move: str
    text: str


class Touch(TextAction, frozen=True):
    """Ask about a topic."""

    topic: str
    text: str


class Recall(TextAction, frozen=True):
    """Fetch the seeker's scales and the summaries of earlier sessions."""


class Close(TextAction, frozen=True):
    """End the session."""


class Speak(TextAction, frozen=True):
    """The seeker's words."""

    text: str


LINES = {
    "ask": "What has been on your mind?",
    "reflect": "That sounds heavy.",
    "affirm": "It took courage to say that.",
    "summarise": "Let me say back what I have heard.",
    "inform": "Many people know this feeling.",
    "advise": "You should go out more.",
    "confront": "Is that really true?",
    "dismiss": "It is not so bad.",
}


def modulate(emotion: int, move: str, draw: int) -> int:
    """The emotion after a move; `draw` is uniform from 0 to 99."""
    _, rises, falls = EFFECTS[move]
    if draw < rises:
        return min(len(EMOTIONS) - 1, emotion + 1)
    return max(0, emotion - 1) if draw < rises + falls else emotion


def stir(emotion: int, percent: int, draw: int) -> int:
    """The emotion, or in `percent` of cases one drawn anew; `draw` is uniform from 0 to 599."""
    kinds = len(EMOTIONS)
    return draw % kinds if draw // kinds < percent else emotion


def effect_of(action: TextAction) -> str:
    """The move whose effects an action has; empty for those without."""
    return action.move if isinstance(action, Say) else "ask" if isinstance(action, Touch) else ""


@dataclass(slots=True, kw_only=True)
class SeekerState(TaskState):
    """The state of a course of sessions."""

    job: str
    age: int
    chain: tuple[str, ...]
    emotion: int
    trust: int
    voiced: int = 0  # complaints
    new: bool = False  # whether the seeker now voices another one
    session: int = 0
    in_session: int = 0  # moves of this session
    scales: tuple[int, ...] = ()  # of each session, 0 (well) to 25
    summaries: tuple[str, ...] = ()
    harm: int = 0
    turn_of: int = 0
    recalled: int = 0  # sessions whose scales have been fetched
    touched: tuple[str, ...] = ()  # topics of this session
    event: int = -1  # what happened before this session; -1 for nothing, or once it was told


@environment(
    "tasks/Counselling-v0",
    family="text",
    tags=("simulated-people", "hidden-information", "messages", "chance"),
    paper=(
        "Wang et al. (2025), AnnaAgent: Dynamic Evolution Agent System with Multi-Session Memory "
        "for Realistic Seeker Simulation"
    ),
    splits={
        "one-session": {"sessions": 1, "length": 12},
        "several-sessions": {"sessions": 3},
        "two-players": {"num_players": 2},
        "deep": {"depth": "deep", "sessions": 3},
    },
)
@dataclass(frozen=True)
class Counselling(Talking, TaskGame[SeekerState]):
    """A counsellor chooses moves with a simulated seeker; a study of agents, not help.

    The words beside a move have no effect and are not scored.

    Actions by number: the eight moves, each with a line, Recall, Close; with two seats also a line
    of the seeker. An observation is a float32 vector: sessions and moves left, complaints voiced,
    harmful moves, the scale of the last session recalled (-1 for none), and for the seeker emotion
    and trust (-1 for the counsellor). A deep seeker adds Touch for each topic to the actions, and
    to the observation 1 for each topic that was touched in this session.
    """

    num_players: Annotated[
        int, Meta(ge=1, le=2, description="1: the counsellor; 2: a player speaks as the seeker")
    ] = 1
    sessions: Annotated[int, Meta(ge=1, le=10, description="sessions of the course")] = 2
    length: Annotated[int, Meta(ge=1, le=60, description="counsellor's moves in a session")] = 10
    depth: Annotated[
        Literal["plain", "deep"],
        Meta(description="the seeker; deep: topics have to be touched, and things happen"),
    ] = "plain"

    rules_text = """
        This is a simulation for the study of agents. The seeker is a program, and nothing here is
        help or advice for anybody.
    """
    payoffs = "common"
    reward_terms = ("choice_of_moves",)
    score_term = "choice_of_moves"
    deterministic = False
    action_types = (Say, Touch, Recall, Close, Speak)
    feature_bounds = (-1.0, 1e4)

    def rules_for(self, seat: int) -> str:
        head = super().rules_for(seat)
        if seat == 1:
            return (
                f"{head}\nYou are the seeker. You read who you are, how you feel and which of your "
                "complaints you may voice. Answer the counsellor in these feelings, with "
                "Speak(text='…'); do not name complaints that you may not voice yet."
            )
        deep = (
            f"Touch(topic='work', text='…') asks about one of the topics {', '.join(TOPICS)}: a "
            "complaint is voiced only in a session in which its topic was touched, and one that "
            "lies too deep makes the seeker feel worse. "
            if self.depth == "deep"
            else ""
        )
        return (
            f"{head}\nYou are the counsellor, in a course of {self.sessions} sessions of up to "
            f"{self.length} moves. Each turn choose a kind of move and your words, as in "
            f"Say(move='reflect', text='That sounds heavy.'). Kinds: {', '.join(MOVES)}. The "
            "seeker's feelings and trust change with what you do; with enough trust and calm they "
            f"voice what lies deeper. {deep}Recall() shows earlier scales and summaries, "
            "Close() ends the session. You are paid the share of the seeker's complaints that are "
            "voiced by the end, less 0.05 for each harmful move. Only the kinds of your moves "
            "count for this: neither the seeker nor the score reads your words."
        )

    @property
    def turns(self) -> int:
        """Actions of an episode, those of all seats."""
        return self.sessions * (self.length + 1) * (1 + self.num_players)

    @property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        moves = tuple(Say(move, LINES[move]) for move in MOVES)
        both = (Speak(PLACEHOLDER),) if self.num_players == 2 else ()
        touches = (Touch(topic, f"How is it with {topic}?") for topic in TOPICS)
        deep = tuple(touches) if self.depth == "deep" else ()
        return (*moves, Recall(), Close(), *both, *deep)

    @property
    def num_features(self) -> int:
        return 7 + (len(TOPICS) if self.depth == "deep" else 0)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-0.05 * self.sessions * self.length, 1.0)

    def initial_state(self, seed: int | None = None) -> SeekerState:
        rng = Rng.seeded(check_seed(seed))
        state = SeekerState(
            rng=rng,
            job=rng.choice(JOBS),
            age=rng.between(18, 70),
            chain=rng.choice(CHAINS),
            emotion=rng.between(*FIRST_EMOTION),
            trust=rng.between(*FIRST_TRUST),
        )
        state.scales = (_scale(state.emotion, 0),)
        return state

    def acting(self, state: SeekerState) -> int:
        return state.turn_of

    def statement(self, state: SeekerState, seat: int) -> str:
        if seat == 1:
            return (
                f"You are {state.job}, {state.age} years old.\nYour complaints, from the first to "
                f"the deepest: {' | '.join(state.chain)}"
            )
        return f"A seeker, {state.job}, {state.age} years old, has come to you."

    def notes(self, state: SeekerState, seat: int) -> tuple[str, ...]:
        session = min(state.session + 1, self.sessions)
        move = state.in_session + (seat == 0)
        line = f"Session {session} of {self.sessions}, move {move}."
        if seat == 1:
            may = state.chain[state.voiced - 1] if state.new else "none"
            happened = (f"This week: {EVENTS[state.event][0]}",) if state.event >= 0 else ()
            feels = f"You feel {EMOTIONS[state.emotion]}. New complaint to voice: {may}"
            return (line, *happened, feels)
        touched = (f"Topics touched: {', '.join(state.touched) or 'none'}.",)
        deep = touched if self.depth == "deep" else ()
        return (line, f"Complaints heard so far: {state.voiced}.", *deep)

    def options(self, state: SeekerState, seat: int) -> tuple[Option, ...]:
        if seat == 1:
            lines = (PLACEHOLDER, *((state.chain[state.voiced - 1],) if state.new else ()))
            return (Option(Speak, {"text": Text(400, lines)}),)
        words = Text(400, tuple(LINES.values()))
        recall = (Option(Recall),) if state.recalled <= state.session else ()
        asks = Text(400, tuple(f"How is it with {topic}?" for topic in TOPICS))
        touch = (Option(Touch, {"topic": OneOf(TOPICS), "text": asks}),)
        deep = touch if self.depth == "deep" else ()
        return (Option(Say, {"move": OneOf(MOVES), "text": words}), *deep, *recall, Option(Close))

    def respond(self, state: SeekerState, seat: int, action: Any) -> Reply:
        if isinstance(action, Speak):
            state.turn_of, state.new = 0, False
            text = f"The seeker says: {self.quoted(action.text)}"
            self._end_of_session(state)
            return Reply(text, {"said": action.text})
        if isinstance(action, Recall):
            state.recalled = state.session + 1
            scales = ", ".join(map(str, state.scales))
            told = " ".join(state.summaries) or "There was no earlier session."
            return Reply(f"Scales (0 well, 25 bad): {scales}. {told}", audience=only(0))
        if isinstance(action, Close):
            state.in_session = self.length
            self._end_of_session(state)
            return Reply("The session is over.")
        return self._say(state, action)

    def _say(self, state: SeekerState, action: Say | Touch) -> Reply:
        move = effect_of(action)
        state.in_session += 1
        state.harm += move in HARMFUL
        state.trust = max(0, min(100, state.trust + EFFECTS[move][0]))
        state.emotion = modulate(state.emotion, move, state.rng.below(100))
        if self.depth == "deep":
            self._deepen(state, action)
        state.new = self._voices(state)
        state.voiced += state.new
        said = f"The counsellor says: {self.quoted(action.text)}"
        if self.num_players == 2:
            state.turn_of = 1
            return Reply(said, {"said": action.text, "action": "Say"})  # the kind is not told
        line = state.chain[state.voiced - 1] if state.new else self._murmur(state)
        if state.event >= 0 and move in HEARD:
            line, state.event = f"{EVENTS[state.event][0]} {line}", -1
        facts = {"said": line, "voiced": state.voiced}
        state.new = False
        self._end_of_session(state)
        return Reply(f"The seeker says: {line}", facts)

    def _deepen(self, state: SeekerState, action: Say | Touch) -> None:
        """Stir a deep seeker, and mark the topic that was touched."""
        state.emotion = stir(state.emotion, STIRS, state.rng.below(100 * len(EMOTIONS)))
        if isinstance(action, Touch):
            state.touched = tuple(sorted({*state.touched, action.topic}))
            if action.topic in self._topics(state)[state.voiced + 2 :]:
                state.emotion = max(0, state.emotion - 1)

    def _topics(self, state: SeekerState) -> tuple[str, ...]:
        return CHAIN_TOPICS[CHAINS.index(state.chain)]

    def _voices(self, state: SeekerState) -> bool:
        """Whether the seeker now voices the next complaint."""
        if state.voiced >= STAGES or state.trust < NEEDED[state.voiced] or state.emotion < CALM:
            return False
        return self.depth == "plain" or self._topics(state)[state.voiced] in state.touched

    def _murmur(self, state: SeekerState) -> str:
        return {
            "hopeless": "What is the use?",
            "angry": "You do not understand.",
            "anxious": "I do not know. Perhaps.",
            "sad": "It is hard to talk about it.",
            "neutral": "Yes, I suppose so.",
            "relieved": "It does me good to say it.",
        }[EMOTIONS[state.emotion]]

    def _end_of_session(self, state: SeekerState) -> None:
        """Summarise a session that is over; trust fades before the next one."""
        if state.in_session < self.length:
            return
        heard = " ".join(state.chain[: state.voiced]) or "Nothing yet."
        summary = f"After session {state.session + 1} the seeker had said: {heard}"
        state.summaries = (*state.summaries, summary)
        state.session += 1
        state.in_session = 0
        if state.session >= self.sessions:
            state.closed = True
            return
        state.trust = max(0, state.trust - FADES)
        state.emotion = modulate(state.emotion, "inform", state.rng.below(100))
        if self.depth == "deep":
            state.touched, state.event = (), state.rng.below(len(EVENTS))
            state.emotion += EVENTS[state.event][1]
            state.emotion = max(0, min(len(EMOTIONS) - 1, state.emotion))
        state.scales = (*state.scales, _scale(state.emotion, state.voiced))

    def settle(self, state: SeekerState) -> Final:
        score = state.voiced / STAGES - 0.05 * state.harm
        reason = (
            f"By the choice of moves: {state.voiced} of {STAGES} complaints were voiced; "
            f"{state.harm} harmful moves. No words were read."
        )
        facts = {"voiced": state.voiced, "harm": state.harm, "trust": state.trust}
        return shared_end(score, self.num_players, reason, facts)

    def features(self, state: SeekerState, seat: int) -> list[float]:
        last = state.scales[state.recalled - 1] if state.recalled and seat == 0 else -1
        own = (state.emotion, state.trust) if seat == 1 else (-1, -1)
        harm = state.harm if seat == 0 else 0
        left = self.length - state.in_session
        touched = [float(t in state.touched and seat == 0) for t in TOPICS]
        deep = touched if self.depth == "deep" else []
        plain = (self.sessions - state.session, left, state.voiced, harm, last, *own)
        return [*map(float, plain), *deep]

    def determinize(self, state: SeekerState, seat: int, rng: Rng) -> SeekerState:
        """Draw the seeker's feelings, trust and what has not been voiced, for the counsellor."""
        copy = self.copy_for(state, seat)
        copy.rng = Rng.seeded(rng.word())
        if seat == 0:
            others = [c for c in CHAINS if c[: state.voiced] == state.chain[: state.voiced]]
            copy.chain = rng.choice(others)
            copy.trust = rng.choice(self._possible_trust(state))
            copy.emotion = rng.below(len(EMOTIONS)) if state.past else rng.between(*FIRST_EMOTION)
            copy.event = rng.below(len(EVENTS)) if state.event >= 0 else -1
            copy.scales = (*state.scales[: state.recalled], *self._possible_scales(copy, rng))
        return copy

    def _possible_scales(self, state: SeekerState, rng: Rng) -> list[int]:
        """Scales in place of those not fetched; the first was written before any word."""
        if not state.past:
            return [_scale(state.emotion, 0)]
        found = []
        for session in range(state.recalled, len(state.scales)):
            emotion = rng.below(len(EMOTIONS)) if session else rng.between(*FIRST_EMOTION)
            found.append(_scale(emotion, rng.below(state.voiced + 1) if session else 0))
        return found

    def _possible_trust(self, state: SeekerState) -> list[int]:
        """The trust now, for each trust at the start from which what was voiced can be reached."""
        ends = []
        for start in range(FIRST_TRUST[0], FIRST_TRUST[1] + 1):
            trust, most, moves, sessions = start, 0, 0, 0
            for past in state.past:
                if move := effect_of(past.action):
                    trust = max(0, min(100, trust + EFFECTS[move][0]))
                    most, moves = max(most, trust), moves + 1
                elif isinstance(past.action, Close):
                    moves = self.length
                waits = bool(move) and self.num_players == 2  # for the seeker
                if moves >= self.length and not waits:
                    moves, sessions = 0, sessions + 1
                    trust = max(0, trust - FADES) if sessions < self.sessions else trust
            if not state.voiced or most >= NEEDED[state.voiced - 1]:
                ends.append(trust)
        return ends

    def seen(self, state: SeekerState, seat: int | None) -> tuple[Past, ...]:
        """What was said; the seeker is not told the kinds of the counsellor's moves."""
        past = super().seen(state, seat)
        if seat != 1:
            return past
        return tuple(
            replace(p, action=Speak(p.action.text)) if isinstance(p.action, Say | Touch) else p
            for p in past
        )

    def picture(self, state: SeekerState, seat: int | None) -> tuple[Part, ...]:
        shown = EMOTIONS[state.emotion] if seat != 0 else ""
        people = (
            Person("counsellor", 0, acting=state.turn_of == 0),
            Person("seeker", 1, detail=shown, acting=state.turn_of == 1),
        )
        heard = Bar("complaints heard", state.voiced, STAGES, 1)
        return (RoundTable(people, words="a room", ground="floor"), Bars((heard,)))


@agent("counsellor-patient", kind="scripted")
class PatientCounsellor(ScriptedAgent[Counselling]):
    """Reflects, affirms and summarises in turn; as the seeker it voices what it may."""

    def choose(self, turn: Turn[Counselling]) -> Any:
        if turn.seat == 1:
            may = turn.position.split("New complaint to voice: ", 1)[1].splitlines()[0]
            return Speak(PLACEHOLDER if may == "none" else may)
        move = ("reflect", "affirm", "reflect", "summarise")[turn.steps_played % 4]
        return Say(move, LINES[move])


@agent("counsellor-searching", kind="scripted")
class SearchingCounsellor(PatientCounsellor):
    """As `counsellor-patient`, and touches a topic in every third move, from the outside inwards.

    A topic that was touched in the session is not touched again in it.
    """

    order = ("sleep", "body", "free time", "study", "friends", "work", "family", "self")

    def choose(self, turn: Turn[Counselling]) -> Any:
        found = re.search(r"move (\d+)\.\nComplaints heard so far: (\d)", turn.position)
        if turn.seat == 0 and found and "Touch(" in turn.legal_text and int(found[1]) % 3 == 2:
            done = turn.position.split("Topics touched: ", 1)[1].split(".", 1)[0].split(", ")
            start = 2 * int(found[2])
            fresh = [t for t in self.order[start:] + self.order[:start] if t not in done]
            if fresh:
                return Touch(fresh[0], f"How is it with {fresh[0]}?")
        return super().choose(turn)


@agent("counsellor-blunt", kind="scripted")
class BluntCounsellor(ScriptedAgent[Counselling]):
    """Dismisses and advises, which drives trust away."""

    def choose(self, turn: Turn[Counselling]) -> Any:
        if turn.seat == 1:
            return Speak(PLACEHOLDER)
        move = ("dismiss", "advise")[turn.steps_played % 2]
        return Say(move, LINES[move])


@metric("complaints-voiced", measures=("tasks/Counselling-v0",), bounds=(0.0, 1.0), better="higher")
def complaints_voiced(record: EpisodeRecord) -> float | None:
    """The share of the seeker's complaints that the choice of moves brought out, words unread.

    None for an unfinished episode.
    """
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    return found[-1]["voiced"] / STAGES if found else None


def _scale(emotion: int, voiced: int) -> int:
    """A scale of symptoms: worse with bad feelings and with what has not been said."""
    return 3 * (len(EMOTIONS) - 1 - emotion) + 2 * (STAGES - voiced) + 2
