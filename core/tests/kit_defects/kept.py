"""What outlives its time: kept turns, looking ahead from the end, generators, scratch fields."""

from __future__ import annotations

from kit_defects import Defect

BLACKJACK = "games/Blackjack-v0"
CATAN = "games/Catan-v0"
CLEAN_UP = "grid/CleanUp-v0"
DELIVERY = "grid/Delivery-v0"
HARVEST = "grid/Harvest-v0"
KUHN = "games/KuhnPoker-v0"
LEDUC = "games/LeducHoldem-v0"
LIARS_DICE = "games/LiarsDice-v0"
MINESWEEPER = "games/Minesweeper-v0"
NEGOTIATION = "text/Negotiation-v0"
PATH_FINDING = "grid/PathFinding-v0"
REFERENCE = "games/Reference-v0"
SUPPORT_DESK = "web/SupportDesk-v0"
WEREWOLF = "games/Werewolf-v0"
XLAND = "grid/XLand-v0"

DEFECTS = (
    # what a turn gave shows later states, or the end tells what was hidden
    Defect(
        KUHN,
        "hidden = seat not in (None, owner)",
        "hidden = seat not in (None, owner) and not state.over",
        "kept_turns_tell_nothing_more",
        "at the end, scene of a turn that player",
    ),
    Defect(
        LEDUC,
        "seen = seat in (None, owner) or is_shown(state)",
        "seen = seat in (None, owner) or state.over",
        "kept_turns_tell_nothing_more",
        "at the end, scene of a turn that player",
    ),
    Defect(
        BLACKJACK,
        "dealer = points(state.hands[DEALER, 0])\n        return basic",
        "dealer = points(state.hands[DEALER, 1])\n        return basic",
        "kept_turns_tell_nothing_more",
        "scripted_action of the turn of player 0 betrays a secret",
    ),
    # looking ahead from the end
    Defect(
        MINESWEEPER,
        "self.refuse_the_end(state)\n        copy = self.clone(state)\n",
        "copy = self.clone(state)\n        if state.over:\n            return copy\n",
        "forks_keep_secrets_at_the_end",
        "which differ in state.order[",
    ),
    Defect(
        WEREWOLF,
        "self.refuse_the_end(state)\n        copy = self.clone(state)\n",
        "copy = self.clone(state)\n        if state.phase == OVER:\n            return copy\n",
        "forks_keep_secrets_at_the_end",
        "what player 0 imagines betrays what is hidden",
    ),
    Defect(
        LEDUC,
        "copy.deck[hidden] = cards",
        "copy.deck[hidden] = state.deck[hidden] if state.over else cards",
        "forks_keep_secrets_at_the_end",
        "which differ in state.deck[",
    ),
    Defect(
        SUPPORT_DESK,
        " or not self.to_act(state)\n",
        "\n",
        "forks_keep_secrets_at_the_end",
        "imagines with determinize() that it is not over",
    ),
    # generators
    Defect(
        NEGOTIATION,
        "copy.values = rng.choice(fitting)",
        "copy.values = copy.rng.choice(fitting)",
        "generators_stay_apart",
        "imagines otherwise where the game draws otherwise",
    ),
    Defect(
        LIARS_DICE,
        "    def determinize(",
        "    def reseed(self, state: Any, seed: int) -> None:\n"
        "        if not state.turn:\n            super().reseed(state, seed)\n\n"
        "    def determinize(",
        "generators_stay_apart",
        "looks ahead with the game's own generator",
    ),
    Defect(
        KUHN,
        "rng.shuffle(cards)",
        "Rng(int(state.rng[0])).shuffle(cards)",
        "generators_stay_apart",
        "imagines otherwise where the game draws otherwise",
    ),
    # scratch fields that outlive their step
    Defect(
        HARVEST,
        "walk(config, state, actions)\n",
        "walk(config, state, actions)\n"
        "        state.target[:] = state.row * config.columns + state.column\n",
        "imagined_worlds_keep_secrets",
        "which differ in state.target[",
    ),
    Defect(
        CLEAN_UP,
        "walk(config, state, actions)\n",
        "walk(config, state, actions)\n        state.target[:] = actions\n",
        "imagined_worlds_keep_secrets",
        "which differ in state.target[",
    ),
    Defect(
        DELIVERY,
        "imagined.cell[other] = imagined.target[other] = place",
        "imagined.cell[other] = place",
        "imagined_worlds_keep_secrets",
        "which differ in state.target[",
    ),
    Defect(
        PATH_FINDING,
        "imagined.cell[other] = imagined.target[other] = place",
        "imagined.cell[other] = place",
        "imagined_worlds_keep_secrets",
        "which differ in state.target[",
    ),
    Defect(
        XLAND,
        "imagined.cell[thing] = imagined.target[thing] = cell",
        "imagined.cell[thing] = cell",
        "imagined_worlds_keep_secrets",
        "which differ in state.target[",
    ),
)
