"""Similarity to an expert: of single actions, and of whole paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Annotated, Any

from palestra import (
    Agent,
    Decision,
    EpisodeRecord,
    InvalidAction,
    InvalidOption,
    Meta,
    Turn,
    make_agent,
    retrace,
    reward,
)
from palestra.kernel.game import Game
from rapidfuzz.distance import Levenshtein

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.recourse import Habits
from palestra_rewards.episodes.turns import at_last, fitting
from palestra_rewards.people import Person

Expert = Callable[[EpisodeRecord], Sequence[str]]


@reward(
    "stepagent",
    shape="episode",
    needs=("expert",),
    paper=(
        "From Novice to Expert: LLM Agent Policy Optimization via Step-wise Reinforcement"
        " Learning (2024)"
    ),
    check="test_an_expert_beside_itself_scores_one_a_turn",
)
def stepagent(
    record: EpisodeRecord,
    *,
    expert: Annotated[
        Expert, Meta(description="a function that returns the expert's move at each turn")
    ],
    exact: Annotated[bool, Meta(description="whether only equal texts count")] = False,
) -> Floats:
    """How similar each turn's action text is to the expert's at the same state, from 0 to 1.

    `expert(record)` returns one action text per turn; an `AskedExpert` asks any agent at the same
    states. With `exact` only equal texts count. Deng et al., "From Novice to Expert: LLM Agent
    Policy Optimization via Step-wise RL" (2024).
    """
    wanted = list(expert(record))
    fitting([0.0] * len(wanted), record, "the expert's actions")
    return floats([_alike(t.text, w, exact) for t, w in zip(record.turns, wanted, strict=True)])


def _alike(made: str, wanted: str, exact: bool) -> float:
    if made == wanted or exact:
        return float(made == wanted)
    return SequenceMatcher(None, made, wanted).ratio()


class AskedExpert:
    """Asks an agent what it would do at every turn of a record; pass it as `expert=`.

    The record is replayed: the agent sees what the seat saw at each turn and remembers nothing of
    its answers to other turns. All turns of a record are asked in one call, and whatever the agent
    draws begins anew from the record's seed, so that a record has one answer. An answer that is not
    a legal move is kept as text. game: the game, for records without an environment id.
    """

    def __init__(self, expert: Agent | str, *, game: Game[Any, Any] | None = None) -> None:
        self.expert, self._game = make_agent(expert), game

    def __call__(self, record: EpisodeRecord) -> list[str]:
        turns = [
            Turn(episode.fork(), turn.seat)
            for episode, step in zip(retrace(record, self._game), record.steps, strict=False)
            for turn in step.turns
        ]
        self.expert.reseed(record.seed)
        decisions = self.expert.act(turns)
        for turn in turns:
            self.expert.forget(turn.episode_key)
        return [_game_text(turn, one) for turn, one in zip(turns, decisions, strict=True)]


def _game_text(turn: Turn, decision: Decision) -> str:
    """A decision as the game writes it, or its own text if that is not a legal move."""
    try:
        action = turn.parse(decision.text or "") if decision.action is None else decision.action
        return turn.action_text(action)
    except InvalidAction:
        return decision.text or ""


@reward(
    "recourse",
    shape="episode",
    needs=("expert",),
    paper="Personalized Path Recourse (2023)",
    check="test_levenshtein_distances_of_known_words",
    cost="product of lengths",
)
def recourse(
    record: EpisodeRecord,
    *,
    expert: Annotated[Sequence[str], Meta(description="the action texts of the original path")],
    goal: Annotated[float, Meta(description="weight of the seat's return")] = 1.0,
    near: Annotated[float, Meta(description="weight of the similarity")] = 1.0,
    own: Annotated[float, Meta(description="weight of the fit to the seat's habits")] = 0.0,
    habits: Annotated[Habits | None, Meta(description="habits counted in records")] = None,
    game: Annotated[
        Game[Any, Any] | None, Meta(description="the game, if records name none")
    ] = None,
) -> Floats:
    """The return plus the similarity to an original path.

    `goal` times the seat's return, plus `near` times the similarity to a path of action texts, plus
    `own` times the mean log-probability of the seat's decisions under its `habits`.

    Similarity is 1 minus the Levenshtein distance divided by the longer length. The sum is paid on
    the last turn of each seat. `episodes.recourse.recourse_path` finds the path with the highest
    sum. "Personalized Path Recourse" (2023).
    """
    texts = [turn.text for turn in record.turns]
    alike = Levenshtein.normalized_similarity(texts, list(expert))
    if own and habits is None:
        raise InvalidOption("own weighs habits=…; pass a Habits of records of the agent's play")

    def worth(person: Person) -> float:
        fits = 0.0 if habits is None else habits.fit_of(record, seat=person.seat, game=game)
        return goal * person.paid + near * alike + own * fits

    return at_last(record, worth)
