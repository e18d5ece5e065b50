"""Searches over workflows: each method's rule by hand, and what its paper promises, in a game."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import palestra
import pytest
from adapter_worlds import last
from optimiser_worlds import doors, follows, optimise, prompted, shuffled
from palestra import InvalidOption, Rng
from palestra.agents.models import Request
from palestra_adapters.optimisers.adas import Adas
from palestra_adapters.optimisers.agent_swift import (
    AgentSwift,
    ValueModel,
    features,
    recombine,
    selection,
)
from palestra_adapters.optimisers.command import make_search, read_budget, report, searches
from palestra_adapters.optimisers.evo_agent import EvoAgent
from palestra_adapters.optimisers.gptswarm import LIAR, Edges, GptSwarm, graph_of, reaches
from palestra_adapters.optimisers.huxley_godel import (
    HuxleyGodel,
    SuccessCounts,
    clade_tallies,
    lower_quantile,
    thompson,
)
from palestra_adapters.optimisers.mutations import with_lookahead
from palestra_adapters.optimisers.prompt_agent import (
    PromptAgent,
    PromptNode,
    back_propagate,
    read_prompts,
)
from palestra_adapters.optimisers.run import HELD_OUT, LOG
from palestra_adapters.optimisers.search import (
    Studio,
    Told,
    Trials,
    Variant,
    WorkflowEpisode,
)
from palestra_adapters.optimisers.symbolic import SymbolicLearning
from palestra_adapters.optimisers.trace import Trace, changed_by, parameters, upstream
from palestra_adapters.optimisers.wording import as_text
from palestra_adapters.search.spots import Scale
from palestra_adapters.workflows.steps import (
    AskStep,
    ReflectStep,
    ToolStep,
    VoteStep,
    Workflow,
    answered_once,
    read_workflow,
)
from rich.console import Console

AHEAD = Workflow((ToolStep("ahead", playouts=4), AskStep("answer", reads=("ahead",))), "ahead")


def obeys(request: Request) -> str:
    """Goes through the door that its prompt names, left if it names none."""
    text = last(request)
    if "no fault" in text:
        return "no fault"
    own = text.partition("you may play: ")[2]
    named = [side for side in ("right", "middle") if f"the {side} door" in own]
    return f"Thought: told so\nAction: Go(to='{(named or ['left'])[0]}')"


# The run


def designs(request: Request) -> str:
    """Writes nonsense, is told so, and then the workflow that looks ahead."""
    if "It was refused" in last(request):
        return as_text(AHEAD)
    return "I would let it look ahead."


def test_adas_finds_a_workflow_that_beats_the_first_one_on_held_out_seeds(tmp_path: Path) -> None:
    search = Adas(generations=1, known=False)
    result, run = optimise(search, tmp_path, env=shuffled(), proposer=designs)
    assert result.workflow.steps == AHEAD.steps
    assert result.gain.low > 0
    assert result.best.value == 1.0
    assert result.start.high < 1.0
    best = read_workflow(tmp_path / "best.json")
    assert best.model == "scripted"
    rows = [json.loads(line) for line in (tmp_path / "archive.jsonl").read_text().splitlines()]
    assert [row["how"] for row in rows] == ["start", "designed"]
    assert rows[1]["asked"]["calls"] == 4  # a draft, two reflections, a repair
    assert run.episodes == 12
    assert result.spent.calls == 4 + sum(row["played"]["calls"] for row in rows)


def test_adas_shows_the_archive_with_scores_and_reflects_on_every_draft(tmp_path: Path) -> None:
    asked: list[str] = []

    def propose(request: Request) -> str:
        asked.append(last(request))
        return as_text(prompted(f"Try the middle door. {len(asked)}"))

    optimise(Adas(generations=2), tmp_path, env=doors(), player=obeys, proposer=propose, train=1)
    assert len(asked) == 6
    assert "Variant 1: mean return 0.000 over 1 episodes, 5.0 calls" in asked[0]
    assert "Is it really different" in asked[1]
    assert "Read the prompts as the model will" in asked[2]
    assert "Variant 5: mean return 0.500" in asked[3]


def test_a_search_that_is_killed_after_any_answer_is_resumed_to_the_same_end(
    tmp_path: Path,
) -> None:
    def run(folder: Path, resume: bool = False) -> str:
        search = HuxleyGodel(mutator="random", variants=5)
        optimise(search, folder, env=shuffled(), train=3, held_out=3, resume=resume)
        text = (folder / "result.json").read_text() + (folder / "archive.jsonl").read_text()
        return re.sub(r'"seconds": ?[\d.e-]+', "", text)

    whole = run(tmp_path / "whole")
    lines = (tmp_path / "whole" / LOG).read_bytes().splitlines(keepends=True)
    for kept in range(0, len(lines), 7):
        folder = tmp_path / str(kept)
        folder.mkdir()
        (folder / "search.json").write_bytes((tmp_path / "whole" / "search.json").read_bytes())
        (folder / LOG).write_bytes(b"".join(lines[:kept]) + lines[kept][:-9])  # a torn line
        assert run(folder, resume=True) == whole


def test_a_folder_with_another_search_is_refused(tmp_path: Path) -> None:
    search = Adas(generations=1, known=False)
    optimise(search, tmp_path, env=doors(), player=obeys, proposer=designs, train=1)
    with pytest.raises(InvalidOption, match="--resume"):
        optimise(search, tmp_path, env=doors(), player=obeys, train=1)
    with pytest.raises(InvalidOption, match="other settings: train = 1, not 2"):
        optimise(search, tmp_path, env=doors(), player=obeys, train=2, resume=True)
    plan = tmp_path / "search.json"
    whole = plan.read_bytes()
    plan.write_bytes(whole[:40])
    with pytest.raises(InvalidOption, match="cannot be read"):
        optimise(search, tmp_path, env=doors(), player=obeys, train=1, resume=True)
    kept = msgspec.json.decode(whole)
    assert kept["versions"].keys() >= {"palestra", "palestra_adapters"}
    plan.write_bytes(msgspec.json.encode(kept | {"versions": {"palestra": "0.0.1"}}))
    with pytest.raises(InvalidOption, match=r"palestra 0\.0\.1 \(installed"):
        optimise(search, tmp_path, env=doors(), player=obeys, train=1, resume=True)
    optimise(search, tmp_path, env=doors(), player=obeys, train=1, resume=True, other_versions=True)
    assert msgspec.json.decode(plan.read_bytes()) == kept


def test_the_budget_stops_the_search_and_held_out_seeds_are_never_trained_on(
    tmp_path: Path,
) -> None:
    search = HuxleyGodel(mutator="random")
    result, run = optimise(search, tmp_path, budget={"episodes": 7}, held_out=3)
    assert result.episodes == run.episodes == 7
    assert all(p.seed < 6 for v in run.studio.archive for p in v.played)
    first = json.loads((tmp_path / LOG).read_text().splitlines()[-1])["played"][0]["seed"]
    assert first == HELD_OUT
    with pytest.raises(InvalidOption, match="units are calls"):
        optimise(search, tmp_path / "b", budget={"hours": 1})
    with pytest.raises(InvalidOption, match="before a workflow was played"):
        optimise(search, tmp_path / "c", budget={"episodes": 0})


@pytest.mark.parametrize("calls", [29, 40, 50])
def test_calls_never_exceed_the_budget_and_a_batch_cut_off_counts_for_nothing(
    tmp_path: Path, calls: int
) -> None:
    def run(**more: Any) -> tuple[Any, Any]:
        search = HuxleyGodel(mutator="random", variants=5)
        return optimise(search, tmp_path, train=6, held_out=3, proposer=follows, **more)

    found, first = run(budget={"calls": calls})
    assert 0 < found.spent.calls <= calls
    assert all(len(v.played) == len({p.seed for p in v.played}) for v in first.studio.archive)
    log = (tmp_path / LOG).read_text()
    again, _ = run(budget={"calls": calls}, resume=True)
    assert again == found
    assert (tmp_path / LOG).read_text() == log


def test_a_budget_below_the_first_batch_names_itself_and_stops_in_time(tmp_path: Path) -> None:
    asked: list[str] = []

    def player(request: Request) -> str:
        asked.append(last(request))
        return follows(request)

    with pytest.raises(InvalidOption, match="before a workflow was played; raise it"):
        optimise(Adas(), tmp_path, player=player, train=6, budget={"calls": 8})
    assert 0 < len(asked) <= 8


def test_a_gain_of_equal_differences_has_no_interval(tmp_path: Path) -> None:
    found, _ = optimise(Adas(generations=0), tmp_path, train=2, held_out=2)
    console = Console(record=True, width=100)
    report(console, found, tmp_path)
    assert "gain    0.000 (–: all are alike, which bounds nothing)" in console.export_text()


def test_every_search_has_a_name_a_paper_and_options() -> None:
    assert set(searches()) >= {"adas", "agent-swift", "evo-agent", "gptswarm", "huxley-godel"}
    assert all(kind.paper for kind in searches().values())
    assert make_search("adas:generations=3")[1] == {"generations": 3}
    with pytest.raises(palestra.PalestraError, match="did you mean 'adas'"):
        make_search("adaz")
    with pytest.raises(palestra.PalestraError, match="generations"):
        make_search("adas:generation=3")
    assert read_budget("calls=5,episodes=2") == {"calls": 5, "episodes": 2}


# Huxley-Gödel


def tree(*parents: int | None) -> list[Variant]:
    return [Variant(i, answered_once(), () if p is None else (p,)) for i, p in enumerate(parents)]


def test_a_clade_pools_the_results_of_all_descendants() -> None:
    # 0 -> 1 -> 3, 0 -> 2; by hand: 3 alone, 2 alone, 1 with 3, 0 with all
    own = {
        0: SuccessCounts(1, 1),
        1: SuccessCounts(0, 4),
        2: SuccessCounts(2, 0),
        3: SuccessCounts(5, 1),
    }
    pooled = clade_tallies(tree(None, 0, 0, 1), own)
    assert pooled == {
        0: SuccessCounts(8, 6),
        1: SuccessCounts(5, 5),
        2: SuccessCounts(2, 0),
        3: SuccessCounts(5, 1),
    }
    assert pooled[1].mean == 0.5
    assert own[1].mean == 0.0  # its own score would never have it changed again


def test_thompson_sampling_draws_in_proportion_to_the_chance_of_being_best() -> None:
    # By hand: P(Beta(2,1) > Beta(1,1)) = integral of 2x * x dx = 2/3
    draws = [
        thompson({0: SuccessCounts(0, 0), 1: SuccessCounts(1, 0)}, Rng.seeded(i))
        for i in range(3000)
    ]
    assert np.mean(draws) == pytest.approx(2 / 3, abs=0.03)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("count", [0, 3, 40])
def test_the_final_quantile_is_that_of_the_beta_distribution(share: float, count: int) -> None:
    # closed forms: Beta(n + 1, 1) has x^(n+1), Beta(1, n + 1) has 1 - (1-x)^(n+1)
    n = count + 1
    assert lower_quantile(SuccessCounts(count, 0), share) == pytest.approx(
        share ** (1 / n), abs=2e-4
    )
    expected = 1 - (1 - share) ** (1 / n)
    assert lower_quantile(SuccessCounts(0, count), share) == pytest.approx(expected, abs=2e-4)


def on_a_landscape(search: HuxleyGodel, seed: int, trials: int) -> list[float]:
    """Chances of success of all variants that a search makes, without playing any game.

    The start succeeds with 0.2. Its first child with 0.6, but that one's descendants with 0.1; its
    other descendants are each 0.1 better than their parents.
    """
    studio = Studio("", Scale(0.0, 1.0, True), Rng.seeded(seed), 400)
    luck = np.random.default_rng(seed)
    running, chances = search.run(studio, prompted("0.2 fertile")), [0.2]
    answer: Any = None
    while trials > 0:
        wish = running.send(answer)
        if isinstance(wish, Trials):
            chance = float(_prompt(wish.workflow).split()[0])
            won = luck.random(wish.count) < chance
            answer = [WorkflowEpisode(i, float(w)) for i, w in enumerate(won)]
            trials -= wish.count
        else:
            parent = wish.prompt.partition('"prompt": "')[2].split()[:2]
            first = len(chances) == 1
            barren = first or parent[1].startswith("barren")
            chance = 0.6 if first else 0.1 if barren else min(0.95, float(parent[0]) + 0.1)
            chances.append(chance)
            kind = "barren" if barren else "fertile"
            answer = Told(as_text(prompted(f"{chance:.2f} {kind} {len(chances)}")))
    return [*chances, float(_prompt(search.choose(studio).workflow).split()[0])]


def _prompt(workflow: Workflow) -> str:
    step = workflow.steps[0]
    return step.prompt if isinstance(step, AskStep) else ""


def test_choosing_by_clades_finds_better_variants_than_by_own_scores() -> None:
    """The paper's claim, on 12 landscapes whose best child has barren descendants."""
    by_clade, by_own = (
        [on_a_landscape(HuxleyGodel(clades=clades), seed, 200)[-1] for seed in range(12)]
        for clades in (True, False)
    )
    assert np.mean(by_clade) > np.mean(by_own) + 0.05
    assert np.mean(by_clade) > 0.6


def test_the_tree_grows_with_the_number_of_trials_to_the_power_alpha() -> None:
    for alpha in (0.4, 0.6):
        made = len(on_a_landscape(HuxleyGodel(alpha=alpha), 0, 100)) - 1
        assert made == pytest.approx(100**alpha, abs=1.5)


# GPTSwarm


def test_reinforce_by_hand() -> None:
    edges = Edges([("a", "b"), ("a", "vote")], np.array([0.0, math.log(3)]))
    assert edges.probabilities == pytest.approx([0.5, 0.75])
    # graphs {first} and {second} worth 1 and 0: gains +1/2 and -1/2, scores e - p
    scores = [[0.5, -0.75], [-0.5, 0.25]]
    edges.climb(scores, [1.0, 0.0], rate=2.0)
    assert edges.logits == pytest.approx([0.0 + 0.5, math.log(3) - 0.5])


def test_the_score_is_what_was_drawn_less_its_probability_and_no_circle_closes() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "a")]
    for seed in range(50):
        chosen, score = Edges(pairs, np.full(3, 9.0)).sample(Rng.seeded(seed))
        assert len(chosen) == 2
        left_out = ({0, 1, 2} - set(chosen)).pop()
        assert score[left_out] == 0.0
    assert reaches("a", "c", pairs[:2])
    assert not reaches("c", "a", pairs[:2])


def test_a_graph_becomes_a_workflow_in_order_without_agents_nobody_hears() -> None:
    members = [AskStep(name) for name in ("a", "b", "c")]
    made = graph_of(members, [("c", "a"), ("a", "vote"), ("a", "b")])
    assert made is not None
    assert [step.name for step in made.steps] == ["c", "a", "vote"]
    assert made.steps[1].reads == ("c",)  # type: ignore[union-attr]
    assert graph_of(members, [("a", "b")]) is None


def swarm(request: Request) -> str:
    """Liars go left; honest members go right unless a liar has written to them."""
    lies = LIAR in request.messages[0].content or "a convincing lie" in last(request)
    thought, side = ("a convincing lie", "left") if lies else ("true", "right")
    return f"Thought: {thought}\nAction: Go(to='{side}')"


def test_edges_from_liars_fade(tmp_path: Path) -> None:
    search = GptSwarm(agents=4, liars=2, updates=20, batch=5, episodes=1, rate=4.0)
    result, _ = optimise(search, tmp_path, env=doors(), player=swarm, train=1, held_out=2)
    edges = search.edges
    assert edges is not None
    shares = dict(zip(edges.pairs, edges.probabilities, strict=True))
    to_vote = [shares[f"agent-{i + 1}", "vote"] for i in range(4)]
    assert np.mean(to_vote[:2]) > 0.5 > np.mean(to_vote[2:])
    assert result.best.value == 1.0


# PromptAgent


def node(reward: float, parent: PromptNode | None = None) -> PromptNode:
    made = PromptNode(Variant(0, answered_once()), reward, parent)
    if parent is not None:
        parent.children.append(made)
    return made


def test_rewards_are_summed_to_the_end_of_the_path_and_bound_a_child() -> None:
    root = node(0.5)
    first, second = node(0.25, root), node(0.75, root)
    end = node(1.0, first)
    back_propagate([root, first, end])
    back_propagate([root, second])
    assert (root.sums, first.sums, end.sums) == ([1.75, 1.25], [1.25], [1.0])
    assert second.value == 0.75
    assert second.bound(2.0) == pytest.approx(0.75 + 2 * math.sqrt(math.log(3)))
    assert node(0.3, end).bound(2.0) == pytest.approx(0.3 + 2 * math.sqrt(math.log(2)))


def test_prompts_are_read_between_their_marks() -> None:
    assert read_prompts("<START>one<END> and <START> two\n<END><START>open") == ["one", "two"]


def rewrites(request: Request) -> str:
    """One fault a time: the middle door must have been named before the right one can be."""
    text = last(request)
    if "step by step why the prompt" in text:
        return "It names no door that pays." if "are paid 0.\n" in text else "It pays only a half."
    if "only a half" in text:
        return "<START>Take the right door.<END>"
    return "<START>Take the middle door.<END>"


def test_prompt_agent_repairs_one_error_after_the_other(tmp_path: Path) -> None:
    asked: list[str] = []

    def proposer(request: Request) -> str:
        asked.append(last(request))
        return rewrites(request)

    search = PromptAgent(iterations=2, width=1, depth=3)
    result, run = optimise(
        search, tmp_path, env=doors(), player=obeys, proposer=proposer, train=2, held_out=2
    )
    assert [variant.mean for variant in run.studio.archive] == [0.0, 0.5, 1.0]
    assert result.best.value == 1.0
    assert "1. (empty)\n2. Take the middle door." in asked[3]
    assert len(asked) == 4  # a prompt without errors is not rewritten
    with pytest.raises(InvalidOption, match="no ask step"):
        optimise(PromptAgent(step="vote"), tmp_path / "b", env=doors())


# AgentSwift


def test_the_selection_is_a_mixture_of_a_uniform_and_a_soft_choice() -> None:
    # (1 - 1/4) s + 1/4 u = 0.75 and 0.25; sharp ln 9 * 2: weights 9 : 1 -> 0.9 and 0.1
    found = selection([1.0, 0.0], [0.0, 1.0], uniform=0.5, sharp=2 * math.log(9), doubt=0.25)
    assert found == pytest.approx([0.25 + 0.45, 0.25 + 0.05])


def test_the_value_model_is_ridge_regression() -> None:
    designs = [answered_once(), AHEAD, prompted("one two three")]
    scores = [0.2, 0.9, 0.4]
    values = ValueModel(penalty=0.5)
    assert values.predict(AHEAD) == 0.5
    values.fit(designs, scores)
    # an independent way to the same: least squares with rows sqrt(penalty) I below
    x = np.array([features(one) for one in designs])
    y = np.array(scores)
    below = math.sqrt(0.5) * np.eye(x.shape[1])
    a = np.vstack([x - x.mean(0), below])
    w = np.linalg.lstsq(a, np.concatenate([y - y.mean(), np.zeros(x.shape[1])]), rcond=None)[0]
    for one in designs:
        expected = y.mean() + (np.array(features(one)) - x.mean(0)) @ w
        assert values.predict(one) == pytest.approx(expected)


def test_recombination_changes_one_component_at_a_time() -> None:
    made = recombine(AHEAD)
    kinds = [[type(step).__name__ for step in one.steps] for one in made]
    assert ["AskStep"] in kinds  # the tool left out
    assert ["RecallStep", "ToolStep", "AskStep"] in kinds
    assert len(made) == 5  # memory; planning; no tool, another lookahead, outcomes


def test_agent_swift_finds_the_component_that_helps(tmp_path: Path) -> None:
    search = AgentSwift(iterations=6, writes=False)
    result, run = optimise(search, tmp_path, env=shuffled())
    assert result.gain.low > 0
    assert any(isinstance(step, ToolStep) for step in result.workflow.steps)
    plain, ahead = answered_once(), with_lookahead(answered_once(), Rng.seeded(0))
    assert search.values.predict(ahead) > search.values.predict(plain)
    assert len(run.studio.archive) == 7


# EvoAgent, symbolic learning, Trace


def breeds(request: Request) -> str:
    text = last(request)
    if "Answer yes or no" in text:
        return "no" if "clone" in text.partition("is proposed:")[2] else "yes"
    if "was proposed" in text:
        child = "guide" if "1 of" not in text and "clone" not in text else "clone"
        return json.dumps({"role": child, "prompt": "Say: take the right door."})
    return json.dumps({"role": "crossed", "prompt": "one"})


def test_evo_agent_grows_a_team_and_keeps_what_does_better(tmp_path: Path) -> None:
    def player(request: Request) -> str:
        text = last(request)
        if "Members of your team" in text:
            side = "right" if "Go(to='right')" in text.partition("member-1 wrote")[2] else "left"
            return f"Thought: so say the members\nAction: Go(to='{side}')"
        return obeys(request)

    search = EvoAgent(generations=2, children=1)
    result, run = optimise(
        search, tmp_path, env=doors(), player=player, proposer=breeds, train=1, held_out=2
    )
    assert result.best.value == 1.0
    team = result.workflow.steps
    assert [step.name for step in team] == ["member-1", "member-2", "integrate"]
    assert team[1].role == "guide"  # type: ignore[union-attr]
    assert run.studio.archive[1].parents == (0,)


def backwards(asked: list[str]) -> Callable[[Request], str]:
    def propose(request: Request) -> str:
        text = last(request)
        asked.append(text)
        if "State the loss" in text:
            return "It went left and lost all."
        if "What should this step have said" in text:
            name = re.findall(r"Step '(\S+)' has", text)[0]
            return f"gradient of {name}"
        if "Write the new instruction" in text:
            return "<START>Take the right door.<END>"
        return "{}"

    return propose


def test_gradients_go_from_the_last_step_to_the_first(tmp_path: Path) -> None:
    asked: list[str] = []
    start = Workflow((AskStep("plan", "Plan.", answers=False), AskStep("act", reads=("plan",))))
    search = SymbolicLearning(steps=1, batch=1, pipeline=False)
    result, run = optimise(
        search,
        tmp_path,
        env=doors(),
        player=obeys,
        proposer=backwards(asked),
        start=start,
        train=1,
        held_out=2,
    )
    loss, last_step, first_step, *updates = asked
    assert "You are at start" not in loss
    assert "Go(to='left')" in loss
    assert 'The loss of the episode:\n"It went left' in last_step
    assert "'act', should have done:\n\"gradient of act\"" in first_step
    assert '- "gradient of plan"' in updates[0]
    assert '- "gradient of act"' in updates[1]
    assert result.best.value == 1.0
    assert [variant.mean for variant in run.studio.archive] == [0.0, 1.0]


def test_a_worse_update_is_rolled_back(tmp_path: Path) -> None:
    def propose(request: Request) -> str:
        return "<START>Take no door.<END>" if "new instruction" in last(request) else "gradient"

    search = SymbolicLearning(steps=2, batch=1, pipeline=False)
    start = prompted("Take the middle door.")
    result, _ = optimise(
        search,
        tmp_path,
        env=doors(),
        player=obeys,
        proposer=propose,
        start=start,
        train=1,
        held_out=2,
    )
    assert result.variant == 0


def test_trace_shows_the_minimal_subgraph_and_changes_named_parameters(tmp_path: Path) -> None:
    asked: list[str] = []
    replies = iter(
        [
            '{"suggestion": {"unheard.prompt": "x"}}',
            '{"reasoning": "r", "suggestion": {"answer.prompt": "Take the right door.", '
            '"answer.samples": 3}}',
        ]
    )

    def propose(request: Request) -> str:
        asked.append(last(request))
        return next(replies)

    start = Workflow((AskStep("unheard"), AskStep("answer", "Go."), VoteStep("vote", ("answer",))))
    result, run = optimise(
        Trace(updates=2),
        tmp_path,
        env=doors(),
        player=obeys,
        proposer=propose,
        start=start,
        train=1,
        held_out=2,
    )
    code = asked[0].partition("#Code")[2].partition("#Variables")[0]
    assert "answer = ask(prompt=answer.prompt" in code
    assert "unheard" not in asked[0]
    assert "vote = vote(answer)" in code
    assert 'answer.prompt = "Go."' in asked[0]
    assert 'decision 1: answer = "Thought: told so' in asked[0]
    assert "refused: unheard.prompt is no variable" in asked[1]
    assert result.best.value == 1.0
    assert run.studio.archive[1].workflow.steps[1] == AskStep(
        "answer", "Take the right door.", samples=3
    )


def test_a_suggestion_out_of_bounds_is_refused() -> None:
    made = Workflow((AskStep("a"), ReflectStep("r", ("a",))))
    assert [step.name for step in upstream(made)] == ["a", "r"]
    assert set(parameters(made.steps)) >= {"a.samples", "r.rounds", "r.critic"}
    changed, why = changed_by(made, '{"suggestion": {"r.rounds": 9}}')
    assert changed is None
    assert "rounds" in why
