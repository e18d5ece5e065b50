"""PPO in one file, in the manner of CleanRL: four foragers share a policy, 256 grids at once.

Arrays come straight from the batch view: (rows, seats, …), and `torch()` gives them as tensors
without a copy. Everybody moves at every step, so each seat of each row is one environment.
"""

from __future__ import annotations

import argparse

import palestra
import torch
from torch import nn

ROWS, SEATS, HORIZON = 256, 4, 32
GAMMA, LAMBDA, CLIP, ENTROPY, RATE, EPOCHS, MINIBATCHES = 0.99, 0.95, 0.2, 0.01, 1e-3, 4, 4


class Policy(nn.Module):
    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.actor, self.critic = nn.Linear(128, actions), nn.Linear(128, 1)

    def forward(self, seen: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.body(seen)
        logits = self.actor(hidden).masked_fill(mask == 0, -1e9)
        return logits.log_softmax(-1), self.critic(hidden).squeeze(-1)


def main(steps: int) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env = palestra.make(
        "grid/Foraging-v0", view="batch", num_envs=ROWS, num_players=SEATS, autoreset="same_step"
    )
    env.reset(seed=0)
    views = env.torch()
    inputs, actions = views["observations"][0, 0].numel(), env.game.num_actions
    policy = Policy(inputs, actions)
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE, eps=1e-5)
    finished: list[float] = []

    def look() -> tuple[torch.Tensor, torch.Tensor]:
        seen = views["observations"].reshape(ROWS * SEATS, inputs).float()
        return seen, views["masks"].reshape(ROWS * SEATS, actions).clone()

    played = 0
    while played < steps:
        kept = []
        for _ in range(HORIZON):
            seen, mask = look()
            with torch.no_grad():
                logprobs, value = policy(seen, mask)
                action = torch.multinomial(logprobs.exp(), 1)
            env.step(action.view(ROWS, SEATS).numpy())
            reward = views["rewards"].flatten().float()
            done = (views["terminations"] | views["truncations"]).flatten().float()
            kept.append((seen, mask, action, logprobs.gather(1, action), value, reward, done))
            if env.finished.any():
                finished += env.statistics()["returns"][env.finished].sum(1).tolist()
        played += HORIZON * ROWS
        seen, mask, action, old, value, reward, done = (
            torch.stack(parts) for parts in zip(*kept, strict=True)
        )
        with torch.no_grad():
            following = policy(*look())[1]
        advantage, later = torch.zeros_like(value), torch.zeros(ROWS * SEATS)
        for t in reversed(range(HORIZON)):
            after = following if t == HORIZON - 1 else value[t + 1]
            delta = reward[t] + GAMMA * after * (1 - done[t]) - value[t]
            later = delta + GAMMA * LAMBDA * later * (1 - done[t])
            advantage[t] = later
        target = advantage + value
        flat = [part.flatten(0, 1) for part in (seen, mask, action, old, advantage, target)]
        for _ in range(EPOCHS):
            for part in torch.randperm(len(flat[0])).chunk(MINIBATCHES):
                s, m, a, o, gain, goal = (tensor[part] for tensor in flat)
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                logprobs, guess = policy(s, m)
                ratio = (logprobs.gather(1, a) - o).exp().squeeze(1)
                bounded = ratio.clamp(1 - CLIP, 1 + CLIP)
                entropy = -(logprobs.exp() * logprobs.clamp(min=-50)).sum(1).mean()
                loss = -torch.min(ratio * gain, bounded * gain).mean()
                loss = loss + 0.5 * (guess - goal).square().mean() - ENTROPY * entropy
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                optimizer.step()
        if finished:
            recent = finished[-1000:]
            mean = sum(recent) / len(recent)
            print(f"{played:>10,} steps: share of the food collected {mean:.3f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    main(parser.parse_args().steps)
