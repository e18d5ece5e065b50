"""UI-Genie: one reward model for single actions and whole tasks, which grows with its agent.

Xiao et al., "UI-Genie: A Self-Improving Approach for Iteratively Boosting MLLM-based Mobile GUI
Agents" (2025), for environments of one player that are read as text, such as those of `web/`.
Nobody labels anything: actions are checked against known solutions, whole tasks are told from
solutions that were spoilt on purpose, and from rounds of exploring new data is made. The model
there is a vision-language model; here it is a `StoryNetwork`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np
from palestra import (
    Agent,
    Episode,
    EpisodeRecord,
    InvalidOption,
    Meta,
    Rng,
    Turn,
    make,
    make_agent,
    retrace,
    reward,
    rollouts,
)
from palestra.kernel.game import Game
from palestra.records.record import record_episode

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.expert import AskedExpert
from palestra_rewards.learnt.texts import StoryNetwork

STREAM = 0x6E1E
ELEMENT = re.compile(r"element=(\d+)")
STEP, WHOLE = "one step", "the whole task"


class Label(NamedTuple):
    """A task, an action with what led to it or a whole course of actions, and whether it is right.

    `right` is from 0 to 1.
    """

    task: str
    story: str
    right: float


def task_line(episode: Episode) -> str:
    """The first line of what the player reads: the task of every environment of `web/`."""
    return episode.describe(0).splitlines()[0]


def spell_out(episode: Episode, text: str) -> str:
    """An action with the line of the page that its `element=` names in place of the number."""
    found = ELEMENT.search(text)
    if found is None:
        return text
    lines = episode.describe(0).splitlines()
    named = [line for line in lines if line.lstrip().startswith(f"[{found[1]}]")]
    return text.replace(found[0], named[0].split("]", 1)[1].strip()) if named else text


def step_story(episode: Episode, before: Sequence[str], text: str, last: int = 4) -> str:
    """What the model reads of one action: the latest actions, the position, and the action."""
    told = [f"> {one}" for one in before[-last:]]
    return "\n".join([STEP, *told, episode.describe(0), f"> {spell_out(episode, text)}"])


def whole_story(end: Episode, actions: Sequence[str]) -> str:
    """What the model reads of a whole course of actions: all of them, and where they led."""
    return "\n".join([WHOLE, end.describe(0), *(f"> {one}" for one in actions)])


@dataclass(slots=True)
class Course:
    """An episode of one player, read step by step: positions, actions, and actions spelled out."""

    task: str
    positions: list[Episode]
    actions: list[str]
    words: list[str]

    @classmethod
    def of(cls, record: EpisodeRecord, game: Game[Any, Any] | None = None) -> Course:
        positions = [episode.fork() for episode in retrace(record, game)]
        if positions[0].game.num_players != 1:
            raise InvalidOption("UI-Genie reads episodes of one player")
        actions = [turn.text for turn in record.turns]
        words = [spell_out(at, text) for at, text in zip(positions, actions, strict=False)]
        return cls(task_line(positions[0]), positions, actions, words)

    def step(self, place: int, text: str | None = None) -> str:
        """The story of the action at `place`, or of another one there."""
        action = self.actions[place] if text is None else text
        return step_story(self.positions[place], self.words[:place], action)

    def whole(self, steps: int | None = None) -> str:
        """The story of the first `steps` actions, by default of all."""
        count = len(self.actions) if steps is None else steps
        return whole_story(self.positions[count], self.words[:count])


def checked_actions(
    records: Sequence[EpisodeRecord], expert: Agent | str, *, game: Game[Any, Any] | None = None
) -> list[Label]:
    """Actions of any player, right where the expert does the same at the same position.

    The expert's own action is added where they differ.
    """
    asked, found = AskedExpert(expert, game=game), []
    for record in records:
        course = Course.of(record, game)
        for place, (own, best) in enumerate(zip(course.actions, asked(record), strict=True)):
            found.append(Label(course.task, course.step(place), float(own == best)))
            if own != best and best:
                found.append(Label(course.task, course.step(place, best), 1.0))
    return found


def spoilt(
    records: Sequence[EpisodeRecord], *, seed: int = 0, game: Game[Any, Any] | None = None
) -> list[Label]:
    """Whole courses of solutions, right, beside three kinds of spoilt ones.

    Each is cut off early, put under another task, and continued after it was done: by its last
    action again, where the task had been done before the end.
    """
    courses, rng = [Course.of(record, game) for record in records], Rng.seeded(seed, stream=STREAM)
    found: list[Label] = []
    for course in courses:
        found.append(Label(course.task, course.whole(), 1.0))
        if len(course.actions) > 1:
            cut = 1 + rng.word() % (len(course.actions) - 1)
            found.append(Label(course.task, course.whole(cut), 0.0))
        others = [one.task for one in courses if one.task != course.task]
        if others:
            found.append(Label(others[rng.word() % len(others)], course.whole(), 0.0))
        more = [*course.words, *course.words[-1:] * 2]
        found.append(Label(course.task, whole_story(course.positions[-1], more), 0.0))
    return found


def tried_actions(
    record: EpisodeRecord,
    agent: Agent | str,
    rule: Callable[[EpisodeRecord], bool],
    *,
    tries: int = 4,
    seed: int = 0,
    game: Game[Any, Any] | None = None,
) -> list[Label]:
    """Labels of the actions of an episode that failed: hard negatives, and what was still right.

    An action is right if one of `tries` continuations by `agent` succeeds by `rule`. After the
    first action that is not, all are wrong.
    """
    course, found, alive = Course.of(record, game), [], True
    for place in range(len(course.actions)):
        after = course.positions[place + 1]
        if alive and not after.over:
            played = rollouts(
                after.game, agents=agent, n=tries, start=after, seed=seed * 1009 + place
            )
            alive = any(map(rule, played))
        elif alive:
            alive = rule(record)
        found.append(Label(course.task, course.step(place), float(alive)))
    return found


class GuiRewards:
    """Chances that an action is right and that a whole task is done, by one network."""

    def __init__(self, network: StoryNetwork | None = None) -> None:
        self.network = StoryNetwork() if network is None else network

    def learn(self, labels: Sequence[Label], *, steps: int = 100, rate: float = 0.01) -> float:
        """Gradient steps on the cross-entropy of labels of both kinds; the loss before."""
        texts = [(one.task, one.story) for one in labels]
        return self.network.learn_labels(
            texts, [one.right for one in labels], steps=steps, rate=rate
        )

    def chances(self, texts: Sequence[tuple[str, str]]) -> Floats:
        """The chance that each (task, story) is right, shape (texts,)."""
        return floats(1 / (1 + np.exp(-np.clip(self.network.scores(texts), -500, 500))))

    def accuracy(self, labels: Sequence[Label]) -> float:
        """Share of labels on the right side of one half."""
        found = self.chances([(one.task, one.story) for one in labels])
        return float(
            np.mean([(c > 0.5) == (e.right > 0.5) for c, e in zip(found, labels, strict=True)])
        )

    def of_actions(self, record: EpisodeRecord, game: Game[Any, Any] | None = None) -> Floats:
        """The chance that each action of an episode is right, shape (turns,)."""
        course = Course.of(record, game)
        return self.chances([(course.task, course.step(n)) for n in range(len(course.actions))])

    def of_task(self, record: EpisodeRecord, game: Game[Any, Any] | None = None) -> float:
        """The chance that the task was done."""
        course = Course.of(record, game)
        return float(self.chances([(course.task, course.whole())])[0])

    def state(self) -> dict[str, Any]:
        return self.network.state()

    def load(self, state: Any) -> None:
        self.network.load(state)


@reward(
    "ui-genie",
    shape="episode",
    needs=("gui rewards",),
    paper=(
        "UI-Genie: A Self-Improving Approach for Iteratively Boosting MLLM-based Mobile "
        "GUI Agents (2025)"
    ),
    check="test_one_model_knows_right_actions_and_whole_tasks",
)
def ui_genie(
    record: EpisodeRecord,
    *,
    scores: Annotated[GuiRewards, Meta(description="the fitted reward model of steps and tasks")],
    whole: Annotated[
        float, Meta(ge=0, description="weight of the chance that the task is done")
    ] = 1.0,
    game: Annotated[
        Game[Any, Any] | None, Meta(description="the game, if records name none")
    ] = None,
) -> Floats:
    """The chance that each action is right, and on the last turn that the whole task is done.

    Both by one model, a `GuiRewards`. Xiao et al., "UI-Genie" (2025), for one player.
    """
    paid = scores.of_actions(record, game)
    paid[-1:] += whole * scores.of_task(record, game)
    return paid


def explore(
    start: Episode,
    model: GuiRewards,
    agent: Agent | str,
    *,
    width: int = 5,
    beams: int = 2,
    most: int = 20,
    seed: int = 0,
) -> list[EpisodeRecord]:
    """Beam search by the model's rewards of actions: the courses that ended, best first.

    `agent` proposes `width` actions at every position of every beam; the `beams` courses with the
    highest sum of log-chances go on, for `most` steps at most. Courses of different length are
    compared by the chance of the whole task.
    """
    agent, rng = make_agent(agent), Rng.seeded(seed, stream=STREAM)
    kept: list[tuple[float, Episode, list[str]]] = [(0.0, start.fork(), [])]
    done: list[tuple[float, Episode]] = []
    task = task_line(start)
    for _ in range(most):
        options = [
            (worth, at, words, text)
            for worth, at, words in kept
            for text in _proposals(agent, at, width, rng)
        ]
        texts = [(task, step_story(at, words, text)) for _, at, words, text in options]
        chances = np.log(np.maximum(model.chances(texts), 1e-12))
        order = np.argsort(-(chances + [one[0] for one in options]), kind="stable")[:beams]
        grown = []
        for place in order:
            worth, at, words, text = options[place]
            after, spoken = at.fork(), [*words, spell_out(at, text)]
            after.act({0: after.parse(0, text)})
            grown.append((worth + float(chances[place]), after, spoken))
        ended = [(task, whole_story(at, words)) for _, at, words in grown if at.over]
        done += zip(model.chances(ended), [at for _, at, _ in grown if at.over], strict=True)
        kept = [one for one in grown if not one[1].over]
        if not kept:
            break
    for _, at, words in kept:
        at.truncate("explored")
        done.append((float(model.chances([(task, whole_story(at, words))])[0]), at))
    best = sorted(done, key=lambda one: -one[0])
    return [record_episode(at, agents=(agent.name,)) for _, at in best]


def _proposals(agent: Agent, at: Episode, width: int, rng: Rng) -> list[str]:
    """The distinct legal actions among `width` answers of an agent to one position."""
    found: dict[str, None] = {}
    for _ in range(width):
        agent.reseed(rng.word())
        turn = Turn(at.fork(), 0)
        (decision,) = agent.act([turn])
        agent.forget(turn.episode_key)
        action = turn.parse(decision.text or "") if decision.action is None else decision.action
        found[turn.action_text(action)] = None
    return list(found)


@dataclass(slots=True)
class Round:
    """What one round of `improve` found: records by seed that the model took for done, and not."""

    solved: dict[int, EpisodeRecord] = field(default_factory=dict)
    failed: dict[int, EpisodeRecord] = field(default_factory=dict)


def improve(
    env: str,
    seeds: Sequence[int],
    model: GuiRewards,
    agent: Agent | str,
    *,
    rounds: int = 2,
    learn: Callable[[list[EpisodeRecord]], Agent | str] | None = None,
    rule: Callable[[EpisodeRecord], bool] | None = None,
    sure: float = 0.5,
    options: dict[str, Any] | None = None,
    **search: Any,
) -> list[Round]:
    """Rounds in which the agent explores unsolved tasks and both it and the model learn from them.

    In each round every unsolved start is explored. The best course is taken for a solution if the
    model gives the whole task a chance above `sure`; the model then learns its actions as right and
    spoilt copies as wrong, and `learn(solutions so far)` returns the next agent. rule: whether a
    course truly succeeded, where the environment says so; failed courses are then labelled action
    by action (`tried_actions`). search: for `explore`.
    """
    solved: dict[int, EpisodeRecord] = {}
    found: list[Round] = []
    for number in range(rounds):
        this = Round()
        for seed in seeds:
            if seed not in solved:
                start = make(env, view="episode", seed=seed, **options or {})
                best = explore(start, model, agent, seed=seed + 1009 * number, **search)[0]
                (this.solved if model.of_task(best) > sure else this.failed)[seed] = best
        solved |= this.solved
        labels = spoilt(list(this.solved.values()), seed=number)
        for record in this.solved.values():
            course = Course.of(record)
            labels += [Label(course.task, course.step(n), 1.0) for n in range(len(course.actions))]
        if rule is not None:
            for seed, record in this.failed.items():
                labels += tried_actions(record, agent, rule, seed=seed)
        if labels:
            model.learn(labels)
        if learn is not None and solved:
            agent = learn(list(solved.values()))
        found.append(this)
    return found
