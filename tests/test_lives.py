"""A new person at a seat: what they are asked with, in every environment where people change.

A model that keeps every request marks each of its replies, and so all that anybody says. A mark
from before a person came may be in their prompts only where the game hands it down.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import palestra
import pytest
from open_adapters import adapters_for, open_adapter
from palestra import Agent, Decision, Divergence, Episode, EpisodeRecord, Turn
from palestra.agents.models import Model, Reply, Request, Tokens
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point
from palestra.records.record import record_episode, replay
from palestra.records.trace import trace_seats
from palestra.records.verify import verify
from palestra.shaping import open_episode
from palestra_agents.llm import LLMAgent
from palestra_renderers.html import page_data
from palestra_renderers.plain import clean
from palestra_server.match import Match
from palestra_server.messages import OPEN, Answer, MatchPlan

WORLDS: dict[str, dict[str, Any]] = {
    "games/DonorGame-v0": {"num_players": 6, "rounds": 3, "generations": 4},
    "games/Norms-v0": {"num_players": 5, "topics": 2, "generations": 5, "replaced": 0.5},
    "markets/Persuasion-v0": {"myopic": True, "rounds": 5},
    "text/Commons-v0": {"num_players": 4, "newcomer": 2, "rounds": 5, "utterances": 5},
}
MARK = re.compile(r"mark (\d+)\.")
ANSWERS = {
    "Write(": "Write(strategy='{mark}')",
    "Recommend(": "Recommend(buy=True, text='{mark}')",
    "Say(": "Say(text='{mark}')",
    "Harvest(": "Harvest(amount=3)",
    "Donate(": "Donate(percent=20)",
    "Buy(": "Buy()",
}


@dataclass(frozen=True)
class Asked:
    """A request, and who it was made for: `shown` are the marks in their position then."""

    seat: int
    life: int
    shown: frozenset[int]
    request: Request

    @property
    def text(self) -> str:
        return "\n".join(message.content for message in self.request.messages)


class Marking(Model):
    """Keeps every request with who it is for; marks every reply, and what it says in the game."""

    name = "marking"
    abilities = frozenset({"tokens", "choices", "raw"})

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.said: list[int] = []  # the step at which each mark was made
        self.turn: Turn | None = None  # the one that is being asked

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        turn = self.turn
        assert turn is not None
        shown = frozenset(marks(turn.position))
        self.asked.append(Asked(turn.seat, turn.life, shown, request))
        mark = f"mark {len(self.said)}."
        self.said.append(turn.steps_played)
        form = next((form for name, form in ANSWERS.items() if name in turn.legal_text), "")
        action = form.format(mark=mark) or turn.legal_texts[0]
        text = f"{mark}\n{action}"
        return Reply(text, tokens=self._tokens(request, text) if request.tokens else None)

    def _tokens(self, request: Request, text: str) -> Tokens:
        """A letter a token."""
        fresh = request.messages[-request.new :] if request.read else request.messages
        read = "".join(f"<{message.role}>{message.content}" for message in fresh)
        reply = tuple(map(ord, text))
        prompt = (*request.read, *map(ord, read))
        return Tokens(prompt, reply, (-0.5,) * len(reply), finish="end")


class Asking(Agent):
    """Asks about one turn at a time, and tells the model which."""

    def __init__(self, inner: Agent, model: Marking) -> None:
        self._inner, self._model = inner, model

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        decisions = []
        for turn in turns:
            self._model.turn = turn
            decisions += self._inner.act([turn])
        return decisions

    def forget(self, episode_key: int) -> None:
        self._inner.forget(episode_key)


def played(env: str, agent: Agent, model: Marking, **more: Any) -> EpisodeRecord:
    """One episode in which the same agent has every seat."""
    asking, options = Asking(agent, model), WORLDS[env] | more
    seats = palestra.game(env, **options).num_players
    settings: dict[str, Any] = {"invalid": "random", "seed": 3, **options}
    (record,) = palestra.play(env, agents=[asking] * seats, episodes=1, **settings)
    assert not record.error
    return record


def joins(record: EpisodeRecord) -> dict[tuple[int, int], int]:
    """By seat and life: how many steps had been played when that person sat down."""
    found = {(seat, 0): 0 for seat in range(len(record.players))}
    for number, step in enumerate(record.steps):
        for event in step.events:
            for seat in event.data["players"] if event.kind == "newcomer" else ():
                life = 1 + max(life for one, life in found if one == seat)
                found[seat, life] = number + 1
    return found


def people(model: Marking) -> dict[tuple[int, int], list[Asked]]:
    """What everybody was asked, by seat and life."""
    found: dict[tuple[int, int], list[Asked]] = {}
    for asked in model.asked:
        found.setdefault((asked.seat, asked.life), []).append(asked)
    return found


def remembers_only_their_own(model: Marking, record: EpisodeRecord) -> None:
    joined = joins(record)
    for person, questions in people(model).items():
        handed_down: set[int] = set()
        for asked in questions:
            handed_down |= asked.shown
            before = {mark for mark in marks(asked.text) if model.said[mark] < joined[person]}
            assert before <= handed_down, (person, asked.text)


def marks(text: str) -> set[int]:
    return {int(number) for number in MARK.findall(text)}


@pytest.mark.parametrize("env", WORLDS)
def test_a_newcomers_prompts_hold_nothing_from_before_them(env: str) -> None:
    model = Marking()
    record = played(env, LLMAgent(model=model), model)
    remembers_only_their_own(model, record)
    joined = joins(record)
    newcomers = {key: asked for key, asked in people(model).items() if key[1]}
    assert set(newcomers) == {key for key in joined if key[1]}
    for (seat, life), asked in newcomers.items():
        events = record.steps[joined[seat, life] - 1].events
        (told,) = (event for event in events if event.kind == "newcomer")
        first = asked[0].request.messages
        assert [message.role for message in first] == ["system", "user"]
        assert first[0].content.startswith(palestra.game(env, **WORLDS[env]).rules_for(seat))
        assert first[1].content.startswith(told.text)


@pytest.mark.parametrize("env", WORLDS)
def test_who_stays_goes_on_with_one_conversation(env: str) -> None:
    model = Marking()
    played(env, LLMAgent(model=model), model)
    lasting = [asked for asked in people(model).values() if len(asked) > 1]
    assert lasting
    for asked in lasting:
        for earlier, later in pairwise(one.request.messages for one in asked):
            assert later[: len(earlier)] == earlier
            assert marks(later[len(earlier)].content)  # its own reply


def test_the_third_myopic_buyer_reads_counts_alone() -> None:
    model = Marking()
    played("markets/Persuasion-v0", LLMAgent(model=model), model)
    (third,) = people(model)[1, 2]
    question = third.request.messages[-1].content
    assert "Round 3 of 5" in question
    assert "Round 2" not in question
    assert "Of 2 products so far" in question
    assert len(marks(third.text)) == 1  # the advice on this product
    assert len(marks(people(model)[0, 0][-1].text)) >= 4  # the seller stays, and remembers


def test_a_second_generation_reads_the_survivors_strategies_and_no_others() -> None:
    model = Marking()
    record = played("games/DonorGame-v0", LLMAgent(model=model), model)
    new = {seat for (seat, life), start in joins(record).items() if life == 1 and start == 4}
    written = {turn.seat: marks(turn.raw or "") for turn in record.steps[0].turns}
    survivors = set().union(*(written[seat] for seat in written if seat not in new))
    assert 0 < len(new) < 6
    for seat in new:
        assert marks(people(model)[seat, 1][0].text) == survivors


def test_who_does_not_exist_yet_cannot_be_written_to() -> None:
    game = palestra.game("text/Commons-v0", **WORLDS["text/Commons-v0"])
    episode = palestra.Episode(game, 0)
    episode.act({seat: game.noop(episode.state, seat) for seat in episode.to_act})
    speaker = episode.to_act[0]
    assert "player_3" not in episode.legal_text(speaker)
    with pytest.raises(palestra.InvalidAction):
        episode.parse(speaker, "Say(text='Welcome.', to='player_3')")


@pytest.mark.parametrize("env", ["markets/Persuasion-v0", "games/DonorGame-v0"])
@pytest.mark.parametrize("name", adapters_for("markets/Persuasion-v0"))
def test_every_adapter_forgets_with_the_person(name: str, env: str) -> None:
    model = Marking()
    small = {"rounds": 4} if "Persuasion" in env else {"num_players": 4, "generations": 2}
    game = palestra.game(env, **WORLDS[env] | small)
    try:
        agent = open_adapter(name, model, game)
    except palestra.InvalidOption as error:
        pytest.skip(f"it takes settings of its own: {error}")
    record = played(env, agent, model, **small)
    remembers_only_their_own(model, record)
    assert model.asked


# Records, replays, traces


@pytest.mark.parametrize("env", WORLDS)
def test_a_record_says_who_sat_there_and_what_they_had_read(env: str) -> None:
    model = Marking()
    record = played(env, LLMAgent(model=model), model)
    verify(record)
    episode = replay(record)
    assert record_episode(episode).steps[-1].turns[0].life == record.steps[-1].turns[0].life
    for number, step in enumerate(record.steps):
        for turn in step.turns:
            starts = [start for (seat, _), start in joins(record).items() if seat == turn.seat]
            assert turn.life == sum(start <= number for start in starts) - 1
            read = record.transcript(turn.seat)[slice(*turn.seen)]
            first = [e.kind for e in read[:1]]
            is_first = not any(
                one.seat == turn.seat and one.life == turn.life
                for before in record.steps[:number]
                for one in before.turns
            )
            assert ("newcomer" in first) == (is_first and turn.life > 0)
    for seat in range(len(record.players)):
        lives = episode.life(seat) + 1
        told = [event.text for life in range(lives) for event in episode.transcript(seat, life)]
        assert told == [event.text for event in record.transcript(seat)]


def test_a_forged_person_is_found() -> None:
    model = Marking()
    record = played("games/DonorGame-v0", LLMAgent(model=model), model)
    record.steps[-1].turns[0].life += 1
    with pytest.raises(Divergence, match="life of seat"):
        verify(record)


@pytest.mark.parametrize("env", ["games/DonorGame-v0", "markets/Persuasion-v0"])
def test_a_new_person_has_a_trace_of_their_own(env: str) -> None:
    model = Marking()
    record = played(env, LLMAgent(model=model, keep_tokens=True), model)
    for seat in range(len(record.players)):
        traces = trace_seats(record, [seat])
        assert [trace.life for trace in traces] == list(range(len(traces)))
        assert [trace.common for trace in traces] == [0] * len(traces)
        for trace in traces:
            turns = [t for t in record.turns if (t.seat, t.life) == (seat, trace.life)]
            assert len(trace.turns) == len(turns)
            start = joins(record)[seat, trace.life]
            words = "".join(map(chr, trace.ids))
            handed_down = people(model)[seat, trace.life][0].shown
            assert {m for m in marks(words) if model.said[m] < start} <= handed_down
        paid = sum(turn.reward for trace in traces for turn in trace.turns)
        assert paid == pytest.approx(record.returns[seat])


def test_pay_belongs_to_who_earned_it() -> None:
    model = Marking()
    record = played("games/DonorGame-v0", LLMAgent(model=model), model)
    episode = replay(record)
    resources = [e.data["resources"] for e in record.events if e.kind == "generation"]
    for seat in range(6):
        starts = [s for (one, life), s in sorted(joins(record).items()) if one == seat and life]
        lives = [sum(start <= 4 * number for start in starts) for number in range(4)]
        for life in range(episode.life(seat) + 1):
            own = [had[seat] for had, whose in zip(resources, lives, strict=True) if whose == life]
            assert episode.paid(seat, life) == pytest.approx(sum(own))
            assert Turn(episode, seat, life=life).returns == episode.paid(seat, life)


def test_lives_survive_forks_snapshots_and_shaped_rewards() -> None:
    env = "games/DonorGame-v0"
    plain = played_at_random(palestra.Episode(palestra.game(env, **WORLDS[env]), 5), 9)
    shaped = open_episode(
        palestra.game(env, **WORLDS[env]), 5, rewards=["env", "novelty"], gamma=0.9
    )
    played_at_random(shaped, 9)
    assert [plain.life(seat) for seat in range(6)] == [shaped.life(seat) for seat in range(6)]
    elsewhere = palestra.Episode(palestra.game(env, **WORLDS[env]), 0)
    elsewhere.restore(pickle.loads(pickle.dumps(plain.snapshot())))
    fork = plain.fork()
    played_at_random(plain, 99)
    assert any(plain.life(seat) != fork.life(seat) for seat in range(6))
    for seat in range(6):
        assert fork.life(seat) == elsewhere.life(seat)
        assert list(fork.transcript(seat)) == list(elsewhere.transcript(seat))
        assert fork.paid(seat, fork.life(seat)) == elsewhere.paid(seat, fork.life(seat))


def played_at_random(episode: Episode, steps: int) -> Episode:
    rng = palestra.Rng(1)
    for _ in range(steps):
        if not episode.over:
            episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    return episode


# Agents, views, the server, pages


def test_agents_forget_everybody_when_the_episode_ends() -> None:
    class Keeper(Agent):
        name = "keeper"

        def __init__(self) -> None:
            self.kept: dict[int, tuple[int, int]] = {}

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            for turn in turns:
                key = (turn.seat, turn.life) if turn.life else (-1, 0)
                assert self.kept.setdefault(turn.episode_key, key) == key
                assert turn.episode_id == turns[0].episode_id
            return [Decision(turn.sample(turn.rng(0, 1))) for turn in turns]

        def forget(self, episode_key: int) -> None:
            self.kept.pop(episode_key, None)

    for env, options in WORLDS.items():
        keeper = Keeper()
        seats = palestra.game(env, **options).num_players
        palestra.play(env, agents=[keeper] * seats, episodes=3, **options)
        assert not keeper.kept
    gym = palestra.make(env, view="gym", seat=0, opponents=keeper, obs="text", **options)
    gym.reset(seed=1)
    gym.reset(seed=2)
    assert len(keeper.kept) <= 1


def test_what_is_learnt_from_an_episode_is_learnt_person_by_person() -> None:
    model = Marking()
    env = "markets/Persuasion-v0"
    agent = load_entry_point(registry().agent("reflexion").entry_point)(model=model)
    played(env, agent, model)
    stories = [trial.story for trial in agent.waiting if "player_1" in trial.task]
    assert len(stories) == 5
    assert all(story.startswith("player_1 is a new buyer.") for story in stories[1:])
    assert all(story.count("a new buyer") <= 1 for story in stories)


def test_views_say_that_a_new_person_sits_there() -> None:
    env = "markets/Persuasion-v0"
    gym = palestra.make(env, view="gym", seat=1, opponents="first", obs="text", **WORLDS[env])
    text, info = gym.reset(seed=4)
    read = [(info["life"], text)]
    done = False
    while not done:
        text, _, done, _, info = gym.step("Pass()")
        read.append((info["life"], text))
    assert [life for life, _ in read] == [0, 1, 2, 3, 4, 4]
    assert all(text.startswith("player_1 is a new buyer.") for _, text in read[1:-1])
    aec = palestra.make(env, view="aec", obs="text", **WORLDS[env])
    aec.reset(seed=4)
    for life in range(3):
        aec.step("Recommend(buy=True)")
        text, _, _, _, info = aec.last()
        assert info["life"] == life
        assert text.startswith("player_1 is a new buyer.") == (life > 0)
        aec.step("Buy()")


def test_a_seat_on_a_server_is_told_that_it_changes_hands() -> None:
    env = "markets/Persuasion-v0"
    match = Match("m", MatchPlan(env, ("first", OPEN), 4, WORLDS[env]))
    match.take(1)
    match.ask_at_once()
    first = match.view(1, 0, with_rules=True)
    assert (first.life, bool(first.rules)) == (0, True)
    match.answer(Answer(1, 0, text="Buy()"))
    match.ask_at_once()
    second = match.view(1, first.cursor)
    assert second.life == 1
    assert second.rules == first.rules  # the newcomer has read nothing yet
    assert second.events[0].text == "player_1 is a new buyer."
    assert not match.view(1, second.cursor).rules
    assert match.view(1, 0).events == second.events  # what was before is not asked back


@pytest.mark.parametrize("env", WORLDS)
def test_a_page_of_a_seat_shows_where_somebody_new_begins(env: str) -> None:
    model = Marking()
    record = played(env, LLMAgent(model=model), model)
    for seat in range(len(record.players)):
        frames = page_data(record, seat)["frames"]
        told = [text for frame in frames for text, _ in frame["events"]]
        own = [event.text for event in record.transcript(seat)]
        assert set(told) <= {clean(text, 2_000) for text in own}
        news = [e.text for e in record.transcript(seat) if e.kind == "newcomer"]
        assert all(text in told for text in news)
