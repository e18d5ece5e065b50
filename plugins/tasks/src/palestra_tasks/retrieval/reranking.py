"""Reranking: choose which passages a reader gets, in which order, and how many.

Each query comes with passages that a retriever found. The player takes some of them, one by one,
and hands them over; a reader answers from them and nothing else. The player is paid the F1 of that
answer, less a price for each passage. Relations that are asked for have one passage that states
them today; for some of them another passage states what held in 1950. The reader is a program that
believes the first passage that states what it looks for, or a second player.

After Sun et al., "DynamicRAG: Leveraging Outputs of Large Language Model as Feedback for Dynamic
Reranking in Retrieval-Augmented Generation", 2025, which trains a reranker of order and number on
how good the generator's answer is.

Checked: rankings by scikit-learn's nDCG; the best possible reward by listing all choices.

Left out: the seven question sets; the paper also rewards fluency, similarity of meaning and a
judge's verdict, here F1 and the price stand for all.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from palestra import (
    EpisodeRecord,
    Meta,
    OneOf,
    Option,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
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
from palestra.scene import Chart, Colour, Grid, Part, Piece, Series, Table, mark_cells

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, shared_end
from palestra_tasks.retrieval.library import (
    RELATIONS,
    Library,
    Question,
    Relation,
    draw_library,
    draw_question,
    read_question,
)
from palestra_tasks.retrieval.scoring import Index, f1, ndcg
from palestra_tasks.spectating import spectated

THINGS = 40  # in the library of a query
RANKER, READER = range(2)
LIST, MOST_TAKEN = 10, 6  # passages in a row of a picture, and those whose text it shows
UNKNOWN = "unknown"


class Take(TextAction, frozen=True):
    """Put a passage after those that were taken."""

    passage: int


class Hand(TextAction, frozen=True):
    """Hand what was taken to the reader."""


class Answer(TextAction, frozen=True):
    """Answer the query from the passages."""

    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage and whether the answer rests on it."""

    text: str
    needed: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A question, the passages that a retriever found for it, and its answer."""

    text: str
    passages: tuple[Passage, ...]
    answer: str


def read_answer(text: str, passages: Sequence[str]) -> str:
    """What a program answers that believes the first passage on what it looks for."""
    name, hops = read_question(text)
    for hop in hops:
        found = (hop.read(name, passage) for passage in passages)
        name = next((target for target in found if target), "")
        if not name:
            return UNKNOWN
    return name


def draw_query(rng: Rng, hops: int, candidates: int, stale: float) -> Query:
    """A query: passages it rests on, old ones that contradict them, others, in BM25's order."""
    library = draw_library(seed := rng.word(), THINGS, seed)
    question = draw_question(library, rng, hops, described=False)
    chain = library.chain(question)
    texts = dict[str, bool]()
    for name, hop in zip(chain, question.hops, strict=False):
        texts[_sentence(library, name, hop, old=False)] = True
        if rng.random() < stale:
            texts[_sentence(library, name, hop, old=True)] = False
    asked = {(library.number(name), hop) for name, hop in zip(chain, question.hops, strict=False)}
    for text in _others(library, question, asked):
        if len(texts) >= candidates:
            break
        texts.setdefault(text, False)
    passages = list(texts)
    ranked = Index(passages).scores(question.text)
    order = sorted(range(len(passages)), key=lambda n: (-ranked[n], passages[n]))
    made = tuple(Passage(passages[n], texts[passages[n]]) for n in order)
    return Query(question.text, made, chain[-1])


def _sentence(library: Library, name: str, hop: Relation, *, old: bool) -> str:
    number = library.number(name)
    return next(text for text in library.sentences(number, old=old) if hop.read(name, text))


def _others(library: Library, question: Question, asked: set[tuple[int, Relation]]) -> list[str]:
    """Sentences that say nothing of what is asked, those first that BM25 likes best."""
    pool = [
        text
        for number, entity in enumerate(library.entities)
        for old in (False, True)
        for relation, text in zip(
            RELATIONS[entity.kind], library.sentences(number, old=old), strict=True
        )
        if (number, relation) not in asked
    ]
    return [pool[n] for n in Index(pool).best(question.text, len(pool))]


@dataclass(slots=True, kw_only=True)
class RankState(TaskState):
    """The state of reranking."""

    query: Query
    taken: tuple[int, ...] = ()
    reading: bool = False
    rewards: tuple[float, ...] = ()
    kept: tuple[int, ...] = ()
    gains: tuple[float, ...] = ()  # nDCG of each query
    quality: tuple[float, ...] = ()  # F1 of each answer


@environment(
    "tasks/Reranking-v0",
    family="text",
    tags=("search", "ranking", "chance"),
    paper=(
        "Sun et al. (2025), DynamicRAG: Leveraging Outputs of Large Language Model as Feedback for "
        "Dynamic Reranking in Retrieval-Augmented Generation"
    ),
    splits={
        "one-hop": {"hops": 1},
        "multi-hop": {"hops": 3, "candidates": 30},
        "clean": {"stale": 0.0},
        "reader-plays": {"num_players": 2},
    },
)
@dataclass(frozen=True)
class Reranking(Talking, TaskGame[RankState]):
    """A reranker takes passages in order for a reader, a program or a second player.

    Actions by number: Take for each passage, then Hand; for the reader one answer, "unknown". An
    observation is a float32 vector: for each passage its BM25 score and its place among those that
    were taken (from 1, else 0), then queries left; the reader's is the same.
    """

    num_players: Annotated[
        int, Meta(ge=1, le=2, description="1: the reader is a program; 2: the second player reads")
    ] = 1
    queries: Annotated[int, Meta(ge=1, le=50, description="queries in an episode")] = 5
    hops: Annotated[int, Meta(ge=1, le=6, description="relations that a query chains")] = 2
    candidates: Annotated[
        int, Meta(ge=12, le=100, description="passages that the retriever finds")
    ] = 20
    stale: Annotated[
        float, Meta(ge=0, le=1, description="chance of an old passage beside one that is needed")
    ] = 0.5
    price: Annotated[float, Meta(ge=0, le=0.2, description="price of a passage")] = 0.02

    payoffs = "common"
    deterministic = False
    pays_score = False
    reward_terms = ("answer", "passages")
    action_types = (Take, Hand, Answer)
    feature_bounds = (0.0, 1e3)
    rules_text = """
        Queries are answered from passages that a retriever found. One who reranks chooses which of
        them a reader gets, in which order and how many; the reader sees nothing else.
    """

    def rules_for(self, seat: int) -> str:
        head = super().rules_for(seat)
        if seat == READER:
            return (
                f"{head}\nYou are the reader: answer with Answer(text='…') from the passages that "
                "you are handed. Queries are about today; passages on 1950 are out of date. You "
                f"and the reranker are paid the F1 of its words, less {self.price:g} for each "
                "passage."
            )
        who = "a second player" if self.num_players > 1 else (
            "a program: for each relation it believes the first passage that states it, whether of "
            "today or of 1950, and without one it answers nothing"
        )  # fmt: skip
        return (
            f"{head}\nYou rerank. Take(passage=3) puts a passage after those taken before; Hand() "
            f"hands them to the reader, who is {who}. Queries are about today; passages on 1950 "
            "are out of date. For each query you are paid the F1 of the words of the reader's "
            f"answer, less {self.price:g} for each passage."
        )

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return self.num_players == 1

    @property
    def turns(self) -> int:
        """Actions of an episode, those of both seats."""
        return self.queries * (self.candidates + 2)

    @property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        answer = (Answer(UNKNOWN),) if self.num_players > 1 else ()
        return (*(Take(n + 1) for n in range(self.candidates)), Hand(), *answer)

    @property
    def num_features(self) -> int:
        return 2 * self.candidates + 1

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-self.price * self.candidates * self.queries, float(self.queries))

    def initial_state(self, seed: int | None = None) -> RankState:
        rng = Rng.seeded(check_seed(seed))
        return RankState(rng=rng, query=self.draw(rng))

    def draw(self, rng: Rng) -> Query:
        return draw_query(rng, self.hops, self.candidates, self.stale)

    def acting(self, state: RankState) -> int:
        return READER if state.reading else RANKER

    def statement(self, state: RankState, seat: int) -> str:
        passages = state.query.passages
        if seat == READER:
            texts = [passages[n].text for n in state.taken] if state.reading else []
            shown = [f"- {text}" for text in texts] or ["No passages were handed over."]
            return "\n".join([f"Query: {state.query.text}", *shown])
        listed = [f"{n}. {passage.text}" for n, passage in enumerate(passages, 1)]
        return "\n".join([f"Query: {state.query.text}", *listed])

    def notes(self, state: RankState, seat: int) -> tuple[str, ...]:
        left = f"Queries left, with this one: {self.queries - len(state.rewards)}."
        if seat == READER:
            return (left,)
        return (f"Taken: {', '.join(str(n + 1) for n in state.taken) or 'none'}.", left)

    def options(self, state: RankState, seat: int) -> tuple[Option, ...]:
        if seat == READER:
            return (Option(Answer, {"text": Text(200, (UNKNOWN, "Calvan"))}),)
        free = tuple(n + 1 for n in range(len(state.query.passages)) if n not in state.taken)
        take = (Option(Take, {"passage": OneOf(free)}),) if free else ()
        return (*take, Option(Hand))

    def respond(self, state: RankState, seat: int, action: Any) -> Reply:
        if isinstance(action, Take):
            state.taken = (*state.taken, action.passage - 1)
            return Reply(f"Passage {action.passage} is taken.", kind="take", audience=only(RANKER))
        if isinstance(action, Answer):
            state.reading = False
            return self._score(state, action.text)
        if self.num_players > 1:
            state.reading = True
            count = len(state.taken)
            were = "passage was" if count == 1 else "passages were"
            return Reply(f"{count} {were} handed over.")
        texts = [state.query.passages[n].text for n in state.taken]
        return self._score(state, read_answer(state.query.text, texts))

    def _score(self, state: RankState, said: str) -> Reply:
        """Pay an answer and draw the next query."""
        query, count = state.query, len(state.taken)
        right, cost = f1(said, query.answer), self.price * count
        needed = [query.passages[n].needed for n in state.taken]
        state.gains = (*state.gains, ndcg(needed, self.hops))
        state.quality, state.kept = (*state.quality, right), (*state.kept, count)
        state.rewards, state.taken = (*state.rewards, right - cost), ()
        text = f"The reader answers {self.quoted(said)}; right is {query.answer}. F1 {right:.2f}."
        facts = {"said": said, "f1": right, "kept": count}
        if len(state.rewards) < self.queries:
            state.query = self.draw(state.rng)
        else:
            state.closed = True
        pays = {"answer": right, "passages": -cost}
        return Reply(text, facts, {name: paid for name, paid in pays.items() if paid})

    def step(self, state: RankState, actions: Any) -> Step:
        """Both seats are paid what the one who acted is paid."""
        done = super().step(state, actions)
        paid = next(iter(done.rewards.values()), {})
        everybody = range(self.num_players) if paid else ()
        return Step(dict.fromkeys(everybody, paid), events=done.events)

    def settle(self, state: RankState) -> Final:
        done = max(1, len(state.rewards))
        facts = {
            "ndcg": sum(state.gains) / done,
            "kept": sum(state.kept) / done,
            "f1": sum(state.quality) / done,
        }
        reason = f"Mean F1 {facts['f1']:.2f} with {facts['kept']:.1f} passages a query."
        return shared_end(sum(state.rewards), self.num_players, reason, facts)

    def features(self, state: RankState, seat: int) -> list[float]:
        passages = state.query.passages
        if seat == READER:
            passages = tuple(passages[n] for n in state.taken) if state.reading else ()
        shown = [passage.text for passage in passages]
        scores = Index(shown).scores(state.query.text) if shown else []
        places = {n: float(place) for place, n in enumerate(state.taken, 1)}
        if seat == READER:
            places = {n: n + 1.0 for n in range(len(shown))}
        blank = [0.0] * (self.candidates - len(shown))
        taken = [places.get(n, 0.0) for n in range(len(shown))]
        return [*scores, *blank, *taken, *blank, float(self.queries - len(state.rewards))]

    def determinize(self, state: RankState, seat: int, rng: Rng) -> RankState:
        """Draw the queries to come, and for the reader the passages that were not handed over."""
        copy = self.copy_for(state, seat)
        copy.rng = Rng.seeded(rng.word())
        if seat == READER:
            other = self.draw(copy.rng)
            passages, held = list(other.passages), state.taken if state.reading else ()
            numbers = list(range(len(passages)))
            rng.shuffle(numbers)  # the reader does not know which numbers they had
            copy.taken = tuple(numbers[: len(held)])
            for number, was in zip(copy.taken, held, strict=True):
                passages[number] = state.query.passages[was]
            copy.query = Query(state.query.text, tuple(passages), other.answer)
        return copy

    def scene(self, state: RankState, seat: int | None = None) -> Scene:
        number = min(len(state.rewards) + 1, self.queries)
        caption = f"Query {number} of {self.queries}"
        return spectated(super().scene(state, seat), seat, caption, state.query.text)

    def picture(self, state: RankState, seat: int | None) -> tuple[Part, ...]:
        """The retriever's list with what was taken, those passages in order, and past queries.

        For a spectator passages on which the answer rests are green, those that mislead or do not
        matter red once they are taken.
        """
        if seat == READER:
            return self._taken(state, seat) if state.reading else ()
        places = {n: place for place, n in enumerate(state.taken, 1)}
        pieces: list[Piece | None] = []
        for n, passage in enumerate(state.query.passages):
            colour = _passage_colour(passage, seat, taken=n in places)
            pieces.append(
                Piece(str(n + 1), colour, label=passage.text, badge=_order(places.get(n)))
            )
        rows = tuple(tuple(pieces[n : n + LIST]) for n in range(0, len(pieces), LIST))
        rows = (*rows[:-1], (*rows[-1], *(None,) * (len(rows[0]) - len(rows[-1]))))
        chosen = mark_cells("selected", [divmod(n, LIST) for n in state.taken])
        return (Grid(rows, marks=chosen), *self._taken(state, seat), *self._past(state))

    def _taken(self, state: RankState, seat: int | None) -> tuple[Part, ...]:
        """The passages that were taken, in order."""
        numbers = range(len(state.taken)) if seat == READER else state.taken
        passages = [state.query.passages[n] for n in state.taken[:MOST_TAKEN]]
        rows = tuple((str(n + 1), one.text) for n, one in zip(numbers, passages, strict=False))
        colours = tuple(_passage_colour(one, seat, taken=True) for one in passages)
        return (Table(("passage", "text"), rows, "taken", colours),) if rows else ()

    def _past(self, state: RankState) -> tuple[Part, ...]:
        """F1 of the answers so far, and the passages that they took."""
        done = tuple(enumerate(state.quality, 1))
        bars = Series("F1", tuple((float(n), right) for n, right in done), "bars", "green")
        paid = Series("paid", tuple((float(n), r) for n, r in enumerate(state.rewards, 1)),
                      "points", "blue")  # fmt: skip
        return (Chart((bars, paid), x_label="query", y_label="F1"),) if done else ()


def _passage_colour(passage: Passage, seat: int | None, *, taken: bool) -> Colour:
    if seat is not None:
        return 0 if taken else "silver"
    return "green" if passage.needed else "red" if taken else "silver"


def _order(place: int | None) -> str:
    return "" if place is None else f"#{place}"


@metric("rerank-ndcg", measures=("tasks/Reranking-v0",), bounds=(0.0, 1.0), better="higher")
def rerank_ndcg(record: EpisodeRecord) -> float | None:
    """Mean nDCG of the passages that were handed over; those that the answer rests on count."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    return found[-1]["ndcg"] if found else None


@metric("rerank-kept", measures=("tasks/Reranking-v0",), bounds=(0.0, None))
def rerank_kept(record: EpisodeRecord) -> float | None:
    """Mean number of passages that were handed over."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    return found[-1]["kept"] if found else None


_LISTED = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


class _Ranker(ScriptedAgent[Reranking]):
    """Takes passages in an order of its own; as the reader it answers like the program."""

    @abstractmethod
    def ranking(self, text: str, passages: dict[int, str]) -> list[int]:
        """The passages to hand over, in order."""

    def choose(self, turn: Turn[Reranking]) -> Any:
        lines = turn.position.split("\n")
        text = lines[0].removeprefix("Query: ")
        if "Answer(" in turn.legal_text:
            fresh = [line[2:] for line in lines[1:] if line.startswith("- ")]
            return Answer(read_answer(text, sorted(fresh, key=lambda t: t.startswith("In 1950"))))
        passages = {int(n): passage for n, passage in _LISTED.findall(turn.position)}
        taken = next(line for line in lines if line.startswith("Taken: "))
        done = {int(n) for n in re.findall(r"\d+", taken)}
        left = [n for n in self.ranking(text, passages) if n not in done]
        return Take(left[0]) if left else Hand()


@agent("rerank-needed", kind="solver")
class NeededRanker(_Ranker):
    """Takes the passages of today on which the answer rests, and no others."""

    def ranking(self, text: str, passages: dict[int, str]) -> list[int]:
        name, hops = read_question(text)
        chosen = []
        for hop in hops:
            for n, passage in passages.items():
                target = hop.read(name, passage)
                if target and not passage.startswith("In 1950"):
                    chosen.append(n)
                    name = target
                    break
        return chosen


@agent("rerank-retriever", kind="scripted")
class RetrieverRanker(_Ranker):
    """Hands over the passages that the retriever puts first."""

    def __init__(
        self,
        *,
        count: Annotated[int, Meta(ge=0, le=100, description="most passages to hand over")] = 100,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._count = count

    def ranking(self, text: str, passages: dict[int, str]) -> list[int]:
        return sorted(passages)[: self._count]
