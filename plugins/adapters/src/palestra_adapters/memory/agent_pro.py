"""Agent-Pro: beliefs before every move, and instructions that are searched for by reflection.

Zhang et al., "Agent-Pro: Learning to Evolve via Policy-Level Reflection and Optimization", ACL
2024. Before it moves, the agent writes what it believes of itself and of the others. After some
games it reflects on its beliefs and their outcomes and writes a new instruction for its behaviour.
New instructions are searched depth first: one that pays more than the one it came from is kept and
reflected on further; otherwise a sibling is tried, and after `width` siblings the search goes back.

Left out: a world description kept apart from the instruction.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from palestra import Decision, Meta, Turn, agent
from palestra.llm.conversation import Conversation
from palestra.phrasing.wording import answer_form

from palestra_adapters.adapter import one_line, question, said_in
from palestra_adapters.memory.remembering import Remembering, Trial
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

BELIEVE = (
    "Before you move, write two lines:\n"
    "Self-belief: how you stand, and your plan\n"
    "World-belief: what the others hold or intend, and how they are likely to play"
)
REFLECT = (
    "Above are {count} games of yours, with what you believed before your moves. You were paid "
    "{returns} in them. Your instruction was: {instruction}\n"
    "Were your beliefs right, and which behaviour follows from them that would have paid more over "
    "all games? Write one new instruction for yourself, in at most three sentences: how to behave, "
    "and what to keep in mind about the others."
)


class Instruction(msgspec.Struct):
    """A node of the search: its text, the mean return of its games, how many children it had."""

    text: str
    mean: float | None = None
    children: int = 0


class Search(msgspec.Struct):
    """Where the search is: the path of kept instructions, and the one on trial with its games."""

    path: list[Instruction] = []
    trial: Instruction | None = None
    games: list[float] = []
    stories: list[str] = []
    tried: int = 0
    best: Instruction | None = None


@agent(
    "agent-pro",
    kind="llm",
    summary="Writes beliefs before moves, and improves its instruction by reflection on games.",
    paper="Agent-Pro: Learning to Evolve via Policy-Level Reflection and Optimization (2024)",
)
class AgentPro(Remembering):
    """Tries each instruction in `games` games; at most `trials` instructions, then plays the best.

    Play one game at a time (`live=1`), and give every instruction the same deals, for instance by
    repeating seeds, to compare them fairly. With `beliefs=false` it moves without writing any.
    """

    def __init__(
        self,
        *,
        games: Annotated[int, Meta(ge=1, description="games in which an instruction is tried")] = 4,
        width: Annotated[int, Meta(ge=1, description="children of one instruction")] = 2,
        trials: Annotated[int, Meta(ge=1, description="instructions tried in all")] = 8,
        beliefs: Annotated[bool, Meta(description="whether beliefs are written first")] = True,
        **settings: Any,
    ) -> None:
        self.searches: dict[str, Search] = {}
        super().__init__(**settings)
        self._games, self._width, self._trials, self._beliefs = games, width, trials, beliefs
        self._written: dict[tuple[int, int], list[str]] = {}
        self._ended: list[list[str]] = []

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        self._turns[key] = turn
        if key not in self._recalled:
            self._recalled[key], self._starts[key] = self.recall(turn), turn.position
        lines = join_lines(advice, self._recalled[key][0])
        talk = self.talk(turn, lines, answer="")
        beliefs = ""
        if self._beliefs:
            beliefs = yield from self._believe(turn, talk)
            self._written.setdefault(key, []).append(beliefs)
            talk.ask(answer_form(turn.game, turn.seat))
        else:
            talk.ask(f"{question(turn)}\n{answer_form(turn.game, turn.seat)}")
        (reply,) = yield [self.move(turn, talk.messages, talk=talk)]
        decision = self.decide(turn, reply, beliefs)
        talk.answer(decision.text or "")
        return decision

    def _believe(self, turn: Turn, talk: Conversation) -> Thinking[str]:
        talk.ask(f"{question(turn)}\n{BELIEVE}")
        (reply,) = yield [self.ask(talk.messages, talk=talk)]
        beliefs = said_in(reply)
        talk.answer(beliefs)
        return beliefs

    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        search = self.searches.setdefault(self.task_of(turn), Search(trial=Instruction("")))
        playing = search.trial or search.best
        if playing is None or not playing.text:
            return "", ()
        return f"Your instruction from earlier games: {playing.text}", ()

    def learn(self, trial: Trial) -> Thinking[None]:
        beliefs = self._ended.pop(0) if self._ended else []
        search = self.searches.setdefault(trial.task, Search(trial=Instruction("")))
        if search.trial is None:
            return
        search.games.append(trial.returns)
        believed = "\n".join(f"You believed: {' '.join(line.split())}" for line in beliefs)
        search.stories.append(join_lines(trial.story, believed))
        if len(search.games) >= self._games:
            yield from self._next(trial, search)

    def _next(self, trial: Trial, search: Search) -> Thinking[None]:
        """Judge the instruction on trial, and write the next one by reflection."""
        tried, stories, games = search.trial, search.stories, search.games
        assert tried is not None
        tried.mean, search.tried = sum(games) / len(games), search.tried + 1
        better = not search.path or tried.mean > (search.path[-1].mean or 0.0)
        if search.best is None or tried.mean > (search.best.mean or 0.0):
            search.best = tried
        if better:
            search.path.append(tried)
        search.games, search.stories, search.trial = [], [], None
        while len(search.path) > 1 and search.path[-1].children >= self._width:
            search.path.pop()
        parent = search.path[-1]
        if search.tried >= self._trials or parent.children >= self._width:
            return
        parent.children += 1
        asked = REFLECT.format(
            count=len(games),
            returns=", ".join(f"{one:g}" for one in games),
            instruction=tried.text or "none",
        )
        reflected = "\n\n".join([*stories, asked])
        said = yield from self.write(trial.rules, reflected, max_tokens=256)
        search.trial = Instruction(one_line(said))

    def forget(self, episode_key: int) -> None:
        for key in self._turns.of(episode_key):
            self._ended.append(self._written.pop(key, []))
        super().forget(episode_key)

    def memories(self) -> Any:
        return self.searches

    def restore(self, memories: Any) -> None:
        self.searches = msgspec.convert(memories, dict[str, Search])

    def clear(self) -> None:
        self.searches.clear()
        self.waiting.clear()
        self._ended.clear()
