"""StepAgent's implicit reward: a policy tuned step by step to prefer what an expert would play.

Deng et al., "From Novice to Expert: LLM Agent Policy Optimization via Step-wise Reinforcement
Learning" (2024), in the form of direct preference optimisation at single steps: at each turn the
expert's action is preferred to the agent's own, and a turn's reward is how much likelier the tuned
policy is to play it than the agent was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, floats, together
from palestra_rewards.learnt.features import ACTION, SIZE, STATE, Features, feature_facts
from palestra_rewards.learnt.networks import descend, hashed_words, network, tensor, torch_module
from palestra_rewards.reading import own

WIDTH = 16  # size of the embeddings of states and actions
Expert = Callable[[EpisodeRecord], Sequence[str]]


class StepPreference:
    """A policy over features, and the agent's own as its reference; both are small networks.

    beta: factor of the log-ratio of the two. features: what the networks see of a state, as in
    `Group.of`; actions are their hashed words. The reference is fitted to what the agent played,
    and the policy then starts from it. The same records and `seed` give the same numbers.
    """

    def __init__(
        self,
        *,
        beta: float = 0.1,
        features: str | Features = "words",
        hidden: int = 32,
        steps: int = 200,
        rate: float = 0.02,
        seed: int = 0,
    ) -> None:
        if beta <= 0 or steps < 1 or rate <= 0:
            raise InvalidOption(f"beta, steps and rate must be above 0: {beta}, {steps}, {rate}")
        self.beta, self.features, self.hidden = beta, features, hidden
        self.steps, self.rate, self.seed = steps, rate, seed
        self._policy: list[Any] = []
        self._reference: list[Any] = []
        self._choices = floats(np.zeros((0, SIZE)))

    def fit(self, records: Sequence[EpisodeRecord], expert: Expert) -> StepPreference:
        """Fit both networks; `expert` returns one action text per turn, such as an `AskedExpert`.

        Turns at which the expert would play what the agent played show no preference.
        """
        torch = torch_module()
        facts = feature_facts(records, self.features)
        wanted = [text for record in records for text in own(record, list(expert(record)))]
        state, played, better = facts[STATE], facts[ACTION], hashed_words(wanted, SIZE)
        if not len(state):
            raise InvalidOption("these records hold no turns; record episodes with decisions")
        self._choices = np.unique(np.concatenate([played, better]), axis=0)
        made, best = self._places(played), self._places(better)
        self._reference = self._networks(state.shape[1])
        self._learn(self._reference, lambda logs: -logs[torch.arange(len(made)), made], state)
        self._policy = deepcopy(self._reference)
        rows = np.flatnonzero(made != best)
        if not rows.size:
            return self
        before = self._logs(self._reference, state[rows]).detach()
        turn = torch.arange(rows.size)

        def loss(logs: Any) -> Any:
            ratio = self.beta * (logs - before)
            gap = ratio[turn, best[rows]] - ratio[turn, made[rows]]
            return -torch.nn.functional.logsigmoid(gap)

        self._learn(self._policy, loss, state[rows])
        return self

    def __call__(self, record: EpisodeRecord) -> Floats:
        """`beta * log(policy / reference)` of every turn; 0 for actions that `fit` did not see."""
        if not self._policy:
            raise InvalidOption("this model is not fitted yet; call fit(records, expert) first")
        facts = feature_facts([record], self.features)
        place = self._places(facts[ACTION])
        with torch_module().no_grad():
            logs = [
                self._logs(one, facts[STATE]).numpy() for one in (self._policy, self._reference)
            ]
        found = self.beta * (logs[0] - logs[1])[np.arange(len(place)), place]
        paid = np.zeros(len(record.turns))
        paid[len(paid) - len(found) :] = np.where(place >= 0, found, 0.0)
        return paid

    def _places(self, actions: Floats) -> Any:
        """The number of each action among the choices; -1 for one that is not among them."""
        rows = np.concatenate([self._choices, actions])
        same = together([np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)])
        known = {int(key): place for place, key in enumerate(same[: len(self._choices)])}
        return np.array([known.get(int(key), -1) for key in same[len(self._choices) :]])

    def _networks(self, states: int) -> list[Any]:
        return [
            network(states, WIDTH, hidden=self.hidden, seed=2 * self.seed),
            network(SIZE, WIDTH, hidden=self.hidden, seed=2 * self.seed + 1),
        ]

    def _logs(self, networks: list[Any], state: Floats) -> Any:
        """Log-probabilities of the choices, shape (turns, choices)."""
        logits = networks[0](tensor(state)) @ networks[1](tensor(self._choices)).T
        return torch_module().log_softmax(logits, dim=1)

    def _learn(self, networks: list[Any], loss: Callable[[Any], Any], state: Floats) -> None:
        descend(
            networks,
            lambda _: loss(self._logs(networks, state)).mean(),
            steps=self.steps,
            rate=self.rate,
            fade=True,
        )


@reward(
    "stepagent-implicit",
    shape="episode",
    needs=("step preferences",),
    paper=(
        "From Novice to Expert: LLM Agent Policy Optimization via Step-wise Reinforcement"
        " Learning (2024)"
    ),
    check="test_the_implicit_reward_is_the_log_odds_of_being_preferred",
    cost="gradient steps of a small network",
)
def stepagent_implicit(
    record: EpisodeRecord,
    *,
    scores: Annotated[
        StepPreference, Meta(description="a fitted model of preferences between steps")
    ],
) -> Floats:
    """How much likelier a policy that learnt from the expert is to play a turn than the agent was.

    Each turn is paid `beta * log(policy / reference)` by a fitted `StepPreference`.
    """
    return scores(record)
