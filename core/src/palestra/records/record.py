"""Records of episodes as data: one JSON object per line, independent of any engine.

A record holds the seed, every action and each decision's usage, and replays exactly. It also holds
events, legal actions, state keys and rewards, so that it can be read without installing the
environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from palestra.agents.agent import Decision
from palestra.agents.budget import Usage
from palestra.agents.models import Tokens
from palestra.endings import Forfeit, Truncate, ended_by
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.errors import (
    Divergence,
    InvalidAction,
    InvalidOption,
    PalestraError,
    RecordError,
    cause,
    show,
)
from palestra.kernel.events import Event
from palestra.kernel.game import Game, Outcome, Result, allowed_actions
from palestra.kernel.lives import newcomers
from palestra.kernel.registry import load_game, registry
from palestra.kernel.simulator import Simulator
from palestra.kernel.specs import EnvSpec
from palestra.records.notebook import record_html, record_line
from palestra.records.versions import versions_for
from palestra.shaping import OWN, ShapedEpisode, open_recorded

FORMAT = "palestra.episode/1"
MOST_BYTES = 100_000_000  # of a line; a file of zeros is one line
NAMES, PLAIN = {str}, {str, int, bool, type(None)}  # types that JSON preserves
Terms = dict[int, dict[str, float]]


class EventRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An event; `audience` None is everybody."""

    kind: str
    text: str
    data: dict[str, Any] = {}
    audience: list[int] | None = None


class Attempt(msgspec.Struct, omit_defaults=True, gc=False):
    """A refused answer: the reason, its text, and its usage.

    In `StepRecord.unplayed`, an answer that was accepted but not played has no reason.
    """

    error: str = ""
    raw: str | None = None
    usage: Usage = Usage()
    thought: str = ""
    model: str = ""
    logprob: float | None = None
    tokens: Tokens | None = None
    earlier: tuple[Tokens, ...] = ()

    @classmethod
    def of(cls, decision: Decision, error: str) -> Attempt:
        return cls(
            error=error,
            raw=readable(decision.text),
            usage=decision.usage,
            thought=readable(decision.thought) or "",
            model=readable(decision.model) or "",
            logprob=decision.logprob,
            tokens=decision.tokens,
            earlier=decision.earlier,
        )


def readable(text: str | None) -> str | None:
    """A text that can be encoded: half a surrogate pair is written as its escape."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


class TurnRecord(msgspec.Struct, omit_defaults=True, gc=False):
    """One decision of one seat.

    `seen` is the range of the seat's transcript that was new to it. `life` says who sat there: 0
    for the first person, 1 for the next, who had seen nothing of what happened before. `action` is
    the number of the action, or a typed action as an object, or null for a forfeit. `status` is
    "ok", "retried", "replaced" (an invalid-move policy supplied the action) or "forfeit". `errors`
    say why the answers before it were refused, and `refused` holds those answers and their usage.
    `usage` is that of the answer that was played. `sampling` and `tokens` are those of the model
    that decided, if one did, and `earlier` the tokens of its replies before that. `state_key` is
    `Game.state_key` of the decision, and `anchor` is `Game.anchor` if the game has counters.
    `facts` are the agent's facts about the decision.
    """

    seat: int = msgspec.field(name="player")  # the file format says player
    action: Any
    text: str = ""
    legal: Any = None
    seen: tuple[int, int] = (0, 0)
    status: str = "ok"
    raw: str | None = None
    errors: list[str] = []
    thought: str = ""
    model: str = ""
    logprob: float | None = None
    usage: Usage = Usage()
    sampling: dict[str, Any] = {}
    tokens: Tokens | None = None
    earlier: tuple[Tokens, ...] = ()
    state_key: str = ""
    refused: list[Attempt] = []
    anchor: str = ""
    facts: dict[str, Any] = {}
    life: int = 0

    @property
    def spent(self) -> Usage:
        """The total usage of the turn, refused answers included."""
        return sum((attempt.usage for attempt in self.refused), self.usage)


class StepRecord(msgspec.Struct, omit_defaults=True, gc=False):
    """Decisions played together, their rewards by seat and term, and the events they led to.

    `facts` are the game's facts about the state after the step that changed in it
    (`palestra.records.facts`). `unplayed` holds, by seat, the answers to turns that were cut off
    before their seats had moved: by a budget, a time limit, an error, or another seat's forfeit.
    """

    turns: list[TurnRecord]
    rewards: Terms = {}
    costs: Terms = {}
    events: list[EventRecord] = []
    facts: dict[str, Any] = {}
    unplayed: dict[int, list[Attempt]] = {}


class OutcomeRecord(msgspec.Struct, frozen=True, gc=False):
    results: tuple[Result, ...]
    scores: tuple[float, ...]
    reason: str = ""


class EpisodeRecord(msgspec.Struct, omit_defaults=True, gc=False):
    """One episode: everything that happened, as plain data.

    env: the id. seed: what it started from. number: its place in the run.
    players: the ids of the seats. agents: the names of who sat there. options: those of the game.
    opening: the events before the first move. steps: decisions, rewards and events, step by step.
    outcome: results and scores by seat; None if it was not finished.
    returns: the sum of rewards by seat. mistakes: illegal or unreadable moves by seat.
    invalid: the policy for illegal moves. gamma: the discount that shaped rewards were paid under.
    rewards_from: the components of its rewards.
    versions: of Palestra, the plugins and the files that took part, by name.
    group, parent, branched_at: link siblings and forks; the last is the number of shared steps.
    tags: anything that a caller wants to keep with it.
    error: the traceback of the exception that ended the episode, if an agent, the game or a
        listener failed.
    facts: the game's facts about the initial state.
    length: the number of steps played, which shows whether some are missing; 0 if unknown.
    format: the name of the file format.
    """

    env: str
    seed: int
    players: tuple[str, ...]
    agents: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    opening: list[EventRecord] = []
    steps: list[StepRecord] = []
    outcome: OutcomeRecord | None = None
    returns: tuple[float, ...] = ()
    mistakes: tuple[int, ...] = ()
    invalid: str = "raise"
    rewards_from: tuple[str, ...] = (OWN,)
    gamma: float = 1.0
    versions: dict[str, str] = {}
    number: int = 0
    group: str = ""
    parent: str = ""
    branched_at: int = 0
    tags: dict[str, Any] = {}
    error: str = ""
    facts: dict[str, Any] = {}
    length: int = 0
    format: str = FORMAT

    @property
    def turns(self) -> list[TurnRecord]:
        """Every decision in order, each as a `TurnRecord`."""
        return [turn for step in self.steps for turn in step.turns]

    @property
    def own_turns(self) -> list[TurnRecord]:
        """The turns after the branch: those before it are shared with all its siblings."""
        return [turn for step in self.steps[self.branched_at :] for turn in step.turns]

    @property
    def events(self) -> list[EventRecord]:
        """Every event in order, the opening's first."""
        return [*self.opening, *(event for step in self.steps for event in step.events)]

    @property
    def usages(self) -> list[tuple[int, Usage]]:
        """What was spent on every answer, with its seat: refused and unplayed ones included."""
        unplayed = [pair for step in self.steps for pair in step.unplayed.items()]
        spent = [(turn.seat, turn.spent) for turn in self.turns]
        return spent + [(seat, attempt.usage) for seat, lost in unplayed for attempt in lost]

    def transcript(self, seat: int) -> list[EventRecord]:
        """All events that were shown at one seat, to any person; `seen` is a range of it."""
        return [e for e in self.events if e.audience is None or seat in e.audience]

    def __repr__(self) -> str:
        return record_line(self)

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the replay page, if renderers and environment are installed."""
        return record_html(self)


def as_json(value: Any) -> Any:
    """A value as it is read back from a file: tuples become lists, structs objects."""
    return msgspec.json.decode(msgspec.json.encode(value))


def facts_of(game: object, state: Any) -> dict[str, Any]:
    """A game's facts about a state (`palestra.records.facts`); empty if it reports none."""
    if not hasattr(game, "record_facts"):  # faster than isinstance(game, Reporting)
        return {}
    return as_json(game.record_facts(state))


def write_event(event: Event) -> EventRecord:
    audience = None if event.audience is None else sorted(event.audience)
    data = dict(event.data)
    if not (NAMES.issuperset(map(type, data)) and PLAIN.issuperset(map(type, data.values()))):
        data = as_json(data)
    return EventRecord(event.kind, event.text, data, audience)


def record_episode(episode: Episode, agents: Sequence[str] = (), **identity: Any) -> EpisodeRecord:
    """Record an episode by replaying its history from the start.

    episode: of which nothing was loaded, so that its seed leads to it; it may be unfinished.
        `notes` of the history, if a runner left them, are `{seat: TurnNote}`.
    agents: the names of who sat at the seats.
    identity: other fields of the record, such as `number` and `tags`.

    Raises `InvalidOption` for an episode that went on from a state that was loaded.
    """
    game, spec = episode.game, episode.spec
    if episode._start is not None:
        raise InvalidOption(
            "this episode went on from a state that was loaded, which no seed leads to; record "
            "episodes that started with reset(seed)"
        )
    shaped = episode.terms_by_step() if isinstance(episode, ShapedEpisode) else []
    simulator = episode._at_start()
    opening = [write_event(event) for event in game.opening(simulator.state)]
    facts = said = facts_of(game, simulator.state)
    steps: list[StepRecord] = []
    shown = [0] * game.num_players
    counts = [0] * game.num_players
    lives = [0] * game.num_players
    _count(opening, counts)
    log = episode.log if episode.log_is_ready else None
    for played in episode.history():
        notes = played.notes or {}
        turns = []
        moves = [(s, a) for s, a in sorted(played.actions.items()) if not isinstance(a, Truncate)]
        anchors = simulator.anchors([s for s, _ in moves]) if game.counters else [b""] * len(moves)
        for (seat, action), anchor in zip(moves, anchors, strict=True):
            turn = _turn(simulator, seat, action, notes.get(seat))
            turn.anchor = anchor.hex()
            turn.seen, turn.life = (shown[seat], counts[seat]), lives[seat]
            shown[seat] = counts[seat]
            turns.append(turn)
        step = _play(simulator, played.actions, turns, log[len(steps) + 1] if log else None)
        step.unplayed = _attempts_without_turn(notes, step)
        step.facts = {name: f for name, f in step.facts.items() if said.get(name) != f}
        said = said | step.facts
        if len(steps) < len(shaped):
            step.rewards = _plain(shaped[len(steps)])
        steps.append(step)
        if game.has_newcomers:
            _seat_newcomers(step.events, counts, shown, lives)
        _count(step.events, counts)
    outcome = episode.outcome
    returns = tuple(float(value) for value in episode.returns)
    _require_finite("returns", returns)
    _require_finite("scores", outcome.scores if outcome else ())
    return EpisodeRecord(
        env=spec.id if spec else type(game).__name__,
        seed=episode.seed,
        players=game.players,
        agents=tuple(agents),
        options=options_of(game),
        opening=opening,
        steps=steps,
        outcome=None if outcome is None else _outcome(outcome),
        returns=returns,
        mistakes=episode.mistakes,
        invalid=episode.invalid,
        rewards_from=getattr(episode, "rewards_from", (OWN,)),
        gamma=getattr(episode, "gamma", 1.0),
        versions=versions_for(game),
        facts=facts,
        length=len(steps),
        **identity,
    )


def _require_finite(what: str, amounts: Sequence[float]) -> None:
    """Raise `PalestraError` for amounts that no record can hold and no mean survives."""
    if not all(map(isfinite, amounts)):
        raise PalestraError(
            f"the {what} are {show(tuple(amounts))}, and must be finite; the game or a shaper pays "
            "what is no number: palestra check names the step"
        )


def failed_record(episode: Episode, agents: Sequence[str] = (), **identity: Any) -> EpisodeRecord:
    """A minimal record of an episode that cannot be replayed."""
    spec = episode.spec
    return EpisodeRecord(
        env=spec.id if spec else type(episode.game).__name__,
        seed=episode.seed,
        players=episode.players,
        agents=tuple(agents),
        options=options_of(episode.game),
        invalid=episode.invalid,
        **identity,
    )


class TurnNote(msgspec.Struct, gc=False):
    """What a runner knows about a decision besides the action played."""

    decision: Any = None
    refused: Sequence[Attempt] = ()
    status: str = "ok"


def _turn(simulator: Simulator, seat: int, action: Any, note: TurnNote | None) -> TurnRecord:
    game, state = simulator.game, simulator.state
    array = isinstance(game, ArrayGame)
    legal = allowed_actions(simulator.mask(seat)) if array else str(game.legal(state, seat))
    made: Decision = note.decision if note and note.decision else Decision()
    gone = isinstance(action, Forfeit)
    return TurnRecord(
        seat=seat,
        action=None if gone else action if type(action) is int else as_json(action),
        text=action.why if gone else game.action_text(state, seat, action),
        legal=legal,
        status="forfeit" if gone else (note.status if note else "ok"),
        raw=readable(made.text),
        errors=[attempt.error for attempt in note.refused] if note else [],
        refused=list(note.refused) if note else [],
        thought=readable(made.thought) or "",
        model=readable(made.model) or "",
        logprob=made.logprob,
        usage=made.usage,
        sampling=dict(made.sampling),
        tokens=made.tokens,
        earlier=made.earlier,
        state_key=simulator.state_key(seat).hex(),
        facts=as_json(made.facts) if made.facts else {},
    )


def _play(
    simulator: Simulator,
    actions: Mapping[int, Any],
    turns: list[TurnRecord],
    known_events: Sequence[Event] | None,
) -> StepRecord:
    """Advance a simulator by one step and record the result.

    `known_events` are the step's events, if they are already known.
    """
    game = simulator.game
    if why := ended_by(game.players, actions):
        lost = game.forfeit(*actions) if turns else {}
        rewards = _plain({seat: {"forfeit": value} for seat, value in lost.items() if value})
        return StepRecord(turns, rewards, events=[EventRecord("end", why)])
    before = game.clone(simulator.state) if known_events is None else None
    if not simulator.advance(actions):
        raise InvalidAction(actions, "the recorded moves, from the recorded start")
    paid = simulator.step
    events = [
        write_event(e)
        for e in (simulator.events(before, actions) if known_events is None else known_events)
    ]
    facts = facts_of(game, simulator.state)
    return StepRecord(turns, _plain(paid.rewards), _plain(paid.costs), events, facts)


def _attempts_without_turn(
    notes: Mapping[int, TurnNote], step: StepRecord
) -> dict[int, list[Attempt]]:
    """The answers of seats that have no turn in a step."""
    lost: dict[int, list[Attempt]] = {}
    for seat in sorted(notes.keys() - {turn.seat for turn in step.turns}):
        note = notes[seat]
        answers = list(note.refused)
        if note.decision is not None and note.status != "replaced":
            answers.append(Attempt.of(note.decision, ""))
        lost[seat] = answers
    return lost


def unrecorded_attempts(episode: Episode) -> dict[int, TurnNote]:
    """Notes on refused answers that an episode has counted and no note of its history holds.

    For who ends an episode of which the runner has been lost.
    """
    counts = list(episode.mistakes)
    for played in episode.history():
        for seat, note in (played.notes or {}).items():
            counts[seat] -= len(note.refused)
    lost = Attempt("the answer was lost when the episode was cut off")
    return {s: TurnNote(refused=[lost] * n) for s, n in enumerate(counts) if n > 0}


def _plain(terms: Mapping[int, Mapping[str, float]]) -> Terms:
    return {p: {k: float(v) for k, v in named.items()} for p, named in terms.items() if named}


def _count(events: Iterable[EventRecord], counts: list[int]) -> None:
    """Add up how many events every seat has seen."""
    for event in events:
        for seat in range(len(counts)) if event.audience is None else event.audience:
            counts[seat] += 1


def _seat_newcomers(
    events: Sequence[EventRecord], counts: Sequence[int], shown: list[int], lives: list[int]
) -> None:
    """Start the newcomers' transcripts with the event that seats them."""
    for place, event in enumerate(events):
        for seat in newcomers(event):
            before = sum(e.audience is None or seat in e.audience for e in events[:place])
            shown[seat] = counts[seat] + before
            lives[seat] += 1


def _outcome(outcome: Outcome) -> OutcomeRecord:
    return OutcomeRecord(outcome.results, tuple(map(float, outcome.scores)), outcome.reason)


def options_of(game: Game[Any, Any]) -> dict[str, Any]:
    """A game's options as JSON."""
    taken: list[str] = [f.name for f in fields(game) if f.init] if is_dataclass(game) else []
    return as_json({name: getattr(game, name) for name in taken})


# Replay


def replay(record: EpisodeRecord, game: Game[Any, Any] | None = None) -> Episode:
    """Play a record again, and check seats, positions, rewards, events and ending as it goes.

    record: of one episode. game: the rules; by default those installed under the record's id.

    Returns the episode at its end. Raises `Divergence` at the first difference.
    """
    try:
        return _replay(record, game)
    except PalestraError:
        raise
    except Exception as error:  # a forged record may make the game raise anything
        raise Divergence(0, "replaying it", "a record", cause(error)) from error


def _replay(record: EpisodeRecord, game: Game[Any, Any] | None) -> Episode:
    spec = None
    if game is None:
        spec = registry().environment(record.env)
        game = load_game(spec, record.options)
    episode = _restart(record, game, spec)
    _same(0, "opening", record.opening, [write_event(event) for event in episode.log[0]])
    for number, step in enumerate(record.steps):
        _replay_step(episode, number, step, notes_of(step))
    if episode.over != (record.outcome is not None):
        raise Divergence(len(record.steps), "over", record.outcome is not None, episode.over)
    if record.outcome is not None and episode.outcome is not None:
        _same(len(record.steps), "outcome", record.outcome.results, episode.outcome.results)
    _same(len(record.steps), "returns", record.returns, tuple(map(float, episode.returns)))
    return episode


def go_on(episode: Episode, record: EpisodeRecord) -> None:
    """Bring a fresh episode to the point where an unfinished record stops, notes included."""
    _same(0, "opening", record.opening, [write_event(event) for event in episode.log[0]])
    for number, step in enumerate(record.steps):
        _replay_step(episode, number, step, notes_of(step))
    for seat, count in enumerate(record.mistakes):
        for _ in range(count - episode.mistakes[seat]):
            episode.count_mistake(seat)


def notes_of(step: StepRecord) -> dict[int, TurnNote]:
    """The runner's notes on every turn of a recorded step, by seat."""
    lost = {seat: TurnNote(refused=answers) for seat, answers in step.unplayed.items()}
    return lost | {turn.seat: _note(turn) for turn in step.turns}


def _note(turn: TurnRecord) -> TurnNote:
    """The runner's note on a recorded turn."""
    decision = Decision(
        text=turn.raw,
        usage=turn.usage,
        logprob=turn.logprob,
        thought=turn.thought,
        model=turn.model,
        sampling=turn.sampling,
        tokens=turn.tokens,
        earlier=turn.earlier,
        facts=turn.facts,
    )
    refused = turn.refused or [Attempt(error) for error in turn.errors]
    return TurnNote(decision, refused, turn.status)


def who_lost(step: StepRecord) -> dict[int, str]:
    """Why seats forfeited in a recorded step, by seat; empty where none did."""
    return {turn.seat: turn.text for turn in step.turns if turn.status == "forfeit"}


def retrace(record: EpisodeRecord, game: Game[Any, Any] | None = None) -> Iterator[Episode]:
    """Yield one episode before the first step and after each; first check it against the record.

    record: of the episode. game: the rules; by default those installed under the record's id.

    Raises `Divergence` as `replay` does.
    """
    final = replay(record, game)
    episode = _restart(record, final.game, final.spec)
    _ = episode.log  # builds the log, which from now on grows with every step
    yield episode
    for played in final.history():
        episode.repeat(played)
        yield episode


def _restart(record: EpisodeRecord, game: Game[Any, Any], spec: EnvSpec | None) -> Episode:
    """An episode at the start of a record, with the same policy and rewards."""
    return open_recorded(
        game,
        record.seed,
        rewards=record.rewards_from,
        terms=[step.rewards for step in record.steps],
        gamma=record.gamma,
        invalid=record.invalid,
        spec=spec,
    )


def _replay_step(episode: Episode, number: int, step: StepRecord, notes: Any = None) -> None:
    if not step.turns:
        why = step.events[0].text.rstrip(".") if step.events else "stopped"
        episode.truncate(why, notes)
        return
    if lost := who_lost(step):
        episode.forfeit(lost, notes=notes)
        return
    _same(number, "seats to act", tuple(t.seat for t in step.turns), episode.to_act)
    actions = {}
    for turn in step.turns:
        if turn.state_key:
            key = episode.state_key(turn.seat).hex()
            _same(number, f"what {episode.players[turn.seat]} faced", turn.state_key, key)
        actions[turn.seat] = read_action(episode, turn)
    episode.act(actions, notes)
    _same(number, "rewards", step.rewards, _plain(episode.step.rewards))
    events = [write_event(event) for event in episode.log[-1]]
    _same(number, "events", step.events, events)
    if step.facts:
        now = facts_of(episode.game, episode.state)
        _same(number, "facts", step.facts, {name: now.get(name) for name in step.facts})


def read_action(episode: Episode, turn: TurnRecord) -> Any:
    """A recorded action as the game's own."""
    return typed_action(episode.game, turn.action)


def typed_action(game: Game[Any, Any], action: Any) -> Any:
    """An action that was read from JSON as the game's own; raises `msgspec.ValidationError`."""
    types = getattr(game, "action_types", None)
    if types is None:
        return action
    union: Any = types[0]
    for kind in types[1:]:
        union = union | kind
    return msgspec.convert(action, union)


def _same(number: int, what: str, recorded: object, replayed: object) -> None:
    if recorded != replayed:
        raise Divergence(number, what, recorded, replayed)


# Files

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(EpisodeRecord, strict=False)


def write_records(path: str | Path, records: Iterable[EpisodeRecord]) -> Path:
    """Append `records` to a JSON-lines file at `path`; each line is written whole and flushed.

    If a crash cut off the last line, it is terminated first, so that nothing is appended to it.
    Missing folders are made. Returns the path.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        if file.tell() and not _ends_a_line(target):
            file.write(b"\n")
        for record in records:
            file.write(_encoder.encode(record) + b"\n")
            file.flush()
            os.fsync(file.fileno())
    return target


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def read_records(path: str | Path) -> list[EpisodeRecord]:
    """All records of the file at `path`.

    Raises `RecordError` for a line that cannot be read; its `kept` says how many before it can.
    """
    return list(iter_records(path))


def iter_records(path: str | Path, *, running: bool = False) -> Iterator[EpisodeRecord]:
    """Records of a file one by one; a bad line raises after the good ones were yielded.

    path: the file, one record a line.
    running: the file is of a run that goes on or was killed, so that a last line that is cut off is
        left out.

    Raises `RecordError`, which has the number of the line.
    """
    good = 0
    with Path(path).open("rb") as file:
        for number, line in enumerate(iter(partial(file.readline, MOST_BYTES + 1), b""), 1):
            if len(line) > MOST_BYTES:
                why = f"the line has more than {MOST_BYTES} bytes"
                raise RecordError(path, number, why, good)
            if not line.strip() or (running and not line.endswith(b"\n")):
                continue
            try:
                record = _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                why = (
                    "the line is cut off" if not line.endswith(b"\n") else f"not a record: {error}"
                )
                raise RecordError(path, number, why, good) from error
            if record.format != FORMAT:
                why = f"format {record.format!r}; this version reads {FORMAT!r}"
                raise RecordError(path, number, why, good)
            good += 1
            yield record
