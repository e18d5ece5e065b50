"""What entries need from a group, and how to provide it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import together
from palestra_rewards.group import Group


class Lacking(InvalidOption):
    """Rollouts do not hold something that an entry reads."""

    def __init__(self, name: str, need: str, how: str) -> None:
        super().__init__(f"{name!r} needs {need}, which these rollouts do not have: {how}")
        self.need = need


@dataclass(frozen=True, slots=True)
class Need:
    """A test of a group and the caller's options, and how to provide what is missing."""

    met: Callable[[Group, Mapping[str, Any]], bool]
    how: str


def column(name: str, how: str) -> Need:
    return Need(lambda group, _: getattr(group, name) is not None, how)


def fact(name: str, what: str) -> Need:
    how = (
        f"play with an agent or environment that reports it (docs/producers.md lists them), tag "
        f"every record with {name!r}, or pass facts={{{name!r}: …}} ({what})"
    )
    return Need(lambda group, _: name in group.facts, how)


def option(name: str, what: str) -> Need:
    return Need(lambda _, options: name in options, f"pass {name}=… ({what})")


NEEDS: dict[str, Need] = {
    "state keys": column(
        "state", "record episodes with the runner, which writes state_key, or pass state="
    ),
    "actions": column("action", "pass action=, one per turn, equal for equal decisions"),
    "log-probs": column(
        "logprob", "use agents whose Decision carries logprob at every turn, or pass logprob="
    ),
    "token counts": column(
        "tokens", "use agents whose Usage counts tokens_out, or pass tokens=, sampled per turn"
    ),
    "durations": Need(
        lambda group, _: group.seconds is not None or "duration" in group.facts,
        "use agents whose Usage measures seconds or an environment that reports 'duration', or "
        "pass seconds=, one per turn",
    ),
    "costs": column(
        "cost", "use a game with costs or agents whose Usage counts cost, or pass cost="
    ),
    "mistakes": column("mistakes", "read them from records, or pass mistakes=, refusals per turn"),
    "success": column(
        "success", "tag records with 'success' (0 to 1), or pass success=, one per line"
    ),
    "parents": column(
        "parent",
        "set record.parent to the number (or tag 'id') of the episode that called it, or pass "
        "parent=, an episode's number or -1",
    ),
    "workers": Need(
        lambda group, _: group.parent is not None or "worker" in group.facts,
        "play with the agent delegate, set record.parent to the number (or tag 'id') of the "
        "episode that called it, or pass parent=, an episode's number or -1",
    ),
    "several agents": Need(
        lambda group, _: np.unique(group.seat).size > 1,
        "record a game with two seats or more and keep them all, or pass seat=",
    ),
    "decisions made together": Need(
        lambda group, _: together((group.episode, group.turn)).max(initial=-1) + 1 < group.size,
        "seats move in turn in these rollouts; record a game whose seats decide in the same step, "
        "or pass turn= with equal numbers for decisions made together",
    ),
    "values": fact("values", "a critic's value of the state before each turn"),
    "process rewards": fact("process", "one process reward per turn"),
    "modes": fact("mode", "the mode each episode ran in, such as 'instant'"),
    "progress": fact("progress", "how close each episode came to the goal, from 0 to 1"),
    "coalitions": fact(
        "coalition", "for each record the seats that took part in the episode, as a list"
    ),
    "local rewards": fact("local", "each line's own local reward"),
    "ratios": fact("ratio", "probability of each turn now, divided by that when it was sampled"),
    "scores": Need(
        lambda group, options: "scores" in options or "process" in group.facts,
        "pass scores= (a function of a record, one number per turn) or tag records with 'process'",
    ),
    "stage scores": fact("stages", "one score from 0 to 1 per stage"),
    "constraint checks": fact("checks", "lists of true and false by category"),
    "tool calls": fact("calls", "the calls of each turn"),
    "full contexts": fact("full tokens", "tokens that each turn's whole context would have taken"),
    "probes": fact("confidence", "with 'correctness': probes made after each turn"),
    "implicit rewards": Need(
        lambda group, _: (
            "implicit" in group.facts or (group.state is not None and group.action is not None)
        ),
        "record states and actions, from which a model is trained, or tag every record with "
        "'implicit' (beta times the log-ratio of two models, one per turn)",
    ),
    "beliefs": fact("belief", "a user model's probabilities before the first turn and after each"),
    "milestones": fact("milestones", "names that each turn's program printed"),
    "verdicts": Need(
        lambda group, options: (
            "judge" in options or options.get("by") == "progress" or "verdicts" in group.facts
        ),
        "pass judge= (a Judge of any model), by='progress', or tag records with 'verdicts', true "
        "or false per turn",
    ),
    "model judge": option("judge", "a Judge, or a model's URI such as 'local:'"),
    "candidates": fact("candidates", "actions proposed and not played, one list per turn"),
    "evidence": fact("evidence", "numbers of the turns an agent cites as proof"),
    "program": option("program", "Python source that defines reward(turn), or a .py file"),
    "latent reward": option("scores", "a LatentReward fitted to records"),
    "objects": fact("objects", "with 'goal': names of objects and their attributes after a turn"),
    "reward model": Need(
        lambda group, options: "scores" in options or "implicit" in group.facts,
        "pass scores= (a ValueModel, a Judge or its URI) or tag records with 'implicit'",
    ),
    "likeness": option("scores", "a Likeness fitted to records of an expert and of the agent"),
    "step preferences": option("scores", "a StepPreference fitted to an expert's choices"),
    "rubric": option("rubric", "a Rubric of criteria and weights"),
    "metrics": option("metrics", "metrics from comments, as `best_metrics` returns them"),
    "unaided return": option("unaided", "the human's return beside a passive partner; and human="),
    "direction": option("towards", "a unit vector over named reward terms"),
    "discounts": option("gammas", "a discount for each named reward term"),
    "multipliers": option("weights", "a Lagrangian, or its weights"),
    "checklist": option("judge", "a list of checklist items"),
    "hops": option("hops", "a hop model such as ExpertHops, or a judge and goal=…"),
    "trajectory scorer": option("scores", "a StoryNetwork fitted to triplets; and intent="),
    "gui rewards": option("scores", "a GuiRewards that has learnt from labels"),
    "taught model": option("scores", "a TaughtRewardModel, which a user teaches"),
    "feedback model": option("scores", "a StoryNetwork fitted to expert_choices"),
    "reference model": option("scores", "a Cooper, which has a reference and is updated"),
    "mixture": option("scores", "a Mixture fitted to pairs, and routed to a person"),
    "discussion": fact("discussion", "turns of each answer, evaluation and scoring, and the score"),
    "attacks": fact("executed", "the members who carried out an attack, as a list"),
    "cuts": fact("branched_at", "the step each continuation started from, 0 for trunks"),
    "ratings": Need(
        lambda group, options: options.get("ratings") is not None or "ratings" in group.facts,
        "settle talks of the agent dylan, which report it, or pass ratings=… (peers' ratings, of "
        "shape (layers - 1, agents, agents))",
    ),
    "judge": option("judge", "a function that compares two rollouts"),
    "reference trace": option("reference", "the calls of a solution, as a list"),
    "expert": option("expert", "what an expert would play"),
    "labels": option("labels", "a JSON file of captions and labels from 0 to 1"),
    "table": option("table", "the mapping from tabular.Mdp.table, or a JSON file of it"),
    "potential": option("of", "a function of (game, state, player)"),
}


def require(name: str, needs: tuple[str, ...], group: Group, options: Mapping[str, Any]) -> None:
    """Raise `Lacking` for the first unmet need of an entry."""
    for need in needs:
        if not NEEDS[need].met(group, options):
            raise Lacking(name, need, NEEDS[need].how)
