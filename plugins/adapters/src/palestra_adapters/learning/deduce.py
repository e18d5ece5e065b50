"""Deduce and select: a model deduces roles and proposes moves, and a learnt policy picks one.

Xu, Yu, Fang, Wang and Wu, "Language Agents with Reinforcement Learning for Strategic Play in the
Werewolf Game", ICML 2024. The model first says of every player which role it takes them for, how
sure it is and why; then it proposes moves that differ in strategy. A small policy chooses among
them, because a model's own favourite is biased. It is trained by REINFORCE on the results of the
games that it plays, against whoever sits in the other seats (the paper: PPO over embeddings of a
model, against a population of agents).

The policy is linear in what a candidate does, to a player of which deduced role, in which own role.

Left out: embeddings of a model (the policy is linear in action, own role and deduced role), a
population.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Annotated, Any

import msgspec
from palestra import Decision, Meta, RecordError, Turn, agent
from palestra.files import UNREADABLE, read_json, write_bytes
from palestra.kernel.errors import cause

from palestra_adapters.adapter import Adapter, legal_move, rules_of, said_in, story
from palestra_adapters.memory.remembering import named_file
from palestra_adapters.thinking import Thinking

DEDUCE = (
    "Before you act: what is the role of every other player? Write one line a player, as in\n"
    "{name}: role, how sure you are from 0 to 10, why\n"
    "Roles: {roles}."
)
PROPOSE = (
    "What you deduced:\n{deduced}\n"
    "Propose {count} moves that differ from each other in strategy, the best first. Write one move "
    "a line as it would be played, and nothing else."
)
BELIEF = re.compile(
    r"^[^\w\n]*(\w+)[^\S\n]*:[^\S\n]*(\w+)[^\S\n]*,?[^\S\n]*(\d{1,9})?", re.MULTILINE
)
WINDOW = 20  # games over which the mean return is taken
Features = Counter[str]


Amount = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]  # of larger ones sums are not numbers


class Policy(msgspec.Struct, forbid_unknown_fields=True):
    """Weights by feature; games and their mean return (of about the last 20) by own role."""

    weights: dict[str, Amount] = {}
    means: dict[str, Amount] = {}
    games: dict[str, Annotated[int, msgspec.Meta(ge=0)]] = {}

    def chances(self, candidates: Sequence[Features]) -> list[float]:
        """The probability of every candidate: a softmax of the sums of its weights."""
        sums = [sum(self.weights.get(f, 0.0) * n for f, n in c.items()) for c in candidates]
        high = max(sums)
        powers = [exp(one - high) for one in sums]
        return [power / sum(powers) for power in powers]

    def learn(self, candidates: Sequence[Features], chosen: int, gain: float) -> None:
        """A step of REINFORCE: gain * (features of the choice - their mean under the policy)."""
        chances = self.chances(candidates)
        step: dict[str, float] = dict(candidates[chosen])
        for candidate, chance in zip(candidates, chances, strict=True):
            for name, count in candidate.items():
                step[name] = step.get(name, 0.0) - chance * count
        for name, part in sorted(step.items()):
            self.weights[name] = self.weights.get(name, 0.0) + gain * part


class Choice(msgspec.Struct):
    """One decision: the features of the candidates, and which was played."""

    candidates: list[Features]
    chosen: int
    role: str


@agent(
    "deduce",
    kind="llm",
    plays=("games/Werewolf-v0",),
    summary="Deduces roles, proposes different moves, and picks one by a policy that it learns.",
    paper=(
        "Language Agents with Reinforcement Learning for Strategic Play in the Werewolf Game (2024)"
    ),
)
class Deduce(Adapter):
    """Plays `games/Werewolf-v0` and learns from the results of its games.

    Facts of a decision: `beliefs`, the deduced role of each player named, and `candidates`, every
    proposed move with its probability. With `rate=0` the policy stays as it is; with `select=false`
    the model's first proposal is played, which is the paper's arm without RL. memory: a JSON file
    that keeps the policy.
    """

    def __init__(
        self,
        *,
        count: Annotated[int, Meta(ge=1, le=20, description="moves proposed")] = 3,
        rate: Annotated[float, Meta(ge=0, description="learning rate of the policy")] = 0.05,
        select: Annotated[bool, Meta(description="whether the policy chooses")] = True,
        memory: Annotated[str, Meta(description="a file that keeps the policy")] = "",
        **settings: Any,
    ) -> None:
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._count, self._rate, self._select = count, rate, select
        self.policy = Policy()
        self._file = named_file(memory) if memory else None
        if self._file is not None and self._file.exists():
            self.policy = _read(self._file)
        self._choices = self.by_seat(list[Choice])
        self._turns = self.by_seat(Turn)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        names = [name for seat, name in enumerate(turn.game.players) if seat != turn.seat]
        seen = story(turn, "That")
        form = DEDUCE.format(name=names[0], roles=", ".join(roles_of(turn)))
        deduced = yield from self.consult(turn, seen, form, advice=advice)
        asked = PROPOSE.format(deduced=deduced, count=self._count)
        (reply,) = yield [self.ask(self.single(rules_of(turn, advice), f"{seen}\n\n{asked}"))]
        moves = read_moves(turn, said_in(reply))[: self._count]
        if not moves:
            return Decision(text=said_in(reply), thought=deduced, model=reply.model)
        beliefs = read_beliefs(deduced, names)
        chosen, chances = self._pick(turn, moves, beliefs)
        facts = {"beliefs": beliefs, "candidates": dict(zip(moves, chances, strict=True))}
        return Decision(text=moves[chosen], thought=deduced, model=reply.model, facts=facts)

    def _pick(
        self, turn: Turn, moves: Sequence[str], beliefs: Mapping[str, str]
    ) -> tuple[int, list[float]]:
        """Draw a candidate by the policy, and remember the choice until the game is over."""
        role = own_role(turn)
        candidates = [features_of(move, role, beliefs) for move in moves]
        chances = self.policy.chances(candidates)
        chosen = self.rng.weighted(chances) if self._select else 0
        key = turn.episode_key, turn.seat
        self._turns[key] = turn
        kept = self._choices.setdefault(key, [])
        if turn.error and kept:
            kept.pop()  # its answer was refused, so it did nothing
        kept.append(Choice(candidates, chosen, role))
        return chosen, chances

    def forget(self, episode_key: int) -> None:
        for choices, turn in zip(
            self._choices.end(episode_key), self._turns.end(episode_key), strict=True
        ):
            self._learn(choices, float(turn.returns))
        super().forget(episode_key)

    def _learn(self, choices: Sequence[Choice], returns: float) -> None:
        """Learn from a finished game: its return less the mean return in this role."""
        policy, role = self.policy, choices[0].role
        mean, games = policy.means.get(role, returns), policy.games.get(role, 0) + 1
        if self._rate and self._select:
            for choice in choices:
                policy.learn(choice.candidates, choice.chosen, self._rate * (returns - mean))
        policy.means[role] = mean + (returns - mean) / min(games, WINDOW)
        policy.games[role] = games

    def close(self) -> None:
        if self._file is not None:
            write_bytes(self._file, msgspec.json.encode(self.policy))
        super().close()


def _read(file: Path) -> Policy:
    try:
        return read_json(file, Policy)
    except (OSError, *UNREADABLE) as error:
        raise RecordError(file, 1, f"not a policy of deduce: {cause(error)}", 0) from error


def own_role(turn: Turn) -> str:
    """The seat's role, from the event that deals it; empty if there is none."""
    dealt = (event.data.get("role") for event in turn.transcript if event.kind == "role")
    return str(next(dealt, "") or "")


def roles_of(turn: Turn) -> list[str]:
    """The roles that the rules list, as in `Roles in this game: seer 1, villager 4.`"""
    found = re.search(r"Roles in this game: ([^.]*)", turn.game.rules_for(turn.seat))
    names = re.findall(r"([a-z]+)(?: \d+)?", found[1]) if found else []
    return list(dict.fromkeys(names)) or ["friend", "enemy"]


def read_beliefs(text: str, names: Sequence[str]) -> dict[str, str]:
    """The role of each player in a deduction, with a `?` if it is less than half sure."""
    found = {}
    for name, role, sure in BELIEF.findall(text):
        if name in names:
            found[name] = role.lower() + ("?" if sure and int(sure) < 5 else "")
    return found


def read_moves(turn: Turn, text: str) -> list[str]:
    """The different legal moves in a reply, one a line, in their order."""
    lines = (re.sub(r"^\s*(?:\d+[.):]|[-*])\s*", "", line) for line in text.splitlines())
    moves = (legal_move(turn, line) for line in lines if line.strip())
    return list(dict.fromkeys(move for move in moves if move is not None))


def features_of(move: str, role: str, beliefs: Mapping[str, str]) -> Features:
    """What a move does, alone, in the own role, and with the deduced role of whom it names."""
    kind = move.partition("(")[0]
    found = Counter([kind, f"{role} {kind}"])
    for name, believed in beliefs.items():
        if re.search(rf"\b{re.escape(name)}\b", move):
            found += Counter([f"{kind} {believed}", f"{role} {kind} {believed}"])
    return found
