"""The five tasks of AgentsNet: the questions, the answers that may be given, and the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palestra_games.social.agents_net.graphs import Neighbours

NONE, YES, NO = "None", "Yes", "No"

QUESTIONS = {
    "colouring": "The task: divide yourselves into groups so that neighbours are never in the same "
    "group. At the end say which group you are in, such as 'Group 1'. Score: the share of links "
    "between neighbours whose two agents are in different groups.",
    "vertex-cover": "The task: choose coordinators so that of any two neighbours at least one is a "
    "coordinator, and no coordinator is superfluous. At the end say whether you are one: 'Yes' or "
    "'No'. Score: the share of links between neighbours with a coordinator, times the share of "
    "coordinators without whom not all links would have one.",
    "matching": "The task: form pairs of neighbours; nobody is in two pairs, and two neighbours "
    "must not both stay without a partner. At the end name your partner, or say 'None'. Score: the "
    "share of agents who were named by the neighbour they name, or are without a partner while "
    "none of their neighbours is.",
    "leader-election": "The task: elect one leader among all agents. At the end say whether you "
    "are the leader: 'Yes' or 'No'. Score: 1 if exactly one says Yes, otherwise 0.",
    "consensus": "The task: all agents must agree on one value, '0' or '1'. At the end say the "
    "value. Score: 1 if all say the same, otherwise 0.",
}
TASKS = tuple(QUESTIONS)

NAMES_TEXT = """
    Ada Adil Agnes Aiko Alba Amir Anya Arlo Asha Astrid Aziz Bela Ben Berta Bo Boris Bruno
    Carla Cato Cem Chen Chidi Clara Clio Cyril Dana Dario Delia Dev Dina Dora Edda Egon Elif Elmo
    Emil Enzo Erik Esme Etta Ewa Fadi Farah Felix Fenna Finn Flora Freya Gaia Gita Greta Gus Hana
    Hari Hedda Hugo Ida Igor Ilse Imre Ines Iris Ivo Jana Jin Jona Juno Kai Kamal Karl Keiko Kira
    Klara Koji Lars Layla Lena Leon Lina Livia Luca Luz Maja Malik Marta Mei Milo Mina Mira Nadia
    Naoki Nele Nia Nils Nora Odin Olga Omar Otto Ove Pablo Petra Pia Quinn Rafa Rani Remy Rosa
    Rumi Sami Selma Sina Sven Tara Tariq Thea Timo Tova Uma Vera Viggo Wanda Xenia Yara Yuri Zeno
    Zola"""
NAMES = tuple(NAMES_TEXT.split())


def answers(task: str, groups: int, neighbours: tuple[str, ...]) -> tuple[str, ...]:
    """What an agent with these neighbours may answer; `groups` counts those to choose from."""
    if task == "colouring":
        return tuple(f"Group {number}" for number in range(1, groups + 1))
    if task == "matching":
        return (*neighbours, NONE)
    return ("0", "1") if task == "consensus" else (YES, NO)


def score(task: str, graph: Neighbours, names: Sequence[str], given: Sequence[str]) -> float:
    """The score of a valid answer from every agent."""
    if task == "colouring":
        return share([given[a] != given[b] for a, b in links(graph)])
    if task == "vertex-cover":
        return cover_score(graph, given)
    if task == "matching":
        return share([is_consistent(graph, names, given, seat) for seat in range(len(graph))])
    if task == "leader-election":
        return float(given.count(YES) == 1)
    return float(len(set(given)) == 1)


def local_scores(
    task: str, graph: Neighbours, names: Sequence[str], given: Sequence[str]
) -> list[float]:
    """Each agent's individual score, from 0 to 1.

    The share of its links that are coloured, covered or agreed on; whether it and its partner
    agree; in an election, whether exactly one leads, or several do and it is not one of them.
    """
    if task == "matching":
        return [float(is_consistent(graph, names, given, seat)) for seat in range(len(graph))]
    if task == "leader-election":
        elected = given.count(YES)
        return [float(elected == 1 or (elected > 1 and said != YES)) for said in given]
    holds: dict[str, Callable[[str, str], bool]] = {
        "colouring": lambda one, other: one != other,
        "vertex-cover": lambda one, other: YES in (one, other),
        "consensus": lambda one, other: one == other,
    }
    return [
        share([holds[task](given[seat], given[other]) for other in others]) if others else 1.0
        for seat, others in enumerate(graph)
    ]


def links(graph: Neighbours) -> list[tuple[int, int]]:
    """Every link once, the lower seat first."""
    return [(a, b) for a, others in enumerate(graph) for b in others if a < b]


def share(held: Sequence[bool]) -> float:
    """The share that is true."""
    return sum(held) / len(held)


def cover_score(graph: Neighbours, given: Sequence[str]) -> float:
    """Coverage times the share of coordinators without whom some link has none."""
    chosen = {seat for seat, answer in enumerate(given) if answer == YES}
    if not chosen:
        return 0.0
    covered = share([a in chosen or b in chosen for a, b in links(graph)])
    if covered < 1:
        return covered  # some link has none, whoever is left out
    return share([any(other not in chosen for other in graph[seat]) for seat in chosen])


def is_consistent(graph: Neighbours, names: Sequence[str], given: Sequence[str], seat: int) -> bool:
    """Whether an agent and the partner it names agree, or it has none and no neighbour is free."""
    if given[seat] == NONE:
        return all(given[other] != NONE for other in graph[seat])
    partner = names.index(given[seat])
    return partner in graph[seat] and given[partner] == names[seat]
