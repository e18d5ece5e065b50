"""tinker-cookbook 0.5.8: its rollouts, advantages and training data, with a model of our own.

The service of tinker itself needs a key; the policy here is a `TokenCompleter` over a small model.
"""

from __future__ import annotations

import asyncio
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tinker
from model_service import Engine
from page import PAGE, block
from palestra import InvalidOption
from palestra.records.record import replay
from palestra_training.tinker_groups import SeatGroup
from tinker_cookbook import renderers
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.rollouts import do_group_rollout
from tiny_player import player
from transformers import AutoTokenizer

LAKE = {"num_players": 3, "rounds": 3, "talk": False}
COMMONS = "text/Commons-v0"


class Policy(TokenCompleter):
    """Draws from a small model; `drawn` keeps every exchange."""

    def __init__(self, folder: Path) -> None:
        self.engine = Engine(folder, 16)
        self.drawn: list[tuple[list[int], list[int], list[float]]] = []

    async def __call__(
        self, model_input: tinker.ModelInput, stop: Any, *, max_tokens: int | None = None
    ) -> TokensWithLogprobs:
        assert stop == [self.engine.tokenizer.eos_token_id]
        prompt = model_input.to_ints()
        ids, logprobs, finish = self.engine.draw(prompt)
        self.drawn.append((prompt, ids, logprobs))
        await asyncio.sleep(0)
        return TokensWithLogprobs(ids, logprobs, finish)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return Policy(player(tmp_path_factory.mktemp("player") / "model", COMMONS, LAKE))


def test_a_batch_of_self_play_is_tinkers_data(policy: Policy) -> None:
    folder = policy.engine.tokenizer.name_or_path
    replaced = {
        'get_tokenizer("Qwen/Qwen3-4B-Instruct-2507")': f"AutoTokenizer.from_pretrained({folder!r})"
    }
    code = block("tinker-cookbook", PAGE.parent / "training-llm.md", replaced)
    names: dict[str, Any] = {"AutoTokenizer": AutoTokenizer}
    exec(compile(code, "training-llm.md", "exec"), names)
    policy.drawn.clear()
    groups, data = asyncio.run(names["learn_from"](policy))
    assert len(groups) == 2
    trained = 0
    for group in groups:
        assert len(group.trajectories_G) == 2 * 3
        for trajectory in group.trajectories_G:
            replies = [t for t in trajectory.transitions if t.ac.tokens]
            for before, after in pairwise(replies):
                so_far = before.ob.to_ints() + before.ac.tokens
                assert after.ob.to_ints()[: len(so_far)] == so_far  # one sequence a seat
            trained += bool(replies)
            for reply in replies:
                assert (reply.ob.to_ints(), reply.ac.tokens, reply.ac.logprobs) in policy.drawn
    assert len(data) == trained
    weights = [datum.loss_fn_inputs["mask"].to_torch().sum() for datum in data]
    assert int(sum(weights)) == sum(len(ids) for _, ids, _ in policy.drawn)


def test_the_rewards_are_the_seats_returns(policy: Policy) -> None:
    tokenizer = AutoTokenizer.from_pretrained(policy.engine.tokenizer.name_or_path)
    renderer = renderers.get_renderer("qwen3_instruct", tokenizer)
    kept: list[Any] = []

    class Watched(SeatGroup):
        async def make_envs(self) -> Any:
            kept.extend(await super().make_envs())
            return kept

    group = Watched(COMMONS, renderer, seed=5, opponents={"player_1": "first"}, options=LAKE)
    made = asyncio.run(do_group_rollout(group, policy))
    assert [env.seat for env in kept] == [0, 2]
    record = kept[0].match.record
    assert record is kept[1].match.record
    assert record.agents == ("player_0", "first", "player_2")
    assert record.seed == 5
    assert tuple(replay(record).returns) == record.returns
    assert made.get_total_rewards() == [record.returns[0], record.returns[2]]
    assert [told["mistakes"] for told in made.metrics_G] == [record.mistakes[0], record.mistakes[2]]


def test_a_rollout_that_tinker_stops_does_not_wedge_the_others(policy: Policy) -> None:
    tokenizer = AutoTokenizer.from_pretrained(policy.engine.tokenizer.name_or_path)
    renderer = renderers.get_renderer("qwen3_instruct", tokenizer)
    group = SeatGroup(COMMONS, renderer, move_seconds=0.2, invalid="noop", options=LAKE)

    async def play() -> Any:
        first, second, third = await group.make_envs()
        observed = await first.initial_observation()  # and tinker never steps it

        async def whole(env: Any) -> None:
            prompt, stop = await env.initial_observation()
            over = False
            while not over:
                drawn = await policy(prompt, stop)
                result = await env.step(drawn.tokens)
                prompt, over = result.next_observation, result.episode_done

        await asyncio.wait_for(asyncio.gather(whole(second), whole(third)), 30)
        with pytest.raises(InvalidOption, match="not to act"):
            await first.step([1])
        return observed, first.match.record

    observed, record = asyncio.run(play())
    assert observed[0].length > 0
    assert record.mistakes[0] >= 1
    assert not record.error


def test_a_group_is_sent_to_other_processes(policy: Policy) -> None:
    tokenizer = AutoTokenizer.from_pretrained(policy.engine.tokenizer.name_or_path)
    renderer = renderers.get_renderer("qwen3_instruct", tokenizer)
    group = SeatGroup(COMMONS, renderer, options=LAKE)
    again = pickle.loads(pickle.dumps(SeatGroup(COMMONS, None, options=LAKE)))
    assert again.players == group.players == 3
    assert group.logging_tags() == [COMMONS]


@pytest.mark.parametrize(
    ("opponents", "told"),
    [
        ({"player_4": "first"}, "no seat 'player_4'"),
        ({f"player_{seat}": "first" for seat in range(3)}, "every seat has an opponent"),
    ],
)
def test_seats_that_cannot_be_are_named(opponents: dict[str, str], told: str) -> None:
    group = SeatGroup(COMMONS, None, opponents=opponents, options=LAKE)
    with pytest.raises(InvalidOption, match=told):
        asyncio.run(group.make_envs())
