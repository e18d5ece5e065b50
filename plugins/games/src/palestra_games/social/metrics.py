"""Measures of games of talk, hidden roles and teams."""

from __future__ import annotations

from typing import Any

from palestra import EpisodeRecord, game, metric
from palestra.records.shared_measures import data_of, mean_of, share_of

from palestra_games.social.avalon.rules import ROLES as AVALON_ROLES
from palestra_games.social.avalon.rules import is_evil
from palestra_games.social.werewolf.rules import ROLES as WEREWOLF_ROLES

HIDDEN_ROLES = ("games/Avalon-v0", "games/Werewolf-v0")
TALKING = ("games/AgentsNet-v0", "games/SplitFacts-v0")
RED, BLUE, BYSTANDER, ASSASSIN = "red", "blue", "bystander", "assassin"


def roles_of(record: EpisodeRecord) -> list[str]:
    """The role of every seat, as each was told at the start."""
    return [data["role"] for data in data_of(record, "role")]


@metric("role-win", measures=HIDDEN_ROLES, bounds=(0.0, 1.0))
def role_win(record: EpisodeRecord) -> dict[str, float]:
    """The share of a role's players who won, by role; undefined if the game was cut short."""
    if record.outcome is None or "truncated" in record.outcome.results:
        return {}
    won: dict[str, list[bool]] = {}
    for role, result in zip(roles_of(record), record.outcome.results, strict=True):
        won.setdefault(role, []).append(result == "win")
    return {role: sum(flags) / len(flags) for role, flags in won.items()}


@metric("vote-accuracy", measures=HIDDEN_ROLES, bounds=(0.0, 1.0), better="higher")
def vote_accuracy(record: EpisodeRecord) -> float | None:
    """The share of right votes by those who do not belong to the hidden side.

    Werewolf: votes that are cast for a werewolf. Avalon: approvals of teams without an evil player,
    and refusals of teams with one.
    """
    roles = roles_of(record)
    if record.env == "games/Werewolf-v0":
        return share_of(
            roles[vote] == "werewolf"
            for data in data_of(record, "vote")
            for seat, vote in enumerate(data["votes"])
            if vote >= 0 and roles[seat] != "werewolf"
        )
    evil = [is_evil(AVALON_ROLES.index(role)) for role in roles]
    ballots = zip(data_of(record, "proposal"), data_of(record, "vote"), strict=False)
    return share_of(
        vote != any(evil[member] for member in proposal["team"])
        for proposal, ballot in ballots
        for seat, vote in enumerate(ballot["votes"])
        if not evil[seat]
    )


@metric("seer-survival", measures=("games/Werewolf-v0",), bounds=(0.0, 1.0))
def seer_survival(record: EpisodeRecord) -> float | None:
    """1 if the seer was neither killed nor lynched, else 0; undefined without a seer."""
    roles = roles_of(record)
    if "seer" not in roles:
        return None
    gone = [data["victim"] for data in data_of(record, "morning")]
    gone += [d["player"] for d in data_of(record, "reveal") if d.get("role") in WEREWOLF_ROLES]
    gone += [data["player"] for data in data_of(record, "lynching")]  # whose role stays hidden
    return float(roles.index("seer") not in gone)


@metric("days", measures=("games/Werewolf-v0",), unit="days", bounds=(0.0, None))
def days(record: EpisodeRecord) -> float:
    """Days on which somebody was lynched."""
    shown = sum(d.get("role") in WEREWOLF_ROLES for d in data_of(record, "reveal"))
    return float(shown + sum(data["player"] >= 0 for data in data_of(record, "lynching")))


@metric("quests-failed", measures=("games/Avalon-v0",), unit="quests", bounds=(0.0, 3.0))
def quests_failed(record: EpisodeRecord) -> float:
    """Quests that failed."""
    return float(sum(d["failed"] for d in data_of(record, "reveal") if "failed" in d))


@metric("teams-approved", measures=("games/Avalon-v0",), bounds=(0.0, 1.0))
def teams_approved(record: EpisodeRecord) -> float | None:
    """The share of proposed teams that were approved; undefined without a vote."""
    return share_of(data["approved"] for data in data_of(record, "vote"))


@metric("merlin-found", measures=("games/Avalon-v0",), bounds=(0.0, 1.0))
def merlin_found(record: EpisodeRecord) -> float | None:
    """1 if the assassin named Merlin, 0 if somebody else; undefined if they had no choice."""
    named = [d["target"] for d in data_of(record, "reveal") if "target" in d]
    return float(roles_of(record)[named[-1]] == "Merlin") if named else None


@metric("network-score", measures=("games/AgentsNet-v0",), bounds=(0.0, 1.0), better="higher")
def network_score(record: EpisodeRecord) -> float:
    """The task's score of the answers; 0 if the agents never answered."""
    answered = [d["score"] for d in data_of(record, "reveal") if "score" in d]
    return float(answered[-1]) if answered else 0.0


@metric("network-solved", measures=("games/AgentsNet-v0",), bounds=(0.0, 1.0), better="higher")
def network_solved(record: EpisodeRecord) -> float:
    """1 if the task was solved whole, else 0: all or nothing, as AgentsNet ranks models."""
    return float(network_score(record) == 1)


@metric("bytes-sent", measures=TALKING, unit="bytes", bounds=(0.0, None), better="lower")
def bytes_sent(record: EpisodeRecord) -> float:
    """The size of all messages that were delivered; one for several hearers counts for each."""
    texts = [text for data in data_of(record, "inbox") for text in data["from"].values()]
    texts += [data["text"] for data in data_of(record, "message")]
    return float(sum(len(text.encode()) for text in texts))


@metric("answers-right", measures=("games/SplitFacts-v0",), bounds=(0.0, 1.0), better="higher")
def answers_right(record: EpisodeRecord) -> float:
    """The share of both players who answered right; one who never answered did not."""
    right = [data["town"] for data in data_of(record, "reveal")]
    given = [data["town"] in right for data in data_of(record, "answer")]
    return sum(given) / len(record.players)


@metric("words-found", measures=("games/Taboo-v0",), bounds=(0.0, 1.0), better="higher")
def words_found(record: EpisodeRecord) -> float:
    """The share of all cards whose word was found."""
    found = [bool(data.get("right")) for data in data_of(record, "reveal")]
    return sum(found) / int(record.options["cards"])


@metric("taboos-broken", measures=("games/Taboo-v0",), unit="cards", better="lower")
def taboos_broken(record: EpisodeRecord) -> float:
    """Cards lost because the giver used a forbidden word."""
    buzzed = 0
    for step in record.steps:
        kinds = [event.kind for event in step.events]
        named = [event for event in step.events if event.kind == "reveal"]
        buzzed += "message" in kinds and bool(named)
    return float(buzzed)


@metric("touches-right", measures=("games/Codenames-v0",), bounds=(0.0, 1.0), better="higher")
def touches_right(record: EpisodeRecord) -> float | None:
    """The share of touched words that were the guessers' own; undefined without a touch."""
    right = []
    for step in record.steps:
        touched = [event.data["player"] for event in step.events if event.kind == "touch"]
        shown = [d.data["owner"] for d in step.events if "owner" in d.data]
        side = BLUE if touched and touched[0] >= len(record.players) // 2 else RED
        right += [owner == side for owner in shown[:1] if touched]
    return share_of(right)


@metric("clue-size", measures=("games/Codenames-v0",), unit="words", bounds=(0.0, None))
def clue_size(record: EpisodeRecord) -> float | None:
    """The mean number that went with a clue; undefined without a clue."""
    return mean_of(data["number"] for data in data_of(record, "clue"))


@metric("assassin-met", measures=("games/Codenames-v0",), bounds=(0.0, 1.0), better="lower")
def assassin_met(record: EpisodeRecord) -> float:
    """1 if a team touched the assassin, else 0."""
    return float(any(d.get("owner") == ASSASSIN for d in data_of(record, "reveal")))


@metric("understood", measures=("games/Referential-v0",), bounds=(0.0, 1.0), better="higher")
def understood(record: EpisodeRecord) -> float | None:
    """The share of messages whose meaning was picked; undefined without one."""
    return share_of(d["meant"] == d["picked"] for d in _exchanges(record))


@metric("meanings-a-message", measures=("games/Referential-v0",), unit="meanings")
def meanings_a_message(record: EpisodeRecord) -> float | None:
    """How many meanings a speaker's message had on average: 1 if a language is unambiguous."""
    meant: dict[tuple[int, Any], set[Any]] = {}
    for data in _exchanges(record):
        meant.setdefault((data["speaker"], data["message"]), set()).add(data["meant"])
    return mean_of(len(meanings) for meanings in meant.values())


@metric("language-drift", measures=("games/Referential-v0",), bounds=(0.0, 1.0))
def language_drift(record: EpisodeRecord) -> float | None:
    """The share of a speaker's meanings whose last message differs from the first.

    Meanings that were meant once do not count; nothing if there is no other.
    """
    said: dict[tuple[int, Any], list[Any]] = {}
    for data in _exchanges(record):
        said.setdefault((data["speaker"], data["meant"]), []).append(data["message"])
    return share_of(words[0] != words[-1] for words in said.values() if len(words) > 1)


def _exchanges(record: EpisodeRecord) -> list[dict[str, Any]]:
    """Every message that was sent and answered."""
    return [data for data in data_of(record, "reveal") if "picked" in data]


@metric("sold", measures=("games/CarDealer-v0",), bounds=(0.0, 1.0), better="higher")
def sold(record: EpisodeRecord) -> float:
    """1 if a car was sold, else 0."""
    return float(bool(data_of(record, "sold")))


@metric("surplus-share", measures=("games/CarDealer-v0",), bounds=(None, 1.0), better="higher")
def surplus_share(record: EpisodeRecord) -> float:
    """The payoffs of both, divided by the greatest surplus that any car could have made."""
    wishes = data_of(record, "wish")[0]["wishes"]
    rules: Any = game(record.env, **record.options)
    best = rules.best_car(tuple(wishes))[1]
    return float(sum(record.returns) / best) if best > 0 else 0.0
