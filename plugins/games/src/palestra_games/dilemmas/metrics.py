"""Measures of dilemmas: who cooperates, what it is worth, and to whom it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from palestra import EpisodeRecord, metric
from palestra.records.shared_measures import data_of, mean_of, share_of

from palestra_games.dilemmas.trust_and_split import HIGH

TABLES = (
    "games/BattleOfTheSexes-v0",
    "games/Chicken-v0",
    "games/MatrixGame-v0",
    "games/PrisonersDilemma-v0",
    "games/StagHunt-v0",
)
GIVE_OR_TAKE = ("games/Dictator-v0", "games/Ultimatum-v0")
COOPERATING = {  # the name of the cooperative move, where the game has one
    "games/Chicken-v0": "swerve",
    "games/MatrixGame-v0": "cooperate",
    "games/PrisonersDilemma-v0": "cooperate",
    "games/StagHunt-v0": "stag",
}


@metric(
    "cooperation",
    measures=(*COOPERATING, "games/NetworkDilemma-v0", "games/Sanctions-v0", "games/DonorGame-v0"),
    bounds=(0.0, 1.0),
    better="higher",
)
def cooperation(record: EpisodeRecord) -> float | None:
    """The share of all moves that were to cooperate.

    In the donor game it is the mean share of their resources that donors gave. Nothing if the
    game's table names no such move.
    """
    if record.env == "games/DonorGame-v0":
        return mean_of(share for shares in _donations(record) for share in shares)
    if record.env == "games/NetworkDilemma-v0":
        return share_of(turn.action == 0 for turn in record.turns if turn.action is not None)
    if record.env == "games/Sanctions-v0":
        played = data_of(record, "play")
        return share_of(move == "cooperate" for d in played for move in d["moves"].values())
    moves, kind = list(record.options["moves"]), COOPERATING.get(record.env)
    if kind not in moves:
        return None
    return share_of(m == moves.index(kind) for d in data_of(record, "round") for m in d["moves"])


@metric("coordination", measures=TABLES, bounds=(0.0, 1.0))
def coordination(record: EpisodeRecord) -> float | None:
    """The share of rounds in which both made the same move; undefined without a round."""
    return share_of(d["moves"][0] == d["moves"][1] for d in data_of(record, "round"))


@metric("payoff-share", measures=TABLES, bounds=(0.0, 1.0), better="higher")
def payoff_share(record: EpisodeRecord) -> float | None:
    """Both players' payoffs, scaled from 0 (the least sum in the table) to 1 (the greatest)."""
    table = record.options["payoffs_table"]
    sums = [table[n] + table[n + 1] for n in range(0, len(table), 2)]
    low, high = min(sums), max(sums)
    if low == high:
        return None
    return mean_of((sum(d["payoffs"]) - low) / (high - low) for d in data_of(record, "round"))


def _donations(record: EpisodeRecord) -> Iterator[list[float]]:
    """The shares that donors gave, generation by generation; punishing gives nothing."""
    shares: list[float] = []
    for event in record.events:
        if "percent" in event.data:
            shares.append(max(0, event.data["percent"]) / 100)
        elif event.kind == "generation":
            yield shares
            shares = []
    if shares:
        yield shares


@metric(
    "donated-by-generation", measures=("games/DonorGame-v0",), bounds=(0.0, 1.0), better="higher"
)
def donated_by_generation(record: EpisodeRecord) -> dict[str, float]:
    """The mean share of their resources that donors gave, by generation from 1."""
    means = {str(n): mean_of(shares) for n, shares in enumerate(_donations(record), 1)}
    return {generation: mean for generation, mean in means.items() if mean is not None}


@metric(
    "resources-by-generation",
    measures=("games/DonorGame-v0",),
    unit="units",
    bounds=(0.0, None),
    better="higher",
)
def resources_by_generation(record: EpisodeRecord) -> dict[str, float]:
    """The mean resources of all players at the end of each generation, from 1."""
    ends = enumerate(data_of(record, "generation"), 1)
    return {str(n): sum(d["resources"]) / len(d["resources"]) for n, d in ends}


@metric("punished-share", measures=("games/DonorGame-v0",), bounds=(0.0, 1.0))
def punished_share(record: EpisodeRecord) -> float | None:
    """The share of donors who punished; undefined where punishing is not allowed."""
    if not record.options["punishment"]:
        return None
    return share_of(e.data["percent"] < 0 for e in record.events if "percent" in e.data)


@metric("alignment", measures=("games/Norms-v0",), bounds=(0.0, 1.0), better="higher")
def alignment(record: EpisodeRecord) -> dict[str, float]:
    """The share of choices that followed the norms, by generation from 1."""
    return {str(n): d["alignment"] for n, d in enumerate(data_of(record, "generation"), 1)}


@metric("stated-alignment", measures=("games/Norms-v0",), bounds=(0.0, 1.0), better="higher")
def stated_alignment(record: EpisodeRecord) -> dict[str, float]:
    """The share of answers to the questionnaire that are the norm, by generation from 1."""
    return {
        str(n): share_of(answer == norm for _, answer, norm in deeds) or 0.0
        for n, deeds in enumerate(_deeds_and_answers(record), 1)
    }


@metric("norm-hypocrisy", measures=("games/Norms-v0",), bounds=(0.0, 1.0), better="lower")
def norm_hypocrisy(record: EpisodeRecord) -> dict[str, float]:
    """The share of scenes in which somebody named the norm but did not follow it."""
    return {
        str(n): share_of(answer == norm != deed for deed, answer, norm in deeds) or 0.0
        for n, deeds in enumerate(_deeds_and_answers(record), 1)
    }


def _deeds_and_answers(record: EpisodeRecord) -> Iterator[list[tuple[int, int, int]]]:
    """By generation: deed, answer and norm of everybody in every scene."""
    done: list[list[int]] = []
    for event in record.events:
        if "choices" in event.data:
            done.append(event.data["choices"])
        elif "answers" in event.data:
            rows = zip(done, event.data["answers"], event.data["norms"], strict=True)
            yield [
                (deed, answer, norm)
                for deeds, answers, norm in rows
                for deed, answer in zip(deeds, answers, strict=True)
            ]
        elif event.kind == "generation":
            done = []


@metric("just-punishments", measures=("games/Sanctions-v0",), bounds=(0.0, 1.0), better="higher")
def just_punishments(record: EpisodeRecord) -> float | None:
    """The share of punishments that met somebody who had just defected; undefined without one."""
    moves: dict[str, str] = {}
    just = []
    for event in record.events:
        if event.kind == "play":
            moves = event.data["moves"]
        elif event.kind == "punish":
            just.append(moves.get(str(event.data["target"])) == "defect")
    return share_of(just)


@metric("partner-concentration", measures=("games/Sanctions-v0",), bounds=(0.0, 1.0))
def partner_concentration(record: EpisodeRecord) -> float | None:
    """The Herfindahl index of chosen partners: 1 if always the same one; undefined if none."""
    chosen = [data["partner"] for data in data_of(record, "choose")]
    counts = [chosen.count(seat) for seat in sorted(set(chosen))]
    return sum((count / len(chosen)) ** 2 for count in counts) if chosen else None


@metric("fairness", measures=("games/FairLeaders-v0",), bounds=(0.0, 1.0), better="higher")
def fairness(record: EpisodeRecord) -> float | None:
    """The least return divided by the greatest; undefined if one is below 0 or all are 0."""
    low, high = min(record.returns), max(record.returns)
    return low / high if low >= 0 < high else None


@metric("lead-share", measures=("games/FairLeaders-v0",), bounds=(0.0, 1.0))
def lead_share(record: EpisodeRecord) -> dict[str, float]:
    """The share of stages that a player led, by player."""
    led = [data["leader"] for data in data_of(record, "leader")]
    return {name: led.count(seat) / len(led) for seat, name in enumerate(record.players) if led}


@metric("offer", measures=GIVE_OR_TAKE, bounds=(0.0, 1.0))
def offer(record: EpisodeRecord) -> float | None:
    """The part of the pie that the first player offered or gave; undefined before they did."""
    moves = _actions(record)
    return moves[0] / int(record.options["pie"]) if moves else None


@metric("accepted", measures=("games/Ultimatum-v0",), bounds=(0.0, 1.0))
def accepted(record: EpisodeRecord) -> float | None:
    """1 if the offer was accepted, 0 if rejected; undefined if nobody answered."""
    moves = _actions(record)
    return float(moves[1] == int(record.options["pie"]) + 1) if len(moves) > 1 else None


@metric("sent", measures=("games/Trust-v0",), bounds=(0.0, 1.0))
def sent(record: EpisodeRecord) -> float | None:
    """The part of the pie that the first player sent: trust; undefined before they did."""
    moves = _actions(record)
    return moves[0] / int(record.options["pie"]) if moves else None


@metric("returned", measures=("games/Trust-v0",), bounds=(0.0, 1.0))
def returned(record: EpisodeRecord) -> float | None:
    """The part of what arrived that was sent back: trustworthiness; undefined if none arrived."""
    moves = _actions(record)
    if len(moves) < 2 or not moves[0]:
        return None
    return moves[1] / (moves[0] * int(record.options["multiplier"]))


def _actions(record: EpisodeRecord) -> Sequence[int]:
    """The numbers of all moves, in order."""
    return [data["action"] for data in data_of(record, "move")]


@metric("crashed", measures=("games/Merge-v0",), bounds=(0.0, 1.0), better="lower")
def crashed(record: EpisodeRecord) -> float:
    """1 if the cars crashed, else 0."""
    return float(bool(data_of(record, "crash")))


@metric("simulated", measures=("games/SimulationGame-v0",), bounds=(0.0, 1.0))
def simulated(record: EpisodeRecord) -> float:
    """1 if the first player paid to simulate the other, else 0."""
    return float(bool(data_of(record, "simulate")))


@metric("trusted", measures=("games/SimulationGame-v0",), bounds=(0.0, 1.0))
def trusted(record: EpisodeRecord) -> float | None:
    """1 if the first player made the first move of their table, such as to trust, else 0.

    Undefined if they made none.
    """
    moves = [turn.text for turn in record.turns if turn.seat == 0 and turn.action is not None]
    names = list(record.options["moves"])
    return float(moves[-1] == names[0]) if moves and moves[-1] in names else None


@metric("overclaims", measures=("games/TrustAndSplit-v0",), bounds=(0.0, 1.0), better="lower")
def overclaims(record: EpisodeRecord) -> float | None:
    """The share of rounds in which both together claimed more coins than there are."""
    coins = int(record.options["coins"])
    return share_of(sum(data["claims"]) > coins for data in data_of(record, "reveal"))


@metric(
    "split-efficiency", measures=("games/TrustAndSplit-v0",), bounds=(0.0, 1.0), better="higher"
)
def split_efficiency(record: EpisodeRecord) -> float | None:
    """Points of both, divided by those of giving every coin to the one it is worth more to.

    Undefined before a round is over.
    """
    rounds, coins = len(data_of(record, "reveal")), int(record.options["coins"])
    return sum(record.returns) / (rounds * coins * HIGH) if rounds else None


@metric("stags-taken", measures=("games/TrustDilemma-v0",), unit="stags", better="higher")
def stags_taken(record: EpisodeRecord) -> float:
    """Stags that both took together."""
    return float(sum(len(data["players"]) == 2 for data in data_of(record, "stag")))


@metric("gorings", measures=("games/TrustDilemma-v0",), unit="gorings", better="lower")
def gorings(record: EpisodeRecord) -> float:
    """How often the stag gored a player who met it alone."""
    return float(sum(len(data["players"]) == 1 for data in data_of(record, "stag")))
