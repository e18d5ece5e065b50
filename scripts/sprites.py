"""Write renderers/src/palestra_renderers/sprites.json from the npm package @mdi/svg.

    npm pack @mdi/svg && tar xzf mdi-svg-*.tgz
    python scripts/sprites.py package/svg

The icons are Pictogrammers' Material Design Icons, Apache License 2.0. `NAMES` says which icon is
which sprite; `DRAWN` are our own outlines for what that set lacks.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

NAMES = {
    **{
        f"chess-{man}": f"chess-{man}"
        for man in ("king", "queen", "rook", "bishop", "knight", "pawn")
    },
    **{f"{suit}s": f"cards-{suit}" for suit in ("spade", "heart", "diamond", "club")},
    "person": "account",
    "robot": "robot",
    "cook": "chef-hat",
    "wolf": "dog",
    "ghost": "ghost",
    "crown": "crown",
    "skull": "skull",
    "sheep": "sheep",
    "cow": "cow",
    "grain": "barley",
    "tree": "pine-tree",
    "brick": "wall",
    "ore": "terrain",
    "settlement": "home",
    "city": "home-city",
    "house": "home",
    "robber": "incognito",
    "apple": "food-apple",
    "tomato": "fruit-cherries",
    "fruit": "fruit-cherries",
    "dish": "circle-outline",
    "pot": "pot",
    "soup": "pot-steam",
    "bowl": "bowl-mix",
    "serve": "room-service",
    "flag": "flag",
    "bomb": "bomb",
    "key": "key-variant",
    "door": "door",
    "open-door": "door-open",
    "star": "star",
    "target": "bullseye-arrow",
    "box": "package-variant-closed",
    "shelf": "bookshelf",
    "truck": "truck",
    "car": "car-side",
    "bin": "delete",
    "drop": "water",
    "snow": "snowflake",
    "hole": "circle",
    "gift": "gift",
    "coin": "circle-multiple",
    "gem": "diamond-stone",
    "heart": "heart",
    "light": "lightbulb-on",
    "moon": "weather-night",
    "eye": "eye",
    "hat": "hat-fedora",
    "shield": "shield",
    "sword": "sword",
    "goblet": "trophy-variant",
    "beam": "flash",
    "ball": "circle",
    "square": "square",
    "triangle": "triangle",
    "hexagon": "hexagon",
    "plus": "plus-thick",
    "check": "check-bold",
    "cross": "close-thick",
    "arrow": "arrow-up-bold",
    "monitor": "monitor",
    "phone": "cellphone",
    "book": "book-open-variant",
    "store": "store",
    "bank": "bank",
    "factory": "factory",
    "scale": "scale-balance",
    "hammer": "hammer",
    "speech": "message",
    "fish": "fish",
    "leaf": "leaf",
    "ship": "sail-boat",
    "prey": "rabbit",
    "poison": "bottle-tonic-skull",
    "agent": "triangle",
    "exit": "exit-run",
    "broom": "broom",
    "food": "food-drumstick",
    "mushroom": "mushroom",
    "dice": "dice-multiple",
    "hand": "hand-back-right",
    "clock": "clock-outline",
    "fire": "fire",
    "plane": "airplane",
    "worker": "account-hard-hat",
    "pickaxe": "pickaxe",
    "workbench": "table-furniture",
    "ruin": "home-remove",
}
DRAWN = {
    "peg": "M12,5A7,7 0 0,1 19,12A7,7 0 0,1 12,19A7,7 0 0,1 5,12A7,7 0 0,1 12,5Z",
    "ring": "M12,3A9,9 0 0,1 21,12A9,9 0 0,1 12,21A9,9 0 0,1 3,12A9,9 0 0,1 12,3"
    "M12,6.6A5.4,5.4 0 0,0 6.6,12A5.4,5.4 0 0,0 12,17.4"
    "A5.4,5.4 0 0,0 17.4,12A5.4,5.4 0 0,0 12,6.6Z",
    "road": "M3,10H21V14H3Z",
    "cube": "M12,1.5L21.2,6.6L12,11.7L2.8,6.6ZM2.2,7.7L11.4,12.8V22.8L2.2,17.6Z"
    "M21.8,7.7L12.6,12.8V22.8L21.8,17.6Z",
    "mug": "M3,4H16V18A3,3 0 0,1 13,21H6A3,3 0 0,1 3,18ZM16,7H19A3,3 0 0,1 22,10V13"
    "A3,3 0 0,1 19,16H16V13.8H18.6A1,1 0 0,0 19.6,12.8V10.2A1,1 0 0,0 18.6,9.2H16Z",
    "onion": "M12,1.5C12.4,5 14,7 17,9C20.3,11.2 21.5,14.2 20.4,17.2"
    "C19.2,20.6 15.8,22.3 12,22.3C8.2,22.3 4.8,20.6 3.6,17.2"
    "C2.5,14.2 3.7,11.2 7,9C10,7 11.6,5 12,1.5Z",
    "firework": "M12.0,8.8L13.9,4.0L12.0,0.4L10.1,4.0ZM14.3,9.7L19.0,7.7L20.2,3.8L16.3,5.0Z"
    "M15.2,12.0L20.0,13.9L23.6,12.0L20.0,10.1ZM14.3,14.3L16.3,19.0L20.2,20.2L19.0,16.3Z"
    "M12.0,15.2L10.1,20.0L12.0,23.6L13.9,20.0ZM9.7,14.3L5.0,16.3L3.8,20.2L7.7,19.0Z"
    "M8.8,12.0L4.0,10.1L0.4,12.0L4.0,13.9ZM9.7,9.7L7.7,5.0L3.8,3.8L5.0,7.7Z",
}


def main(folder: Path) -> None:
    icons = {name: outline(folder / f"{icon}.svg") for name, icon in sorted(NAMES.items())}
    target = Path(__file__).parents[1] / "renderers/src/palestra_renderers/sprites.json"
    target.write_text(json.dumps({"icons": icons, "drawn": DRAWN}, indent=1) + "\n", "utf-8")
    print(f"{len(icons) + len(DRAWN)} sprites in {target.name}")


def outline(path: Path) -> str:
    """The one path of an icon."""
    found = re.findall(r' d="([^"]+)"', path.read_text("utf-8"))
    if len(found) != 1:
        sys.exit(f"{path} holds {len(found)} paths; only icons of one path can be used")
    return str(found[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
