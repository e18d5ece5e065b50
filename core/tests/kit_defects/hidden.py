"""Hidden information: what views, events and imagined worlds may hold."""

from __future__ import annotations

from kit_defects import Defect

NEGOTIATION = "text/Negotiation-v0"
KUHN = "games/KuhnPoker-v0"
LEDUC = "games/LeducHoldem-v0"
LIARS_DICE = "games/LiarsDice-v0"
SHARED_MEMORY = "text/SharedMemory-v0"

DEFECTS = (
    Defect(
        NEGOTIATION,
        'events.append(Event("values", text, {"values": values}, only(seat)))',
        'events.append(Event("values", text, {"values": state.values}, only(seat)))',
        "transcripts_keep_secrets",
        "the opening betrays a secret to player 0",
    ),
    Defect(
        NEGOTIATION,
        "copy.values = rng.choice(fitting)",
        "copy.values = rng.choice(pairs)",
        "secrets_stay_hidden",
        "describe, scene, anchor, observation of player 0 betrays a secret",
    ),
    Defect(
        NEGOTIATION,
        'own = state.values[seat]\n        worth = ", ".join',
        'own = state.values[1 - seat]\n        worth = ", ".join',
        "secrets_stay_hidden",
        "describe, anchor of player 0 betrays a secret",
    ),
    Defect(
        KUHN,
        "out.rewards[seat, 0] = stake if seat == winner else -stake",
        "out.rewards[seat, 0] = stake if seat == winner else 0",
        "terms_are_declared",
        "declared zero-sum, but returns are [",
    ),
    Defect(
        KUHN,
        "hidden = seat not in (None, owner)",
        "hidden = False",
        "secrets_stay_hidden",
        "scene of player 1 betrays a secret",
    ),
    Defect(
        KUHN,
        "shuffle(state, state.deck)\n        turn_to",
        "np.random.shuffle(state.deck)\n        turn_to",
        "seeds_decide",
        "np.random.shuffle(state.deck) — the game draws from a process-wide random generator",
    ),
    Defect(
        KUHN,
        "state.result[seat] = WIN if seat == winner else LOSS",
        "state.result[seat] = LOSS if seat == winner else WIN",
        "ends_are_told",
        "contradict the returns",
    ),
    Defect(
        KUHN,
        "state.deck[card] = card",
        "state.deck[card] = 1",
        "secrets_stay_hidden",
        "determinize() never changed anything in 10 games",
    ),
    Defect(
        KUHN,
        "hidden = [1 - seat, 2]",
        "hidden = [0, 1, 2]",
        "secrets_stay_hidden",
        "describe, scene, anchor, observation of player 0 betrays a secret",
    ),
    Defect(
        KUHN,
        "cards = sorted(state.deck[hidden].tolist())",
        "cards = state.deck[hidden].tolist()",
        "imagined_worlds_keep_secrets",
        "Sort what is hidden before you shuffle it",
    ),
    Defect(
        KUHN,
        "copy: KuhnState = self.clone(state)",
        "copy: KuhnState = state",
        "looking_changes_nothing",
        "determinize() changes the state that it is given",
    ),
    Defect(
        LEDUC,
        "if state.stage == 1:\n            obs[5",
        "if state.stage >= 0:\n            obs[5",
        "secrets_stay_hidden",
        "in write_observation(): seed 0, step 0: anchor, observation of player 0",
    ),
    Defect(
        LEDUC,
        "if state.stage == 0:\n            hidden.append(PUBLIC)",
        "if state.stage == 1:\n            hidden.append(PUBLIC)",
        "secrets_stay_hidden",
        "describe, scene, anchor, observation of player 0 betrays a secret",
    ),
    Defect(
        LEDUC,
        "mask[RAISE] = state.raises < MAX_RAISES",
        "mask[RAISE] = state.raises <= MAX_RAISES",
        "seats_move_as_declared",
        "state.line[state.stage, state.moves] = action — IndexError: index 4 is out of bounds",
    ),
    Defect(
        LEDUC,
        'events.append(Event("reveal", f"The public',
        'events.append(Event("turn", f"The public',
        "transcripts_keep_secrets",
        "tell it by an event of kind 'reveal'",
    ),
    Defect(
        LEDUC,
        "seen = seat in (None, owner) or is_shown(state)",
        "seen = seat in (None, owner) or state.stage == 1",
        "secrets_stay_hidden",
        "in scene(): ",
    ),
    Defect(
        LEDUC,
        "own, public = CARDS[state.deck[seat]], CARDS[state.deck[PUBLIC]]",
        "own, public = CARDS[state.deck[0]], CARDS[state.deck[PUBLIC]]",
        "secrets_stay_hidden",
        "in describe(): ",
    ),
    Defect(
        LEDUC,
        "    num_actions = 3",
        "    num_actions, fixed_moves = 3, True",
        "looking_changes_nothing",
        "AttributeError: 'NoneType' object has no attribute 'raises'",
    ),
    Defect(
        LEDUC,
        "observation_bounds = (0, 13)",
        "observation_bounds = (0, 5)",
        "numbers_stay_in_space",
        "is not in Box(0, 5, (34,), int8)",
    ),
    Defect(
        LEDUC,
        "observation_shape = (34,)",
        "observation_shape = (32,)",
        "facts_are_true",
        "describes 34 entries of the 32 along axis 0",
    ),
    Defect(
        LIARS_DICE,
        '{"dice": dice}, only(seat))',
        '{"dice": dice})',
        "transcripts_keep_secrets",
        "the opening betrays a secret to player 1",
    ),
    Defect(
        LIARS_DICE,
        "paid = {WIN: high, LOSS: low}",
        "paid = {WIN: low, LOSS: high}",
        "ends_are_told",
        "contradict the scores [1.0, -1.0]",
    ),
    Defect(
        SHARED_MEMORY,
        "perfect_information = False",
        "perfect_information = True",
        "information_is_declared",
        "player 0 sees state.remarks, which player 1 does not",
    ),
    Defect(
        KUHN,
        "rng.shuffle(cards)",
        "cards.reverse()",
        "imagined_worlds_are_dealt_as_often",
        "what player 0 imagines is not what the game deals",
    ),
    Defect(
        LEDUC,
        "cards = sorted(state.deck[hidden].tolist())",
        "cards = [rng.below(3) for _ in hidden]",
        "imagined_worlds_are_dealt_as_often",
        "the sum of state.deck is 6.0 (200x)",
    ),
    Defect(
        LIARS_DICE,
        "copy.hands[other, rng.below(self.faces)] += 1",
        "copy.hands[other, rng.below(self.faces - 1)] += 1",
        "imagined_worlds_are_dealt_as_often",
        "what player 0 imagines is not what the game deals",
    ),
)
