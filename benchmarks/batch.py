"""Batches of 1,024: random legal policy, observations, masks and auto-reset included.

Pgx 2.6 has no Hanabi.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import palestra
from timing import Row, compare, rate

ROWS = 1024
STEPS = 200
FOUR_FORAGERS = "grid/Foraging-v0, 4 agents, sight 2"


def tic_tac_toe() -> Row:
    return _against_pgx("games/TicTacToe-v0", "tic_tac_toe")


def connect_four() -> Row:
    return _against_pgx("games/ConnectFour-v0", "connect_four")


def leduc_holdem() -> Row:
    return _against_pgx("games/LeducHoldem-v0", "leduc_holdem", target=1)


def othello() -> Row:
    return _against_pgx("games/Othello-v0", "othello", target=1)


def _against_pgx(ours: str, theirs: str, target: float = 3) -> Row:
    return compare(
        f"{ours}, batch of {ROWS}",
        our_batch(ours),
        pgx_batch(theirs),
        target=target,
        unit="moves/s",
        against="Pgx (jit, scan)",
    )


def our_batch(env: str, **options: Any) -> Any:
    batch = palestra.make(env, view="batch", num_envs=ROWS, seed=0, **options)
    batch.reset()
    seats = 1 if batch.game.order == "sequential" else batch.game.num_players

    def play() -> int:
        for _ in range(STEPS):
            batch.random_actions()
            batch.step()
        return ROWS * STEPS * seats

    return play


def pgx_batch(name: str) -> Any:
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    def one(carry: Any, _: Any) -> Any:
        state, key = carry
        key, draw, chance = jax.random.split(key, 3)
        noise = jax.random.uniform(draw, state.legal_action_mask.shape)
        actions = jnp.argmax(noise * state.legal_action_mask, axis=1)
        state = step(state, actions, jax.random.split(chance, ROWS))
        return (state, key), state.observation.sum()

    run = jax.jit(lambda carry: jax.lax.scan(one, carry, None, length=STEPS))
    start = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), ROWS))
    held = [(start, jax.random.PRNGKey(1))]

    def play() -> int:
        held[0], seen = run(held[0])
        seen.block_until_ready()
        return ROWS * STEPS

    return play


def connect_four_against_c() -> Row:
    return compare(
        f"games/ConnectFour-v0, batch of {ROWS}",
        our_batch("games/ConnectFour-v0"),
        c_batch("connect_four.c"),
        target=0.8,
        unit="moves/s",
        against="the same in C (-O3)",
    )


def foraging_against_c() -> Row:
    return compare(
        f"{FOUR_FORAGERS}, batch of {ROWS}",
        our_batch("grid/Foraging-v0", num_players=4, sight=2),
        c_batch("foraging.c", seats=4),
        target=0.8,
        unit="agent steps/s",
        against="the same in C (-O3)",
    )


def c_batch(name: str, seats: int = 1) -> Any:
    """A game in C, compiled for this machine, on as many rows."""
    import ctypes

    source = Path(__file__).with_name(name)
    library = Path(tempfile.mkdtemp()) / "game.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library)], check=True)
    c = ctypes.CDLL(str(library))
    games, count = ctypes.create_string_buffer(ROWS * c.game_size()), ctypes.c_int64(ROWS)
    c.start(games, count)

    def play() -> int:
        for _ in range(STEPS):
            c.random_actions(games, count)
            c.step(games, count)
        return ROWS * STEPS * seats

    return play


def foraging() -> Row:
    """Four foragers who see two cells around them, the 5x5-view grid."""
    play = our_batch("grid/Foraging-v0", num_players=4, sight=2)
    play()
    measured = statistics.median(rate(play) for _ in range(7))
    name = f"{FOUR_FORAGERS}, batch of {ROWS}"
    return Row(name, measured, 15e6, measured / 15e6, 1.0, "agent steps/s", "its bound")


def kitchen() -> Row:
    return compare(
        f"grid/Kitchen-v0, cramped_room, batch of {ROWS}",
        our_batch("grid/Kitchen-v0"),
        jaxmarl_batch(),
        target=5,
        unit="agent steps/s",
        against="JaxMARL Overcooked (jit, scan)",
    )


def jaxmarl_batch() -> Any:
    """JaxMARL's Overcooked, which resets itself; every action is legal there, as here."""
    import jax
    import jaxmarl

    env = jaxmarl.make("overcooked")

    def act(key: Any, state: Any) -> Any:
        draw, chance = jax.random.split(key)
        chosen = jax.random.randint(draw, (env.num_agents,), 0, len(env.action_set))
        moves = {agent: chosen[seat] for seat, agent in enumerate(env.agents)}
        seen, state, *_ = env.step(chance, state, moves)
        return state, sum(view.sum() for view in seen.values())

    def one(carry: Any, _: Any) -> Any:
        state, key = carry
        key, draw = jax.random.split(key)
        state, seen = jax.vmap(act)(jax.random.split(draw, ROWS), state)
        return (state, key), seen.sum()

    run = jax.jit(lambda carry: jax.lax.scan(one, carry, None, length=STEPS))
    _, start = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.PRNGKey(0), ROWS))
    held = [(start, jax.random.PRNGKey(1))]

    def play() -> int:
        held[0], seen = run(held[0])
        seen.block_until_ready()
        return ROWS * STEPS * env.num_agents

    return play


MEASURES = (
    tic_tac_toe,
    connect_four,
    leduc_holdem,
    othello,
    connect_four_against_c,
    foraging,
    foraging_against_c,
    kitchen,
)
