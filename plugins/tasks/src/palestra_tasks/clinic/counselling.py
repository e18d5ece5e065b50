"""Counselling of a simulated seeker over several sessions: emotions, complaints, memory.

A study of agents and no help for anybody: the seeker is a program, and whoever needs help should
turn to people.

A seeker has a generated inner structure (`seekers.py`): trees of complaints with a root each, a
belief behind it, manners, what reaches this seeker in which manner, what was tried, and readiness.
The counsellor finds out what helps by asking and by moves, and offers one step a topic; the share
of roots with a step that helps is paid. There is no chance after the start. `beliefs="rare"` has
beliefs that the splits for training never have.

With `seeker="chain"` a seeker has a profile, a chain of complaints from what is easy to say to what
lies beneath, and an emotion. Four chains make 16 different courses at most, so that this is a
demonstration. In each turn the counsellor says something in one of eight ways (a move) and in
words; an emotion modulator changes the seeker's emotion, and a complaint elicitor decides whether
the next complaint is voiced, which asks for enough trust and for calm. For each emotion one kind of
move does good, and any other costs trust, so that a counsellor has to hear how the seeker feels.
Three layers of memory: what was said in this session, a summary of each earlier one, and a scale
that is filled in before each session and fetched with `Recall`. A later session resumes where trust
has faded a little. The share of complaints voiced is paid.

With `depth="deep"` a seeker with a chain is harder to reach. A complaint is voiced only in a
session in which its topic was touched, and a topic that lies too deep makes them feel worse.
Something happens between sessions, which they tell if they are asked or heard. And one move in ten
stirs them: the emotion is then drawn anew.

After Wang, Wang, Wang et al., "AnnaAgent: Dynamic Evolution Agent System with Multi-Session Memory
for Realistic Seeker Simulation", 2025: emotion modulation, complaint chains and tertiary memory.
Its modulator and elicitor are trained on counselling dialogues; here both are rules with stated
numbers, so that a study can be repeated, and the seeker's lines come from templates. With two seats
a player speaks as the seeker: they read profile, emotion and the complaint that they may voice, and
choose the words, while the rules decide how they feel.

What is scored is the choice of moves, less 0.05 for each harmful move, paid as the term
`choice_of_moves`. No rule reads the words, so a kind move with unkind words
is paid as a kind move. To score the words as well, give the episodes to a model through the reward
`judge` with `pays="product"`: what the game paid times the judge's grade, so that pay needs both.

Checked: imagined seekers and moves by rejection; another reader of what seekers say than the
reference finds what helps. The emotion chain's frequencies against its stated chances, and with
`depth="deep"` against the stationary distribution of its matrix; a reference counsellor voices
every complaint, a harmful one none.

Left out: the authors' trained models and transcripts of people; a reading of the words by the game.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Rng,
    Talking,
    Text,
    TextAction,
    environment,
    metric,
    only,
)
from palestra.kernel.rng import check_seed
from palestra.paragraphs import paragraphs
from palestra.scene import Bar, Bars, Part, Person, RoundTable

from palestra_tasks.clinic import seekers
from palestra_tasks.clinic.feelings import (
    EMOTIONS,
    FADES,
    FIRST_EMOTION,
    FIRST_TRUST,
    HARMFUL,
    MOVES,
    STAGES,
    STIRS,
    SUITS,
    Chain,
    Felt,
    Move,
    effect,
    imagine_feelings,
    imagine_moves,
    likelihood_of,
    modulate,
    stir,
)
from palestra_tasks.clinic.seekers import (
    Act,
    Seeker,
    draw_seeker,
    imagine_seeker,
    imagine_way,
    line_of,
)
from palestra_tasks.desk import Final, Past, Reply, TaskGame, TaskState, shared_end

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
MURMURS = {
    "hopeless": "What is the use?",
    "angry": "You do not understand.",
    "anxious": "I do not know. Perhaps.",
    "sad": "It is hard to talk about it.",
    "neutral": "Yes, I suppose so.",
    "relieved": "It does me good to say it.",
}
TOPICS = ("body", "family", "free time", "friends", "self", "sleep", "study", "work")
CHAIN_TOPICS = (
    ("sleep", "work", "family", "self"),
    ("body", "family", "work", "self"),
    ("body", "study", "family", "work"),
    ("free time", "friends", "friends", "self"),
)
# What may happen between sessions, and by how much the emotion rises
EVENTS = (
    ("A friend of mine was taken ill.", -2),
    ("I had a row with a neighbour.", -1),
    ("I slept well for once.", 1),
    ("My sister had a child.", 2),
)
HEARD = ("ask", "reflect")  # moves after which the seeker tells what happened
REACTIONS = ("missed", "early", "opened")  # results of moves that say what reaches a seeker
OFFERED = "Perhaps this is a step for you."
PLACEHOLDER = "I do not know what to say."


class Say(TextAction, frozen=True):
    """Say something to the seeker, as a move of one kind."""

    move: str
    text: str


class Touch(TextAction, frozen=True):
    """Ask about a topic."""

    topic: str
    text: str


class Offer(TextAction, frozen=True):
    """Offer a step for a topic."""

    topic: str
    step: str
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


INNER_RULES = """
    You are the counsellor, in a course of SESSIONS sessions of up to LENGTH acts. What weighs on
    the seeker lies in topics. Each comes from another topic, down to a root; LEAST to MOST come
    from the same root, the root included. The seeker has named one topic of each root. Ask about
    one that was named, at first or in what they told since, as in Touch(topic='work', text='How is
    it with work?'). They show a manner (tearful, ashamed, tense or flat) and say no more until a
    move reaches them: Say(move='reflect', text='That sounds heavy.'), about the topic that you
    asked about last in this session. Which one of ask, reflect, affirm, summarise and inform
    reaches them depends on the manner, is another one for each manner, and differs from seeker to
    seeker.

    A move that reaches them opens the topic if they are ready for it. Each topic needs a readiness
    from 0 to 3. It starts at 0 to 2, is 5 at most, rises by 1 with each move that reaches them,
    falls by 1 with one that does not (also advise) and between sessions, and by 2 with confront and
    dismiss, which do harm.

    What opens tells from where it comes, what else it weighs on, and a step that was tried in vain.
    A root tells a belief instead of where it comes from. Three steps suit a belief:

    TABLE

    Two of the three were tried in vain, and two different topics that come from the same root, or
    the root, tell so; what was tried for another root says nothing here. The third helps. Offer it
    for the root once the root has opened, as in Offer(topic='family', step='write', text='…'). Only
    one step can be offered for a topic, ever.

    Recall() shows what was said in earlier sessions beside that of this one, and costs no act of
    the session. Close() ends the session. You are paid the share of roots that got the step that
    helps, less 0.05 for each harmful move. Only the acts count for this: neither the seeker nor the
    score reads your words.
"""
INNER_SEEKER = """
    You are the seeker. You read what weighs on you and, after each act of the counsellor, what it
    came to. You do not know what reaches you, or how ready you are. Answer in your own words, with
    Speak(text='…'). Your words have no effect on what acts come to, and none on pay.
"""


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
    felt: tuple[Felt, ...] = ()  # by move of the counsellor, what the seeker reads of it
    inner: Seeker | None = None  # a generated seeker, in place of chain, emotion and trust
    acts: tuple[Act, ...] = ()  # with a generated seeker


@environment(
    "tasks/Counselling-v0",
    family="text",
    tags=("simulated-people", "hidden-information", "messages", "chance"),
    paper=(
        "Wang et al. (2025), AnnaAgent: Dynamic Evolution Agent System with Multi-Session Memory "
        "for Realistic Seeker Simulation"
    ),
    splits={
        "two-players": {"num_players": 2},
        "chain": {"seeker": "chain", "length": 10},
        "one-session": {"seeker": "chain", "sessions": 1, "length": 12},
        "several-sessions": {"seeker": "chain", "sessions": 3, "length": 10},
        "deep": {"seeker": "chain", "depth": "deep", "sessions": 3, "length": 10},
        **{
            f"{held}{size}": {"seeker": size, "beliefs": beliefs, "sessions": 2, "length": length}
            for held, beliefs in (("", "common"), ("held-out-", "rare"))
            for size, length in (("small", 14), ("medium", 18), ("large", 32))
        },
    },
)
@dataclass(frozen=True)
class Counselling(Talking, TaskGame[SeekerState]):
    """A counsellor chooses moves with a simulated seeker; a study of agents, not help.

    The words beside a move have no effect and are not scored.

    Actions by number: the eight moves, each with a line, Recall, Close; with two seats also a line
    of the seeker. An observation is a float32 vector: sessions and moves left, complaints voiced,
    harmful moves, the scale of the last session recalled (-1 for none), and the emotion, of which
    the counsellor has what a program's last answer tells (-1 for nothing). A deep seeker adds Touch
    for each topic to the actions, and to the observation 1 for each topic that was touched in this
    session. With a generated seeker
    the actions also have a question about each topic and an offer of each step for each topic, and
    an observation has sessions and acts left, the topic that is talked about (-1 for none), harmful
    moves, sessions recalled (-1 for the seeker); for each topic five numbers (`_mark`); and for
    each manner and move 1 where it reached the seeker, -1 where it did not.
    """

    num_players: Annotated[
        int, Meta(ge=1, le=2, description="1: the counsellor; 2: a player speaks as the seeker")
    ] = 1
    sessions: Annotated[int, Meta(ge=1, le=10, description="sessions of the course")] = 2
    length: Annotated[int, Meta(ge=1, le=60, description="counsellor's moves in a session")] = 18
    depth: Annotated[
        Literal["plain", "deep"],
        Meta(description="the seeker; deep: topics have to be touched, and things happen"),
    ] = "plain"
    seeker: Annotated[
        Literal["chain", "small", "medium", "large"],
        Meta(
            description="chain: one of four chains of complaints, a demonstration; others: a "
            "generated seeker, with 2 roots (small, medium) or 3"
        ),
    ] = "medium"
    beliefs: Annotated[
        Literal["all", "common", "rare"],
        Meta(description="beliefs of a generated seeker; rare: three kinds, held out"),
    ] = "all"

    rules_text = """
        This is a simulation for the study of agents. The seeker is a program, and nothing here is
        help or advice for anybody.
    """
    payoffs = "common"
    reward_terms = ("choice_of_moves",)
    score_term = "choice_of_moves"
    deterministic = False
    action_types = (Say, Touch, Offer, Recall, Close, Speak)
    feature_bounds = (-1.0, 1e4)

    def validate(self) -> None:
        if self.seeker == "chain" and self.beliefs != "all":
            raise InvalidOption(
                f"beliefs={self.beliefs!r} is for a generated seeker; set seeker to small, medium "
                "or large"
            )
        if self.seeker != "chain" and self.depth != "plain":
            raise InvalidOption(f"depth={self.depth!r} is for seeker='chain'; set one of the two")

    def rules_for(self, seat: int) -> str:
        head = super().rules_for(seat)
        if self.seeker != "chain":
            return f"{head}\n{self._inner_rules(seat)}"
        if seat == 1:
            return (
                f"{head}\nYou are the seeker. You read who you are, how you feel and which of your "
                "complaints you may voice. Answer the counsellor in these feelings, with "
                "Speak(text='…'); do not name complaints that you may not voice yet."
            )
        deep = (
            f"Touch(topic='work', text='…') asks about one of the topics {', '.join(TOPICS)}, as a "
            "move of the kind ask: a "
            "complaint is voiced only in a session in which its topic was touched, and one that "
            "lies too deep makes the seeker feel worse. "
            if self.depth == "deep"
            else ""
        )
        suits = ", ".join(map(" ".join, zip(EMOTIONS, SUITS, strict=True)))
        return (
            f"{head}\nYou are the counsellor, in a course of {self.sessions} sessions of up to "
            f"{self.length} moves. Each turn choose a kind of move and your words, as in "
            f"Say(move='reflect', text='That sounds heavy.'). Kinds: {', '.join(MOVES)}. The "
            "seeker's feelings and trust change with what you do; with enough trust and calm they "
            f"voice what lies deeper. One kind of move does good to each feeling: {suits}. Any "
            f"other costs trust. {deep}Recall() shows earlier scales and summaries, "
            "Close() ends the session. You are paid the share of the seeker's complaints that are "
            "voiced by the end, less 0.05 for each harmful move. Only the kinds of your moves "
            "count for this: neither the seeker nor the score reads your words."
        )

    def _inner_rules(self, seat: int) -> str:
        """The rules with a generated seeker."""
        if seat == 1:
            return paragraphs(INNER_SEEKER)
        table = "\n".join(
            f"- '{belief['says']}': {', '.join(belief['steps'])}"
            for belief in seekers.BELIEFS.values()
        )
        form = seekers.WORDS["sizes"][self.seeker]
        counts = {
            "SESSIONS": self.sessions,
            "LENGTH": self.length,
            "LEAST": form["least"],
            "MOST": form["most"],
            "TABLE": table,
        }
        rules = paragraphs(INNER_RULES)
        for word, value in counts.items():
            rules = rules.replace(word, str(value))
        return rules

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
        return (*moves, Recall(), Close(), *both, *deep, *self._inner_menu())

    def _inner_menu(self) -> tuple[TextAction, ...]:
        """Questions and offers to a generated seeker."""
        if self.seeker == "chain":
            return ()
        asks = (Touch(topic, f"How is it with {topic}?") for topic in seekers.TOPICS)
        offers = (Offer(topic, step, OFFERED) for topic in seekers.TOPICS for step in seekers.STEPS)
        return (*asks, *offers)

    @property
    def num_features(self) -> int:
        if self.seeker != "chain":
            return 5 + 5 * len(seekers.TOPICS) + len(seekers.MANNERS) * len(seekers.OPENERS)
        return 6 + (len(TOPICS) if self.depth == "deep" else 0)

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
        if self.seeker != "chain":
            state.inner = draw_seeker(Rng.seeded(rng.word(), 61), self.seeker, self.beliefs)
        return state

    def acting(self, state: SeekerState) -> int:
        return state.turn_of

    def statement(self, state: SeekerState, seat: int) -> str:
        who = f"{state.job}, {state.age} years old"
        if state.inner:
            if seat == 1:
                return f"You are {who}.\n{self._inside(state.inner)}"
            topics = ", ".join(state.inner.named)
            return f"A seeker, {who}, has come to you. They name what weighs on them: {topics}."
        if seat == 1:
            return (
                f"You are {who}.\nYour complaints, from the first to "
                f"the deepest: {' | '.join(state.chain)}"
            )
        return f"A seeker, {who}, has come to you."

    def _inside(self, inner: Seeker) -> str:
        """What a generated seeker knows of themself."""
        return "\n".join(
            f"- {topic} ({inner.manner(topic)}): {inner.told(topic)}" for topic in inner.places
        )

    def notes(self, state: SeekerState, seat: int) -> tuple[str, ...]:
        session = min(state.session + 1, self.sessions)
        move = state.in_session + (seat == 0)
        line = f"Session {session} of {self.sessions}, move {move}."
        if state.inner:
            return (line, *self._inner_notes(state, state.inner, seat))
        if seat == 1:
            may = state.chain[state.voiced - 1] if state.new else "none"
            happened = (f"This week: {EVENTS[state.event][0]}",) if state.event >= 0 else ()
            feels = f"You feel {EMOTIONS[state.emotion]}. New complaint to voice: {may}"
            return (line, *happened, feels)
        touched = (f"Topics touched: {', '.join(state.touched) or 'none'}.",)
        deep = touched if self.depth == "deep" else ()
        return (line, f"Complaints heard so far: {state.voiced}.", *deep)

    def _shown(self, state: SeekerState, seat: int) -> tuple[Act, ...]:
        """Acts of this session and of those that were fetched; the seeker remembers all."""
        since = 0 if seat == 1 or state.recalled > state.session else state.session
        return tuple(act for act in state.acts if act.session >= since)

    def _inner_notes(self, state: SeekerState, inner: Seeker, seat: int) -> tuple[str, ...]:
        """What a generated seeker has shown and told."""
        shown = self._shown(state, seat)
        found = {act.topic: line_of(inner, act) for act in shown if act.kind == "ask"}
        found |= {act.topic: line_of(inner, act) for act in shown if act.result == "opened"}
        moves = [(act, inner.manner(act.topic)) for act in shown if act.result in REACTIONS]
        missed, reached = (
            sorted({f"{manner} {a.word}" for a, manner in moves if (a.result == "missed") == yes})
            for yes in (True, False)
        )
        offers = (line_of(inner, act) for act in shown if act.kind == "offer")
        topic = seekers.discussed(state.acts, state.session)
        reactions = (
            f"Reached: {', '.join(reached) or 'none'}. Missed: {', '.join(missed) or 'none'}."
        )
        return (*found.values(), *offers, reactions, f"Talking about: {topic or 'nothing yet'}.")

    def options(self, state: SeekerState, seat: int) -> tuple[Option, ...]:
        if seat == 1:
            if state.inner:
                return (Option(Speak, {"text": Text(400, (PLACEHOLDER,))}),)
            lines = (PLACEHOLDER, *((state.chain[state.voiced - 1],) if state.new else ()))
            return (Option(Speak, {"text": Text(400, lines)}),)
        words = Text(400, tuple(LINES.values()))
        recall = (Option(Recall),) if state.recalled <= state.session else ()
        if state.inner:
            return (*self._inner_options(state, words), *recall, Option(Close))
        asks = Text(400, tuple(f"How is it with {topic}?" for topic in TOPICS))
        touch = (Option(Touch, {"topic": OneOf(TOPICS), "text": asks}),)
        deep = touch if self.depth == "deep" else ()
        return (Option(Say, {"move": OneOf(MOVES), "text": words}), *deep, *recall, Option(Close))

    def _inner_options(self, state: SeekerState, words: Text) -> tuple[Option, ...]:
        topics = OneOf(seekers.TOPICS)
        offered = {act.topic for act in state.acts if act.kind == "offer"}
        rest = tuple(topic for topic in seekers.TOPICS if topic not in offered)
        step = {"step": OneOf(seekers.STEPS), "text": Text(400, (OFFERED,))}
        return (
            Option(Touch, {"topic": topics, "text": Text(400, ("How is it with work?",))}),
            Option(Say, {"move": OneOf(MOVES), "text": words}),
            *((Option(Offer, {"topic": OneOf(rest), **step}),) if rest else ()),
        )

    def respond(self, state: SeekerState, seat: int, action: Any) -> Reply:
        if isinstance(action, Speak):
            state.turn_of, state.new = 0, False
            text = f"The seeker says: {self.quoted(action.text)}"
            self._end_of_session(state)
            return Reply(text, {"said": action.text})
        if isinstance(action, Recall):
            state.recalled = state.session + 1
            scales = ", ".join(map(str, state.scales))
            if state.inner:
                return Reply("You read your notes of earlier sessions.", audience=only(0))
            told = " ".join(state.summaries) or "There was no earlier session."
            return Reply(f"Scales (0 well, 25 bad): {scales}. {told}", audience=only(0))
        if isinstance(action, Close):
            state.in_session = self.length
            self._end_of_session(state)
            return Reply("The session is over.")
        if state.inner:
            return self._meet(state, state.inner, action)
        return self._say(state, action)

    def _meet(self, state: SeekerState, inner: Seeker, action: Say | Touch | Offer) -> Reply:
        """What an act comes to with a generated seeker."""
        acts, session = state.acts, state.session
        if isinstance(action, Touch):
            act = seekers.ask(inner, acts, session, action.topic)
        elif isinstance(action, Offer):
            act = seekers.offer(inner, acts, session, action.topic, action.step)
        else:
            act = seekers.move(inner, acts, session, action.move)
        state.acts = (*acts, act)
        state.in_session += 1
        state.harm += act.result == "hurt"
        state.voiced += act.result == "opened"
        line = line_of(inner, act)
        if self.num_players == 2:
            state.turn_of = 1
            said = f"The counsellor says: {self.quoted(action.text)} {line}"
            return Reply(said, {"said": action.text})
        self._end_of_session(state)
        return Reply(line, {"said": line, "voiced": state.voiced})

    def _say(self, state: SeekerState, action: Say | Touch) -> Reply:
        move, before = effect_of(action), state.emotion
        state.in_session += 1
        state.harm += move in HARMFUL
        state.trust = max(0, min(100, state.trust + effect(move, before)[0]))
        state.emotion = modulate(before, move, state.rng.below(100))
        if self.depth == "deep":
            self._deepen(state, action)
        state.new = self._voices(state)
        state.voiced += state.new
        felt = Felt(state.session, before, state.emotion, state.voiced)
        state.felt = (*state.felt, felt)
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
            if action.topic in self._chain(state).topics[state.voiced + 2 :]:
                state.emotion = max(0, state.emotion - 1)

    def _voices(self, state: SeekerState) -> bool:
        """Whether the seeker now voices the next complaint."""
        touched = frozenset(state.touched)
        return self._chain(state).voices(state.voiced, state.trust, state.emotion, touched)

    def _chain(self, state: SeekerState) -> Chain:
        return self._chain_of(state.chain)

    def _chain_of(self, complaints: tuple[str, ...]) -> Chain:
        deep = self.depth == "deep"
        return Chain(CHAIN_TOPICS[CHAINS.index(complaints)] if deep else (), TOPICS)

    def _murmur(self, state: SeekerState) -> str:
        return MURMURS[EMOTIONS[state.emotion]]

    def _end_of_session(self, state: SeekerState) -> None:
        """Summarise a session that is over; trust fades before the next one."""
        if state.in_session < self.length:
            return
        if state.inner:
            state.session, state.in_session = state.session + 1, 0
            state.closed = state.session >= self.sessions
            return
        state.session += 1
        state.summaries = self._summaries(state)
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

    def _summaries(self, state: SeekerState) -> tuple[str, ...]:
        """What was said until the end of each session that is over."""
        heard = [" ".join(self._heard_before(state, n + 1)) for n in range(state.session)]
        return tuple(
            f"After session {n} the seeker had said: {words or 'Nothing yet.'}"
            for n, words in enumerate(heard, 1)
        )

    def _heard_before(self, state: SeekerState, session: int) -> tuple[str, ...]:
        return state.chain[: self._voiced_at(state, session)]

    def settle(self, state: SeekerState) -> Final:
        if state.inner:
            return self._settle_inner(state, state.inner)
        score = state.voiced / STAGES - 0.05 * state.harm
        reason = (
            f"By the choice of moves: {state.voiced} of {STAGES} complaints were voiced; "
            f"{state.harm} harmful moves. No words were read."
        )
        share = state.voiced / STAGES
        facts = {"voiced": share, "harm": state.harm, "trust": state.trust}
        return shared_end(score, self.num_players, reason, facts)

    def _settle_inner(self, state: SeekerState, inner: Seeker) -> Final:
        """The share of roots that got a step that helps, less what did harm."""
        helped, roots = seekers.helped(state.acts), len(inner.trees)
        answers = ", ".join(f"{tree.topics[0]}: {tree.answer}" for tree in inner.trees)
        reason = (
            f"By the choice of acts: {helped} of {roots} roots got a step that helps; {state.harm} "
            f"harmful moves. What would have helped: {answers}. No words were read."
        )
        facts = {"voiced": state.voiced / len(inner.places), "harm": state.harm, "helped": helped}
        return shared_end(helped / roots - 0.05 * state.harm, self.num_players, reason, facts)

    def features(self, state: SeekerState, seat: int) -> list[float]:
        if state.inner:
            return self._inner_features(state, state.inner, seat)
        last = state.scales[state.recalled - 1] if state.recalled and seat == 0 else -1
        answered = state.felt and state.felt[-1].session == state.session
        heard = self._emotion_heard(state, len(state.felt) - 1) if answered else -1
        own = state.emotion if seat == 1 else heard
        harm = state.harm if seat == 0 else 0
        left = self.length - state.in_session
        touched = [float(t in state.touched and seat == 0) for t in TOPICS]
        deep = touched if self.depth == "deep" else []
        plain = (self.sessions - state.session, left, state.voiced, harm, last, own)
        return [*map(float, plain), *deep]

    def _inner_features(self, state: SeekerState, inner: Seeker, seat: int) -> list[float]:
        """What a generated seeker has shown, by topic and by manner and move."""
        shown = self._shown(state, seat)
        topics = {topic: [0.0] * 5 for topic in seekers.TOPICS}
        for topic in inner.named:
            topics[topic][0] = 1
        for act in shown:
            if act.topic:
                _mark(topics, inner, act)
        reached = dict.fromkeys(product(seekers.MANNERS, seekers.OPENERS), 0.0)
        for act in shown:
            if act.result in REACTIONS and act.word in seekers.OPENERS:
                sign = -1.0 if act.result == "missed" else 1.0
                reached[inner.manner(act.topic), act.word] = sign
        about = seekers.discussed(state.acts, state.session)
        place = seekers.TOPICS.index(about) if about else -1
        left = (self.sessions - state.session, self.length - state.in_session)
        head = (*left, place, state.harm, state.recalled if seat == 0 else -1)
        return [*map(float, head), *chain.from_iterable(topics.values()), *reached.values()]

    def determinize(self, state: SeekerState, seat: int, rng: Rng) -> SeekerState:
        """Draw the seeker's feelings, trust and what has not been voiced, for the counsellor.

        For the seeker it draws the kinds of the counsellor's moves.
        """
        copy = self.copy_for(state, seat)
        copy.rng = Rng.seeded(rng.word())
        if state.inner:
            imagine = imagine_seeker if seat == 0 else imagine_way
            copy.inner = imagine(state.inner, state.acts, rng)
            return copy
        if seat == 0:
            # a second player voices complaints in words of their own; notes have them as they are
            read = self._heard_before(state, state.recalled - 1)
            told = read if self.num_players == 2 else state.chain[: state.voiced]
            chains = [c for c in CHAINS if c[: len(told)] == told]
            moves = self._moves(state, self._feelings_read(state))
            weights = [likelihood_of(self._chain_of(c), moves) for c in chains]
            copy.chain = chains[rng.weighted(weights)]
            copy.summaries = self._summaries(copy)
            self._imagine_feelings(copy, moves, rng)
            copy.event = rng.below(len(EVENTS)) if state.event >= 0 else -1
            copy.scales = (*state.scales[: state.recalled], *self._possible_scales(copy, rng))
        else:
            self._imagine_moves(copy, rng)
        return copy

    def _imagine_moves(self, state: SeekerState, rng: Rng) -> None:
        """Draw the kinds of the counsellor's moves, and what follows from them, in place."""
        now = state.session - (state.session >= self.sessions)
        kinds, state.trust = imagine_moves(self._chain(state), state.felt, now, rng)
        state.harm = sum(kind in HARMFUL for kind in kinds)
        here = [k for k, felt in zip(kinds, state.felt, strict=True) if felt.session == now]
        state.touched = tuple(sorted({kind for kind in here if kind in TOPICS}))
        rest = iter(kinds)
        state.past = tuple(
            replace(past, action=_move_of(next(rest), past.action.text))
            if isinstance(past.action, Say | Touch)
            else past
            for past in state.past
        )

    def _possible_scales(self, state: SeekerState, rng: Rng) -> list[int]:
        """Scales in place of those not fetched; the first was written before any word."""
        if not state.past:
            return [_scale(state.emotion, 0)]
        found = []
        for session in range(state.recalled, len(state.scales)):
            emotion = rng.below(len(EMOTIONS)) if session else rng.between(*FIRST_EMOTION)
            found.append(_scale(emotion, rng.below(state.voiced + 1) if session else 0))
        return found

    def _feelings_read(self, state: SeekerState) -> list[int]:
        """The emotions at the starts of sessions whose scales were fetched."""
        return [
            len(EMOTIONS) - 1 - (scale - _scale(len(EMOTIONS) - 1, self._voiced_at(state, n))) // 3
            for n, scale in enumerate(state.scales[: state.recalled])
        ]

    def _imagine_feelings(self, state: SeekerState, moves: tuple[Move, ...], rng: Rng) -> None:
        """Draw what the seeker felt, and their trust, in place."""
        known = self._feelings_read(state)
        now = state.session - (state.session >= self.sessions)
        state.felt, state.trust = imagine_feelings(self._chain(state), moves, now, rng)
        if state.felt and state.felt[-1].session == now:
            state.emotion = state.felt[-1].after
        elif now < len(known):
            state.emotion = known[now]
        else:
            state.emotion = rng.below(len(EMOTIONS)) if now else rng.between(*FIRST_EMOTION)

    def _voiced_at(self, state: SeekerState, session: int) -> int:
        """Complaints that had been voiced when a session began."""
        return next((f.voiced for f in reversed(state.felt) if f.session < session), 0)

    def _moves(self, state: SeekerState, known: list[int]) -> tuple[Move, ...]:
        """What the counsellor knows of their moves; `known` has emotions at starts of sessions."""
        made, moves = [p.action for p in state.past if isinstance(p.action, Say | Touch)], []
        touched: frozenset[str] = frozenset()
        for n, (action, felt) in enumerate(zip(made, state.felt, strict=True)):
            opens = n == 0 or state.felt[n - 1].session != felt.session
            touched = frozenset() if opens else touched
            kind = action.topic if isinstance(action, Touch) else action.move
            touched |= {kind} & {*TOPICS}
            start = known[felt.session] if opens and felt.session < len(known) else -1
            after = self._emotion_heard(state, n)
            moves.append(Move(kind, felt.session, felt.voiced, touched, start, after))
        return tuple(moves)

    def _emotion_heard(self, state: SeekerState, n: int) -> int:
        """The emotion that the seeker's answer to a move tells; -1 for a complaint, or a player."""
        felt = state.felt[n]
        new = felt.voiced > (state.felt[n - 1].voiced if n else 0)
        return -1 if new or self.num_players == 2 else felt.after

    def seen(self, state: SeekerState, seat: int | None) -> tuple[Past, ...]:
        """What was said; the seeker is not told the kinds of the counsellor's moves."""
        past = super().seen(state, seat)
        if seat != 1 or state.inner:
            return past
        return tuple(
            replace(p, action=Speak(p.action.text)) if isinstance(p.action, Say | Touch) else p
            for p in past
        )

    def picture(self, state: SeekerState, seat: int | None) -> tuple[Part, ...]:
        shown = EMOTIONS[state.emotion] if seat != 0 and not state.inner else ""
        acting = self.to_act(state)
        people = (
            Person("counsellor", 0, acting=0 in acting),
            Person("seeker", 1, detail=shown, acting=1 in acting),
        )
        most = len(state.inner.places) if state.inner and seat != 0 else len(seekers.TOPICS)
        heard = Bar("complaints heard", state.voiced, most if state.inner else STAGES, 1)
        return (RoundTable(people, words="a room", ground="floor"), Bars((heard,)))


@metric("complaints-voiced", measures=("tasks/Counselling-v0",), bounds=(0.0, 1.0), better="higher")
def complaints_voiced(record: EpisodeRecord) -> float | None:
    """The share of the seeker's complaints that the choice of moves brought out, words unread.

    None for an unfinished episode.
    """
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    return float(found[-1]["voiced"]) if found else None


def _move_of(kind: str, text: str) -> Say | Touch:
    """A move of a kind, or about a topic."""
    return Touch(kind, text) if kind in TOPICS else Say(kind, text)


def _scale(emotion: int, voiced: int) -> int:
    """A scale of symptoms: worse with bad feelings and with what has not been said."""
    return 3 * (len(EMOTIONS) - 1 - emotion) + 2 * (STAGES - voiced) + 2


def _mark(topics: dict[str, list[float]], inner: Seeker, act: Act) -> None:
    """Write down by topic what an act came to: state, manner, cause, step tried, belief.

    State: 1 named, 2 asked about, 3 opened, 4 a step was taken up, 5 a step was refused. Others: 0
    for unknown, else 1 + place; a cause of -1 is a root.
    """
    seen, topic = topics[act.topic], act.topic
    if act.kind == "offer":
        seen[0] = 4 if act.result == "taken" else 5
    if act.result == "closed":
        seen[0] = max(seen[0], 2)
    if act.result in ("closed", *REACTIONS):
        seen[1] = 1 + seekers.MANNERS.index(inner.manner(topic))
    if act.result in ("opened", "known"):
        tree, one = inner.places[topic]
        cause, effects = tree.around(one)
        seen[0], seen[3] = max(seen[0], 3), 1 + seekers.STEPS.index(tree.tried[one])
        seen[2] = 1 + seekers.TOPICS.index(cause) if cause else -1
        seen[4] = 0 if cause else 1 + list(seekers.BELIEFS).index(tree.belief)
        for other in (*effects, *([cause] if cause else [])):
            topics[other][0] = max(topics[other][0], 1)
        for other in effects:
            topics[other][2] = 1 + seekers.TOPICS.index(topic)
