"""Memory that outlives an episode: reflections and their credit, utilities, the file."""

from __future__ import annotations

from pathlib import Path

import palestra
import pytest
from adapter_worlds import last, trail
from palestra import InvalidOption, RecordError
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.memory.memrl import Experience, MemRL, standardise
from palestra_adapters.memory.reflexion import Reflexion
from palestra_adapters.react import ReAct
from palestra_adapters.similarity import embed, similarity

FORK = {"start": {"left": 0.0, "right": 10.0}}
SECRET = "the left way pays nothing"


def learns(request: Request) -> str:
    """Goes right only if what it is told names the mistake; names it where it went left."""
    if "The episode is over" in last(request):
        return SECRET if "go to left" in last(request) else "all went well"
    return "Go(to='right')" if SECRET in request.messages[0].content else "Go(to='left')"


def scores(agent: palestra.Agent, episodes: int) -> list[float]:
    records = palestra.play(trail(FORK), agents=[agent], episodes=episodes, live=1)
    return [record.outcome.scores[0] for record in records if record.outcome]


def test_a_reflection_that_names_the_mistake_turns_the_second_trial() -> None:
    agent = Reflexion(model=ScriptedModel(learns))
    assert scores(agent, 3) == [0.0, 10.0, 10.0]


def test_a_constant_reflection_does_not() -> None:
    model = ScriptedModel(lambda r: "try harder" if "is over" in last(r) else learns(r))
    assert scores(Reflexion(model=model), 3) == [0.0, 0.0, 0.0]


def test_a_reflection_is_credited_with_the_next_episode() -> None:
    agent = Reflexion(model=ScriptedModel(learns))
    scores(agent, 3)
    (lesson,) = agent.lessons.values()  # the best there is needs no reflection
    assert (lesson.before, lesson.after, lesson.credit) == (0.0, 10.0, 10.0)
    assert lesson.prompt.startswith("You go to left")


def test_another_model_can_write_the_reflections() -> None:
    actor, writer = ScriptedModel(learns, "actor"), ScriptedModel(SECRET, "writer")
    agent = Reflexion(model=actor, retro=writer)
    assert scores(agent, 2) == [0.0, 10.0]
    assert len(writer.requests) == 1
    assert all("is over" not in last(request) for request in actor.requests)


def test_reflections_are_paid_for_in_the_next_decision() -> None:
    model = ScriptedModel(learns)
    records = palestra.play(trail(FORK), agents=[Reflexion(model=model)], episodes=2, live=1)
    assert [record.turns[0].usage.calls for record in records] == [1, 2]


def test_episodes_side_by_side_are_reflected_on_in_one_call() -> None:
    model = ScriptedModel(learns)
    palestra.play(trail(FORK), agents=[Reflexion(model=model)], episodes=6, live=3)
    assert model.calls == [3, 3, 3]


def test_it_wraps_any_adapter() -> None:
    def thinks(request: Request) -> str:
        if "is over" in last(request) or request.choices:
            return learns(request)
        return "Thought: on."

    agent = Reflexion(inner=ReAct(model=ScriptedModel(thinks)))
    assert scores(agent, 2) == [0.0, 10.0]
    named = palestra.make_agent("reflexion:react:llm:echo:,keep=2,task=seed")
    assert isinstance(named, Reflexion)
    assert isinstance(named.inner, ReAct)


def test_memories_of_one_start_are_not_told_in_another() -> None:
    agent = Reflexion(model=ScriptedModel(learns), task="seed")
    assert scores(agent, 2) == [0.0, 0.0]
    again = palestra.play(trail(FORK), agents=[agent], episodes=2, live=1)
    assert [record.outcome.scores[0] for record in again if record.outcome] == [10.0, 10.0]


def test_the_file_keeps_what_was_learnt_until_it_is_cleared(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "memory.json"
    scores(
        Reflexion(model=ScriptedModel(learns), memory=str(file)), 1
    )  # ends before it has reflected
    second = Reflexion(model=ScriptedModel(learns), memory=str(file))
    assert scores(second, 1) == [10.0]
    second.clear()
    second.save()
    assert scores(Reflexion(model=ScriptedModel(learns), memory=str(file)), 1) == [0.0]
    file.write_text('{"memories": 3}')
    with pytest.raises(RecordError, match="not a memory of this agent"):
        Reflexion(model=ScriptedModel(learns), memory=str(file))


def test_a_harmful_lookalike_stops_being_retrieved() -> None:
    """Two entries, the more similar one bad advice: MemRL's own claim."""

    def follows(request: Request) -> str:
        if "is over" in last(request):
            return "go right" if "go to right" in last(request) else "go left"
        return "Go(to='right')" if "go right" in request.messages[0].content else "Go(to='left')"

    agent = MemRL(model=ScriptedModel(follows), shown=1, alike=0.3, trust=0.6, size=2)
    task, here = "Trail player_0", "You are at start, step 0.\nplayer_0, you may play"
    agent.add(Experience(task, f"{here}: Go(to='left'|'right')", "go left", 0.5))
    agent.add(Experience(task, here, "go right", 0.5))
    assert agent.retrieve(task, f"{here}: Go(to='left'|'right')") == [0]
    assert scores(agent, 6)[0] == 0.0
    assert scores(agent, 3) == [10.0, 10.0, 10.0]


def test_utilities_move_towards_what_was_earned() -> None:
    agent = MemRL(model=ScriptedModel("Go(to='right')"), rate=0.25, shown=1)
    agent.add(Experience("Trail player_0", "You are at start, step 0.", "go on", 0.2))
    scores(agent, 2)
    assert agent.entries[0].q == pytest.approx(0.2 + 0.25 * 0.8)
    assert agent.entries[0].uses == 1
    assert len(agent.entries) == 2


def test_without_trust_in_utility_the_nearest_are_shown() -> None:
    agent = MemRL(model=ScriptedModel(""), trust=0.0, shown=1)
    for intent, q in (("red door", 0.1), ("blue window", 0.9)):
        agent.add(Experience("t", intent, intent, q))
    assert agent.retrieve("t", "the red door") == [0]
    assert agent.retrieve("other", "the red door") == []


def test_similarity_is_a_cosine() -> None:
    texts = ["the red door", "the red doors", "a blue window", ""]
    vectors = embed(texts)
    for i, one in enumerate(texts):
        for j, other in enumerate(texts):
            assert similarity(one, other) == pytest.approx(float(vectors[i] @ vectors[j]))
    assert similarity("a", "a") == 1.0
    assert similarity(texts[0], texts[1]) > similarity(texts[0], texts[2])
    assert standardise([1.0, 1.0]).tolist() == [0.0, 0.0]


def test_bad_options_are_named() -> None:
    with pytest.raises(InvalidOption, match="task"):
        palestra.make_agent("reflexion:echo:,task=game")
    with pytest.raises(InvalidOption, match=r"keep of agent .reflexion. .* at least 1, not 0"):
        palestra.make_agent("reflexion:echo:,keep=0")
    with pytest.raises(InvalidOption, match="shown"):
        palestra.make_agent("memrl:echo:,shown=0")
    with pytest.raises(InvalidOption, match="rate"):
        palestra.make_agent("memrl:echo:,rate=0")


def test_every_model_is_closed_once() -> None:
    closed: list[str] = []

    class Closing(ScriptedModel):
        def close(self) -> None:
            closed.append(self.name)

    agent = Reflexion(model=[Closing("", "actor")] * 2, retro=Closing("", "writer"))
    agent.close()
    assert sorted(closed) == ["actor", "writer"]
