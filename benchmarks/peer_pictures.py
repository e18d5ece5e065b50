"""Our pictures beside those of peers, for somebody to judge who does not know whose is which.

    python benchmarks/peer_pictures.py draw FOLDER [--seed 1]
    python benchmarks/peer_pictures.py count FOLDER

`draw` writes a picture a game: ours and the peer's of a like moment, at the same size, named A and
B. Which is which is drawn from the seed and stands in FOLDER/key.json. The judge, who must not read
it, writes FOLDER/answers.json, such as {"chess": ["A", "why"], "kuhn": ["draw", "why"]}; `count`
then prints which were won, drawn and lost.

    uv pip install -r benchmarks/requirements.txt "gymnasium[toy-text]" mpe2 cairosvg overcooked-ai
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import numpy as np
import palestra
from palestra import Episode, Rng
from palestra_renderers.picture import Painter, paint_episode
from PIL import Image, ImageDraw, ImageFont

SIDE, GAP, TITLE = 480, 20, 40
OPENING = ("e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5", "c2c3", "g8f6", "d2d4", "e5d4")
COLUMNS = (3, 3, 2, 4, 4, 2, 2, 5, 1)  # of Connect Four
Picture = Image.Image


def ours(
    env: str, *moves: str, plies: int = 0, viewer: int | None = None, **options: Any
) -> Picture:
    """A moment of one of our ids: after some moves, then `plies` by its script or by chance."""
    episode, rng = Episode(palestra.game(env, **options), 3, compiled=False), Rng.seeded(3)
    for move in moves:
        seat = episode.to_act[0]
        episode.act({seat: episode.parse(seat, move)})
    for _ in range(plies):
        if episode.over:
            break
        actions = {}
        for seat in episode.to_act:
            scripted = episode.scripted_action(seat) if episode.game.has_script else -1
            actions[seat] = scripted if scripted >= 0 else episode.sample(seat, rng)
        episode.act(actions)
    painter = Painter((SIDE, SIDE))
    paint_episode(painter, episode, viewer)
    return Image.fromarray(painter.array().copy())


def pettingzoo(name: str, *moves: int, plies: int = 0, family: str = "classic") -> Picture:
    """A moment of a game of PettingZoo's: after some moves, then `plies` legal ones by chance."""
    import importlib

    env = importlib.import_module(f"pettingzoo.{family}.{name}").env(render_mode="rgb_array")
    env.reset(seed=3)
    draw = np.random.default_rng(3)
    for number in range(len(moves) + plies):
        observation, _, ended, truncated, info = env.last()
        if ended or truncated:
            break
        mask = info.get("action_mask")
        if mask is None and isinstance(observation, dict):
            mask = observation["action_mask"]
        count = env.action_space(env.agent_selection).n
        legal = np.arange(count) if mask is None else np.flatnonzero(mask)
        env.step(moves[number] if number < len(moves) else int(draw.choice(legal)))
    return Image.fromarray(np.asarray(env.render(), np.uint8))


def pettingzoo_chess() -> Picture:
    from pettingzoo.classic import chess_v6
    from pettingzoo.classic.chess import chess_utils

    env = chess_v6.env(render_mode="rgb_array")
    env.reset(seed=3)
    for move in OPENING:
        board, seat = env.unwrapped.board, env.agents.index(env.agent_selection)
        legal = np.flatnonzero(env.last()[0]["action_mask"])
        named = {str(chess_utils.action_to_move(board, int(n), seat)): int(n) for n in legal}
        env.step(named[move])
    return Image.fromarray(np.asarray(env.render(), np.uint8))


def gymnasium(name: str, *moves: int, seed: int = 3, **options: Any) -> Picture:
    import gymnasium as gym

    env = gym.make(name, render_mode="rgb_array", **options)
    env.reset(seed=seed)
    for move in moves:
        env.step(move)
    return Image.fromarray(np.asarray(env.render(), np.uint8))


def minigrid() -> Picture:
    import minigrid  # noqa: F401 - registers its environments

    return gymnasium("MiniGrid-Fetch-8x8-N3-v0", 2, 1, 2)


def particles() -> Picture:
    from mpe2 import simple_spread_v3

    env = simple_spread_v3.parallel_env(render_mode="rgb_array")
    env.reset(seed=3)
    for _ in range(5):
        env.step({name: env.action_space(name).sample() for name in env.agents})
    return Image.fromarray(np.asarray(env.render(), np.uint8))


def overcooked() -> Picture:
    import pygame
    from overcooked_ai_py.mdp.actions import Action
    from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld
    from overcooked_ai_py.visualization.state_visualizer import StateVisualizer

    world = OvercookedGridworld.from_layout_name("cramped_room")
    state, draw = world.get_standard_start_state(), random.Random(3)
    for _ in range(60):
        joint = tuple(draw.choice(Action.ALL_ACTIONS) for _ in state.players)
        state, _ = world.get_state_transition(state, joint)
    surface = StateVisualizer(tile_size=75).render_state(state, grid=world.terrain_mtx)
    pixels = pygame.surfarray.array3d(surface).swapaxes(0, 1)
    return Image.fromarray(np.ascontiguousarray(pixels))


def pgx(name: str, plies: int) -> Picture:
    """A moment of one of Pgx's games: after some legal moves by chance."""
    import cairosvg
    import jax
    import pgx as library

    env = library.make(name)  # type: ignore[arg-type]
    state, step = env.init(jax.random.PRNGKey(3)), jax.jit(env.step)
    draw = np.random.default_rng(3)
    for ply in range(plies):
        following = step(
            state,
            int(draw.choice(np.flatnonzero(state.legal_action_mask))),
            jax.random.PRNGKey(ply),
        )
        if bool(following.terminated):
            break
        state = following
    with TemporaryDirectory() as folder:
        drawing = Path(folder) / "state.svg"
        state.save_svg(drawing)
        png = cairosvg.svg2png(url=str(drawing), output_width=2 * SIDE)
    return Image.open(io.BytesIO(png)).convert("RGB")


PAIRS: dict[str, tuple[Callable[[], Picture], Callable[[], Picture]]] = {
    "chess": (lambda: ours("games/Chess-v0", *OPENING), pettingzoo_chess),
    "connect four": (
        lambda: ours("games/ConnectFour-v0", *(str(column + 1) for column in COLUMNS)),
        lambda: pettingzoo("connect_four_v3", *COLUMNS),
    ),
    "hanabi": (
        lambda: ours("games/Hanabi-v0", plies=12),
        lambda: pettingzoo("hanabi_v5", plies=12),
    ),
    "hold'em": (
        lambda: ours("games/Holdem-v0", plies=5),
        lambda: pettingzoo("texas_holdem_no_limit_v6", 1, 1, 1),
    ),
    "leduc": (
        lambda: ours("games/LeducHoldem-v0", plies=3),
        lambda: pettingzoo("leduc_holdem_v4", 1, 0),
    ),
    "blackjack": (
        lambda: ours("games/Blackjack-v0", viewer=0),
        lambda: gymnasium("Blackjack-v1", 1, seed=5),
    ),
    "frozen lake": (
        lambda: ours("games/FrozenLake-v0", "down", "down", "right", slippery=False),
        lambda: gymnasium("FrozenLake-v1", 1, 1, 2, is_slippery=False),
    ),
    "fetch": (lambda: ours("grid/Fetch-v0", plies=3), minigrid),
    "kitchen": (lambda: ours("grid/Kitchen-v0", plies=30), overcooked),
    "particles": (lambda: ours("grid/Particles-v0", plies=5), particles),
    "pursuit": (
        lambda: ours("grid/Pursuit-v0", plies=20),
        lambda: pettingzoo("pursuit_v5", plies=40, family="sisl"),
    ),
    "othello": (lambda: ours("games/Othello-v0", plies=14), lambda: pgx("othello", 14)),
    "2048": (lambda: ours("games/Game2048-v0", plies=45), lambda: pgx("2048", 45)),
    "hex": (lambda: ours("games/Hex-v0", plies=24), lambda: pgx("hex", 24)),
    "kuhn": (lambda: ours("games/KuhnPoker-v0", plies=1), lambda: pgx("kuhn_poker", 1)),
}


def fitted(picture: Picture) -> Picture:
    """A picture as large as the box of one allows, in its middle."""
    box = Image.new("RGB", (SIDE, SIDE), "white")
    share = min(SIDE / picture.width, SIDE / picture.height)
    small = picture.convert("RGB").resize(
        (round(picture.width * share), round(picture.height * share)), Image.Resampling.LANCZOS
    )
    box.paste(small, ((SIDE - small.width) // 2, (SIDE - small.height) // 2))
    return box


def draw_pairs(folder: Path, seed: int) -> None:
    """Write every pair, and the key to them."""
    folder.mkdir(parents=True, exist_ok=True)
    sides, key = random.Random(seed), {}
    for name, pair in PAIRS.items():
        first = sides.random() < 0.5
        try:
            pictures = [fitted(make()) for make in pair]
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        key[name] = "A" if first else "B"
        page = Image.new("RGB", (2 * SIDE + GAP, SIDE + TITLE), "grey")
        write = ImageDraw.Draw(page)
        for place, picture in enumerate(pictures if first else pictures[::-1]):
            left = place * (SIDE + GAP)
            write.text((left + 8, 6), f"{name} {'AB'[place]}", "white", ImageFont.load_default(24))
            page.paste(picture, (left, TITLE))
        page.save(folder / f"{name.replace(' ', '-')}.png")
        print(f"{name}: drawn")
    (folder / "key.json").write_text(json.dumps(key, indent=1), "utf-8")


def count(folder: Path) -> None:
    """Print what the judge said of each pair, and the sums."""
    key = json.loads((folder / "key.json").read_text("utf-8"))
    answers = json.loads((folder / "answers.json").read_text("utf-8"))
    sums = {"won": 0, "draw": 0, "lost": 0}
    for name, side in key.items():
        said, why = answers[name]
        verdict = "draw" if said == "draw" else "won" if said == side else "lost"
        sums[verdict] += 1
        print(f"{name:14} {verdict:5} {why}")
    print(", ".join(f"{verdict} {number}" for verdict, number in sums.items()))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of peers
    what, where, *more = sys.argv[1:]
    if what == "draw":
        draw_pairs(Path(where), int(more[-1]) if more else 1)
    elif what == "count":
        count(Path(where))
    else:
        sys.exit(f"{what}: say draw or count")
