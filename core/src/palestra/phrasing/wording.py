"""`wording=headings`: the framework's text around a game reworded, for one seat or for all.

`headings@0` changes only seat 0's questions, so that its opponents read the usual text. Rules and
position stay the same word for word; only the framework's text around them changes. A game may
offer its own wordings, `wordings = {"short": {"rules": …, "question": …}}`, and a caller may pass
one as such a mapping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Protocol, cast

from msgspec import Meta

from palestra.kernel.actions import Grammar, OneOf, Option
from palestra.kernel.errors import InvalidAction, InvalidOption, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.rng import Rng
from palestra.phrasing.extended import Kind, extend_game

HIDDEN = "not listed"
ANSWER = "Answer with your move only."


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a question: news since the last turn, the position, and the legal moves.

    `legal` is None if the seat is not to act, and empty if moves should not be shown.
    """

    player: str
    news: Sequence[str]
    position: str
    legal: str | None

    @property
    def blocks(self) -> list[str]:
        return [text for text in ("\n".join(self.news), self.position) if text]


def _same(rules: str) -> str:
    return rules


def _plain(parts: Parts) -> str:
    lines = parts.blocks
    if parts.legal is not None:
        lines.append(f"{parts.player}, you may play: {parts.legal}")
    return "\n".join(lines)


def _hide_parts(parts: Parts) -> str:
    lines = parts.blocks
    return "\n".join(
        lines if parts.legal is None else [*lines, f"{parts.player}, it is your turn."]
    )


def _add_heading(title: str, text: str) -> str:
    return f"## {title}\n{text}"


def _headings(parts: Parts) -> str:
    news = [_add_heading("What happened", "\n".join(parts.news))] if parts.news else []
    asked = (
        [] if parts.legal is None else [_add_heading(f"Legal moves of {parts.player}", parts.legal)]
    )
    return "\n\n".join([*news, _add_heading("Position", parts.position), *asked])


def _tags(parts: Parts) -> str:
    news = ["<events>", *parts.news, "</events>"] if parts.news else []
    lines = [*news, "<position>", parts.position, "</position>"]
    if parts.legal is not None:
        lines += [f'<legal-moves player="{parts.player}">', parts.legal, "</legal-moves>"]
    return "\n".join(lines)


def _question_first(parts: Parts) -> str:
    if parts.legal is None:
        return _plain(parts)
    ask = f"{parts.player}, choose from: {parts.legal}"
    return "\n".join([ask, "The choice is made in this situation:", *parts.blocks])


def _imperative(parts: Parts) -> str:
    lines = parts.blocks
    if parts.legal is not None:
        lines.append(f"Act for {parts.player} now. Choose exactly one of these: {parts.legal}")
    return "\n".join(lines)


def _third_person(parts: Parts) -> str:
    lines = ["The record of the game so far, and its position:", *parts.blocks]
    if parts.legal is not None:
        lines.append(f"{parts.player} is the player to move. Open to {parts.player}: {parts.legal}")
    return "\n".join(lines)


def _interrogative(parts: Parts) -> str:
    lines = parts.blocks
    if parts.legal is not None:
        lines.append(f"What does {parts.player} play here? Possible answers are: {parts.legal}")
    return "\n".join(lines)


def _as_list(rules: str) -> str:
    """Rules with every sentence as an item of a list."""
    sentences = [s for line in rules.split("\n") for s in re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)]
    return "\n".join(f"* {sentence.removeprefix('- ')}" for sentence in sentences)


@dataclass(frozen=True, slots=True)
class Wording:
    """A way to present rules and questions; `changes` describes it in a few words.

    `answer` tells a model, below the rules, what its replies must look like.
    """

    changes: str
    rules: Callable[[str], str] = _same
    question: Callable[[Parts], str] = _plain
    answer: str = ANSWER
    shuffled: bool = False
    hidden: bool = False


PARAPHRASES = {
    "headings": Wording(
        "Markdown headings over rules, events, position and moves",
        lambda rules: _add_heading("Rules", rules),
        _headings,
        _add_heading("Answers", "The move alone."),
    ),
    "tags": Wording(
        "XML tags around rules, events, position and moves",
        lambda rules: f"<rules>\n{rules}\n</rules>",
        _tags,
        "<answer-format>the move and nothing else</answer-format>",
    ),
    "question-first": Wording(
        "the question stands before the position, an introduction before the rules",
        lambda rules: f"You will be asked for moves in a game. This is how it goes.\n{rules}",
        _question_first,
        "Your reply to each question is your move, and no other word.",
    ),
    "imperative": Wording(
        "commands in place of “you may play”; every sentence of the rules an item of a list",
        lambda rules: f"Read these rules and follow them:\n{_as_list(rules)}",
        _imperative,
        "Write your move. Write nothing else.",
    ),
    "third-person": Wording(
        "the frame speaks of the player in the third person",
        lambda rules: f"The players of this game go by these rules:\n{rules}",
        _third_person,
        "A player who is asked answers with the move alone.",
    ),
    "interrogative": Wording(
        "a question with its possible answers; rules between lines",
        lambda rules: f"What are the rules?\n---\n{rules}\n---",
        _interrogative,
        "What is an answer? The move, with nothing before or after it.",
    ),
}
WORDINGS = {
    "plain": Wording("nothing: the words of every run"),
    "null": Wording("nothing: a copy of plain, whose effect is noise"),
    **PARAPHRASES,
    "legal-hidden": Wording("legal moves are not shown", question=_hide_parts, hidden=True),
    "legal-shuffled": Wording("legal moves are shown in a random order", shuffled=True),
}
KEYS = ("name", "rules", "question", "answer")
HINT = Annotated[
    str | Mapping[str, str],
    Meta(description="how rules and questions are put, as in headings, or headings@0 for one seat"),
]


def add_wording(kind: Kind) -> Kind:
    """The class of a game with the option `wording`."""
    return extend_game(kind, RewordedGame)


def wordings_of(game: Game[Any, Any]) -> Mapping[str, Mapping[str, str]]:
    """The wordings that a game offers of its own, by name."""
    return getattr(type(game), "wordings", {})


def custom(texts: Mapping[str, str]) -> Wording:
    """A wording from texts: `rules` and `question`, in which {rules}, {player} and {legal} stand,
    and `answer`, what replies are to look like.

    Raises `InvalidOption` for other keys, and for a question that does not say {legal}.
    """
    unknown = set(texts) - set(KEYS)
    if unknown or not set(texts) - {"name"}:
        raise InvalidOption(
            "a wording has 'rules', 'question' or 'answer', one or more of them, and may have a "
            f"'name'; not {dict(texts)!r}"
        )
    rules, question = texts.get("rules", "{rules}"), texts.get("question", "")
    if question and "{legal}" not in question:
        raise InvalidOption(f"the question of a wording must say {{legal}}: {question!r}")

    def ask(parts: Parts) -> str:
        if not question or parts.legal is None:
            return _plain(parts)
        asked = question.replace("{player}", parts.player).replace("{legal}", parts.legal)
        return "\n".join([*parts.blocks, asked])

    return Wording(
        texts.get("name", "custom"),
        lambda told: rules.replace("{rules}", told),
        ask,
        texts.get("answer", ANSWER),
    )


class FormsAnswers(Protocol):
    """A game that says itself what replies are to look like; "" says nothing."""

    def answer_form(self, seat: int) -> str:
        """The instruction to a model at a seat."""


def answer_form(game: Game[Any, Any], seat: int) -> str:
    """The instruction to a model at a seat on what its replies must look like."""
    if not hasattr(game, "answer_form"):  # isinstance would take 80 us a turn
        return ANSWER
    return cast(FormsAnswers, game).answer_form(seat)


def shows_moves(game: Game[Any, Any], seat: int) -> bool:
    """Whether a seat's questions list its legal moves; not under the wording `legal-hidden`."""
    return not (isinstance(game, RewordedGame) and game.hides_moves(seat))


class RewordedGame(Game[Any, Any]):
    """A game whose rules and questions are reworded, for some seats or for all."""

    wording: str | Mapping[str, str]
    option: ClassVar[str] = "wording"
    hint: ClassVar[Any] = HINT

    def validate(self) -> None:
        super().validate()
        _ = self._chosen

    @cached_property
    def _chosen(self) -> tuple[Wording, frozenset[int]]:
        """The wording, and the seats it is for."""
        if not isinstance(self.wording, str):
            named, at, seat = self.wording.get("name", "").partition("@")
            return custom(self.wording), self._seats(seat if at else "")
        name, _, seat = self.wording.partition("@")
        own = wordings_of(self)
        if name not in WORDINGS and name not in own:
            raise UnknownName("wording", name, [*WORDINGS, *own])
        chosen = WORDINGS[name] if name in WORDINGS else custom(own[name])
        return chosen, self._seats(seat)

    def _seats(self, seat: str) -> frozenset[int]:
        if not seat:
            return frozenset(range(self.num_players))
        if not seat.isdigit() or int(seat) >= self.num_players:
            raise InvalidOption(
                f"wording {self.wording!r}: there is no seat {seat!r}; seats are 0 to "
                f"{self.num_players - 1}"
            )
        return frozenset({int(seat)})

    def _for(self, seat: int) -> Wording:
        chosen, seats = self._chosen
        return chosen if seat in seats else WORDINGS["plain"]

    def rules_for(self, seat: int) -> str:
        return self._for(seat).rules(super().rules_for(seat))

    def answer_form(self, seat: int) -> str:
        """What replies of a seat are to look like, in the words of its wording."""
        return self._for(seat).answer

    def hides_moves(self, seat: int) -> bool:
        """Whether a seat is not told its legal moves."""
        return self._for(seat).hidden

    def prompt(self, state: Any, seat: int, news: Sequence[str], legal: str | None) -> str:
        chosen = self._for(seat)
        if legal is not None and chosen.shuffled:
            legal = self._shuffle_legal(state, seat, legal)
        return chosen.question(Parts(self.players[seat], news, self.describe(state, seat), legal))

    def _shuffle_legal(self, state: Any, seat: int, legal: str) -> str:
        """The legal moves of a typed game in another order; `legal_text` orders listed moves."""
        grammar = self.legal(state, seat)
        if not isinstance(grammar, Grammar):
            return legal
        rng = self._order(state, seat)
        options = [
            Option(o.action, {name: _mix_order(domain, rng) for name, domain in o.fields.items()})
            for o in _permute(rng, list(grammar))
        ]
        return str(type(grammar)(tuple(options)))

    def _order(self, state: Any, seat: int) -> Rng:
        """A generator that depends only on the decision the seat faces."""
        return Rng.seeded(int.from_bytes(self.state_key(state, seat)[:7], "little"), stream=12)

    def legal_text(self, state: Any, seat: int, moves: Mapping[str, int]) -> str:
        """Of an array game: `moves` in another order, where that is the wording."""
        if self._for(seat).shuffled:
            rng = self._order(state, seat)
            moves = dict(_permute(rng, list(moves.items())))
        return super().legal_text(state, seat, moves)  # type: ignore[misc]

    def parse(self, state: Any, seat: int, text: str) -> Any:
        try:
            return super().parse(state, seat, text)  # type: ignore[safe-super]
        except InvalidAction as error:
            if not self.hides_moves(seat):
                raise
            raise InvalidAction(text, HIDDEN, why=error.why) from None


def _mix_order(domain: Any, rng: Rng) -> Any:
    return OneOf(tuple(_permute(rng, list(domain.values)))) if type(domain) is OneOf else domain


def _permute(rng: Rng, items: list[Any]) -> list[Any]:
    return [items.pop(rng.below(len(items))) for _ in range(len(items))]
