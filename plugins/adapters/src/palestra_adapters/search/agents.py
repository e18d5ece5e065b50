"""Agents that look ahead: `treesearch`, `swesearch`, `bavt`, `flare`, `beam`, `bestof`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from palestra import Agent, Decision, InvalidOption, Meta, Turn, agent, make_agent
from palestra.phrasing.wording import answer_form
from palestra.quoting import disarm, quote

from palestra_adapters.adapter import Adapter
from palestra_adapters.scoring import Scorer, make_scorer
from palestra_adapters.search.growth import Beam, BestFirst, Bounds, LookAhead, Thrifty
from palestra_adapters.search.spots import Lookahead, Scale, Spot
from palestra_adapters.search.tree import Growth, Node, Search, Spending, Tree
from palestra_adapters.thinking import Thinking

ScorerLike = Annotated[
    str | Scorer | Callable[[Spot], float],
    Meta(
        description="what values a position: judge (the model grades it), residual (it grades what "
        "a move has changed), likelihood (its probability that it is good), playouts (random ones, "
        "without the model) or a function of a Spot"
    ),
]


@dataclass(slots=True)
class Plan:
    """Moves still to be played, each with the state key that the seat must then see."""

    steps: list[tuple[bytes, str]]


class TreeAgent(Adapter):
    """Searches from every turn and plays towards the node its growth rule chooses.

    `expansions` bounds the nodes expanded per turn. Of the calls of a decision, one is reserved for
    the answer. The moves of a plan are played without a new search, `commit` of them at most, as
    long as positions are as planned.
    """

    def __init__(
        self,
        growth: Growth,
        *,
        expansions: int,
        scorer: ScorerLike = "judge",
        votes: Annotated[int, Meta(ge=1, description="judgements that are averaged")] = 1,
        others: Annotated[
            str | Agent,
            Meta(description="who plays the other seats in the tree; empty: the model itself"),
        ] = "",
        commit: Annotated[int, Meta(ge=1, description="moves of a plan played at most")] = 1,
        explain: Annotated[
            bool, Meta(description="whether a judgement gives its reasons before the grade")
        ] = False,
        calls: Annotated[
            int, Meta(ge=0, description="model calls of a decision at most, 0 for no limit")
        ] = 0,
        tokens: Annotated[
            int, Meta(ge=0, description="tokens of a decision at most, 0 for no limit")
        ] = 0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        for name, value in (("expansions", expansions), ("commit", commit), *_sizes(growth)):
            if value < 1:
                raise InvalidOption(f"{name} must be 1 or more, not {value}")
        for name, value in (("calls", calls), ("tokens", tokens)):
            if value < 0:
                raise InvalidOption(f"{name} must be 0 or more, not {value}")
        self.growth, self._expansions, self._commit = growth, expansions, commit
        self._limits: dict[str, Any] = {"calls": calls, "tokens": tokens, "reserve": 1}
        self._scorer = make_scorer(scorer, self, votes=votes, explain=explain)
        self._others = make_agent(others) if others else _Seatmate(self)
        self._plans = self.by_seat(Plan)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        planned = self._next_planned_move(turn)
        if planned is not None:
            return Decision(text=planned, thought="as planned")
        legal = turn.legal_texts
        if len(legal) == 1:
            return Decision(text=legal[0])
        tree = yield from self.searching(turn, advice).run(turn)
        if not tree.root.children:
            return (yield from self._answer_without_search(turn, tree))
        goal = yield from self.settle(turn, self.growth.choose(tree), tree.root)
        path = goal.path
        self._keep(turn, path)
        return Decision(
            text=path[0].move,
            thought=_summary(path, tree.spent),
            facts=search_facts(turn, tree, path),
        )

    def searching(self, turn: Turn, advice: str) -> Search:
        """The search of one turn, ready to run."""
        lookahead = Lookahead(self._others, self.rng)
        spending = Spending(**self._limits, account=turn.account)
        return Search(
            self, lookahead, self._scorer, self.growth, self._expansions, advice, spending
        )

    def _answer_without_search(self, turn: Turn, tree: Tree) -> Thinking[Decision]:
        """The answer if the search found nothing: the model's own, from the reserved call."""
        if tree.cut:
            messages = self.single(
                turn.game.rules_for(turn.seat), turn.position, answer="Answer with your move only."
            )
            (reply,) = yield [self.move(turn, messages)]
            return self.decide(turn, reply, "too little was left to search")
        legal = turn.legal_texts
        return Decision(text=legal[0] if legal else "", thought="nothing was searched")

    def settle(self, turn: Turn, goal: Node, root: Node) -> Thinking[Node]:
        """Confirm or change the chosen node; by default it is kept."""
        yield from ()
        return goal

    def _keep(self, turn: Turn, path: list[Node]) -> None:
        ahead = path[1 : self._commit]
        steps = [(node.parent.spot.key, node.move) for node in ahead if node.parent is not None]
        self._plans[turn.episode_key, turn.seat] = Plan(steps)

    def _next_planned_move(self, turn: Turn) -> str | None:
        """The plan's next move, if the seat sees what the plan expected."""
        plan = self._plans.get((turn.episode_key, turn.seat))
        if plan is None or not plan.steps or turn.error:
            return None
        seen, move = plan.steps.pop(0)
        if seen == turn.state_key():
            return move
        plan.steps.clear()
        return None

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        if isinstance(self._others, Agent):
            self._others.reseed(seed + 1)


class _Seatmate:
    """The model itself in another seat; it sees only that seat's view."""

    def __init__(self, agent: Adapter) -> None:
        self._agent = agent

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        agent = self._agent
        rules = turn.game.rules_for(turn.seat)
        form = answer_form(turn.game, turn.seat)
        messages = agent.single(rules, turn.position, answer=form)
        (reply,) = yield [agent.move(turn, messages)]
        return Decision(text=reply.text.strip())


def _sizes(growth: Growth) -> list[tuple[str, int]]:
    return [(k, v) for k, v in vars(growth).items() if k in ("width", "depth", "keep")]


def search_facts(turn: Turn, tree: Tree, path: list[Node]) -> dict[str, Any]:
    """The facts of a search: grades of the moves tried and of the one played, and its value.

    The value is that of the target node in the game's own payoffs; a game without payoff bounds has
    none.
    """
    scale = Scale.of(turn.game)
    found: dict[str, Any] = {
        "candidates": {node.move: node.mean for node in tree.root.children},
        "process": min(1.0, max(0.0, path[0].mean)),
    }
    if scale.fixed:
        goal = min(1.0, max(0.0, path[-1].mean))
        found["value"] = scale.low + goal * (scale.high - scale.low)
    return found


def _summary(path: list[Node], spent: int) -> str:
    moves = ", ".join(f"{node.move} ({node.value:.2f})" for node in path)
    return f"{spent} positions expanded; making for {moves}"


@agent(
    "treesearch",
    kind="llm",
    needs=("fork",),
    summary="Best-first tree search.",
    paper="Koh et al. (2024), Tree Search for Language Model Agents",
)
class TreeSearch(TreeAgent):
    """Best-first tree search: always expands the most promising position.

    Koh, McAleer, Fried and Salakhutdinov, "Tree Search for Language Model Agents", 2024.
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Meta(ge=1, description="moves tried in a position")] = 3,
        depth: Annotated[int, Meta(ge=1, description="moves looked ahead")] = 5,
        expansions: Annotated[int, Meta(ge=1, description="positions expanded per turn")] = 10,
        enough: Annotated[float, Meta(description="value at which the search stops")] = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(BestFirst(width, depth, enough), expansions=expansions, **settings)


@agent(
    "swesearch",
    kind="llm",
    needs=("fork",),
    summary="MCTS with a judge that explains its grades.",
    paper=(
        "SWE-Search: Enhancing Software Agents with Monte Carlo Tree Search and Iterative"
        " Refinement (2024)"
    ),
)
class SWESearch(TreeAgent):
    """MCTS over forks with a judge that explains itself.

    Before the next move is proposed, the model is told what is wrong with the worst sibling; at the
    end `debate` votes decide between the two finalists. Antoniades et al., "SWE-Search", 2024.
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Meta(ge=1, description="moves tried in a position")] = 3,
        depth: Annotated[int, Meta(ge=1, description="moves looked ahead")] = 5,
        expansions: Annotated[int, Meta(ge=1, description="positions expanded per turn")] = 12,
        c: Annotated[float, Meta(ge=0, description="weight of exploration")] = 1.0,
        debate: Annotated[int, Meta(ge=0, description="votes on the two finalists")] = 0,
        **settings: Any,
    ) -> None:
        settings.setdefault("explain", True)
        super().__init__(Bounds(width, depth, c), expansions=expansions, **settings)
        self._debate = debate

    def settle(self, turn: Turn, goal: Node, root: Node) -> Thinking[Node]:
        finalists = sorted(root.children, key=lambda n: (-n.visits, -n.mean))[:2]
        if not self._debate or len(finalists) < 2:
            return goal
        moves = [node.move for node in finalists]
        cases = "\n".join(f"{disarm(n.move)}: {quote(n.comment)}" for n in finalists)
        which = " or ".join(map(disarm, moves))
        text = f"{turn.position}\nTwo moves are left:\n{cases}\nWhich is better: {which}?"
        held = self.held_to(moves)
        replies = yield [
            self.about(turn, text, temperature=0.8, **held) for _ in range(self._debate)
        ]
        votes = [sum(move in reply.text for reply in replies) for move in moves]
        return finalists[1] if votes[1] > votes[0] else finalists[0]


@agent(
    "bavt",
    kind="llm",
    needs=("fork",),
    summary="Tree search that watches its budget.",
    paper="Spend Less, Reason Better: Budget-Aware Value Tree Search for LLM Agents (2026)",
)
class BAVT(TreeAgent):
    """Budget-aware value tree search: the less of its budget is left, the greedier it searches.

    The budget is `expansions`, `calls` and `tokens` per decision and the rest of the run's own
    (`budgets=`), whichever is scarcest. Every call counts: proposals, judgements and those of other
    seats; one is reserved for the answer. Positions are valued by what a move has changed
    (`scorer="residual"`), and moves without an improvement are not followed if others improve. A
    tool's calls count if the tool is a model; steps of the game do not.
    "Spend Less, Reason Better: Budget-Aware Value Tree Search for LLM Agents", 2026.
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Meta(ge=1, description="moves tried in a position")] = 3,
        depth: Annotated[int, Meta(ge=1, description="moves looked ahead")] = 5,
        expansions: Annotated[int, Meta(ge=1, description="positions expanded per turn")] = 10,
        **settings: Any,
    ) -> None:
        settings.setdefault("scorer", "residual")
        super().__init__(Thrifty(width, depth), expansions=expansions, **settings)


@agent(
    "flare",
    kind="llm",
    needs=("fork",),
    summary="Looks ahead, plays one move, and plans again.",
    paper=(
        "Why Reasoning Fails to Plan: A Planning-Centric Analysis of Long-Horizon "
        "Decision Making in LLM Agents (2026)"
    ),
)
class FLARE(TreeAgent):
    """Looks `depth` moves ahead on every path, plays the best path's first move, and plans again.

    "Why Reasoning Fails to Plan: A Planning-Centric Analysis of Long-Horizon Decision Making in
    LLM Agents", 2026.
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Meta(ge=1, description="moves tried in a position")] = 3,
        depth: Annotated[int, Meta(ge=1, description="moves looked ahead")] = 3,
        expansions: Annotated[int, Meta(ge=1, description="positions expanded per turn")] = 40,
        **settings: Any,
    ) -> None:
        super().__init__(LookAhead(width, depth), expansions=expansions, **settings)


@agent(
    "beam",
    kind="llm",
    needs=("fork",),
    summary="Step-level beam search.",
)
class BeamSearch(TreeAgent):
    """Step-level beam search: `keep` prefixes, `width` moves each, `depth` levels.

    Xia et al., "AgentRM: Enhancing Agent Generalization with Reward Modeling", 2025.
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Meta(ge=1, description="moves tried in a position")] = 3,
        depth: Annotated[int, Meta(ge=1, description="moves looked ahead")] = 3,
        keep: Annotated[int, Meta(ge=1, description="positions kept per level")] = 2,
        expansions: Annotated[int, Meta(ge=1, description="positions expanded per turn")] = 100,
        **settings: Any,
    ) -> None:
        super().__init__(Beam(width, depth, keep), expansions=expansions, **settings)


@agent(
    "bestof",
    kind="llm",
    needs=("fork",),
    summary="Plays the best-scored of n moves.",
)
class BestOfN(TreeAgent):
    """Plays the best-scored of `n` moves that the model proposes.

    The scorer values the position after each. Zhai et al., "Enhancing Decision-Making for LLM
    Agents via Step-Level Q-Value Models", 2024.
    """

    def __init__(
        self,
        *,
        n: Annotated[int, Meta(ge=1, description="moves proposed and scored")] = 4,
        **settings: Any,
    ) -> None:
        if "expansions" in settings:
            raise InvalidOption("bestof looks at n moves once; it takes no expansions")
        super().__init__(BestFirst(width=n, depth=1), expansions=1, **settings)
