"""Runs that feed the entries which need no reported facts.

They read what every record holds, or need a judge, a program, a file or a model that is fitted to
records first. Judges are `echo:` models, which always say the same, so that the runs need no
weights; `producers` plays the runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import palestra
from palestra import EpisodeRecord, retrace
from palestra.kernel.specs import load_entry_point

from palestra_rewards.runs import Cast, Records, Run

TICTACTOE, KUHN, LAKE = "games/TicTacToe-v0", "games/KuhnPoker-v0", "games/FrozenLake-v0"
QUEST, CARS, JACK = "games/Quest-v0", "grid/CarBall-v0", "games/Blackjack-v0"
ORCHARD, DILEMMA = "grid/Foraging-v0", "games/PrisonersDilemma-v0"
PAIR: Cast = ("random", "first")
POLICY = "cfr:iterations=40"
POND = {"layout": ("SFF", "FHF", "FFG"), "slippery": False}
ON_THE_PITCH = {"num_players": 2, "chase_reward": 0.5, "advance_reward": 0.25}
SPEAKERS = (("llm:echo:Action: down",), ("llm:echo:It is slippery here.\nAction: right",))

Given = Callable[[Records], Mapping[str, Any]]


# What is made of the records first


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="palestra-runs-")


def _file(name: str, text: str) -> str:
    path = Path(_folder().name) / name
    path.write_text(text, "utf-8")
    return str(path)


def _table(values: Callable[[Any, Records], Any]) -> Given:
    """The option `table`: rewards found on the decision problem that the records show."""

    def given(records: Records) -> dict[str, Any]:
        from palestra_rewards.tabular import Mdp

        mdp = Mdp.seen(records)
        return {"table": _file("table.json", json.dumps(mdp.table(values(mdp, records))))}

    return given


def _designed(mdp: Any, records: Records) -> Any:
    from palestra_rewards.tabular import design_rewards

    return design_rewards(mdp, mdp.rewards)


def _self_designed(mdp: Any, records: Records) -> Any:
    from palestra_rewards.tabular import self_design

    return self_design(mdp, mdp.rewards)


def _blended(mdp: Any, records: Records) -> Any:
    from palestra_rewards.tabular import blend

    parts = np.stack([mdp.rewards, -np.asarray(mdp.counts > 0, dtype=float)], axis=2)
    return parts @ blend(mdp, mdp.rewards, parts)


def _costs(mdp: Any, records: Records) -> Any:
    """Costs of the actions that the best policy avoids."""
    from palestra_rewards.tabular import constraint_costs

    features = mdp.open[:, :, None] * np.eye(mdp.open.shape[1])  # one for each action
    best = mdp.visits(mdp.best(mdp.rewards)[0])
    return features @ constraint_costs(mdp, mdp.rewards, features, best)


def _inferred(mdp: Any, records: Records) -> Any:
    from palestra_rewards.tabular import learnt_rewards

    return learnt_rewards(mdp, mdp.counts)


def _captions(records: Records) -> dict[str, Any]:
    """Labels of what the records' steps changed: 1 where something is no longer there."""
    from palestra_rewards.steps.captions import difference

    found: dict[str, float] = {}
    for record in records:
        texts = [episode.describe(0) for episode in retrace(record)]
        for before, after in pairwise(texts):
            caption = difference(before, after)
            found[caption] = float("no longer" in caption)
    found.pop("", None)
    return {"labels": _file("labels.json", json.dumps(found))}


def free_cells(game: Any, state: Any, player: int) -> float:
    """A potential for tic-tac-toe: cells that are still free, counted down."""
    return -float((state["board"] == 0).sum())


def _stepped(records: Records) -> dict[str, Any]:
    source = "def reward(step):\n    return float(step['action'] == '5')\n"
    return {"program": _file("step.py", source)}


def _expert(agent: str) -> Callable[[Records], Records]:
    """The same starts, as an expert plays them."""

    def records_of(records: Records) -> Records:
        starts = {(r.seed, json.dumps(r.options, sort_keys=True)): r for r in records}
        return [
            played
            for record in starts.values()
            for played in palestra.play(
                record.env, agents=agent, seed=record.seed, **record.options
            )
        ]

    return records_of


def _trajectories(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.intents import TrajectoryScorer, triplets

    fitted = TrajectoryScorer().fit(triplets(records, _last_room))
    return {"scores": fitted, "intent": _last_room}


def _last_room(record: EpisodeRecord) -> str:
    from palestra_rewards.episodes.intents import trajectory

    return f"End with: {trajectory(record).splitlines()[-1]}"


def _cooper(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.cooper import Cooper
    from palestra_rewards.episodes.intents import TrajectoryScorer

    model = Cooper("take the treasure", scorer=TrajectoryScorer(), steps=5)
    model.update(_expert("quest-explorer")(records))
    return {"scores": model}


def _feedback(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.feedback import expert_choices
    from palestra_rewards.episodes.intents import TrajectoryScorer

    return {"scores": TrajectoryScorer().fit(expert_choices(_expert("scripted")(records)))}


def _mixture(records: Records) -> dict[str, Any]:
    """Tastes of two people: one prefers what paid seat 0 more, the other what paid it less."""
    from palestra_rewards.episodes.mixture import Mixture

    (names, _), *_ = [_terms(record) for record in records]
    mixture = Mixture(names)
    earned = np.array([mixture.earned(record, 0) for record in records])
    order = np.argsort(earned.sum(axis=1))
    low, high = earned[order[: len(order) // 2]], earned[order[-(len(order) // 2) :]]
    return {"scores": mixture.fit(high, low, rounds=10)}


def _terms(record: EpisodeRecord) -> Any:
    from palestra_rewards.episodes.turns import named_terms

    return named_terms(record)


def _gui(records: Records) -> dict[str, Any]:
    from palestra_rewards.learnt.genie import GuiRewards, spoilt

    model = GuiRewards()
    model.learn(spoilt(_expert("widget-oracle")(records) * 2))
    return {"scores": model}


def _taught(records: Records) -> dict[str, Any]:
    from palestra_rewards.learnt.asking import TaughtRewardModel, by_worth

    model = TaughtRewardModel(by_worth(lambda record: record.returns[0]), task="win", steps=5)
    model.update(records, 2)
    return {"scores": model}


def _multipliers(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.terms import Lagrangian

    dual = Lagrangian({"chase": 0.0}, rate=0.5)
    dual.update({"chase": 1.0})
    return {"weights": dual}


def _latent(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.programs import LatentReward

    source = "def latent(turn):\n    return [turn['text'] == 'down', turn['text'] == 'right', 1]\n"
    return {"scores": LatentReward(source).fit(records)}


def _unaided(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.partners import UnaidedReturn

    (first, *_) = records
    alone = palestra.play(
        first.env, agents=["random", "first"], seed=first.seed, episodes=3, **first.options
    )
    return {"human": 0, "unaided": UnaidedReturn(alone, 0)}


def _asked(agent: str) -> Given:
    """The option `expert`: an agent that is asked at the states of the records."""

    def given(records: Records) -> dict[str, Any]:
        from palestra_rewards.episodes.expert import AskedExpert

        return {"expert": AskedExpert(agent)}

    return given


def _path(records: Records) -> dict[str, Any]:
    (first, *_) = records
    return {"expert": [turn.text for turn in first.turns]}


def _verified(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.verified import ExpertActions

    return {"expert": ExpertActions(_expert("quest-explorer")(records))}


def _step_preference(records: Records) -> dict[str, Any]:
    from palestra_rewards.learnt.steps import StepPreference

    (expert,) = _asked("quest-explorer")(records).values()
    return {"scores": StepPreference(steps=20).fit(records, expert)}


def _likeness(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.valued import Likeness

    return {"scores": Likeness().fit(_expert("quest-explorer")(records), records)}


def _hops(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.hops import ExpertHops, states_in_words

    (expert, *_) = _expert("quest-explorer")(records)
    return {"hops": ExpertHops(states_in_words(expert, 0))}


def _brevity(record: EpisodeRecord) -> float:
    return 1 / len(record.turns)


def _rubric(records: Records) -> dict[str, Any]:
    from palestra_rewards.judges import Judge
    from palestra_rewards.judges.rubrics import Criterion, Rubric

    criteria = [Criterion("brief", 1.0, _brevity), Criterion("Was it played well?", 3.0)]
    return {"rubric": Rubric(criteria, Judge('echo:yes "5"'))}


def _checklist(records: Records) -> dict[str, Any]:
    from palestra_rewards.episodes.checklist import Item

    def takes(cell: str) -> Callable[[EpisodeRecord], tuple[bool, str]]:
        return lambda record: (cell in [turn.text for turn in record.turns], cell)

    items = [
        Item("the centre", takes("5")),
        Item("then a corner", takes("1"), 2.0, ("the centre",)),
    ]
    return {"judge": items}


def _metrics(records: Records) -> dict[str, Any]:
    from palestra_rewards.judges.metrics import Metric

    return {"judge": "echo:good", "metrics": [Metric("plays the centre")]}


def _tool_judge(records: Records) -> dict[str, Any]:
    from palestra_rewards.judges import Judge
    from palestra_rewards.judges.tools import ToolJudge

    return {"judge": ToolJudge(Judge("echo:Thought: seen.\nRationale: fair.\nScore: 7"))}


def _reference(records: Records) -> dict[str, Any]:
    from palestra_rewards.judges.showing import as_text

    return {"judge": "echo:yes", "task": "Win.", "reference": as_text(records[0])}


def _by_return(records: Records) -> dict[str, Any]:
    """A judge of two lines that prefers the one paid more."""
    from palestra_rewards.group import Group

    returns = Group.of(records).returns
    return {"judge": lambda i, j: 0.5 + 0.5 * float(returns[i] > returns[j])}


def _asks(judge: str, **more: Any) -> Given:
    return lambda records: {"judge": judge, **more}


def _settled(records: Records) -> Records:
    """The talks of a team, settled by the package of the adapters."""
    found: Records = load_entry_point("palestra_adapters.talks:settle")(records, playouts=1)
    return found


# The runs


def _plain(names: Iterable[str], fact: str, env: str, casts: tuple[Cast, ...], **more: Any) -> Any:
    return (Run(name, fact, "every game", env, casts, **more) for name in names)


PLAIN = (
    *("reinforce", "rloo", "loop", "grpo", "dr-grpo", "flow-grpo", "advevo", "dr-mas", "mars"),
    *("rae", "self-play-preference", "stable-reinforce", "turn-relative", "a-grae", "canon"),
)
GROUPS = (
    *_plain(
        PLAIN,
        "rewards",
        TICTACTOE,
        (PAIR,),
        n=8,
    ),
    *_plain(("adora:useful=2", "vspo"), "results", TICTACTOE, (PAIR,), n=8),
    *_plain(
        ("gigpo", "salt", "segment-tree", "malt:threshold=0", "step-q", "agentprm"),
        "anchors and actions",
        TICTACTOE,
        (PAIR,),
        n=8,
    ),
    Run("qlass", "anchors and actions", "every game", JACK, (("random",),), 8, 4),
    *_plain(("archer:steps=50", "turn-critic:steps=50"), "anchors and actions", TICTACTOE, (PAIR,)),
    *_plain(("at-grpo",), "anchors", JACK, (("random",),), n=8, seed=4),
    Run(
        "advantage-alignment", "decisions made together", "every game", DILEMMA, (("random",) * 2,)
    ),
    Run("r3", "log-probs, results", "agents with a policy, models", KUHN, ((POLICY,) * 2,), n=6),
    Run("hc-grpo", "costs, results", "environments", "grid/Fetch-v0", (("random",),)),
    Run("optima", "tokens", "models", LAKE, SPEAKERS, 2, compare_by=("seat",)),
    Run("arena", "a judge of two lines", "the caller", TICTACTOE, (PAIR,), given=_by_return),
    Run(
        "dylan",
        "ratings",
        "agent dylan",
        JACK,
        (("dylan:echo:stick",), ("dylan:echo:hit",)),
        n=1,
        seed=4,
        compare_by=("seat",),
        prepare=_settled,
    ),
)

JUDGED = (
    Run("judge", "a judge", "a model", TICTACTOE, (PAIR,), given=_asks("echo:good")),
    Run("step-judge", "a judge", "a model", TICTACTOE, (PAIR,), n=1, given=_asks("echo:good")),
    Run("rubric", "a rubric", "programs, a model", TICTACTOE, (PAIR,), given=_rubric),
    Run("checklist", "a checklist", "programs, a model", TICTACTOE, (PAIR,), given=_checklist),
    Run("autolibra", "metrics", "a model", TICTACTOE, (PAIR,), given=_metrics),
    Run(
        "kaleidoscope",
        "a judge",
        "a model",
        LAKE,
        (("random",),),
        n=1,
        given=_asks("echo:value: safety", weights={"value: safety": 1.0}),
    ),
    Run("pae", "a judge", "a model", LAKE, (("random",),), given=_asks("echo:yes", task="Go.")),
    Run("rewarddance", "a judge", "a model", LAKE, (("random",),), given=_reference),
    Run("themis", "a judge with tools", "a model", TICTACTOE, (PAIR,), given=_tool_judge),
    Run("two-tiers", "a judge", "rules, a model", LAKE, (("random",),), given=_asks("echo:yes")),
    Run(
        "comas",
        "discussion",
        "agent comas",
        JACK,
        (("comas:echo:<score>2</score>,size=3",),),
        prepare=_settled,
    ),
    Run(
        "red-team",
        "executed",
        "agent redteam",
        JACK,
        (("redteam:echo:stick",),),
        n=2,
        seed=4,
        prepare=_settled,
    ),
)

FITTED = (
    Run("armap", "a trajectory scorer", "fitted", QUEST, (("random",),), n=6, given=_trajectories),
    Run("cooper", "a reference model", "fitted", QUEST, (("random",),), n=2, given=_cooper),
    Run("epo", "a feedback model", "fitted", "grid/Fruit-v0", (("random",),), 2, given=_feedback),
    Run(
        "micro",
        "a mixture of tastes",
        "fitted",
        CARS,
        (("random",) * 2,),
        options=ON_THE_PITCH,
        given=_mixture,
    ),
    Run(
        "ui-genie",
        "chances of actions and tasks",
        "fitted",
        "web/Widgets-v0",
        (("random",),),
        n=2,
        given=_gui,
    ),
    Run("user-model", "a model that a user teaches", "fitted", TICTACTOE, (PAIR,), given=_taught),
    Run(
        "lare",
        "vectors of a program",
        "fitted",
        LAKE,
        (("random",),),
        24,
        1,
        options=POND,
        given=_latent,
    ),
    Run(
        "stepagent",
        "an expert",
        "an agent that is asked",
        TICTACTOE,
        (("random",) * 2,),
        2,
        given=_asked("first"),
    ),
    Run(
        "stepagent-implicit",
        "preferences at steps",
        "fitted",
        QUEST,
        (("random",),),
        2,
        given=_step_preference,
    ),
    Run(
        "stepagent-inverse",
        "a classifier of decisions",
        "fitted",
        QUEST,
        (("random",),),
        2,
        given=_likeness,
    ),
    Run(
        "sea",
        "an expert's actions",
        "an agent that is asked",
        QUEST,
        (("random",),),
        2,
        given=_verified,
    ),
    Run("recourse", "an original path", "the first record", TICTACTOE, (PAIR,), given=_path),
    Run("robo-dopamine", "hops", "an expert's episode", QUEST, (("random",),), 2, given=_hops),
    Run(
        "human-gain",
        "returns of an unaided human",
        "the caller",
        ORCHARD,
        (("random", "scripted"),),
        3,
        options={"num_players": 2},
        given=_unaided,
    ),
    Run(
        "lagrangian",
        "named terms",
        "environments",
        CARS,
        (("scripted", "random"),),
        options=ON_THE_PITCH,
        given=_multipliers,
    ),
    Run(
        "direction",
        "named terms",
        "environments",
        CARS,
        (("scripted", "random"),),
        options=ON_THE_PITCH,
        given=lambda _: {"towards": {"chase": 0.6, "advance": 0.8}},
    ),
    Run(
        "krc",
        "named terms",
        "environments",
        CARS,
        (("scripted", "random"),),
        options=ON_THE_PITCH,
        given=lambda _: {"parts": ["chase", "advance"]},
    ),
    Run(
        "time-preferences",
        "named terms",
        "environments",
        CARS,
        (("scripted", "random"),),
        options=ON_THE_PITCH,
        given=lambda _: {"gammas": {"chase": 0.5, "advance": 0.9}},
    ),
    Run(
        "invalid-penalty",
        "refused answers",
        "every game",
        "games/PlanPath-v0",
        (("llm:echo:nonsense",),),
        n=1,
        settings={"invalid": "retry:1"},
    ),
    Run(
        "code",
        "a program",
        "the caller",
        TICTACTOE,
        (PAIR,),
        given=lambda _: {"program": "def reward(turn):\n    return float(turn['text'] == '5')\n"},
    ),
)

STEPS = (
    *_plain(
        ("novelty", "elliptical", "rnd", "schedule:of=novelty"), "states", LAKE, (("random",),)
    ),
    Run(
        "potential:of=palestra_rewards.other_runs:free_cells",
        "a potential",
        "a function",
        TICTACTOE,
        (PAIR,),
    ),
    Run(
        "diverse-discounts:gammas=chase=0.5+advance=0.9",
        "named terms",
        "environments",
        CARS,
        (("scripted", "random"),),
        options=ON_THE_PITCH,
    ),
    Run(
        "krc-step:parts=chase+advance",
        "named terms",
        "environments",
        CARS,
        (("scripted", "random"),),
        options=ON_THE_PITCH,
    ),
    Run("captions", "labels of captions", "a file", QUEST, (("random",),), given=_captions),
    Run("code-step", "a program", "a file", TICTACTOE, (PAIR,), n=2, given=_stepped),
    *(
        Run(
            name,
            "a table",
            "found on records",
            LAKE,
            (("random",),),
            24,
            1,
            options=POND,
            given=_table(values),
        )
        for name, values in (
            ("barfi", _blended),
            ("mamql", _inferred),
            ("mce-icrl", _costs),
            ("reward-design", _designed),
            ("self-design", _self_designed),
        )
    ),
)

OTHER_RUNS: tuple[Run, ...] = (*GROUPS, *JUDGED, *FITTED, *STEPS)
