"""Long search: answer a question by many searches in a library of pages.

The player searches pages by words, opens them, keeps in mind what they say, and answers. A question
chains relations between things ("the mayor of the town at the mouth of the river of ..."), and the
first of them may only be described, so that it has to be found first. Pages of an old register
contradict those of today.

After Gao et al., "Beyond Ten Turns: Unlocking Long-Horizon Agentic Search with Large-Scale
Asynchronous RL" (ASearcher), 2025, which makes hard questions by two steps: injection, which
replaces an entity by a fact about it (here another hop), and fuzzing, which blurs an entity (here
the description). The answer is scored by SQuAD's F1, as theirs.

Checked: every answer equals that of a chain of joins in SQLite over the pages; BM25 against
scikit-learn's counts and the formula; F1 against the published examples.

Left out: the open web, answers judged by a model, and training that runs beside the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any

from palestra import (
    EpisodeRecord,
    Meta,
    Option,
    Rng,
    Scene,
    ScriptedAgent,
    Text,
    TextAction,
    Turn,
    agent,
    environment,
    metric,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Colour, Graph, Link, Node, Part

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, solo
from palestra_tasks.retrieval.library import (
    NOTHING,
    REGISTER,
    Known,
    Library,
    Page,
    Question,
    draw_library,
    draw_question,
    read_question,
)
from palestra_tasks.retrieval.reading import renumbered
from palestra_tasks.retrieval.scoring import Index, exact, f1, words_of
from palestra_tasks.spectating import spectated

RESULTS = 5
SNIPPET = 140  # characters
CHAIN, ASIDE, ACROSS = 8, 8, 4  # pages in a picture: of the chain, others, in a row


class Search(TextAction, frozen=True):
    """Search the library."""

    query: str


class Open(TextAction, frozen=True):
    """Read a page by its title."""

    title: str


class Answer(TextAction, frozen=True):
    """Answer the question. This ends the episode."""

    text: str


@lru_cache(maxsize=64)
def pages_of(library: Library) -> tuple[tuple[Page, ...], Index]:
    """The pages of a library and their index; nobody changes them."""
    pages = library.pages()
    return pages, Index([f"{page.title} {page.text}" for page in pages])


@dataclass(slots=True, kw_only=True)
class SearchState(TaskState):
    """The state of a search."""

    seed: int  # of the library's things
    facts: int  # the seed of what its pages say
    question: Question
    known: Known = NOTHING  # of the things and facts, where the library is one that is imagined
    seen: dict[int, int] = field(default_factory=dict)  # characters shown, by number of the page
    opened: tuple[str, ...] = ()  # titles in order
    answer: str = ""


@environment(
    "tasks/DeepSearch-v0",
    family="text",
    tags=("search", "hidden-information", "long-horizon"),
    paper=(
        "Gao et al. (2025), Beyond Ten Turns: Unlocking Long-Horizon Agentic Search with "
        "Large-Scale Asynchronous RL"
    ),
    splits={
        "short": {"hops": 2},
        "long": {"hops": 8, "turns": 60},
        "beyond": {"hops": 20, "turns": 150, "size": 300},
    },
)
@dataclass(frozen=True)
class DeepSearch(TaskGame[SearchState]):
    """One player answers a question by searching a library of pages and reading them.

    There are no numbered actions. The reward is the F1 of the words of the answer.
    """

    hops: Annotated[int, Meta(ge=1, le=40, description="relations that a question chains")] = 4
    described: Annotated[
        bool, Meta(description="whether a question describes its first thing and does not name it")
    ] = True
    size: Annotated[int, Meta(ge=20, le=400, description="things that have pages")] = 120
    turns: Annotated[int, Meta(ge=1, le=1000, description="most actions in an episode")] = 40

    rules_text = """
        You answer a question from a library of pages about people, firms, towns, rivers and books.

        Search(query='words') shows the titles of up to five pages that fit the words best, with
        their first words. Open(title='…') shows a whole page. Answer(text='…') ends the search.
        Questions are about today: pages of the register of 1950 are out of date. You are paid the
        F1 of the words of your answer, 1 if it is exact, and 0 if you give none.
    """
    action_types = (Search, Open, Answer)

    def initial_state(self, seed: int | None = None) -> SearchState:
        rng = Rng.seeded(check_seed(seed))
        seed = rng.word()
        library = draw_library(seed, self.size, seed)
        question = draw_question(library, rng, self.hops, described=self.described)
        return SearchState(rng=rng, seed=seed, facts=seed, question=question)

    def library(self, state: SearchState) -> Library:
        return draw_library(state.seed, self.size, state.facts, state.known)

    def show(self, state: SearchState, pages: dict[int, int]) -> None:
        """Note that so many characters of these pages were shown."""
        seen = state.seen
        longer = {page: max(length, seen.get(page, 0)) for page, length in pages.items()}
        state.seen = dict(sorted({**seen, **longer}.items()))

    def statement(self, state: SearchState, seat: int) -> str:
        return f"Question: {state.question.text}"

    def notes(self, state: SearchState, seat: int) -> tuple[str, ...]:
        return (f"Pages read: {'; '.join(state.opened[-12:]) or 'none'}.",)

    def options(self, state: SearchState, seat: int) -> tuple[Option, ...]:
        start = read_question(state.question.text)[0]
        if state.seen:
            things = self.library(state).entities
            start = min(things[page // 2].name for page in state.seen)
        return (
            Option(Search, {"query": Text(400, (state.question.text, start))}),
            Option(Open, {"title": Text(200, (start, start + REGISTER))}),
            Option(Answer, {"text": Text(200, (start, "nobody knows"))}),
        )

    def respond(self, state: SearchState, seat: int, action: Any) -> Reply:
        if isinstance(action, Answer):
            state.answer, state.closed = action.text, True
            return Reply("The search is over.", kind="finish")
        library = self.library(state)
        if isinstance(action, Search):
            pages, index = pages_of(library)
            best = index.best(action.query, RESULTS)
            self.show(state, dict.fromkeys(best, SNIPPET))
            shown = [f"{pages[n].title}: {pages[n].text[:SNIPPET]}…" for n in best]
            text = "\n".join(shown) or "No page has any of these words."
            return Reply(text, {"titles": [pages[n].title for n in best]})
        page = library.find(action.title)
        if page is None:
            return Reply("There is no page of this title; search for it first.", {"title": ""})
        number = 2 * library.number(action.title.removesuffix(REGISTER))
        self.show(state, {number + action.title.endswith(REGISTER): len(page.text)})
        state.opened = (*state.opened, action.title)
        return Reply(f"{page.title}: {page.text}", {"title": page.title, "text": page.text})

    def settle(self, state: SearchState) -> Final:
        chain = self.library(state).chain(state.question)
        score = f1(state.answer, chain[-1])
        read = set(state.opened)
        facts = {
            "exact": exact(state.answer, chain[-1]),
            "evidence": sum(name in read for name in chain[:-1]) / len(state.question.hops),
            "opened": len(state.opened),
        }
        return solo(score, f"The answer is {chain[-1]}.", won=bool(facts["exact"]), **facts)

    def determinize(self, state: SearchState, seat: int, rng: Rng) -> SearchState:
        """Draw all of the library that neither the question nor pages shown say."""
        copy, library = self.copy_for(state, seat), self.library(state)
        read = renumbered(library, state.question, state.seen, rng, described=self.described)
        copy.question, copy.seen, copy.known = read.question, dict(read.seen), read.known
        copy.seed, copy.facts = rng.word(), rng.word()
        return copy

    def scene(self, state: SearchState, seat: int | None = None) -> Scene:
        caption = f"Pages read: {len(set(state.opened))}"
        return spectated(super().scene(state, seat), seat, caption, self.statement(state, 0))

    def picture(self, state: SearchState, seat: int | None) -> tuple[Part, ...]:
        """The pages that were read, for a spectator beside the chain that leads to the answer."""
        library = self.library(state)
        chain = library.chain(state.question) if seat is None else ()
        read = list(dict.fromkeys(state.opened))
        done = next((n for n, name in enumerate(chain) if name not in read), len(chain))
        shown = chain[max(0, done - 3) :][:CHAIN]
        aside = [title for title in read if title not in shown][-ASIDE:]
        titles = [*shown, *aside]
        nodes = tuple(
            Node(
                str(read.index(title) + 1) if title in read else "?" * (title == chain[-1]),
                _page_colour(title, chain, read), title,
                _place(n, len(shown), len(titles)),
            )
            for n, title in enumerate(titles)
        )  # fmt: skip
        first = chain.index(shown[0]) if shown else 0
        names = [hop.name for hop in state.question.hops[first:]] if shown else []
        links = [
            Link(n, n + 1, names[n], "green" if title in read else "grey", 1.5, directed=True)
            for n, title in enumerate(shown[:-1])
        ]
        texts = {page.title: page.text for page in map(library.find, read) if page}
        links += [
            Link(a, b, directed=True)
            for a, start in enumerate(titles)
            for b, end in enumerate(titles)
            if a != b and (a, b) not in {(link.start, link.end) for link in links}
            and f" {end}." in texts.get(start, "")
        ]  # fmt: skip
        used = Bars((Bar("actions", len(state.past), self.turns, 0),))
        return (Graph(nodes, tuple(links)), used) if nodes else (used,)


def _page_colour(title: str, chain: Sequence[str], read: Sequence[str]) -> Colour:
    """Green for a page of the chain that was read, gold for the answer, red for the register."""
    if chain and title == chain[-1]:
        return "gold"
    if title in chain:
        return "green" if title in read else "silver"
    return "red" if title.endswith(REGISTER) else 0


def _place(number: int, chained: int, total: int) -> tuple[float, float]:
    """Where a page is drawn: the chain in rows to and fro, then the others in rows of four."""
    rows = -(-chained // ACROSS)
    last = rows - (total - chained) // -ACROSS - 1
    row, column = divmod(number if number < chained else number - chained, ACROSS)
    if number < chained:
        column = ACROSS - 1 - column if row % 2 else column
    else:
        row += rows
    return column / (ACROSS - 1), row / max(1, last)


@metric("search-evidence", measures=("tasks/DeepSearch-v0",), bounds=(0.0, 1.0), better="higher")
def search_evidence(record: EpisodeRecord) -> float | None:
    """The share of the pages on which the answer rests that were read."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    return found[-1]["evidence"] if found else None


class _Reader(ScriptedAgent[DeepSearch]):
    """Follows a question hop by hop, by what pages say."""

    old = False  # whether the register of 1950 is believed

    def choose(self, turn: Turn[DeepSearch]) -> Any:
        start, hops = read_question(turn.position.split("\n")[0].removeprefix("Question: "))
        read = {e.data["title"]: e.data["text"] for e in turn.transcript if "text" in e.data}
        name = self._start(turn, start)
        if not name:
            return Search(start)
        for hop in hops:
            title = name + REGISTER if self.old else name
            if title not in read:
                return Open(title)
            name = hop.read(name, read[title])
        return Answer(name)

    def _start(self, turn: Turn[DeepSearch], start: str) -> str:
        """The title that a name or a description stands for; empty if it was not found yet."""
        wanted = set(words_of(start)) - {"the"}
        for event in turn.transcript:
            for line in event.text.split("\n") if "titles" in event.data else ():
                if wanted <= set(words_of(line)):
                    return line.split(": ")[0].removesuffix(REGISTER)
        return ""


@agent("search-follower", kind="solver")
class Follower(_Reader):
    """Finds what a question begins with, opens one page for each relation, and answers."""


@agent("search-register", kind="scripted")
class RegisterReader(_Reader):
    """As `search-follower`, but believes the register of 1950, which is out of date."""

    old = True
