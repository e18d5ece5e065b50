"""Count what is wrong with the pictures of every environment, kind by kind.

    python scripts/inspect_pictures.py                  # all
    python scripts/inspect_pictures.py games/Hanabi-v0  # some, with each flaw
    python scripts/inspect_pictures.py --seed=90721     # in other episodes

Start, middle and end of random play, with the usual number of players, 6, 20 and the most; the
middle also as the first and the last seat see it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product

import palestra
from palestra import Episode, Rng, Scene
from palestra.kernel.specs import EnvSpec
from palestra_renderers.flaws import Flaw, find_flaws
from palestra_renderers.marks import Mark
from palestra_renderers.picture import Painter, seen
from palestra_renderers.words import scene_lines

SIZES = ((480, 480), (960, 720))
CROWDS = (6, 20, 10_000)  # players, or the nearest number that an environment allows
MOST_PLAYERS = 200
STEPS = 60


def player_counts(spec: EnvSpec) -> list[int | None]:
    """The numbers of players to try; None is the usual one."""
    if all(option.name != "num_players" for option in spec.options):
        return [None]
    least, most = spec.players
    most = min(most or MOST_PLAYERS, MOST_PLAYERS)
    wanted = sorted({min(most, max(least, count)) for count in CROWDS})
    return [None, *(count for count in wanted if can_play(spec.id, count))]


def can_play(env: str, players: int) -> bool:
    """Whether a game takes so many; Population takes only those of its groups."""
    try:
        palestra.game(env, num_players=players)
    except palestra.InvalidOption:
        return False
    return True


def moments(env: str, players: int | None, seed: int = 3) -> list[Episode]:
    """The start, the middle and the end of random play, which ends after some steps."""
    options = {} if players is None else {"num_players": players}
    episode, rng = Episode(palestra.game(env, **options), seed, compiled=False), Rng.seeded(seed)
    _ = episode.log
    played = [episode.fork()]
    while not episode.over and len(played) <= STEPS:
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
        played.append(episode.fork())
    return [played[0], played[len(played) // 2], played[-1]]


def picture(
    episode: Episode, size: tuple[int, int], viewer: int | None = None
) -> tuple[Scene, list[Mark]]:
    """What a seat or a spectator sees, and the marks of its picture."""
    painter = Painter(size)
    shown = seen(painter.follower, episode, viewer)
    return shown[0], painter.lay_out(*shown)


def inspect(spec: EnvSpec, players: int | None, seed: int = 3) -> Iterator[tuple[str, Flaw]]:
    """Every flaw of an environment's pictures, and in which one it is."""
    episodes = moments(spec.id, players, seed)
    for name, episode in zip(("start", "middle", "end"), episodes, strict=True):
        last = episode.game.num_players - 1
        viewers = {None, 0, last} if name == "middle" else {None}
        for size, viewer in product(SIZES, sorted(viewers, key=str)):
            scene, marks = picture(episode, size, viewer)
            told = "\n".join(scene_lines(scene))
            for flaw in find_flaws(marks, size):
                if flaw.kind == "cut" and flaw.about in told:
                    continue  # the environment's own ellipsis
                seat = "" if viewer is None else f" seat {viewer}"
                yield f"{players or 'usual'} {name} {size[0]}{seat}", flaw


def main(names: list[str], seed: int) -> None:
    total: Counter[str] = Counter()
    for spec in palestra.specs():
        if names and spec.id not in names:
            continue
        found = [one for players in player_counts(spec) for one in inspect(spec, players, seed)]
        counts = Counter(flaw.kind for _, flaw in found)
        total.update(counts)
        if counts:
            print(spec.id, dict(counts), flush=True)
        for where, flaw in found if names else ():
            print(f"    {where}: {flaw.kind}: {flaw.about} {tuple(map(round, flaw.box))}")
    print("all", dict(total), sum(total.values()))


if __name__ == "__main__":
    seeds = [one.removeprefix("--seed=") for one in sys.argv[1:] if one.startswith("--seed=")]
    main([one for one in sys.argv[1:] if not one.startswith("--")], int((seeds or ["3"])[-1]))
