"""The same match without a server, to hold a server's record against."""

import palestra
from palestra import Agent, Decision
from palestra.agents.making import make_agent
from palestra.records.record import replay


def last_legal(seen):
    """The last legal move of what a client was shown."""
    return (seen.get("legal_texts") or [seen["legal"]])[-1]


class LastLegal(Agent):
    """Plays as the clients do."""

    def act(self, turns):
        return [Decision(text=(turn.legal_texts or [turn.legal_text])[-1]) for turn in turns]


def play_in_process(
    env, record, *, seed, seat=0, opponents="random", options=None, max_episode_steps=None
):
    """The record of the match that a server's record is of, with its seats filled here."""
    agents = [make_agent(opponents) for _ in record.agents]
    agents[seat] = LastLegal()
    settings = {**(options or {}), "max_episode_steps": max_episode_steps, "invalid": "retry:2"}
    (alone,) = palestra.play(env, agents=agents, seed=seed, **settings)
    return alone


def same(record, other):
    """Hold two records of one match against each other, but for who played and how long."""
    for one, two in zip(record.steps, other.steps, strict=True):
        assert [(t.seat, t.action) for t in one.turns] == [(t.seat, t.action) for t in two.turns]
        assert (one.rewards, one.events) == (two.rewards, two.events)
    assert (record.opening, record.outcome) == (other.opening, other.outcome)
    assert record.returns == other.returns
    assert tuple(replay(record).returns) == record.returns


def unseen(record, seat):
    """The words of events that a seat may not know."""
    known = {event.text for event in record.transcript(seat)}
    return {event.text for event in record.events} - known
